"""What was computed once and is kept on disk: encodings by text and encoder, rows of numbers by what made them."""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from grader.encoder import Encoder, Encoding
from grader.evidence.judge import Judge

DEFAULT = Path(".cache")
_PENDING = 2000
_PARTS = ("keys", "lengths", "pooled", "tokens", "offsets")
Row = npt.NDArray[np.floating]


def digest(parts: Iterable[str], length: int = 24) -> str:
    """Hash (hex) of a sequence of texts; no two different sequences run together."""
    found = hashlib.sha256()
    for part in parts:
        data = part.encode("utf-8", "replace")
        found.update(len(data).to_bytes(8, "big") + data)
    return found.hexdigest()[:length]


#: What decides how an answer is read and measured: features that are kept on disk must not outlive it.
READING = (
    *(f"grader/{name}.py" for name in (
        "encoder", "fluency", "index", "languages", "reading", "rubric", "screen", "segment", "spelling", "subword",
        "text", "words",
    )),
    *(f"grader/evidence/{name}.py" for name in ("features", "keywords", "similarity")),
    "grader/models/word_order.json",
)  # fmt: skip
#: What decides a mark before any label besides; tables, commands and calibration do not.
SCORING = (
    *READING, "grader/bert.py", "grader/evidence", "grader/grading.py", "grader/judging.py", "grader/representation.py",
    "grader/scorer.py", "grader/scoring.py", "grader/models",
)  # fmt: skip


def source_hash(*folders: str) -> str:
    """Hash of the library's sources and models, or of the given parts of it: what is cached never outlives them."""
    root = Path(__file__).resolve().parent.parent
    files: list[Path] = []
    for name in folders or ("grader",):
        place = root / name
        found = sorted(place.rglob("*")) if place.is_dir() else [place]
        files += [file for file in found if file.suffix in (".py", ".json", ".npz", ".safetensors")]
    return digest(f"{file.relative_to(root)}:{hashlib.sha256(file.read_bytes()).hexdigest()}" for file in files)


class CachedEncoder:
    """An encoder that looks texts up on disk first; what it returns is what the encoder itself returned."""

    def __init__(self, make: Callable[[], Encoder], signature: str, folder: Path | None) -> None:
        """An encoder over ``make()``, which is only called when a text is new.

        Args:
            make: Gives the encoder itself.
            signature: That encoder's signature.
            folder: Where encodings are kept; ``None`` keeps them in memory only.
        """
        self.signature = signature
        self._make = make
        self._inner: Encoder | None = None
        self._folder = folder / "encodings" / digest([signature], 12) if folder else None
        self._known: dict[str, Encoding] = {}
        self._pending: dict[str, Encoding] = {}
        if self._folder and self._folder.is_dir():
            for shard in sorted(path for path in self._folder.iterdir() if not path.name.startswith(".")):
                self._load(shard)

    def encode(self, texts: Sequence[str]) -> list[Encoding]:
        """One encoding a text, in order."""
        keys = [digest([text]) for text in texts]
        new = {key: text for key, text in zip(keys, texts, strict=True) if key not in self._known}
        if new:
            found = dict(zip(new, self._encoder().encode(list(new.values())), strict=True))
            self._known.update(found)
            self._pending.update(found)
            if len(self._pending) >= _PENDING:
                self.flush()
        return [self._known[key] for key in keys]

    def pooled(self, texts: Sequence[str], *, chunk: int = 512) -> npt.NDArray[np.float32]:
        """Sentence vectors, shape (n, d); what is new is not kept, as the token vectors of long texts fill disks."""
        vectors: dict[str, npt.NDArray[np.float32]] = {}
        new = []
        for text in dict.fromkeys(texts):
            known = self._known.get(digest([text]))
            if known is None:
                new.append(text)
            else:
                vectors[text] = known.pooled
        for start in range(0, len(new), chunk):
            part = new[start : start + chunk]
            encodings = self._encoder().encode(part)
            vectors.update({text: found.pooled for text, found in zip(part, encodings, strict=True)})
        return np.stack([vectors[text] for text in texts])

    def _encoder(self) -> Encoder:
        if self._inner is None:
            self._inner = self._make()
        return self._inner

    def flush(self) -> None:
        """Writes what is new to disk; another process may write the same folder."""
        if self._folder is None or not self._pending:
            return
        self._folder.mkdir(parents=True, exist_ok=True)
        values = list(self._pending.values())
        arrays = {
            "keys": np.array(list(self._pending), dtype="S24"),
            "lengths": np.array([len(v.tokens) for v in values], dtype=np.int64),
            "pooled": np.stack([v.pooled for v in values]),
            "tokens": np.concatenate([v.tokens for v in values]),
            "offsets": np.concatenate([v.offsets for v in values]),
        }
        partial = Path(tempfile.mkdtemp(prefix=".", dir=self._folder))
        for name in _PARTS:
            np.save(partial / f"{name}.npy", arrays[name])
        try:
            partial.rename(self._folder / digest(self._pending, 16))
        except OSError:  # another process has written the very same texts
            shutil.rmtree(partial)
        self._pending.clear()

    def _load(self, shard: Path) -> None:
        parts = {name: np.load(shard / f"{name}.npy", mmap_mode="r") for name in _PARTS}
        ends = np.cumsum(parts["lengths"])
        pooled, tokens, offsets = (np.asarray(parts[name]) for name in ("pooled", "tokens", "offsets"))
        for row, key in enumerate(np.asarray(parts["keys"])):
            start, end = int(ends[row] - parts["lengths"][row]), int(ends[row])
            self._known[key.decode()] = Encoding(pooled[row], tokens[start:end], offsets[start:end])


