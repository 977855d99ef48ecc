"""Encodings, comparisons and answers of the contradiction model kept on disk: the same marks, without the models."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from grader import Grader, Item, ModelError
from grader.caching import CachedComparisons, CachedEncoder, CachedJudge, digest, pack, space, unpack
from grader.cli import app
from grader.encoder import Encoding, HashEncoder
from grader.evidence.crossencoder import CrossEncoder, contradiction_signature
from grader.evidence.similarity import KeyStatements, Phrase, phrase
from grader.loading import cache_folder, load_grader
from grader.store import NAME, BlobStore

ROOT = Path(__file__).parents[2]
TEXTS = ["The moon pulls.", "", "The moon pulls.", "Half a \ud800 character", "Twice a day the sea rises."]
RESPONSES = [
    "The level of the sea rises and falls about twice a day. The moon pulls the near side more strongly.",
    "A strong wind blowing over the surface heaps everything up at the coast.",
    "The gravity of the moon does not pull the near side more strongly.",
    "I do not know.",
]


class Counting:
    """Counts what the encoder inside is asked for."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self._inner = HashEncoder()
        self.signature = self._inner.signature

    def encode(self, texts: Sequence[str]) -> list[Encoding]:
        self.asked += texts
        return self._inner.encode(texts)


def equal(a: Encoding, b: Encoding) -> bool:
    parts = [(getattr(a, name), getattr(b, name)) for name in ("pooled", "tokens", "offsets")]
    return all(left.dtype == right.dtype and np.array_equal(left, right) for left, right in parts)


def test_vectors_are_those_of_the_encoder_bit_for_bit(tmp_path: Path) -> None:
    inner = Counting()
    for _ in range(2):
        store = BlobStore(tmp_path)
        found = CachedEncoder(lambda: inner, inner.signature, store).encode(TEXTS)
        assert all(map(equal, found, HashEncoder().encode(TEXTS)))
        store.close()
    assert inner.asked == list(dict.fromkeys(TEXTS)), "each text once, in the first round only"


def test_no_text_is_stored(tmp_path: Path) -> None:
    store = BlobStore(tmp_path)
    CachedEncoder(HashEncoder, "hash@1", store).encode(["The secret of the candidate."])
    store.close()
    assert b"secret" not in b"".join(path.read_bytes() for path in tmp_path.iterdir())


def test_other_weights_have_other_keys(tmp_path: Path) -> None:
    store, inner = BlobStore(tmp_path), Counting()
    for signature in ("a@1", "a@2"):
        CachedEncoder(lambda: inner, signature, store).encode(["x"])
    assert inner.asked == ["x", "x"]
    assert space("encoding", "a@1") != space("judge", "a@1")
    assert digest(b"s", "ab", "c") != digest(b"s", "a", "bc")


@pytest.mark.parametrize("count", [0, 1, 7])
def test_packing(count: int) -> None:
    chance = np.random.default_rng(count)
    tokens = chance.standard_normal((count, 5)).astype(np.float32)
    spans = chance.integers(0, 90, (count, 2)).astype(np.int32)
    encoding = Encoding(chance.standard_normal(5).astype(np.float32), tokens, spans)
    assert equal(unpack(pack(encoding)), encoding)


class Judge:
    """Answers with the lengths of the texts."""

    signature = "lengths@1"

    def __init__(self) -> None:
        self.asked: list[tuple[str, str]] = []

    def predict(self, pairs: Sequence[tuple[str, str]]) -> Any:
        self.asked += pairs
        return np.array([[len(a), len(b), 0.1, 0.2] for a, b in pairs], np.float32)


def test_pairs_are_asked_about_once(tmp_path: Path) -> None:
    judge = Judge()
    pairs = [("a", "bc"), ("ab", "c"), ("a", "bc")]
    for _ in range(2):
        store = BlobStore(tmp_path)
        cached = CachedJudge(lambda: judge, judge.signature, store)
        np.testing.assert_array_equal(cached.predict(pairs), Judge().predict(pairs))
        assert cached.predict([]).shape == (0, 4)
        store.close()
    assert judge.asked == pairs[:2]


def phrases(*texts: str, prompt: str = "") -> list[Phrase]:
    known = frozenset(prompt.split())
    return [phrase(text, one, known) for text, one in zip(texts, HashEncoder().encode(texts), strict=True)]


def test_comparisons_are_computed_once_bit_for_bit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keys = KeyStatements(phrases("The moon pulls.", "Twice a day the sea rises."))
    said = phrases("The moon pulls the sea.", "The moon pulls.", "The moon pulls the sea.", "")
    expected = [keys.compared(one) for one in said]
    computed: list[str] = []
    inner = KeyStatements.compared
    monkeypatch.setattr(KeyStatements, "compared", lambda self, one: (computed.append(one.text), inner(self, one))[1])
    for _ in range(2):
        store = BlobStore(tmp_path)
        for row, wanted in zip(CachedComparisons(store)(keys, said), expected, strict=True):
            assert all(np.array_equal(a, b) and a.dtype == b.dtype for a, b in zip(row, wanted, strict=True))
        store.close()
    assert computed == list(dict.fromkeys(one.text for one in said)), "each once, in the first round only"


