"""Items, scores, keys: the parts of the service without exams."""

from __future__ import annotations

import pytest

from api.logs import configure

SECRET = "the accepted wording of the cache key"


def code(answer):
    assert answer.headers["content-type"] == "application/problem+json", answer.text
    return answer.json()["code"]


def test_system(service):
    c = service.client
    assert c.get("/health").json() == {"status": "ok"}
    assert c.get("/ready").status_code == 200
    assert c.get("/version").json()["schema_revision"]
    assert "http_requests_total" in c.get("/metrics").text
    assert c.get("/health").headers["x-content-type-options"] == "nosniff"


def test_no_key_wrong_key_wrong_role(service):
    c = service.client
    assert code(c.get("/v1/items")) == "unauthorized"
    assert code(c.get("/v1/items", headers={"Authorization": "Bearer gk_nonsense"})) == "unauthorized"
    assert code(c.get("/v1/keys", headers=service.teacher)) == "forbidden"
    assert code(c.get("/v1/pack", headers=service.candidate)) == "forbidden"


def test_key_life(service):
    c = service.client
    made = c.post("/v1/keys", json={"role": "teacher", "label": "x"}, headers=service.admin)
    assert made.status_code == 201
    head = {"Authorization": f"Bearer {made.json()['key']}"}
    assert c.get("/v1/me", headers=head).json()["role"] == "teacher"
    assert made.json()["key"] not in c.get("/v1/keys", headers=service.admin).text
    c.delete(f"/v1/keys/{made.json()['id']}", headers=service.admin)
    assert code(c.get("/v1/me", headers=head)) == "unauthorized"
    expired = c.post(
        "/v1/keys", json={"role": "teacher", "label": "x", "expires_in_days": 1e-9}, headers=service.admin
    ).json()["key"]
    assert code(c.get("/v1/me", headers={"Authorization": f"Bearer {expired}"})) == "unauthorized"


def test_score_by_role(service):
    c = service.client
    body = {"item": "practice-one", "response": "It keeps results for later use."}
    full = c.post("/v1/score", json=body, headers=service.teacher)
    assert full.status_code == 200, full.text
    assert full.json()["score"] > 0
    assert "key_statement" in full.text
    mine = c.post("/v1/score", json=body, headers=service.candidate)
    assert mine.json()["score"] == full.json()["score"]
    assert SECRET not in mine.text
    assert "key_statement" not in mine.text
    assert sum(step["points"] for step in mine.json()["calculation"]) == pytest.approx(mine.json()["score"])


def test_inline_item_is_for_staff(service, content):
    body = {"content": content("new-one"), "response": "x"}
    assert service.client.post("/v1/score", json=body, headers=service.teacher).status_code == 200
    assert code(service.client.post("/v1/score", json=body, headers=service.candidate)) == "forbidden"
    assert code(service.client.post("/v1/score", json={"response": "x"}, headers=service.teacher)) == "invalid"


def test_batch_equals_single_and_is_limited(service):
    c = service.client
    texts = ["It keeps results.", "", "no idea", "Computing again would take longer."]
    batch = {"item": "practice-one", "responses": [{"id": str(i), "response": t} for i, t in enumerate(texts)]}
    results = c.post("/v1/score/batch", json=batch, headers=service.teacher).json()["results"]
    for text, entry in zip(texts, results, strict=True):
        one = c.post("/v1/score", json={"item": "practice-one", "response": text}, headers=service.teacher).json()
        assert one == entry["score"]
    batch["responses"] = [{"id": "1", "response": "x"}] * 1001
    assert code(c.post("/v1/score/batch", json=batch, headers=service.teacher)) == "invalid"


def test_item_versions(service, content):
    c, head = service.client, service.teacher
    made = c.post("/v1/items", json={"content": content("fresh")}, headers=head)
    assert made.status_code == 201, made.text
    assert made.headers["etag"] == '"1"'
    assert code(c.post("/v1/items", json={"content": content("fresh")}, headers=head)) == "duplicate"
    newer = {"content": content("fresh", prompt="What is a cache for?")}
    assert code(c.post("/v1/items/fresh/versions", json=newer, headers=head)) == "etag-required"
    second = c.post("/v1/items/fresh/versions", json=newer, headers={**head, "If-Match": '"1"'})
    assert second.json()["version"] == 2
    stale = c.post("/v1/items/fresh/versions", json=newer, headers={**head, "If-Match": '"1"'})
    assert code(stale) == "stale-etag"
    old = c.get("/v1/items/fresh/versions/1", headers=head).json()
    assert old["content"]["prompt"] == "What does a cache do (fresh)?"
    assert old["content_hash"] != second.json()["content_hash"]
    assert len(c.get("/v1/items/fresh/versions", headers=head).json()["data"]) == 2
    assert code(c.get("/v1/items/fresh/versions/9", headers=head)) == "not-found"


