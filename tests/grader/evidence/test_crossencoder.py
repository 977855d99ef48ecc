from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from grader.encoder import file_sha256
from grader.errors import ModelError
from grader.evidence.crossencoder import (
    CLASSES,
    CONFIG,
    WEIGHTS,
    CrossEncoder,
    _logits,
    dequantise,
    head,
    pair_features,
    quantise,
)

torch = pytest.importorskip("torch")

BERT = {
    "vocab_size": 30522,
    "hidden_size": 16,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "intermediate_size": 32,
    "max_position_embeddings": 128,
    "type_vocab_size": 2,
}
PAIRS = [
    ("A view shares its memory.", "A view has no memory of its own."),
    ("It copies.", "A view never copies."),
    ("A view shares its memory.", "Something else altogether, and at greater length than before."),
    ("", "A view never copies."),
    ("A view shares its memory.", "A view has no memory of its own."),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from safetensors.torch import save_file
    from transformers import BertConfig, BertModel

    torch.manual_seed(1)
    place = tmp_path_factory.mktemp("model")
    bert = BertModel(BertConfig(**BERT), add_pooling_layer=False)
    state = {f"bert.{name}": value for name, value in bert.state_dict().items()}
    shapes = {"inner.weight": (8, 80), "inner.bias": (8,), "outer.weight": (4, 8), "outer.bias": (4,)}
    for name, shape in shapes.items():
        state[f"head.{name}"] = 0.2 * torch.randn(shape)
    save_file(quantise(state), str(place / WEIGHTS))
    config = {"version": "0", "sha256": file_sha256(place / WEIGHTS), "max_tokens": 24, "bert": BERT}
    (place / CONFIG).write_text(json.dumps(config), encoding="utf-8")
    return place


@pytest.fixture(scope="module")
def model(folder: Path) -> CrossEncoder:
    return CrossEncoder(folder)


def test_rows_are_probabilities_in_the_order_of_the_pairs(model: CrossEncoder) -> None:
    values = model.predict(PAIRS)
    assert values.shape == (len(PAIRS), len(CLASSES))
    assert np.allclose(values.sum(axis=1), 1.0, atol=1e-4)
    assert (values[0] == values[4]).all()


def test_a_result_does_not_depend_on_what_else_is_asked(model: CrossEncoder) -> None:
    together = model.predict(PAIRS)
    alone = np.concatenate([model.predict([pair]) for pair in PAIRS])
    backwards = model.predict(PAIRS[::-1])[::-1]
    assert (together == alone).all()
    assert (together == backwards).all()


def test_results_are_rounded_to_five_decimals(model: CrossEncoder) -> None:
    values = model.predict(PAIRS).astype(np.float64)
    assert np.allclose(values, np.round(values, 5), atol=1e-7)


def test_no_pairs_give_no_rows(model: CrossEncoder) -> None:
    assert model.predict([]).shape == (0, len(CLASSES))


def test_long_texts_are_cut_not_refused(model: CrossEncoder) -> None:
    assert model.predict([("word " * 300, "other " * 300)]).shape == (1, len(CLASSES))


def test_which_text_is_the_candidates_matters(model: CrossEncoder) -> None:
    there, back = model.predict([PAIRS[1], PAIRS[1][::-1]])
    assert not (there == back).all()


def test_the_head_in_use_computes_what_the_trained_one_does() -> None:
    hidden, segments = torch.randn(3, 6, 4), torch.tensor([[0, 0, 0, 1, 1, 1], [0, 1, 1, 1, 1, 1], [0, 0, 0, 0, 0, 1]])
    shapes = {"inner.weight": (5, 20), "inner.bias": (5,), "outer.weight": (4, 5), "outer.bias": (4,)}
    state = {f"head.{name}": torch.randn(shape) for name, shape in shapes.items()}
    trained = head(pair_features(hidden, segments, torch.ones_like(segments)), state)
    used = _logits(hidden.numpy(), segments.numpy(), {name: value.numpy() for name, value in state.items()})
    torch.testing.assert_close(torch.from_numpy(used), trained, atol=1e-5, rtol=1e-5)


def test_quantised_weights_come_back_within_half_a_step() -> None:
    matrix = torch.randn(7, 9)
    stored = quantise({"a": matrix, "b": matrix[0], "zero": torch.zeros(2, 3)})
    back = {
        name: torch.from_numpy(value) for name, value in dequantise({k: v.numpy() for k, v in stored.items()}).items()
    }
    assert stored["a"].dtype == torch.int8
    assert (back["a"] - matrix).abs().max() <= stored["a.scale"].max() / 2 + 1e-6
    assert torch.equal(back["b"], matrix[0])
    assert not back["zero"].any()
    assert set(back) == {"a", "b", "zero"}


def test_an_altered_file_is_refused(folder: Path, tmp_path: Path) -> None:
    content = bytearray((folder / WEIGHTS).read_bytes())
    content[-1] ^= 1
    (tmp_path / WEIGHTS).write_bytes(bytes(content))
    (tmp_path / CONFIG).write_bytes((folder / CONFIG).read_bytes())
    with pytest.raises(ModelError, match="altered"):
        CrossEncoder(tmp_path)


@pytest.mark.parametrize("content", [None, "{", "{}", '{"sha256": "0"}'])
def test_a_folder_without_a_usable_configuration_is_refused(content: str | None, tmp_path: Path) -> None:
    if content is not None:
        (tmp_path / CONFIG).write_text(content, encoding="utf-8")
    with pytest.raises(ModelError, match=CONFIG):
        CrossEncoder(tmp_path)


def test_weights_of_other_classes_are_refused(folder: Path, tmp_path: Path) -> None:
    config = json.loads((folder / CONFIG).read_text(encoding="utf-8")) | {"classes": ["yes", "no"]}
    (tmp_path / CONFIG).write_text(json.dumps(config), encoding="utf-8")
    with pytest.raises(ModelError, match="classes"):
        CrossEncoder(tmp_path)


def test_missing_weights_are_refused(folder: Path, tmp_path: Path) -> None:
    (tmp_path / CONFIG).write_bytes((folder / CONFIG).read_bytes())
    with pytest.raises(ModelError, match=WEIGHTS):
        CrossEncoder(tmp_path)
