"""The encoder's graph for other runtimes and arithmetics: weights inside, padded batches, 8 bits."""

from __future__ import annotations

import logging
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from onnx import ModelProto, NodeProto, TensorProto, helper, load_from_string, numpy_helper

from grader.bert import Floats, graph

#: Input with the number of token pieces of each text, of the graph for padded batches.
LENGTHS = "lengths"
_ORT = "com.microsoft"
_BLOCK = 32


def complete(weights: Mapping[str, Floats], heads: int) -> ModelProto:
    """The graph that ships, its weights inside."""
    content, used = graph(weights, heads)
    model = load_from_string(content)
    inside = {tensor.name: tensor for tensor in model.graph.initializer}
    inside |= {name: numpy_helper.from_array(value, name) for name, value in used.items()}
    return _with(model, model.graph.node, inside)


def masked(model: ModelProto) -> ModelProto:
    """``model`` with a further input, `LENGTHS`, shape (n,): pieces beyond a text's length are not attended to."""
    found = _copy(model)
    for node in found.graph.node:
        if node.op_type == "Attention":
            node.input.append(LENGTHS)
    found.graph.input.append(helper.make_tensor_value_info(LENGTHS, TensorProto.INT32, ["n"]))
    return found


def eight_bit_weights(model: ModelProto, *, accuracy_level: int) -> ModelProto:
    """``model`` with the weights of its products in 8 bits, one scale for 32 of them.

    Args:
        model: As made by `complete`.
        accuracy_level: 1 multiplies in 32 bits; 4 also rounds the other factor, each block of a row by itself, to
            8 bits.
    """
    apart = attention_apart(model)
    tensors = {tensor.name: tensor for tensor in apart.graph.initializer}
    nodes = list[NodeProto]()
    for node in apart.graph.node:
        if node.op_type != "MatMul":
            nodes.append(node)
            continue
        state, name = node.input
        matrix = numpy_helper.to_array(tensors.pop(name))
        whole, scales = blockwise(matrix)
        tensors[f"{name}.whole"] = numpy_helper.from_array(whole, f"{name}.whole")
        tensors[f"{name}.scales"] = numpy_helper.from_array(scales, f"{name}.scales")
        inputs = [state, f"{name}.whole", f"{name}.scales"]
        product = helper.make_node(
            "MatMulNBits", inputs, list(node.output), domain=_ORT, K=matrix.shape[0], N=matrix.shape[1], bits=8,
            block_size=_BLOCK, accuracy_level=accuracy_level,
        )  # fmt: skip
        nodes.append(product)
    return _with(apart, nodes, tensors)


def blockwise(matrix: Floats) -> tuple[npt.NDArray[np.uint8], Floats]:
    """A matrix in 8 bits by columns, in blocks of 32: value = scale x (whole - 128).

    Args:
        matrix: Shape (k, n), k a multiple of 32.

    Returns:
        Whole numbers, shape (n, k / 32, 32), and scales, shape (n * k / 32,).
    """
    blocks = np.ascontiguousarray(matrix.T).reshape(matrix.shape[1], -1, _BLOCK)
    scales = np.abs(blocks).max(axis=-1, keepdims=True) / 127
    whole = np.rint(blocks / np.maximum(scales, 1e-12)) + 128
    return whole.astype(np.uint8), scales.reshape(-1).astype(np.float32)


def statically_quantised(model: ModelProto, batches: Sequence[Sequence[Sequence[int]]]) -> ModelProto:
    """``model`` with every product by weights in 8-bit integers, with ranges found on ``batches`` of token ids."""
    from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static

    class Reader(CalibrationDataReader):  # type: ignore[misc, unused-ignore]
        def __init__(self) -> None:
            self._feeds = _feeds(batches)

        def get_next(self) -> dict[str, Any] | None:
            return next(self._feeds, None)

    shown = logging.root.level
    logging.root.setLevel(logging.ERROR)  # it advises a preparation that this graph does not need
    try:
        with tempfile.TemporaryDirectory() as folder:
            source, target = Path(folder) / "whole.onnx", Path(folder) / "quantised.onnx"
            source.write_bytes(_typed(attention_apart(model)).SerializeToString())
            quantize_static(
                source, target, Reader(), quant_format=QuantFormat.QDQ, op_types_to_quantize=["MatMul"],
                per_channel=True, activation_type=QuantType.QUInt8, weight_type=QuantType.QInt8,
            )  # fmt: skip
            return load_from_string(target.read_bytes())
    finally:
        logging.root.setLevel(shown)


def attention_apart(model: ModelProto) -> ModelProto:
    """``model`` with the product by the weights of queries, keys and values as a node before each attention."""
    nodes = list[NodeProto]()
    for node in model.graph.node:
        nodes += _apart(node) if node.op_type == "Attention" else [node]
    found = _with(model, nodes, {tensor.name: tensor for tensor in model.graph.initializer})
    found.graph.initializer.append(helper.make_tensor("thirds", TensorProto.INT64, [3], _thirds(model)))
    return found


def _typed(model: ModelProto) -> ModelProto:
    """``model`` with the types of what the runtime's own operators give, which onnx cannot infer."""
    given = [node.output[0] for node in model.graph.node if node.domain == _ORT and node.output[0] != "hidden"]
    model.graph.value_info.extend(
        helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n", "t", None]) for name in given
    )
    return model


def _apart(node: NodeProto) -> list[NodeProto]:
    state, matrix, bias = node.input[:3]
    product, total = (f"{node.output[0]}.{part}" for part in ("product", "total"))
    parts = [f"{node.output[0]}.{part}" for part in ("query", "key", "value")]
    heads = next(one.i for one in node.attribute if one.name == "num_heads")
    return [
        helper.make_node("MatMul", [state, matrix], [product]),
        helper.make_node("Add", [product, bias], [total]),
        helper.make_node("Split", [total, "thirds"], parts, axis=-1),
        helper.make_node("MultiHeadAttention", parts, list(node.output), domain=_ORT, num_heads=heads),
    ]


def _thirds(model: ModelProto) -> list[int]:
    bias = next(node.input[2] for node in model.graph.node if node.op_type == "Attention")
    size = next(tensor.dims[0] for tensor in model.graph.initializer if tensor.name == bias)
    return [size // 3] * 3


def _feeds(batches: Sequence[Sequence[Sequence[int]]]) -> Iterator[dict[str, Any]]:
    for ids in batches:
        tokens = np.asarray(ids, dtype=np.int64)
        yield {"input_ids": tokens, "token_type_ids": np.zeros_like(tokens)}


def _copy(model: ModelProto) -> ModelProto:
    found = ModelProto()
    found.CopyFrom(model)
    return found


def _with(model: ModelProto, nodes: Sequence[NodeProto], tensors: Mapping[str, TensorProto]) -> ModelProto:
    content = helper.make_graph(
        nodes, model.graph.name, model.graph.input, model.graph.output, initializer=list(tensors.values())
    )
    return helper.make_model(content, opset_imports=model.opset_import, ir_version=model.ir_version)
