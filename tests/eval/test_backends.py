"""Other ways to compute the encoder's vectors: graphs that compute the same, and figures that tell when they do not."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from typer.testing import CliRunner

from eval import backends as bench
from eval.__main__ import app
from eval.backend_graphs import attention_apart, blockwise, complete, eight_bit_weights, masked, statically_quantised
from eval.backend_networks import REFERENCE, Backend, OpenVinoNetwork, RuntimeNetwork, backends
from eval.progress import silent
from grader import Item
from grader.bert import Bert
from grader.encoder import Encoding, HashEncoder

WIDTH, INNER, WORDS, HEADS = 32, 64, 20, 2


def shapes() -> dict[str, tuple[int, ...]]:
    embeddings, layer = "embeddings.", "encoder.layer.0."
    found: dict[str, tuple[int, ...]] = {
        f"{embeddings}{name}_embeddings.weight": (size, WIDTH)
        for name, size in (("word", WORDS), ("position", 16), ("token_type", 2))
    }
    dense = {f"attention.self.{name}": (WIDTH, WIDTH) for name in ("query", "key", "value")} | {
        "attention.output.dense": (WIDTH, WIDTH),
        "intermediate.dense": (INNER, WIDTH),
        "output.dense": (WIDTH, INNER),
    }
    for name, (out, into) in dense.items():
        found |= {f"{layer}{name}.weight": (out, into), f"{layer}{name}.bias": (out,)}
    for place in (embeddings, f"{layer}attention.output.", f"{layer}output."):
        found |= {f"{place}LayerNorm.{part}": (WIDTH,) for part in ("weight", "bias")}
    return found


RANDOM = np.random.default_rng(0)
WEIGHTS = {name: RANDOM.standard_normal(shape).astype(np.float32) * 0.3 for name, shape in shapes().items()}
MODEL = complete(WEIGHTS, HEADS)
ROWS = RANDOM.integers(1, WORDS, (8, 6)).tolist()
WANTED = Bert(WEIGHTS, heads=HEADS).hidden(ROWS)


def hidden(network: RuntimeNetwork | OpenVinoNetwork, rows: Sequence[Sequence[int]] = ROWS) -> list[np.ndarray]:
    return list(network.hidden(rows))


def cosines(found: Sequence[np.ndarray]) -> np.ndarray:
    ours, wanted = np.concatenate(found), np.concatenate(list(WANTED))
    return (ours * wanted).sum(-1) / np.linalg.norm(ours, axis=-1) / np.linalg.norm(wanted, axis=-1)


def test_the_whole_graph_computes_what_ships_bit_for_bit() -> None:
    assert np.array_equal(hidden(RuntimeNetwork(MODEL, 1)), WANTED)


def test_attention_apart_computes_the_same() -> None:
    np.testing.assert_allclose(hidden(RuntimeNetwork(attention_apart(MODEL), 1)), WANTED, atol=1e-5)


def test_padded_texts_share_a_batch_and_keep_their_vectors() -> None:
    network = RuntimeNetwork(masked(MODEL), 1, multiple=4)
    rows = [row[:length] for row, length in zip(ROWS, (5, 6, 7, 8), strict=False)]
    lengths = [len(row) for row in rows]
    assert list(network.batches([3, 5, 4, 8])) == [[1, 3], [0, 2]]
    for row, length, found in zip(rows, lengths, hidden(network, rows), strict=True):
        assert found.shape == (length, WIDTH)
        np.testing.assert_allclose(found, Bert(WEIGHTS, heads=HEADS).hidden([row])[0], atol=1e-5)
        assert np.array_equal(found, hidden(network, [row])[0])


def test_weights_come_back_from_8_bits_within_half_a_step() -> None:
    matrix = WEIGHTS["encoder.layer.0.intermediate.dense.weight"].T
    whole, scales = blockwise(matrix)
    steps = scales.reshape(matrix.shape[1], -1, 1)
    back = ((whole.astype(np.float32) - 128) * steps).reshape(matrix.shape[1], -1).T
    assert np.abs(back - matrix).max() <= scales.max() / 2 + 1e-6
    assert not blockwise(np.zeros((32, 3), np.float32))[1].any()


@pytest.mark.parametrize("level", [1, 4])
def test_8_bit_weights_come_near_and_rows_stay_their_own(level: int) -> None:
    network = RuntimeNetwork(eight_bit_weights(MODEL, accuracy_level=level), 1)
    found = hidden(network)
    assert 0.995 < cosines(found).min() < 1 - 1e-7
    np.testing.assert_allclose([hidden(network, [row])[0] for row in ROWS], found, atol=1e-5)


def test_static_integers_come_near() -> None:
    model = statically_quantised(MODEL, [ROWS])
    assert sum(node.op_type == "DequantizeLinear" for node in model.graph.node) >= 8
    assert 0.9 < cosines(hidden(RuntimeNetwork(model, 1))).min() < 1 - 1e-6


def test_openvino_computes_the_same() -> None:
    pytest.importorskip("openvino", reason="needs the extra 'bench'")
    np.testing.assert_allclose(hidden(OpenVinoNetwork(MODEL, 1, "f32")), WANTED, atol=1e-4)


class Drifting(HashEncoder):
    """A fake whose vectors depend on how many texts are encoded together."""

    signature = "drifting"

    def encode(self, texts: Sequence[str]) -> list[Encoding]:
        size = 1e-3 * len(texts)
        return [Encoding(one.pooled + size, one.tokens, one.offsets) for one in super().encode(texts)]


TEXTS = ["gradients add up", "water boils", "the moon pulls the sea"]


def test_company_is_noticed() -> None:
    assert bench.company(HashEncoder(), TEXTS) == 0
    assert bench.company(Drifting(), TEXTS) == pytest.approx(2e-3, rel=1e-3)


def test_cosines_and_the_largest_difference() -> None:
    def one(pooled: list[float], tokens: list[list[float]]) -> Encoding:
        return Encoding(np.array(pooled, np.float32), np.array(tokens, np.float32), np.zeros((1, 2), np.int32))

    found = bench.vectors([one([1, 0], [[0, 1], [1, 0]])], [one([1, 0], [[0, 1], [0.6, 0.8]])])
    assert (found["pooled_min"], found["tokens_min"]) == pytest.approx((1, 0.6))
    assert found["tokens_mean"] == pytest.approx(0.8)
    assert found["vector_difference"] == pytest.approx(0.8)


def test_marks_that_moved_are_counted_in_steps() -> None:
    item = Item.from_reference("Why?", "Because.", max_score=5, step=0.5)
    wanted, given = np.array([0.5, 0.5, np.nan, np.nan]), np.array([0.5, 0.7, np.nan, 0.0])
    found = bench.moved([(item, "")] * 4, wanted, given)
    assert found == {"moved": 2, "moved_share": 0.5, "most_steps": np.inf}
    assert bench.moved([(item, "")], wanted[1:2], given[1:2]) == {"moved": 1, "moved_share": 1.0, "most_steps": 2.0}


@pytest.mark.parametrize(
    ("changes", "fit"),
    [
        ({}, True),
        ({"moved_share": 0.0005, "most_steps": 1.0}, True),
        ({"moved_share": 0.0006, "most_steps": 1.0}, False),
        ({"moved_share": 0.0001, "most_steps": 2.0}, False),
        ({"company": 1e-7}, False),
        ({"ratio": 1.24}, False),
    ],
)
def test_what_may_replace_the_default(changes: dict[str, float], fit: bool) -> None:
    assert bench.fits({"company": 0.0, "ratio": 1.25} | changes) == fit


def test_the_first_backend_is_what_ships() -> None:
    assert backends()[0].name == REFERENCE
    assert len({one.name for one in backends()}) == len(backends())
    assert {one.needs for one in backends()} == {"onnxruntime", "torch", "openvino"}


def test_the_command_compares_skips_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    item = Item.from_reference("Why?", "Gradients add up.", max_score=5)

    def made() -> tuple[Backend, ...]:
        return (
            Backend(REFERENCE, lambda parts, threads: HashEncoder()),
            Backend("fake", lambda parts, threads: Drifting()),
            Backend("absent", lambda parts, threads: HashEncoder(), "no_such_package"),
        )

    monkeypatch.setattr(bench, "backends", made)
    monkeypatch.setattr(bench, "graded_answers", lambda limit, data: [(item, "Gradients add up."), (item, "Water.")])
    found = bench.run(6, 1, 0, None, silent)
    assert found["skipped"] == {"absent": "no_such_package is not installed"}
    assert found["backends"][REFERENCE]["moved"] == 0
    assert found["backends"]["fake"]["company"] > 0
    assert not found["backends"]["fake"]["fit"]
    answer = CliRunner().invoke(app, ["backends", "--sentences", "6"])
    assert answer.exit_code == 0, answer.output
    assert "Skipped: absent, no_such_package is not installed." in answer.stdout
    assert "| fake |" in answer.stdout


def test_viva_answers_are_graded_without_any_data() -> None:
    pairs = bench.graded_answers(1, None)
    assert len(pairs) > 150
    assert all(text for _, text in pairs)
