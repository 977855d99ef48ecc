"""The trained contradiction model as files: 8-bit weights, configuration with their hash, and a card."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from safetensors.torch import save_file

from eval.contradiction_training import PairModel
from grader.encoder import PACKAGED_NAME, file_sha256
from grader.evidence.crossencoder import CLASSES, CONFIG, MAX_TOKENS, WEIGHTS, quantise

#: Bytes that the weights may take.
MAX_BYTES = 30_000_000
_BERT = (
    "vocab_size", "hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size", "hidden_act",
    "max_position_embeddings", "type_vocab_size", "layer_norm_eps", "pad_token_id",
)  # fmt: skip


def export(model: PairModel, folder: Path, *, version: str, training: Mapping[str, Any]) -> Path:
    """Writes weights and configuration to ``folder``; the weights' path.

    Args:
        model: The trained model.
        folder: Where to; made if it does not exist.
        version: Version of the model, part of every mark's signature.
        training: What it was trained with, kept in the configuration.

    Raises:
        ValueError: The weights would be too large to ship.
    """
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / WEIGHTS
    state = {name: value for name, value in model.state_dict().items() if not name.endswith("position_ids")}
    save_file(quantise(state), str(path))
    path.chmod(0o644)
    if path.stat().st_size > MAX_BYTES:
        raise ValueError(f"{path} has {path.stat().st_size} bytes, at most {MAX_BYTES} may be shipped")
    bert = model.bert.config.to_dict()
    config = {
        "version": version,
        "sha256": file_sha256(path),
        "classes": list(CLASSES),
        "max_tokens": MAX_TOKENS,
        "tokenizer": PACKAGED_NAME,
        "quantisation": "int8, symmetric, one scale a row, weights only",
        "bert": {name: bert[name] for name in _BERT if name in bert},
        "training": dict(training),
    }
    (folder / CONFIG).write_text(json.dumps(config, indent=2, sort_keys=True) + "\n", encoding="utf-8")
    return path