def test_candidate_sees_question_without_key(service):
    text = service.client.get("/v1/items/practice-one", headers=service.candidate).text
    assert "Think of a cupboard" in text
    assert SECRET not in text


def test_show_key_only_where_the_item_allows(service, content):
    c = service.client
    open_item = content("open-key", limits={"show_key": True})
    c.post("/v1/items", json={"content": open_item}, headers=service.teacher)
    body = {"item": "open-key", "response": "It keeps results for later use."}
    assert SECRET in c.post("/v1/score", json=body, headers=service.candidate).text


def test_lint(service, content):
    c, head = service.client, service.teacher
    good = c.post("/v1/items/lint", json={"content": content("x")}, headers=head).json()
    assert good["ok"]
    bad = c.post("/v1/items/lint", json={"yaml": "id: x\nprompt: p\nscale: {max: 3}\n"}, headers=head).json()
    assert not bad["ok"]
    assert any(one["line"] for one in bad["findings"])
    wrong = content("x", scale={"max": 5, "step": 0.3})
    assert not c.post("/v1/items/lint", json={"content": wrong}, headers=head).json()["ok"]


def test_pack_round_trip_and_all_or_nothing(service, content):
    c, other = service.client, service.other()
    pack = c.get("/v1/pack", headers=service.teacher).json()
    done = c.post("/v1/pack", json=pack, headers=other.teacher).json()
    assert done["created"] == ["practice-one", "practice-two"]
    assert c.post("/v1/pack", json=pack, headers=other.teacher).json()["unchanged"] == done["created"]
    pack["items"] = [content("good"), content("bad", components={})]
    assert code(c.post("/v1/pack", json=pack, headers=other.teacher)) == "invalid-rubric"
    assert code(c.get("/v1/items/good", headers=other.teacher)) == "not-found"


def test_delete_needs_etag_and_hides(service):
    c = service.client
    assert c.delete("/v1/items/practice-two", headers={**service.teacher, "If-Match": '"1"'}).status_code == 200
    assert code(c.get("/v1/items/practice-two", headers=service.teacher)) == "not-found"


def test_paging(service, content):
    c = service.client
    for n in range(5):
        c.post("/v1/items", json={"content": content(f"many-{n}")}, headers=service.teacher)
    seen, cursor = [], None
    while True:
        query = {"limit": 2, **({"cursor": cursor} if cursor else {})}
        page = c.get("/v1/items", params=query, headers=service.teacher).json()
        seen += [line["id"] for line in page["data"]]
        cursor = page["next"]
        if cursor is None:
            break
    assert seen == sorted(set(seen))
    assert len(seen) == 7
    assert code(c.get("/v1/items", params={"cursor": "%%%"}, headers=service.teacher)) == "bad-cursor"


def test_idempotency(service, content):
    c = service.client
    head = {**service.teacher, "Idempotency-Key": "abc"}
    first = c.post("/v1/items", json={"content": content("idem")}, headers=head)
    again = c.post("/v1/items", json={"content": content("idem")}, headers=head)
    assert first.status_code == again.status_code == 201
    assert first.json() == again.json()
    assert again.headers["idempotent-replay"] == "true"
    assert again.headers["etag"] == first.headers["etag"]
    reused = c.post("/v1/items", json={"content": content("other")}, headers=head)
    assert code(reused) == "idempotency-key-reused"
    assert code(c.get("/v1/items/other", headers=service.teacher)) == "not-found"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({"item": "practice-one", "response": "a\x00b"}, "invalid"),
        ({"item": "practice-one", "response": "x", "extra": 1}, "invalid"),
        ({"item": "none-such", "response": "x"}, "not-found"),
        ({"item": "practice-one", "response": "x" * 60_001}, "invalid"),
        ({"item": "practice-one", "version": 9, "response": "x"}, "not-found"),
    ],
)
def test_bad_scores(service, body, expected):
    assert code(service.client.post("/v1/score", json=body, headers=service.teacher)) == expected


