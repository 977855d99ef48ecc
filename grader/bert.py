"""BERT on ONNX Runtime: the one network behind the encoder and the contradiction model.

The graph is written here in two dozen operators and the weights go in as they come out of their safetensors file, so
nothing is exported, nothing is cached on disk and PyTorch is not loaded. Arithmetic is 32-bit throughout; a row's
result does not depend on what else is in the batch (dynamic 8-bit arithmetic would make it so).
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from grader.errors import ModelError

if TYPE_CHECKING:
    from tokenizers import Tokenizer

Floats = NDArray[np.float32]

_OPSET = 18
_ORT = "com.microsoft"
_BATCH = 64
_EPSILON = 1e-12


class Bert:
    """A BERT encoder without pooling, on one set of weights."""

    def __init__(self, weights: Mapping[str, Floats], *, heads: int) -> None:
        """Prepares the network; a call computes on the thread that makes it, and several threads may call at once.

        Args:
            weights: 32-bit arrays under the names transformers gives them (``embeddings.…``, ``encoder.layer.0.…``).
            heads: Attention heads.

        Raises:
            ModelError: A weight is missing.
        """
        # Unless told not to before it is loaded, it reports its use to its maker; nothing may leave the machine.
        os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
        import onnxruntime

        try:
            model, used = graph(weights, heads)
        except KeyError as error:
            raise ModelError(f"the weights lack {error}") from error
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.enable_mem_pattern = False  # shapes differ from call to call
        self._values = [onnxruntime.OrtValue.ortvalue_from_numpy(value) for value in used.values()]
        options.add_external_initializers(list(used), self._values)
        self._session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])

    def hidden(self, ids: Sequence[Sequence[int]], segments: Sequence[Sequence[int]] | None = None) -> Floats:
        """Last hidden state of texts of equal token count.

        Args:
            ids: Token ids, n rows of t.
            segments: 0 for the first text's pieces, 1 for the second's, n rows of t; all 0 if not given.

        Returns:
            Shape (n, t, d).
        """
        tokens = np.asarray(ids, dtype=np.int64)
        places = np.zeros_like(tokens) if segments is None else np.asarray(segments, dtype=np.int64)
        found = self._session.run(["hidden"], {"input_ids": tokens, "token_type_ids": places})
        return np.asarray(found[0], dtype=np.float32)


def load_tokenizer(folder: Path, limit: int) -> Tokenizer:
    """The tokenizer of ``folder``, cutting at ``limit`` token pieces (of a pair, the longer text first), unpadded.

    Raises:
        ModelError: There is none, or it cannot be read.
    """
    from tokenizers import Tokenizer

    try:
        tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    except Exception as error:  # the library raises plain Exception
        raise ModelError(f"cannot read {folder / 'tokenizer.json'}: {error}") from error
    tokenizer.no_padding()
    tokenizer.enable_truncation(limit)
    return tokenizer


def equal_lengths(lengths: Sequence[int]) -> Iterator[list[int]]:
    """Index batches of equal token count: no padding, so no row depends on a longer neighbour.

    The longest come first, so that threads which share the batches end at about the same time.
    """
    order: dict[int, list[int]] = {}
    for index, length in enumerate(lengths):
        order.setdefault(length, []).append(index)
    for length in sorted(order, reverse=True):
        for start in range(0, len(order[length]), _BATCH):
            yield order[length][start : start + _BATCH]


class _Writer:
    """Nodes of a graph and the weights they use."""

    def __init__(self, weights: Mapping[str, Floats]) -> None:
        self.weights, self.nodes, self.used = weights, list[Any](), dict[str, Floats]()

    def op(self, kind: str, *inputs: str, domain: str = "", **attributes: Any) -> str:
        from onnx import helper

        name = f"{kind}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, list(inputs), [name], domain=domain, **attributes))
        return name

    def weight(self, name: str) -> str:
        return self.put(name, self.weights[name])

    def transposed(self, *names: str) -> str:
        return self.put(names[0] + ".T", np.concatenate([self.weights[name].T for name in names], axis=1))

    def joined(self, *names: str) -> str:
        return self.put(names[0] + ".all", np.concatenate([self.weights[name] for name in names]))

    def put(self, name: str, value: Floats) -> str:
        self.used[name] = np.ascontiguousarray(value, dtype=np.float32)
        return name


def graph(weights: Mapping[str, Floats], heads: int) -> tuple[bytes, dict[str, Floats]]:
    """The serialised model, its weights named but left outside, and the weights.

    Raises:
        KeyError: A weight is missing.
    """
    from onnx import TensorProto, helper

    write = _Writer(weights)
    state = _embeddings(write)
    layer = 0
    while f"encoder.layer.{layer}.attention.self.query.weight" in weights:
        state = _layer(write, f"encoder.layer.{layer}.", state, heads)
        layer += 1
    write.nodes[-1].output[0] = "hidden"
    width = weights["embeddings.LayerNorm.bias"].size
    inputs = [helper.make_tensor_value_info(name, TensorProto.INT64, ["n", "t"]) for name in _INPUTS]
    output = helper.make_tensor_value_info("hidden", TensorProto.FLOAT, ["n", "t", width])
    outside = [_outside(name, value.shape) for name, value in write.used.items()]
    start = helper.make_tensor("start", TensorProto.INT64, [1], [0])
    content = helper.make_graph(write.nodes, "bert", inputs, [output], initializer=[start, *outside])
    opsets = [helper.make_opsetid("", _OPSET), helper.make_opsetid(_ORT, 1)]
    return helper.make_model(content, opset_imports=opsets, ir_version=10).SerializeToString(), write.used


_INPUTS = ("input_ids", "token_type_ids")


def _outside(name: str, shape: tuple[int, ...]) -> Any:
    """A weight whose values the session gets from memory."""
    from onnx import TensorProto

    tensor = TensorProto(name=name, data_type=TensorProto.FLOAT, dims=shape, data_location=TensorProto.EXTERNAL)
    tensor.external_data.add(key="location", value="memory")
    return tensor


def _embeddings(write: _Writer) -> str:
    table = "embeddings.{}_embeddings.weight".format
    length = write.op("Shape", "input_ids", start=1, end=2)
    places = write.op("Slice", write.weight(table("position")), "start", length, "start")
    words = write.op("Gather", write.weight(table("word")), "input_ids")
    kinds = write.op("Gather", write.weight(table("token_type")), "token_type_ids")
    total = write.op("Add", write.op("Add", words, kinds), places)
    norm = write.weight("embeddings.LayerNorm.weight"), write.weight("embeddings.LayerNorm.bias")
    return write.op("LayerNormalization", total, *norm, axis=-1, epsilon=_EPSILON)


def _layer(write: _Writer, prefix: str, state: str, heads: int) -> str:
    def norm(part: str, value: str, before: str) -> str:
        names = f"{part}.LayerNorm.weight", f"{part}.LayerNorm.bias", f"{part}.dense.bias"
        rest = [write.weight(prefix + name) for name in names]
        return write.op("SkipLayerNormalization", value, before, *rest, domain=_ORT, epsilon=_EPSILON)

    own = [f"{prefix}attention.self.{name}." for name in ("query", "key", "value")]
    matrix = write.transposed(*(name + "weight" for name in own))
    bias = write.joined(*(name + "bias" for name in own))
    seen = write.op("Attention", state, matrix, bias, domain=_ORT, num_heads=heads)
    seen = write.op("MatMul", seen, write.transposed(f"{prefix}attention.output.dense.weight"))
    state = norm("attention.output", seen, state)
    inner = write.op("MatMul", state, write.transposed(f"{prefix}intermediate.dense.weight"))
    inner = write.op("BiasGelu", inner, write.weight(f"{prefix}intermediate.dense.bias"), domain=_ORT)
    inner = write.op("MatMul", inner, write.transposed(f"{prefix}output.dense.weight"))
    return norm("output", inner, state)