def test_comparisons_know_their_key_statements_and_weights(tmp_path: Path) -> None:
    store = BlobStore(tmp_path)
    cached = CachedComparisons(store)
    wordings = ("The moon pulls.", "Twice a day the sea rises.")
    for made in (phrases(*wordings), phrases(*wordings[::-1]), phrases(wordings[0])):
        for said in (phrases("The moon pulls the sea."), phrases("The moon pulls the sea.", prompt="moon")):
            keys = KeyStatements(made)
            for _ in range(2):
                (best, precision), (wanted, exact) = cached(keys, said)[0], keys.compared(said[0])
                assert np.array_equal(best, wanted)
                assert np.array_equal(precision, exact)


@pytest.mark.parametrize("moved", [["w9 w10", "w11"], ["w9", "w10", "w11"]])
def test_comparisons_know_where_each_key_statement_begins(moved: list[str], tmp_path: Path) -> None:
    """The fake's vectors depend on the words alone, so the stacked vectors are the same."""
    cached = CachedComparisons(BlobStore(tmp_path))
    (said,) = phrases("w1 w9 w11")
    before = KeyStatements(phrases(*(f"w{at}" for at in range(9)), "w9", "w10 w11"))
    after = KeyStatements(phrases(*(f"w{at}" for at in range(9)), *moved))
    cached(before, [said])
    for found, wanted in zip(cached(after, [said])[0], after.compared(said), strict=True):
        assert np.array_equal(found, wanted)


def test_the_signature_is_known_before_the_weights(tmp_path: Path) -> None:
    assert contradiction_signature() == CrossEncoder().signature
    with pytest.raises(ModelError, match="cannot read"):
        contradiction_signature(tmp_path)
    (tmp_path / "config.json").write_text('{"version": 2}')
    with pytest.raises(ModelError, match="sha256"):
        contradiction_signature(tmp_path)


def edited(make_item: Callable[..., Item], content: dict[str, Any]) -> Item:
    elements = content["components"]["reason"]["elements"]
    elements[0]["key_statements"].append("The pull of the moon is stronger on the side that faces it.")
    return make_item(components=content["components"])


def test_marks_after_an_edit_of_the_rubric_are_those_without_a_cache(
    real_grader: Grader, make_item: Callable[..., Item], content: dict[str, Any], tmp_path: Path
) -> None:
    changed = edited(make_item, content)
    load_grader(cache=tmp_path).grade_many(make_item(), RESPONSES)
    again = load_grader(cache=tmp_path)
    assert again.grade_many(changed, RESPONSES) == real_grader.grade_many(changed, RESPONSES)
    assert again.grade_many(make_item(), RESPONSES) == real_grader.grade_many(make_item(), RESPONSES)


def test_the_fake_needs_no_cache(tides: Item, tmp_path: Path) -> None:
    load_grader("hash", cache=tmp_path).grade(tides, "The moon.")
    assert list(tmp_path.iterdir()) == []


def test_where_the_cache_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", "/home/someone")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    assert cache_folder() == Path("/home/someone/.cache/viva-grader")
    monkeypatch.setenv("XDG_CACHE_HOME", "relative is not allowed")
    assert cache_folder() == Path("/home/someone/.cache/viva-grader")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder("") == tmp_path / "viva-grader"
    assert cache_folder("~/mine") == Path("/home/someone/mine")


_LOADED = """
import sys
from grader.cli import app
try:
    app()
finally:
    print(*sorted({"torch", "onnxruntime"} & set(sys.modules)), file=sys.stderr)
"""


def graded(cache: str, answer: str = "They add up.") -> tuple[str, list[str]]:
    command = [sys.executable, "-c", _LOADED, "grade", "zero-grad", answer, "--json"]
    done = subprocess.run(
        command, cwd=ROOT, env=os.environ | {"GRADER_CACHE": cache}, capture_output=True, text=True, check=True
    )
    return done.stdout, done.stderr.split()


def test_the_command_needs_no_model_for_what_it_has_seen(tmp_path: Path) -> None:
    first, loaded = graded(str(tmp_path))
    assert "onnxruntime" in loaded
    assert (tmp_path / NAME).exists()
    assert graded(str(tmp_path)) == (first, [])
    assert graded("off") == (first, ["onnxruntime"])


def test_the_command_goes_on_with_a_damaged_cache(tmp_path: Path) -> None:
    first, _ = graded(str(tmp_path))
    path = tmp_path / NAME
    path.write_bytes(path.read_bytes()[:20_000] + os.urandom(200_000))
    again, said = graded(str(tmp_path))
    assert again == first
    assert "damaged" in said
    assert graded(str(tmp_path))[1] == []


def test_looking_at_and_deleting_the_cache(tmp_path: Path) -> None:
    run = CliRunner(env={"GRADER_CACHE": str(tmp_path), "COLUMNS": "120"}).invoke
    store = BlobStore(tmp_path)
    store.write({b"a": b"b"})
    store.close()
    assert ": 1 entries, 0.1 of at most 2,048 MB" in run(app, ["cache", "info"]).stdout
    assert '"entries": 1' in run(app, ["cache", "info", "--json"]).stdout
    assert run(app, ["cache", "clear"]).exit_code == 0
    assert list(tmp_path.iterdir()) == []
    off = run(app, ["--cache", "off", "cache", "info"])
    assert (off.exit_code, off.stdout) == (0, "off\n")
    refused = run(app, ["--cache", "off", "cache", "clear"])
    assert refused.exit_code == 2
    assert "the cache is off" in refused.stderr
