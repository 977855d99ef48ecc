"""The training loop of the contradiction model: fixed order, bf16 arithmetic, checkpoints from which it goes on."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn
from transformers import AutoTokenizer, BertModel

from eval.contradiction_data import Pair, allowed_matrix
from grader.encoder import packaged_model
from grader.evidence.crossencoder import CLASSES, MAX_TOKENS, head, pair_features

Rows = NDArray[np.int64]
Floats = NDArray[np.float32]
INNER = 256


@dataclass(frozen=True, slots=True)
class Plan:
    """How one stage is trained.

    Attributes:
        name: Name of the stage and of its checkpoints.
        rate: Highest learning rate.
        epochs: Passes over the pairs.
        batch: Pairs a step.
        seed: Seed of the order and of dropout.
        every: Steps between checkpoints.
        minutes: Wall-clock limit; the stage stops with a checkpoint and goes on at the next call.
        floor: Share of the rate that is left at the end.
        device: Where torch computes.
        steps: The stage ends after this many steps, with the rate fallen to its floor; 0 for all pairs.
    """

    name: str
    rate: float
    epochs: int = 1
    batch: int = 64
    seed: int = 0
    every: int = 150
    minutes: float = 110.0
    floor: float = 0.0
    device: str = "cpu"
    steps: int = 0


class PairModel(nn.Module):
    """MiniLM over both texts, and a head over what it says of the pair."""

    def __init__(self, bert: BertModel) -> None:
        """Starts from the layers of ``bert``, its embeddings frozen; the head is new."""
        super().__init__()
        width = int(bert.config.hidden_size)
        self.bert = bert
        self.bert.embeddings.requires_grad_(False)
        self.dropout = nn.Dropout(0.1)
        self.head = nn.ModuleDict({"inner": nn.Linear(5 * width, INNER), "outer": nn.Linear(INNER, len(CLASSES))})

    def forward(self, batch: dict[str, torch.Tensor]) -> torch.Tensor:
        """Logits of the classes."""
        hidden = self.bert(**batch).last_hidden_state
        values = self.dropout(pair_features(hidden, batch["token_type_ids"], batch["attention_mask"]))
        return head(values, {f"head.{name}": value for name, value in self.head.named_parameters()})


@dataclass(slots=True)
class Encoded:
    """Pairs as token ids, with what their labels allow."""

    ids: list[list[int]]
    segments: list[list[int]]
    allowed: Floats
    lengths: Rows = field(init=False)

    def __post_init__(self) -> None:
        self.lengths = np.array([len(row) for row in self.ids])

    def batch(self, rows: Rows) -> dict[str, torch.Tensor]:
        """The rows as padded tensors."""
        width = int(self.lengths[rows].max())
        ids, segments, mask = (torch.zeros(len(rows), width, dtype=torch.long) for _ in range(3))
        for at, row in enumerate(rows):
            length = len(self.ids[row])
            ids[at, :length] = torch.tensor(self.ids[row])
            segments[at, :length] = torch.tensor(self.segments[row])
            mask[at, :length] = 1
        return {"input_ids": ids, "token_type_ids": segments, "attention_mask": mask}


def new_model() -> PairModel:
    """A model with the packaged MiniLM's layers and an untrained head."""
    torch.manual_seed(0)
    return PairModel(BertModel.from_pretrained(str(packaged_model()), add_pooling_layer=False))


def encode(pairs: Sequence[Pair]) -> Encoded:
    """Token ids of ``pairs``."""
    tokenizer = AutoTokenizer.from_pretrained(str(packaged_model()))
    marked = tokenizer(
        [pair.premise for pair in pairs],
        [pair.hypothesis for pair in pairs],
        truncation="longest_first",
        max_length=MAX_TOKENS,
        return_token_type_ids=True,
        padding=False,
    )
    return Encoded(marked["input_ids"], marked["token_type_ids"], allowed_matrix(pairs))


def order(lengths: Rows, plan: Plan, epoch: int) -> list[Rows]:
    """Batches of like length in a random order that depends on the seed and the epoch only."""
    generator = np.random.default_rng((plan.seed, epoch))
    rows = generator.permutation(len(lengths))
    batches: list[Rows] = []
    for start in range(0, len(rows), plan.batch * 40):
        block = rows[start : start + plan.batch * 40]
        block = block[np.argsort(lengths[block], kind="stable")]
        batches.extend(block[at : at + plan.batch] for at in range(0, len(block), plan.batch))
    return [batches[at] for at in generator.permutation(len(batches))]


