"""Encodings kept on disk, so that a change of features does not cost another pass of the language model."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from grader.encoder import Encoder, Encoding


class CachedEncoder:
    """An encoder that remembers what it has encoded in an SQLite file.

    Vectors are kept in half precision (largest error of a cosine about .0005), which is fine for training and
    tables of figures and is never used to score.
    """

    def __init__(self, encoder: Encoder, folder: Path) -> None:
        """Wraps ``encoder``; ``folder`` is made if it does not exist."""
        folder.mkdir(parents=True, exist_ok=True)
        self._encoder = encoder
        name = "".join(char if char.isalnum() else "-" for char in encoder.signature)
        self._database = sqlite3.connect(folder / f"encodings-{name}.sqlite", timeout=60)
        self._database.execute("pragma journal_mode=wal")
        self._database.execute(
            "create table if not exists encodings"
            " (key blob primary key, size int, pooled blob, tokens blob, spans blob)"
        )

    @property
    def signature(self) -> str:
        """That of the wrapped encoder."""
        return self._encoder.signature

    def encode(self, texts: Sequence[str]) -> list[Encoding]:
        """As the wrapped encoder does, from the file where it can."""
        keys = [hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=16).digest() for text in texts]
        found = self._read(keys)
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in found}
        if missing:
            made = self._encoder.encode(list(missing.values()))
            self._write(dict(zip(missing, made, strict=True)))
            found = {**found, **dict(zip(missing, made, strict=True))}
        return [found[key] for key in keys]

    def _read(self, keys: Sequence[bytes]) -> dict[bytes, Encoding]:
        found = {}
        for start in range(0, len(keys), 500):
            part = keys[start : start + 500]
            marks = ",".join("?" * len(part))
            query = f"select key, size, pooled, tokens, spans from encodings where key in ({marks})"
            for key, size, pooled, tokens, spans in self._database.execute(query, part):
                vectors = np.frombuffer(tokens, np.float16).astype(np.float32).reshape(-1, size)
                offsets = np.frombuffer(spans, np.int32).reshape(-1, 2)
                found[key] = Encoding(np.frombuffer(pooled, np.float16).astype(np.float32), vectors, offsets)
        return found

    def _write(self, made: dict[bytes, Encoding]) -> None:
        rows = [
            (
                key,
                len(e.pooled),
                e.pooled.astype(np.float16).tobytes(),
                e.tokens.astype(np.float16).tobytes(),
                e.offsets.astype(np.int32).tobytes(),
            )
            for key, e in made.items()
        ]
        with self._database:
            self._database.executemany("insert or replace into encodings values (?, ?, ?, ?, ?)", rows)
