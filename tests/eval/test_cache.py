"""What was computed once is found again, and only under what it was made from."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from eval.cache import CachedEncoder, RowCache, digest, source_hash
from grader.encoder import Encoding, HashEncoder


class Counting(HashEncoder):
    """Counts the texts it is asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[str] = []

    def encode(self, texts: Sequence[str]) -> list[Encoding]:
        self.seen += texts
        return super().encode(texts)


def _refuse() -> HashEncoder:
    raise AssertionError("the weights are not needed")


class TestEncoder:
    def test_same_as_the_encoder_in_any_order_and_from_disk(self, tmp_path: Path) -> None:
        texts = ["one two", "", "three", "one two"]
        inner = Counting()
        cached = CachedEncoder(lambda: inner, "hash@1", tmp_path)
        first = cached.encode(texts)
        cached.flush()
        again = CachedEncoder(_refuse, "hash@1", tmp_path).encode(texts[::-1])
        for ours, stored, theirs in zip(first, again[::-1], HashEncoder().encode(texts), strict=True):
            for got in (ours, stored):
                np.testing.assert_array_equal(got.pooled, theirs.pooled)
                np.testing.assert_array_equal(got.tokens, theirs.tokens)
                np.testing.assert_array_equal(got.offsets, theirs.offsets)
        assert inner.seen == ["one two", "", "three"]

    def test_another_encoder_starts_anew(self, tmp_path: Path) -> None:
        cached = CachedEncoder(HashEncoder, "hash@1", tmp_path)
        cached.encode(["a"])
        cached.flush()
        with pytest.raises(AssertionError, match="not needed"):
            CachedEncoder(_refuse, "hash@2", tmp_path).encode(["a"])

    def test_two_writers_of_the_same_texts(self, tmp_path: Path) -> None:
        for _ in range(2):
            cached = CachedEncoder(HashEncoder, "hash@1", tmp_path / "new")
            cached.encode(["a b"])
            other = CachedEncoder(HashEncoder, "hash@1", None)
            other._folder = cached._folder
            other.encode(["a b"])
            cached.flush()
            other.flush()
        assert len(list((tmp_path / "new" / "encodings").glob("*/*"))) == 1

    def test_sentence_vectors_are_not_kept(self) -> None:
        inner = Counting()
        cached = CachedEncoder(lambda: inner, "hash@1", None)
        cached.encode(["known"])
        vectors = cached.pooled(["new text", "known", "new text"], chunk=1)
        np.testing.assert_array_equal(vectors[0], HashEncoder().encode(["new text"])[0].pooled)
        assert inner.seen == ["known", "new text"]


class TestRows:
    def test_only_what_is_new_is_made(self, tmp_path: Path) -> None:
        asked: list[list[int]] = []

        def make(places: list[int]) -> np.ndarray:
            asked.append(places)
            return np.array([[float(at), 2.0] for at in places])

        first = RowCache(tmp_path).rows("space", ["a", "b", "a"], make)
        assert first.tolist() == [[2.0, 2.0], [1.0, 2.0], [2.0, 2.0]]
        second = RowCache(tmp_path).rows("space", ["b", "c"], make)
        assert second.tolist() == [[1.0, 2.0], [1.0, 2.0]]
        assert [sorted(places) for places in asked] == [[1, 2], [1]]

    def test_spaces_are_apart(self, tmp_path: Path) -> None:
        cache = RowCache(tmp_path)
        cache.rows("one", ["a"], lambda places: np.zeros((1, 1)))
        assert cache.rows("two", ["a"], lambda places: np.ones((1, 1))).tolist() == [[1.0]]

    def test_without_a_folder(self) -> None:
        assert RowCache(None).rows("s", ["a"], lambda places: np.ones((1, 2))).shape == (1, 2)


def test_digest_does_not_run_texts_together() -> None:
    assert digest(["ab", "c"]) != digest(["a", "bc"])
    assert digest(["\ud800"]) == digest(["\ud800"])


def test_source_hash_depends_on_what_is_named() -> None:
    assert source_hash("grader/text.py") != source_hash("grader/words.py")
    assert source_hash("grader") == source_hash("grader")