def loss_of(logits: torch.Tensor, allowed: torch.Tensor) -> torch.Tensor:
    """Negative log of the probability that the classes permitted by the label have together."""
    logits = logits.float()
    permitted = logits.masked_fill(allowed < 0.5, float("-inf"))
    return (torch.logsumexp(logits, dim=-1) - torch.logsumexp(permitted, dim=-1)).mean()


def rate_at(step: int, steps: int, floor: float = 0.0) -> float:
    """Share of the highest rate at ``step``: a short warm-up, then a straight line down to ``floor``."""
    warm = max(1, min(200, steps // 12))
    if step < warm:
        return (step + 1) / warm
    return floor + (1.0 - floor) * max(0.0, (steps - step) / max(1, steps - warm))


def train(model: PairModel, pairs: Sequence[Pair], plan: Plan, folder: Path) -> bool:
    """Trains one stage; ``True`` if it is complete, ``False`` if time ran out (call again to go on)."""
    path = folder / f"{plan.name}.pt"
    model.to(plan.device)
    data = encode(pairs)
    batches = [batch for epoch in range(plan.epochs) for batch in order(data.lengths, plan, epoch)]
    batches = batches[: plan.steps or None]
    optimiser = torch.optim.AdamW(_groups(model), lr=plan.rate, fused=True)
    step = _resume(path, model, optimiser)
    began, seen, total = time.monotonic(), 0, 0.0
    model.train()
    while step < len(batches):
        torch.manual_seed(plan.seed * 1_000_003 + step)
        rate = plan.rate * rate_at(step, len(batches), plan.floor)
        total += _step(model, optimiser, data, batches[step], rate, plan.device)
        step, seen = step + 1, seen + 1
        if seen % 50 == 0:
            speed = seen / (time.monotonic() - began)
            print(f"{plan.name} {step}/{len(batches)} loss {total / 50:.4f} {speed:.2f} steps/s", flush=True)
            total = 0.0
        late = time.monotonic() - began > plan.minutes * 60
        if step % plan.every == 0 or step == len(batches) or late:
            _save(path, model, optimiser, step)
        if late and step < len(batches):
            return False
    return True


def _groups(model: nn.Module) -> list[dict[str, Any]]:
    named = [(name, value) for name, value in model.named_parameters() if value.requires_grad]
    plain = [p for name, p in named if name.endswith("bias") or "LayerNorm" in name]
    decayed = [p for name, p in named if not (name.endswith("bias") or "LayerNorm" in name)]
    return [{"params": decayed, "weight_decay": 0.01}, {"params": plain, "weight_decay": 0.0}]


def _step(
    model: PairModel, optimiser: torch.optim.Optimizer, data: Encoded, rows: Rows, rate: float, device: str
) -> float:
    for group in optimiser.param_groups:
        group["lr"] = rate
    batch = {name: value.to(device) for name, value in data.batch(rows).items()}
    with torch.autocast(torch.device(device).type, dtype=torch.bfloat16):
        logits = model(batch)
    loss = loss_of(logits, torch.from_numpy(data.allowed[rows]).to(device))
    optimiser.zero_grad(set_to_none=True)
    torch.autograd.backward(loss)
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimiser.step()
    value = float(loss.detach())
    if not math.isfinite(value):
        raise RuntimeError("the loss is not finite; go back to the last checkpoint with a lower rate")
    return value


def load_checkpoint(model: PairModel, path: Path) -> PairModel:
    """``model`` with the weights of a checkpoint."""
    model.load_state_dict(torch.load(path, weights_only=True, map_location="cpu")["model"])
    return model


def _resume(path: Path, model: PairModel, optimiser: torch.optim.Optimizer) -> int:
    if not path.is_file():
        return 0
    saved = torch.load(path, weights_only=True, map_location="cpu")
    model.load_state_dict(saved["model"])
    optimiser.load_state_dict(saved["optimiser"])
    return int(saved["step"])


def _save(path: Path, model: PairModel, optimiser: torch.optim.Optimizer, step: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(".part")
    torch.save({"model": model.state_dict(), "optimiser": optimiser.state_dict(), "step": step}, partial)
    partial.replace(path)
