"""The grader that a command, a worker or the service uses, from a few words of settings."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path

from grader.encoder import PACKAGED_SIGNATURE, HashEncoder, PackagedEncoder, SentenceTransformerEncoder
from grader.evidence.crossencoder import CrossEncoder, contradiction_signature
from grader.grading import Grader
from grader.store import DEFAULT_LIMIT, BlobStore
from grader.threads import usable_cores

OFF = "off"


def cache_folder(named: str | None = None) -> Path | None:
    """Where encodings are kept: the folder ``named``, nowhere for ``off``, the user's cache folder if not given.

    >>> cache_folder("off") is None
    True
    """
    if named == OFF:
        return None
    if named:
        return Path(named).expanduser()
    home = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(home) if Path(home).is_absolute() else Path.home() / ".cache") / "viva-grader"


def load_grader(
    encoder: str = "default", *, cache: Path | None = None, limit: int = DEFAULT_LIMIT, threads: int | None = None
) -> Grader:
    """A grader; with a cache its models are only loaded for texts that are new.

    Args:
        encoder: ``default`` for the shipped weights, ``hash`` for the fake used by tests, else a folder or hub name of
            a sentence-transformers model.
        cache: Folder of encodings computed before; ``None`` keeps none. The fake is faster than any cache.
        limit: Bytes that the cache may take on disk, about.
        threads: Responses weighed at a time, and batches that the shipped models compute at a time; as many as there
            are cores if not given. Another model runs on one thread.

    Raises:
        ModelError: The weights are missing, altered or cannot be loaded.
    """
    if encoder == "hash":
        return Grader(HashEncoder())
    own = None if encoder in ("", "default") else SentenceTransformerEncoder(encoder)
    if cache is None:
        return Grader(own) if own is not None else Grader(threads=threads)
    from grader.caching import CachedComparisons, CachedEncoder, CachedJudge

    store = BlobStore(cache, limit=limit)
    if own is not None:
        return Grader(CachedEncoder(lambda: own, own.signature, store), compare=CachedComparisons(store))
    count = usable_cores() if threads is None else threads
    judge = CachedJudge(partial(CrossEncoder, threads=count), contradiction_signature(), store)
    encoded = CachedEncoder(partial(PackagedEncoder, threads=count), PACKAGED_SIGNATURE, store)
    return Grader(encoded, judge=judge, compare=CachedComparisons(store), threads=count)
