"""A small cross-encoder: does a candidate's statement entail, partly say or contradict a key statement?

It reads both texts at once, so it sees "not", "fewer" and who does what to whom, which two separate vectors cannot
tell. The weights are six transformer layers and a small head, stored as 8-bit integers with one scale a row and
turned back into 32-bit floats at load: no arithmetic depends on what else is judged in the same call. Functions that
take tensors are for training, on PyTorch; `CrossEncoder` needs none.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load_file

from grader.bert import Bert, equal_lengths, load_tokenizer
from grader.encoder import file_sha256, packaged_model
from grader.errors import ModelError
from grader.threads import Threads, one_blas_thread

if TYPE_CHECKING:
    import torch

Floats = NDArray[np.float32]

#: What the columns of `CrossEncoder.predict` mean, premise read as the candidate's words.
CLASSES = ("entails", "partly", "contradicts", "unrelated")
ENTAILS, PARTLY, CONTRADICTS, UNRELATED = range(4)
#: Token pieces of a pair that are read; the longer text is cut first.
MAX_TOKENS = 96
FOLDER = Path(__file__).resolve().parent.parent / "models" / "contradiction"
WEIGHTS = "model.safetensors"
CONFIG = "config.json"
_SCALE = ".scale"


def pair_features(hidden: torch.Tensor, segments: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """What the head sees of a pair, shape (n, 5 d).

    Args:
        hidden: Last hidden state, shape (n, t, d).
        segments: 0 for the premise's token pieces, 1 for the hypothesis's, shape (n, t).
        mask: 1 for real token pieces, 0 for padding, shape (n, t).
    """
    import torch

    first = _mean(hidden, (1 - segments) * mask)
    second = _mean(hidden, segments * mask)
    return torch.cat([hidden[:, 0], first, second, (first - second).abs(), first * second], dim=-1)


def _mean(hidden: torch.Tensor, chosen: torch.Tensor) -> torch.Tensor:
    weights = chosen.unsqueeze(-1).to(hidden.dtype)
    return (hidden * weights).sum(dim=1) / weights.sum(dim=1).clamp(min=1.0)


def head(values: torch.Tensor, state: Mapping[str, torch.Tensor]) -> torch.Tensor:
    """Logits of the classes from `pair_features`, with the weights ``head.*`` of ``state``."""
    import torch.nn.functional as nn

    inner = nn.gelu(nn.linear(values, state["head.inner.weight"], state["head.inner.bias"]))
    return nn.linear(inner, state["head.outer.weight"], state["head.outer.bias"])


def quantise(state: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Matrices as 8-bit integers with one scale a row (key plus ``.scale``), the rest as 32-bit floats."""
    import torch

    stored: dict[str, torch.Tensor] = {}
    for name, value in state.items():
        value = value.detach().float()
        if value.ndim != 2:
            stored[name] = value.contiguous()
            continue
        scale = value.abs().amax(dim=1, keepdim=True).clamp(min=1e-12) / 127.0
        stored[name] = torch.round(value / scale).clamp(-127, 127).to(torch.int8).contiguous()
        stored[name + _SCALE] = scale[:, 0].contiguous()
    return stored


def dequantise(stored: Mapping[str, NDArray[Any]]) -> dict[str, Floats]:
    """32-bit floats from what `quantise` made."""
    return {
        name: np.asarray(value, np.float32) * (stored[name + _SCALE][:, None] if name + _SCALE in stored else 1)
        for name, value in stored.items()
        if not name.endswith(_SCALE)
    }