def test_broken_bodies(service):
    c, head = service.client, {**service.teacher, "content-type": "application/json"}
    for body in (b"{", b'{"item":"practice-one","response":"\\ud800"}', b"\xff\xfe", b"[" * 100_000):
        answer = c.post("/v1/score", content=body, headers=head)
        assert answer.status_code in (400, 422), answer.text
        code(answer)


def test_large_body(make_service):
    small = make_service(body_limit=2000)
    big = {"item": "practice-one", "response": "x" * 3000}
    assert code(small.client.post("/v1/score", json=big, headers=small.teacher)) == "too-large"

    def chunks():
        for _ in range(50):
            yield b"x" * 100

    head = {**small.teacher, "content-type": "application/json"}
    assert code(small.client.post("/v1/score", content=chunks(), headers=head)) == "too-large"


def test_rate_limit(make_service):
    slow = make_service(rate_limit="3/minute")
    codes = [slow.client.get("/v1/me", headers=slow.teacher).status_code for _ in range(5)]
    assert codes == [200, 200, 200, 429, 429]
    assert slow.client.get("/v1/me", headers=slow.admin).status_code == 200


def test_practice_item_moves_and_locks(service):
    c = service.client
    moved = c.patch("/v1/items/practice-one", json={"use": "exam"}, headers={**service.teacher, "If-Match": '"1"'})
    assert moved.json()["use"] == "exam"
    body = {"item": "practice-one", "response": "x"}
    assert code(c.post("/v1/score", json=body, headers=service.candidate)) == "exam-item-locked"
    assert code(c.get("/v1/items/practice-one", headers=service.candidate)) == "exam-item-locked"
    assert "practice-one" not in c.get("/v1/items", headers=service.candidate).text


def test_accounts_of_people(service):
    c = service.client
    invited = c.post("/v1/users", json={"email": "A@b.example", "role": "teacher"}, headers=service.admin).json()
    token = invited["link_token"]
    good = {"token": token, "password": "a long password"}
    assert c.post("/v1/password", json={**good, "password": "short"}).status_code == 422
    assert c.post("/v1/password", json=good).status_code == 200
    assert code(c.post("/v1/password", json=good)) == "not-found"
    assert code(c.post("/v1/session", json={"email": "a@b.example", "password": "wrong"})) == "unauthorized"
    signed = c.post("/v1/session", json={"email": "a@b.example", "password": "a long password"})
    assert "HttpOnly" in signed.headers["set-cookie"]
    assert "SameSite=strict" in signed.headers["set-cookie"]
    assert c.get("/v1/me").json()["role"] == "teacher"
    lint = {"yaml": "id: x"}
    assert code(c.post("/v1/items/lint", json=lint)) == "csrf"
    assert c.post("/v1/items/lint", json=lint, headers={"X-CSRF-Token": signed.json()["csrf"]}).status_code == 200
    c.delete(f"/v1/users/{invited['id']}", headers=service.admin)
    assert code(c.get("/v1/me")) == "unauthorized"
    c.cookies.clear()


def test_sign_in_is_slowed_down(service):
    body = {"email": "a@b.example", "password": "x"}
    found = [service.client.post("/v1/session", json=body).status_code for _ in range(11)]
    assert found[-1] == 429


def test_log_has_no_answers(service, capsys):
    configure("info")
    service.client.post("/v1/score", json={"item": "practice-one", "response": "wombat"}, headers=service.teacher)
    shown = capsys.readouterr()
    assert "request" in shown.out
    assert "wombat" not in shown.out + shown.err


@pytest.mark.parametrize(
    "body",
    [
        {"content": {"\U0001f600": [], "": {}, "id": "x"}},
        {"content": {"\U00074c12\U0010ffff": {"\U0001f600": None}}},
        {"yaml": 'id: x\n"\\ud83d": 1\n'},
        {"yaml": 'id: x\nprompt: "\\ud83d"\n'},
    ],
)
def test_lint_of_odd_letters(service, body):
    found = service.call("POST", "/items/lint", body)
    assert found["ok"] is False
    assert found["findings"]