class RowCache:
    """Rows of numbers by what they were made from, in spaces that a change of the code leaves behind."""

    def __init__(self, folder: Path | None) -> None:
        """Keeps files below ``folder``; ``None`` keeps rows in memory only."""
        self._folder = folder / "rows" if folder else None
        self._spaces: dict[str, dict[str, Row]] = {}

    def rows(
        self, space: str, keys: Sequence[str], make: Callable[[list[int]], npt.NDArray[np.floating]]
    ) -> npt.NDArray[np.floating]:
        """One row a key, in order, shape (n, width).

        Args:
            space: Hash of everything that rows depend on besides their keys.
            keys: Hashes of what each row is made from.
            make: Gives the rows at the given positions of ``keys``, shape (m, width); called for at most
                2,000 rows at a time, each of which is on disk before the next call.
        """
        known = self._known(space)
        places = {key: at for at, key in enumerate(keys) if key not in known}
        missing = list(places.values())
        for start in range(0, len(missing), _PENDING):
            part = missing[start : start + _PENDING]
            made = make(part)
            new = {keys[at]: made[row] for row, at in enumerate(part)}
            known.update(new)
            self._write(space, list(new), made)
        return np.stack([known[key] for key in keys])

    def _known(self, space: str) -> dict[str, Row]:
        if space not in self._spaces:
            found: dict[str, Row] = {}
            folder = self._folder / space if self._folder else None
            for path in sorted(folder.glob("*.npz")) if folder and folder.is_dir() else []:
                with np.load(path, allow_pickle=False) as stored:
                    found.update(zip((key.decode() for key in stored["keys"]), stored["rows"], strict=True))
            self._spaces[space] = found
        return self._spaces[space]

    def _write(self, space: str, keys: list[str], rows: npt.NDArray[np.floating]) -> None:
        if self._folder is None:
            return
        folder = self._folder / space
        folder.mkdir(parents=True, exist_ok=True)
        handle, partial = tempfile.mkstemp(suffix=".part", dir=folder)
        with os.fdopen(handle, "wb") as file:
            np.savez_compressed(file, keys=np.array(keys, dtype="S24"), rows=rows)
        Path(partial).replace(folder / f"{digest(keys, 16)}.npz")


def packaged_encoder(folder: Path | None = DEFAULT) -> CachedEncoder:
    """The packaged MiniLM behind a cache; its weights are only loaded when a text is new."""
    from grader.encoder import PACKAGED_NAME, PACKAGED_SHA256, SentenceTransformerEncoder

    return CachedEncoder(SentenceTransformerEncoder, f"{PACKAGED_NAME}@{PACKAGED_SHA256[:8]}", folder)


def packaged_judge(folder: Path | None = DEFAULT) -> Judge:
    """The shipped contradiction model; its answers are kept in ``folder``."""
    from grader.caching import CachedJudge
    from grader.evidence.crossencoder import CrossEncoder, contradiction_signature
    from grader.store import BlobStore

    if folder is None:
        return CrossEncoder()
    return CachedJudge(CrossEncoder, contradiction_signature(), BlobStore(folder / "judged"))
