"""Encodings, comparisons and answers of the contradiction model kept on disk for a re-run.

Keys are hashes of a text together with everything its vectors depend on (the signature of the weights, the versions of
the arithmetic), so no text is stored. Values are what the model returned, bit for bit: 32-bit floats.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Callable, Sequence
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from threading import Lock
from typing import Generic, TypeVar

import numpy as np

from grader.encoder import Encoder, Encoding
from grader.evidence.crossencoder import CLASSES, Floats
from grader.evidence.judge import Judge
from grader.evidence.similarity import KeyStatements, Phrase, Row
from grader.store import BlobStore

#: Packages that do the arithmetic; another version may give other last digits.
_ARITHMETIC = ("onnxruntime", "tokenizers", "torch", "sentence-transformers")
#: Raise when vectors are made in another way under the same signature.
_MADE = 1
_Model = TypeVar("_Model")
_HEADER = struct.Struct("<II")


class CachedEncoder:
    """An encoder that is only loaded for texts that are new; what it returns is what the encoder itself returned."""

    def __init__(self, make: Callable[[], Encoder], signature: str, store: BlobStore) -> None:
        """An encoder over ``make()``.

        Args:
            make: Gives the encoder itself; called once, for the first text that is not in the store.
            signature: That encoder's signature.
            store: Where encodings are kept.
        """
        self.signature = signature
        self._inner = _Once(make)
        self._store = store
        self._space = space("encoding", signature)

    def encode(self, texts: Sequence[str]) -> list[Encoding]:
        """One encoding a text, in order."""
        keys = {text: digest(self._space, text) for text in texts}
        stored = self._store.read(list(keys.values()))
        known = {text: unpack(stored[key]) for text, key in keys.items() if key in stored}
        new = [text for text in keys if text not in known]
        if new:
            made = dict(zip(new, self._inner().encode(new), strict=True))
            self._store.write({keys[text]: pack(encoding) for text, encoding in made.items()})
            known |= made
        return [known[text] for text in texts]


class CachedJudge:
    """A contradiction model that is only loaded for pairs that are new."""

    def __init__(self, make: Callable[[], Judge], signature: str, store: BlobStore) -> None:
        """A judge over ``make()``; see `CachedEncoder`."""
        self.signature = signature
        self._inner = _Once(make)
        self._store = store
        self._space = space("judge", signature)

    def predict(self, pairs: Sequence[tuple[str, str]]) -> Floats:
        """Probabilities of `grader.evidence.crossencoder.CLASSES`, one row a pair."""
        keys = {pair: digest(self._space, *pair) for pair in pairs}
        stored = self._store.read(list(keys.values()))
        rows = {pair: np.frombuffer(stored[key], np.float32) for pair, key in keys.items() if key in stored}
        new = [pair for pair in keys if pair not in rows]
        if new:
            made = dict(zip(new, self._inner().predict(new), strict=True))
            self._store.write({keys[pair]: row.tobytes() for pair, row in made.items()})
            rows |= made
        return np.stack([rows[pair] for pair in pairs]) if pairs else np.zeros((0, len(CLASSES)), np.float32)


class CachedComparisons:
    """What statements have of the key statements of an item, computed where it is new."""

    def __init__(self, store: BlobStore) -> None:
        """Keeps them in ``store``."""
        self._store = store
        self._space = space("comparison", f"numpy={np.__version__}")

    def __call__(self, keys: KeyStatements, statements: Sequence[Phrase]) -> list[Row]:
        """A row a statement, in order; see `KeyStatements.compared`."""
        names = [self._name(keys, one) for one in statements]
        rows: dict[bytes, Row] = {}
        for name, value in self._store.read(names).items():
            values = np.frombuffer(value, np.float32)
            rows[name] = values[: -len(keys)], values[-len(keys) :]
        new = {name: one for name, one in zip(names, statements, strict=True) if name not in rows}
        rows |= {name: keys.compared(one) for name, one in new.items()}
        if new:
            self._store.write({name: b"".join(part.tobytes() for part in rows[name]) for name in new})
        return [rows[name] for name in names]

    def _name(self, keys: KeyStatements, statement: Phrase) -> bytes:
        """Of all that `KeyStatements.compared` works with; one encoder made the vectors of both sides."""
        return digest(self._space, keys.fingerprint, statement.text, statement.weights.tobytes())


class _Once(Generic[_Model]):
    """A model that is loaded at its first use, by one thread."""

    def __init__(self, make: Callable[[], _Model]) -> None:
        self._make = make
        self._lock = Lock()
        self._made: _Model | None = None

    def __call__(self) -> _Model:
        with self._lock:
            if self._made is None:
                self._made = self._make()
            return self._made


def pack(encoding: Encoding) -> bytes:
    """The vectors and spans of one text as bytes."""
    header = _HEADER.pack(*encoding.tokens.shape)
    parts = (encoding.pooled.astype("<f4"), encoding.tokens.astype("<f4"), encoding.offsets.astype("<i4"))
    return b"".join([header, *(part.tobytes() for part in parts)])


def unpack(value: bytes) -> Encoding:
    """What `pack` was given; the arrays cannot be written to."""
    count, width = _HEADER.unpack_from(value)
    floats = np.frombuffer(value, "<f4", width * (count + 1), _HEADER.size)
    offsets = np.frombuffer(value, "<i4", 2 * count, _HEADER.size + floats.nbytes)
    return Encoding(floats[:width], floats[width:].reshape(count, width), offsets.reshape(count, 2))


def space(kind: str, signature: str) -> bytes:
    """Hash of what a value depends on besides the texts."""
    return hashlib.blake2b("\0".join((kind, str(_MADE), signature, *_versions())).encode(), digest_size=32).digest()


def digest(of: bytes, *texts: str | bytes) -> bytes:
    """Key of ``texts`` in the space ``of``; different texts never run together."""
    found = hashlib.blake2b(digest_size=16, key=of)
    for text in texts:
        data = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
        found.update(len(data).to_bytes(8, "big") + data)
    return found.digest()


@cache
def _versions() -> tuple[str, ...]:
    return tuple(f"{name}={_version(name)}" for name in _ARITHMETIC)


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "none"