class CrossEncoder:
    """The contradiction model, loaded from a folder with its configuration, weights and their hash."""

    def __init__(self, folder: Path = FOLDER, *, tokenizer: Path | None = None, threads: int = 1) -> None:
        """Loads the weights.

        Args:
            folder: Where ``config.json`` and ``model.safetensors`` are.
            tokenizer: Folder of the tokenizer; that of the packaged MiniLM if not given.
            threads: Batches of a call that are computed at a time, each on one core.

        Raises:
            ModelError: A file is missing, altered or unreadable.
        """
        config = _config(folder)
        found = file_sha256(folder / WEIGHTS)
        if found != config.get("sha256"):
            raise ModelError(
                f"{folder / WEIGHTS} has SHA-256 {found[:16]}…, expected {str(config.get('sha256'))[:16]}…: "
                "the weights were altered; install them again"
            )
        self._tokenizer = load_tokenizer(tokenizer or packaged_model(), int(config["max_tokens"]))
        self._bert, self._head = _restore(folder / WEIGHTS, config)
        self._threads = Threads(threads)
        one_blas_thread()
        self.signature = _signature(config)

    def predict(self, pairs: Sequence[tuple[str, str]]) -> Floats:
        """Probability of each class of `CLASSES`, one row a (candidate's statement, key statement).

        Equal pairs are computed once and pairs of equal length share a batch, so that no row depends on another;
        rounded to five decimals.
        """
        unique = list(dict.fromkeys(pairs))
        if not unique:
            return np.zeros((0, len(CLASSES)), dtype=np.float32)
        marked = self._tokenizer.encode_batch(unique)
        rows: dict[tuple[str, str], Floats] = {}
        batches = list(equal_lengths([len(one.ids) for one in marked]))
        computed = self._threads.map(
            lambda batch: self._forward([marked[at].ids for at in batch], [marked[at].type_ids for at in batch]),
            batches,
        )
        for batch, values in zip(batches, computed, strict=True):
            rows.update((unique[at], values[row]) for row, at in enumerate(batch))
        return np.stack([rows[pair] for pair in pairs])

    def _forward(self, ids: list[list[int]], segments: list[list[int]]) -> Floats:
        from scipy.special import softmax

        hidden = self._bert.hidden(ids, segments)
        logits = _logits(hidden, np.array(segments), self._head)
        return np.asarray(np.round(softmax(logits.astype(np.float64), axis=-1), 5), dtype=np.float32)


def _logits(hidden: Floats, segments: NDArray[np.int64], state: Mapping[str, Floats]) -> Floats:
    """`pair_features` and `head` for pairs without padding."""
    from scipy.special import ndtr

    second = segments[:, :, None].astype(np.float32)
    first_mean, second_mean = (
        (hidden * chosen).sum(axis=1) / np.maximum(chosen.sum(axis=1), 1) for chosen in (1 - second, second)
    )
    parts = [hidden[:, 0], first_mean, second_mean, np.abs(first_mean - second_mean), first_mean * second_mean]
    inner = np.concatenate(parts, axis=-1) @ state["head.inner.weight"].T + state["head.inner.bias"]
    active = inner * ndtr(inner)
    return np.asarray(active @ state["head.outer.weight"].T + state["head.outer.bias"], dtype=np.float32)


def contradiction_signature(folder: Path = FOLDER) -> str:
    """The signature that `CrossEncoder` has once its weights are loaded and found to be those of its configuration.

    Raises:
        ModelError: The configuration is missing or unreadable.
    """
    return _signature(_config(folder))


def _signature(config: Mapping[str, Any]) -> str:
    return f"contradiction-{config['version']}@{config['sha256'][:8]}"


def _config(folder: Path) -> dict[str, Any]:
    try:
        config = json.loads((folder / CONFIG).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ModelError(f"cannot read {folder / CONFIG}: {error}") from error
    missing = [name for name in ("sha256", "bert", "max_tokens", "version") if name not in config]
    if not missing and "num_attention_heads" not in config["bert"]:
        missing = ["bert.num_attention_heads"]
    if missing:
        raise ModelError(f"{folder / CONFIG} lacks {', '.join(missing)}")
    if tuple(config.get("classes", CLASSES)) != CLASSES:
        raise ModelError(f"{folder / CONFIG} has the classes {config['classes']}, expected {list(CLASSES)}")
    return dict(config)


def _restore(path: Path, config: Mapping[str, Any]) -> tuple[Bert, dict[str, Floats]]:
    state = dequantise(load_file(str(path)))
    inner = {name.removeprefix("bert."): value for name, value in state.items() if name.startswith("bert.")}
    bert = Bert(inner, heads=int(config["bert"]["num_attention_heads"]))
    return bert, {name: value for name, value in state.items() if name.startswith("head.")}
