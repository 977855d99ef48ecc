"""Encoders that compute the packaged model in other runtimes, arithmetics and settings, by name."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np
from onnx import ModelProto

from eval.backend_graphs import LENGTHS, complete, eight_bit_weights, masked, statically_quantised
from grader.bert import Floats, equal_lengths, load_tokenizer
from grader.encoder import (
    PACKAGED_HEADS,
    PACKAGED_LIMIT,
    PACKAGED_SIGNATURE,
    Batches,
    Encoder,
    Network,
    NetworkEncoder,
    PackagedEncoder,
    SentenceTransformerEncoder,
    packaged_model,
)

if TYPE_CHECKING:
    from tokenizers import Tokenizer

REFERENCE = "ONNX Runtime fp32"
#: Sets a session's options.
Configure = Callable[[Any], None]


class RuntimeNetwork:
    """A graph in ONNX Runtime with other options than those that ship."""

    def __init__(
        self, model: ModelProto, threads: int, configure: Configure | None = None, *, multiple: int = 1
    ) -> None:
        """Prepares a graph.

        Args:
            model: The graph; it must know lengths if texts are padded.
            threads: Threads one call may use.
            configure: Changes the options of the session.
            multiple: Each text is padded to a multiple of it, whatever else is in the batch.
        """
        os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
        options.enable_mem_pattern = False
        if configure is not None:
            configure(options)
        content = model.SerializeToString()
        self._session = onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
        self._multiple = multiple

    def batches(self, lengths: Sequence[int]) -> Iterator[list[int]]:
        """Index batches of equal padded length."""
        return equal_lengths([self._padded(length) for length in lengths])

    def hidden(self, ids: Sequence[Sequence[int]]) -> Iterator[Floats]:
        """See `Network`; texts of equal padded length."""
        lengths = [len(row) for row in ids]
        tokens = np.zeros((len(ids), self._padded(lengths[0])), dtype=np.int64)
        for row, values in zip(tokens, ids, strict=True):
            row[: len(values)] = values
        feeds = {"input_ids": tokens, "token_type_ids": np.zeros_like(tokens)}
        if self._multiple > 1:
            feeds[LENGTHS] = np.asarray(lengths, dtype=np.int32)
        found = self._session.run(["hidden"], feeds)[0]
        return (row[:length] for row, length in zip(found, lengths, strict=True))

    def _padded(self, length: int) -> int:
        return -(-length // self._multiple) * self._multiple


class OpenVinoNetwork:
    """A graph in OpenVINO."""

    def __init__(self, model: ModelProto, threads: int, precision: str) -> None:
        """Compiles ``model``; ``precision`` is ``f32`` or ``bf16``."""
        import openvino

        core = openvino.Core()
        settings = {
            "INFERENCE_NUM_THREADS": threads,
            "NUM_STREAMS": 1,
            "PERFORMANCE_HINT": "LATENCY",
            "INFERENCE_PRECISION_HINT": precision,
        }
        compiled = core.compile_model(core.read_model(model.SerializeToString()), "CPU", settings)
        self._request = compiled.create_infer_request()

    def hidden(self, ids: Sequence[Sequence[int]]) -> Floats:
        """See `Network`; texts of equal token count."""
        tokens = np.asarray(ids, dtype=np.int64)
        found = self._request.infer({"input_ids": tokens, "token_type_ids": np.zeros_like(tokens)})
        return np.array(found[0], dtype=np.float32)  # a copy: the next call writes to the same memory


@dataclass(frozen=True)
class Parts:
    """What backends are made of.

    Attributes:
        weights: The packaged weights.
        tokenizer: The packaged tokenizer.
        calibration: Texts that ranges of integers are found on.
    """

    weights: Mapping[str, Floats]
    tokenizer: Tokenizer
    calibration: Sequence[str]

    @classmethod
    def packaged(cls, calibration: Sequence[str]) -> Parts:
        """Those of the packaged model."""
        from safetensors.numpy import load_file

        folder = packaged_model()
        return cls(load_file(str(folder / "model.safetensors")), load_tokenizer(folder, PACKAGED_LIMIT), calibration)

    @cached_property
    def model(self) -> ModelProto:
        """The graph that ships, weights inside."""
        return complete(self.weights, PACKAGED_HEADS)

    @cached_property
    def static(self) -> ModelProto:
        """The graph in 8-bit integers."""
        ids = [one.ids for one in self.tokenizer.encode_batch(list(self.calibration))]
        batches = [[ids[at] for at in batch] for batch in equal_lengths([len(row) for row in ids])]
        return statically_quantised(self.model, batches)

    def encoder(self, network: Network, name: str, batches: Batches = equal_lengths) -> Encoder:
        """An encoder over ``network``."""
        return NetworkEncoder(
            network, self.tokenizer, f"{PACKAGED_SIGNATURE.partition('/')[0]}/{name}", batches=batches
        )


Make = Callable[[Parts, int], Encoder]


@dataclass(frozen=True)
class Backend:
    """A way to compute the vectors.

    Attributes:
        name: As it appears in tables.
        make: Gives the encoder, from the parts and the number of threads.
        needs: Package that has to be installed for it.
    """

    name: str
    make: Make
    needs: str = "onnxruntime"


def backends() -> tuple[Backend, ...]:
    """All of them; the first is what ships."""
    from onnxruntime import ExecutionMode, GraphOptimizationLevel

    def options(name: str, configure: Configure) -> Backend:
        def make(parts: Parts, threads: int) -> Encoder:
            return parts.encoder(RuntimeNetwork(parts.model, threads, configure), "onnxruntime")

        return Backend(f"{REFERENCE}, {name}", make)

    def entry(key: str, value: str) -> Configure:
        return lambda session: session.add_session_config_entry(key, value)

    return (
        Backend(REFERENCE, lambda parts, threads: PackagedEncoder(threads=threads)),
        Backend("PyTorch fp32", lambda parts, threads: SentenceTransformerEncoder(threads=threads), "torch"),
        Backend("OpenVINO fp32", partial(_openvino, "f32"), "openvino"),
        Backend("OpenVINO bf16", partial(_openvino, "bf16"), "openvino"),
        Backend("ONNX Runtime, 8-bit weights", partial(_weights, 1)),
        Backend("ONNX Runtime, 8-bit weights and blocks of rows", partial(_weights, 4)),
        Backend("ONNX Runtime, static int8", _static),
        Backend(f"{REFERENCE}, padded to multiples of 4", partial(_padded, 4)),
        Backend(f"{REFERENCE}, padded to multiples of 8", partial(_padded, 8)),
        options("parallel execution", lambda session: setattr(session, "execution_mode", ExecutionMode.ORT_PARALLEL)),
        options("basic optimisation", lambda session: setattr(
            session, "graph_optimization_level", GraphOptimizationLevel.ORT_ENABLE_BASIC)),
        options("no arena", lambda session: setattr(session, "enable_cpu_mem_arena", False)),
        options("denormals are zero", entry("session.set_denormal_as_zero", "1")),
        options("no spinning", entry("session.intra_op.allow_spinning", "0")),
        options("not prepacked", entry("session.disable_prepacking", "1")),
    )  # fmt: skip


def _openvino(precision: str, parts: Parts, threads: int) -> Encoder:
    return parts.encoder(OpenVinoNetwork(parts.model, threads, precision), f"openvino-{precision}")


def _weights(level: int, parts: Parts, threads: int) -> Encoder:
    model = eight_bit_weights(parts.model, accuracy_level=level)
    return parts.encoder(RuntimeNetwork(model, threads), f"onnxruntime-w8-{level}")


def _static(parts: Parts, threads: int) -> Encoder:
    return parts.encoder(RuntimeNetwork(parts.static, threads), "onnxruntime-int8")


def _padded(multiple: int, parts: Parts, threads: int) -> Encoder:
    network = RuntimeNetwork(masked(parts.model), threads, multiple=multiple)
    return parts.encoder(network, f"onnxruntime-padded-{multiple}", network.batches)
