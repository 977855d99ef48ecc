"""Questions are chosen by pack, topic, language and words, all at once."""

from __future__ import annotations

import re
from html import unescape

import pytest

from api.web.choosing import OWN, Wish

ITEM = {"id": "x-ray", "pack": OWN, "tags": ["light"], "language": "de", "prompt": "Was ist Röntgenstrahlung?"}


@pytest.mark.parametrize(
    ("wish", "fits"),
    [
        (Wish(), True),
        (Wish(OWN, "light", "de", "RÖNTGEN"), True),
        (Wish(q="x-ra"), True),
        (Wish(pack="physics"), False),
        (Wish(tag="sound"), False),
        (Wish(language="en"), False),
        (Wish(OWN, "light", "de", "Licht"), False),
    ],
)
def test_a_wish_fits_where_all_of_it_does(wish, fits):
    assert wish.fits(ITEM) == fits


def test_a_wish_as_an_address():
    assert Wish().query() == ""
    assert Wish("pytorch", q="a b").query(tag="c & d", pack="") == "?tag=c+%26+d&q=a+b"


@pytest.fixture
def filled(service):
    """A service with items of two packs and of none, one of them in German."""
    own = service.call("GET", "/items")["data"]
    assert own
    texts = {"p-value": ("statistics", "en"), "view-vs-reshape": ("tensors", "en"), "wurzel": ("statistics", "de")}
    for slug, (tag, language) in texts.items():
        content = {
            "id": slug,
            "prompt": f"What about {slug}?",
            "tags": [tag],
            "language": language,
            "reference_answer": "It is so.",
            "components": {"definition": {"weight": 5, "elements": [{"id": "so", "key_statements": ["It is so."]}]}},
        }
        service.call("POST", "/items", {"use": "practice", "content": content})
    return service


def rows(service, path):
    """Ids of the listed items, and the chips as (label, address) by what is chosen with them."""
    answer = service.client.get(path, headers={"Accept-Language": "de"})
    assert answer.status_code == 200
    chips = {}
    for label, inner in re.findall(r'<nav class="chips" aria-label="([^"]+)">(.*?)</nav>', answer.text):
        found = re.findall(r'href="([^"]+)"[^>]*>([^<]+?) ?(?:<small>(\d+)</small>)?</a>', inner)
        chips[label] = {name: (unescape(address), int(count or 0)) for address, name, count in found}
    return re.findall(r'class="row-main" lang="\w\w"[^>]*>([^<]*)', answer.text), chips


def test_packs_topics_and_languages_are_combined(filled):
    listed, chips = rows(filled, "/practice")
    assert listed[0] == "What about wurzel?", "the reader's language comes first"
    assert list(chips["Sammlungen"]) == [
        "Alle Sammlungen",
        "PyTorch interview questions",
        "Statistics for data science",
        "Eigene Fragen",
    ]
    address, count = chips["Sammlungen"]["Statistics for data science"]
    assert (address, count) == ("/practice?pack=statistics", 1)
    listed, chips = rows(filled, address)
    assert listed == ["What about p-value?"]
    assert "tensors" not in chips["Themen"]
    assert "Sprache der Fragen" not in chips
    assert chips["Themen"]["statistics"][0] == "/practice?pack=statistics&tag=statistics"

    listed, chips = rows(filled, "/practice?tag=statistics")
    assert set(listed) == {"What about p-value?", "What about wurzel?"}
    assert chips["Sprache der Fragen"]["Deutsch"] == ("/practice?tag=statistics&language=de", 1)
    assert chips["Sammlungen"]["Statistics for data science"][0] == "/practice?pack=statistics&tag=statistics"
    assert chips["Sammlungen"]["PyTorch interview questions"][0] == "/practice?pack=pytorch", "no such topic there"
    assert rows(filled, "/practice?tag=statistics&language=de")[0] == ["What about wurzel?"]
    assert rows(filled, "/practice?pack=-&language=de&q=WURZEL")[0] == ["What about wurzel?"]
    assert rows(filled, "/practice?pack=pytorch&language=de")[0] == []


def test_a_viva_asks_from_the_chosen_pack(filled):
    page = filled.client.get("/viva?pack=statistics")
    assert '<option value="statistics" selected>Statistics for data science (1)</option>' in page.text
    csrf = re.search(r'name="csrf" value="([^"]+)"', page.text)[1]
    sent = {"csrf": csrf, "pack": "statistics", "count": "3", "follow_ups": "0"}
    talk = filled.client.post("/viva", data=sent, follow_redirects=True)
    assert "What about p-value?" in talk.text
    refused = filled.client.post("/viva", data={**sent, "language": "de"})
    assert refused.status_code == 404
