"""Two processes train one weight with DistributedDataParallel on the CPU and write down what each of them sees.

Run by `test_bank_claims_distributed.py` as ``python -m torch.distributed.run --nproc_per_node=2 two_ranks.py FOLDER``.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def main(folder: Path) -> None:
    """Writes ``rank-0.json`` and ``rank-1.json`` into ``folder``."""
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(rank)
    model = nn.Linear(1, 1, bias=False)
    found: dict[str, Any] = {name: os.environ[name] for name in ("RANK", "LOCAL_RANK", "WORLD_SIZE")}
    found["own_weight"] = model.weight.item()
    wrapped = DistributedDataParallel(model)
    found["shared_weight"] = model.weight.item()
    optimizer = torch.optim.SGD(wrapped.parameters(), lr=0.1)
    wrapped(torch.tensor([[float(rank + 1)]])).backward()  # the local gradient is 1 on rank 0 and 2 on rank 1
    assert model.weight.grad is not None
    found["gradient"] = model.weight.grad.item()
    optimizer.step()
    found["weight_after_a_step"] = model.weight.item()
    data = TensorDataset(torch.arange(8))
    for name, sampler in (("plain", None), ("sampled", DistributedSampler(data, shuffle=False))):
        found[name] = sorted(int(x) for (batch,) in DataLoader(data, batch_size=2, sampler=sampler) for x in batch)
    found["keys"] = [list(wrapped.state_dict()), list(wrapped.module.state_dict())]
    (folder / f"rank-{rank}.json").write_text(json.dumps(found), encoding="utf-8")
    dist.barrier()  # neither leaves while the other still talks to it
    dist.destroy_process_group()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
    os._exit(0)  # gloo's threads now and then abort an interpreter that ends by itself
