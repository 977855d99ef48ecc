"""The seam to the language model: the fake, and the real one's hash, order and independence of the batch."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from grader import Grader, ModelError
from grader import encoder as module
from grader.bert import equal_lengths
from grader.encoder import Encoder, HashEncoder, SentenceTransformerEncoder, file_sha256

TEXTS = ["Gradients add up.", "", "view() never copies; reshape() may.", "Gradients add up.", "?!", "word " * 400]


def same(a: object, b: object) -> bool:
    return all(np.array_equal(getattr(a, name), getattr(b, name)) for name in ("pooled", "tokens", "offsets"))


def check_shapes(encoder: Encoder) -> None:
    found = encoder.encode(TEXTS)
    assert len(found) == len(TEXTS)
    for text, encoding in zip(TEXTS, found, strict=True):
        assert len(encoding.tokens) == len(encoding.offsets)
        assert encoding.pooled.dtype == encoding.tokens.dtype == np.float32
        assert ((encoding.offsets >= 0) & (encoding.offsets <= len(text))).all()
        np.testing.assert_allclose(np.linalg.norm(encoding.tokens, axis=-1), 1, atol=1e-5)
    assert same(found[0], found[3])
    assert encoder.encode([]) == []


def test_the_fake_has_the_shape_of_the_real_one() -> None:
    check_shapes(HashEncoder())
    assert HashEncoder(8).encode(["a b"])[0].tokens.shape == (2, 8)


def test_the_fake_knows_words_and_nothing_else() -> None:
    a, b, c = HashEncoder().encode(["gradients add", "Adding a gradient", "water"])
    assert float(a.pooled @ b.pooled) > 0.7
    assert abs(float(a.pooled @ c.pooled)) < 0.5
    assert same(HashEncoder().encode(["x"])[0], HashEncoder().encode(["y", "x"])[1])
    assert HashEncoder().encode(["\ud800"])[0].tokens.shape[0] == 0


def test_texts_of_equal_length_share_a_batch() -> None:
    assert list(equal_lengths([3, 5, 3, 5, 3])) == [[1, 3], [0, 2, 4]]
    assert [len(batch) for batch in equal_lengths([1] * 130)] == [64, 64, 2]


def test_the_real_encoder(real_grader: Grader) -> None:
    check_shapes(real_grader.encoder)
    assert real_grader.encoder.signature == "all-MiniLM-L6-v2@53aa5117/onnxruntime"
    right, same_topic, other = (e.pooled for e in real_grader.encoder.encode(
        ["Gradients accumulate.", "The gradients add up over the steps.", "The cat drank milk."]))  # fmt: skip
    assert float(right @ same_topic) > float(right @ other)


def test_a_text_is_encoded_alike_in_any_company(real_grader: Grader) -> None:
    alone = [real_grader.encoder.encode([text])[0] for text in TEXTS]
    crowd = real_grader.encoder.encode([*TEXTS, *(f"Gradient {i} adds up." for i in range(40))])
    back = real_grader.encoder.encode(TEXTS[::-1])[::-1]
    for one, other, third in zip(alone, crowd, back, strict=False):
        assert same(one, other)
        assert same(one, third)


def test_the_default_gives_the_vectors_of_sentence_transformers(real_grader: Grader) -> None:
    for ours, theirs in zip(real_grader.encoder.encode(TEXTS), SentenceTransformerEncoder().encode(TEXTS), strict=True):
        np.testing.assert_allclose(ours.pooled, theirs.pooled, atol=2e-6)
        np.testing.assert_allclose(ours.tokens, theirs.tokens, atol=2e-6)
        assert np.array_equal(ours.offsets, theirs.offsets)


def test_the_default_needs_no_pytorch() -> None:
    program = (
        "import sys; from grader import Grader, Item; item = Item.from_reference('Why?', 'Because it is so.', "
        "max_score=5); Grader().grade(item, 'It is so.'); print('torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True).stdout == "False\n"


def test_altered_weights_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PACKAGED_SHA256", "0" * 64)
    with pytest.raises(ModelError, match=r"has SHA-256 53aa5117.*expected 0000"):
        module.packaged_model()


def test_a_model_that_is_not_there_is_a_model_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(ModelError, match="cannot load the encoder"):
        SentenceTransformerEncoder(str(tmp_path / "nothing"))
    with pytest.raises(ModelError, match="cannot read"):
        file_sha256(tmp_path / "nothing")
