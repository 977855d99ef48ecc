"""What the items on several GPUs claim, run with two processes on the CPU."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from grader import load_bank
from grader.bank import default_rubrics
from tests.grader.claims import Check, Claims

claim = Claims(load_bank(default_rubrics() / "pytorch"))
SCRIPT = Path(__file__).with_name("two_ranks.py")


@cache
def ranks() -> tuple[dict[str, Any], dict[str, Any]]:
    """What the two processes wrote down."""
    run = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--local-addr=127.0.0.1"]
    launch = [*run, "--nproc_per_node=2", str(SCRIPT)]
    loopback = {"GLOO_SOCKET_IFNAME": "lo"} if sys.platform == "linux" else {}  # whatever the machine's own name is
    with TemporaryDirectory() as folder:
        done = subprocess.run([*launch, folder], capture_output=True, text=True, timeout=300, check=False,
                              env=os.environ | loopback)  # fmt: skip
        assert done.returncode == 0, done.stderr
        first, second = (json.loads((Path(folder) / f"rank-{rank}.json").read_text("utf-8")) for rank in (0, 1))
    return first, second


@claim("multi-gpu", "1.5", "The all-reduce in backward() averages the gradients over all processes.")
@claim("multi-gpu", "The gradients are not just summed; DDP divides by the number of processes.")
@claim("data-parallel", "Their gradients, which are averaged over all GPUs")
@claim("data-parallel", "With DDP, loss.backward() triggers the exchange of the gradients by itself.")
def _() -> None:
    assert [rank["gradient"] for rank in ranks()] == [1.5, 1.5]


@claim(
    "multi-gpu",
    "All processes start from the same weights and take the same update, so the model remains one and the same.",
)
@claim("multi-gpu", "same init + same avg grad -> same weights on every rank")
@claim(
    "data-parallel",
    "Since every replica starts from the same weights and applies the same gradient, they never drift apart.",
)
def _() -> None:
    first, second = ranks()
    assert first["own_weight"] != second["own_weight"]
    assert first["shared_weight"] == second["shared_weight"] == first["own_weight"]
    assert first["weight_after_a_step"] == second["weight_after_a_step"]
    assert first["weight_after_a_step"] == pytest.approx(first["shared_weight"] - 0.1 * 1.5)


@claim("multi-gpu", "torchrun sets RANK, LOCAL_RANK and WORLD_SIZE, and the script reads them to choose its card.")
@claim("multi-gpu", "Use the nccl backend for CUDA cards and gloo for the CPU")
@claim("multi-gpu", "At the end of the script I call dist.destroy_process_group() to clean up.")
def _() -> None:
    assert [(rank["RANK"], rank["LOCAL_RANK"], rank["WORLD_SIZE"]) for rank in ranks()] == [
        ("0", "0", "2"),
        ("1", "1", "2"),
    ]


@claim(
    "multi-gpu",
    "Each DDP process loads its own data; a DistributedSampler or something like it has to hand out different",
)
@claim("multi-gpu", "Without a DistributedSampler every process goes through the same data and nothing is gained.")
@claim("data-parallel", "Without a DistributedSampler every process would iterate over the same data.")
@claim(
    "data-parallel", "Each rank should get a disjoint part of the data set, which the DistributedSampler takes care of."
)
def _() -> None:
    first, second = ranks()
    assert first["plain"] == second["plain"] == list(range(8))
    assert sorted(first["sampled"] + second["sampled"]) == list(range(8))


@claim("multi-gpu", "Save model.module.state_dict(), otherwise the keys carry the prefix module.")
@claim(
    "resume-training", "In a DataParallel or DDP model the keys begin with module., so store model.module.state_dict()."
)
def _() -> None:
    assert ranks()[0]["keys"] == [["module.weight"], ["weight"]]


@pytest.mark.parametrize(**claim.parameters())
def test_the_bank_says_so_and_it_is_so(item: str, quote: str, check: Check) -> None:
    claim.holds(item, quote, check)
