"""The network: a missing weight, a broken tokenizer, and rows that do not depend on each other."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from grader import ModelError
from grader.bert import Bert, load_tokenizer

WIDTH, INNER, WORDS = 8, 16, 20


def tiny(seed: int = 0) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    shapes = {
        "embeddings.word_embeddings.weight": (WORDS, WIDTH),
        "embeddings.position_embeddings.weight": (10, WIDTH),
        "embeddings.token_type_embeddings.weight": (2, WIDTH),
        "embeddings.LayerNorm.weight": (WIDTH,),
        "embeddings.LayerNorm.bias": (WIDTH,),
    }
    layer = "encoder.layer.0."
    for name in ("query", "key", "value"):
        shapes |= {
            f"{layer}attention.self.{name}.weight": (WIDTH, WIDTH),
            f"{layer}attention.self.{name}.bias": (WIDTH,),
        }
    for name, (out, into) in {
        "attention.output.dense": (WIDTH, WIDTH),
        "intermediate.dense": (INNER, WIDTH),
        "output.dense": (WIDTH, INNER),
    }.items():
        shapes |= {f"{layer}{name}.weight": (out, into), f"{layer}{name}.bias": (out,)}
    for name in ("attention.output", "output"):
        shapes |= {f"{layer}{name}.LayerNorm.{part}": (WIDTH,) for part in ("weight", "bias")}
    return {name: rng.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}


def test_it_computes_what_transformers_computes() -> None:
    import torch
    from transformers import BertConfig, BertModel

    weights = tiny()
    config = BertConfig(
        vocab_size=WORDS, hidden_size=WIDTH, num_hidden_layers=1, num_attention_heads=2, intermediate_size=INNER,
        max_position_embeddings=10,
    )  # fmt: skip
    reference = BertModel(config, add_pooling_layer=False).eval()
    reference.load_state_dict({name: torch.from_numpy(value) for name, value in weights.items()})
    ids, segments = [[1, 2, 3, 4], [5, 6, 7, 0]], [[0, 0, 1, 1], [0, 1, 1, 1]]
    with torch.inference_mode():
        wanted = reference(input_ids=torch.tensor(ids), token_type_ids=torch.tensor(segments)).last_hidden_state
    found = Bert(weights, heads=2).hidden(ids, segments)
    np.testing.assert_allclose(found, wanted.numpy(), atol=1e-5)


def test_a_row_is_the_same_alone_and_in_company() -> None:
    model = Bert(tiny(), heads=2)
    rows = np.random.default_rng(1).integers(0, WORDS, (70, 6)).tolist()
    together = model.hidden(rows)
    assert all(np.array_equal(model.hidden([row])[0], values) for row, values in zip(rows, together, strict=True))


def test_a_missing_weight_is_named() -> None:
    weights = tiny()
    del weights["encoder.layer.0.output.dense.bias"]
    with pytest.raises(ModelError, match=r"lack 'encoder\.layer\.0\.output\.dense\.bias'"):
        Bert(weights, heads=2)


def test_a_folder_without_a_tokenizer_is_named(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"cannot read .*tokenizer\.json"):
        load_tokenizer(tmp_path, 16)


def test_the_runtime_reports_nothing_to_its_maker(tmp_path):
    """It would keep a number of the device and what it is to send below the home folder."""
    code = "from grader.encoder import PackagedEncoder; PackagedEncoder().encode(['a text'])"
    home = {"HOME": str(tmp_path), "PATH": os.environ["PATH"], "PYTHONPATH": str(Path(__file__).parents[2])}
    subprocess.run([sys.executable, "-c", code], env=home, check=True)
    assert list(tmp_path.rglob("*")) == []
