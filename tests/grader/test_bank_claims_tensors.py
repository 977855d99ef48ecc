"""More of what the PyTorch items claim, run: tensors, their types and shapes, freezing and GPUs.

Feedback on misconceptions, answers to follow-ups, quick checks and numbers; the key statements that each item rests on
are in `test_bank_claims.py`.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from torch import nn
from torch.profiler import ProfilerActivity, profile

from grader import load_bank
from grader.bank import default_rubrics
from tests.grader.claims import Check, Claims
from tests.grader.leaves import gradient

claim = Claims(load_bank(default_rubrics() / "pytorch"))


# creating tensors and their types


@claim("create-tensors", "A tensor of three uninitialised values", "Nothing is set to zero, and the type is float32.")
@claim("create-tensors", "torch.Tensor([1, 2]) gives floats, torch.tensor([1, 2]) gives integers.")
@claim("create-tensors", "torch.full filled with 7 is a tensor of integers, while 7.0 makes it floating point")
@claim(
    "create-tensors", "It is the other way round; torch.tensor takes values, while zeros, ones and rand take a shape."
)
def _() -> None:
    assert (torch.Tensor(3).shape, torch.Tensor(3).dtype) == ((3,), torch.float32)
    assert (torch.Tensor([1, 2]).dtype, torch.tensor([1, 2]).dtype) == (torch.float32, torch.int64)
    assert (torch.full((2,), 7).dtype, torch.full((2,), 7.0).dtype) == (torch.int64, torch.float32)
    assert torch.zeros([1, 2, 3]).shape == torch.rand([1, 2, 3]).shape == (1, 2, 3)


@claim("create-tensors", "Lists go straight into torch.tensor, and zeros, ones or rand need no data at all; from_numpy")
def _() -> None:
    assert torch.tensor([1.0]).tolist() == [1]
    with pytest.raises(TypeError, match="ndarray"):
        torch.from_numpy([1.0])


@claim(
    "create-tensors", "By default a new tensor is on the CPU and does not require gradients; both must be asked for."
)
@claim("create-tensors", "torch.linspace(0, 1, 5) # 0.00, 0.25, 0.50, 0.75, 1.00")
@claim("create-tensors", "torch.manual_seed(0) before torch.rand(3) gives the same random numbers in each run.")
@claim("create-tensors", "mask = torch.zeros_like(x, dtype=torch.bool)")
@claim("create-tensors", "x.new_zeros(size) and x.clone() make new tensors that match an existing one.")
def _() -> None:
    x = torch.zeros(2, 3, dtype=torch.float64)
    assert (torch.zeros(2).device.type, torch.zeros(2).requires_grad) == ("cpu", False)
    assert torch.linspace(0, 1, 5).tolist() == [0, 0.25, 0.5, 0.75, 1]
    draws = []
    for _ in range(2):
        torch.manual_seed(0)
        draws.append(torch.rand(3))
    assert torch.equal(*draws)
    assert (torch.zeros_like(x, dtype=torch.bool).shape, x.new_zeros(4).dtype) == ((2, 3), torch.float64)
    assert x.clone().data_ptr() != x.data_ptr()


@claim("create-tensors", "as_tensor copies only if the dtype or device has to change, so it is cheap for arrays.")
@claim("create-tensors", "torch.tensor copies; torch.from_numpy shares the memory, so changes show up on both sides.")
@claim("create-tensors", "whole numbers give int64, and NumPy floats stay float64")
def _() -> None:
    array = np.zeros(2)
    shared, changed = torch.as_tensor(array), torch.as_tensor(array, dtype=torch.float32)
    array[0] = 5
    assert (shared[0], changed[0]) == (5, 0)
    assert torch.from_numpy(np.arange(2)).dtype == torch.int64
    assert torch.from_numpy(np.zeros(2)).dtype == torch.float64


@claim("create-tensors", "It raises an error, because the tensor is int64 and the weights of the layer are float32.")
@claim("create-tensors", "the layer complains that it got Long and expected Float")
def _() -> None:
    with pytest.raises(RuntimeError, match="same dtype, but got Long and Float"):
        nn.Linear(3, 1)(torch.tensor([1, 2, 3]))


@claim(
    "float32-vs-float64", "It grows from 4 MB to 8 MB.", "float16 overflows above 65504 and tiny gradients underflow."
)
@claim("float32-vs-float64", "float64 is the more precise one, with about 16 significant digits against about 7")
@claim("float32-vs-float64", "float64 has the larger range and the finer resolution")
@claim(
    "float32-vs-float64",
    "A model with 7 billion weights fills 28 GB in single precision and 56 GB in double precision.",
)
@claim("float32-vs-float64", "float64 is supported by PyTorch, by autograd and by CUDA GPUs")
@claim("float32-vs-float64", "Small weight updates are rounded away, so the weights are kept in float32.")
def _() -> None:
    million = torch.zeros(1_000_000)
    assert (million.nbytes, million.double().nbytes) == (4_000_000, 8_000_000)
    assert (7 * torch.zeros(1).nbytes, 7 * torch.zeros(1).double().nbytes) == (28, 56)
    single, double, half = map(torch.finfo, (torch.float32, torch.float64, torch.float16))
    assert half.max == 65504
    assert torch.tensor(70_000.0).half().isinf()
    assert torch.tensor(1e-8).half() == 0
    assert torch.tensor(1.0).half() + torch.tensor(1e-4).half() == 1
    assert (round(-math.log10(single.eps)), round(-math.log10(double.eps))) == (7, 16)
    assert double.max > single.max
    w = torch.tensor(2.0, dtype=torch.float64, requires_grad=True)
    (w**2).backward()
    assert gradient(w).dtype == torch.float64


@claim("float32-vs-float64", "nn.Linear(2, 2).weight.dtype -> torch.float32")
@claim(
    "float32-vs-float64",
    "You would have to call model.double() or torch.set_default_dtype(torch.float64) to get doubles.",
)
@claim("float32-vs-float64", "The input must also be cast to double, otherwise you get a dtype mismatch error.")
@claim("float32-vs-float64", "With torch.autocast many operations run in bfloat16, which halves the memory once more.")
def _() -> None:
    layer = nn.Linear(2, 2)
    assert layer.weight.dtype == torch.float32
    with torch.autocast("cpu", dtype=torch.bfloat16):
        out = layer(torch.ones(1, 2))
    assert (out.dtype, out.element_size()) == (torch.bfloat16, 2)
    assert layer.double().weight.dtype == torch.float64
    with pytest.raises(RuntimeError, match="dtype"):
        layer(torch.ones(1, 2))


# shapes


@claim("flatten", "(4, 18)", "That is torch.flatten without start_dim, which merges the batch dimension too.")
@claim("flatten", "The result has the shape (16, 250), that is, 16 rows of 250 numbers")
@claim("flatten", "If an MNIST batch of shape (32, 1, 28, 28) goes in, it comes out as (32, 784).")
@claim("flatten", "With start_dim=2 it keeps the channels as well, so (8, 64, 14, 14) is turned into (8, 64, 196)")
@claim("flatten", "since (1, 28, 28) becomes (1, 784) but (3, 32, 32) becomes (3, 1024)")
@claim("flatten", "x = torch.rand(32, 3, 32, 32); nn.Flatten()(x).shape -> (32, 3072)")
@claim("flatten", "(16, 512, 1, 1) -> (16, 512) after global average pooling")
def _() -> None:
    def shape(*sizes: int, **settings: int) -> torch.Size:
        return nn.Flatten(**settings)(torch.zeros(sizes)).shape

    assert (shape(4, 2, 3, 3), torch.flatten(torch.zeros(4, 2, 3, 3)).shape) == ((4, 18), (72,))
    assert (shape(16, 10, 5, 5), shape(32, 1, 28, 28), shape(32, 3, 32, 32)) == ((16, 250), (32, 784), (32, 3072))
    assert shape(8, 64, 14, 14, start_dim=2) == (8, 64, 196)
    assert (shape(1, 28, 28), shape(3, 32, 32), shape(16, 512, 1, 1)) == ((1, 784), (3, 1024), (16, 512))


@claim("flatten", "It has no parameters and computes nothing; it only rearranges the shape.")
@claim("flatten", "costs next to nothing and usually returns a view without copying")
@claim("flatten", "Nothing is calculated or thrown away, so one can undo it with nn.Unflatten.")
@claim("flatten", "it turns maps into vectors, and nn.Unflatten does the reverse")
@claim("flatten", "flattening keeps every value and changes only the shape")
def _() -> None:
    x = torch.arange(24.0).reshape(2, 3, 2, 2)
    flat = nn.Flatten()(x)
    assert list(nn.Flatten().parameters()) == []
    assert flat.data_ptr() == x.data_ptr()
    assert torch.equal(nn.Unflatten(1, (3, 2, 2))(flat), x)


@claim(
    "flatten",
    "nn.Linear works on the last dimension, which is only the width, so you get a shape error or, if the width",
)
@claim("flatten", "nn.Linear works on the last dimension only and flattens nothing.")
@claim("flatten", "nn.Linear(3136, 10) fails on 8x8 maps, because they give 4096 features")
@claim("flatten", "nn.LazyLinear or adaptive average pooling avoids having to work out the number of features.")
@claim("flatten", "nn.AdaptiveAvgPool2d((7, 7)) before the flattening gives the same length for every image size")
def _() -> None:
    maps = torch.zeros(2, 64, 8, 8)
    with pytest.raises(RuntimeError, match="mat1 and mat2 shapes cannot be multiplied"):
        nn.Linear(64 * 64, 10)(maps)
    assert nn.Linear(8, 10)(maps).shape == (2, 64, 8, 10)
    flat = nn.Flatten()(maps)
    assert flat.shape == (2, 4096)
    with pytest.raises(RuntimeError, match="mat1 and mat2 shapes cannot be multiplied"):
        nn.Linear(3136, 10)(flat)
    assert nn.LazyLinear(10)(flat).shape == (2, 10)
    assert nn.Flatten()(nn.AdaptiveAvgPool2d((7, 7))(maps)).shape == (2, 3136)


@claim("tensor-vs-matrix", "torch.zeros(1, 5)", "It has two axes, even though one of them has length 1.")
@claim(
    "tensor-vs-matrix",
    "A pitfall is x.T, which is meant for matrices and gives a deprecation warning for three dimensions",
)
@claim("tensor-vs-matrix", "torch.mm accepts only matrices, while bmm and matmul also take a batch of them.")
@claim("tensor-vs-matrix", "so for a 3-D tensor they are computed for each matrix in the batch")
@claim("tensor-vs-matrix", "For the weights of a linear layer, which form a matrix of outputs times inputs.")
@claim("tensor-vs-matrix", "emb = nn.Embedding(1000, 64); emb(ids).shape # (batch, words, 64)")
def _() -> None:
    axes = [x.ndim for x in (torch.zeros(1, 5), torch.zeros(5), torch.zeros(2, 2, 2), torch.tensor(5.0))]
    assert axes == [2, 1, 3, 0]
    x = torch.zeros(2, 3, 4)
    torch.set_warn_always(True)  # it warns but once a process otherwise
    with pytest.warns(UserWarning, match="deprecated"):
        assert x.T.shape == (4, 3, 2)
    torch.set_warn_always(False)
    assert x.mT.shape == (2, 4, 3)
    stack = torch.eye(3).expand(5, 3, 3)
    assert torch.linalg.det(stack).tolist() == [1] * 5
    assert torch.linalg.inv(stack).shape == (5, 3, 3)
    assert nn.Linear(7, 2).weight.shape == (2, 7)
    assert nn.Embedding(1000, 64)(torch.zeros(8, 20, dtype=torch.int64)).shape == (8, 20, 64)


@claim("view-vs-reshape", "view raises an error and reshape returns a copy")
@claim(
    "view-vs-reshape", "Both keep the number of elements; a shape with another total raises an error in either case."
)
@claim("view-vs-reshape", "Neither alters the shape of the tensor on which it is called")
@claim(
    "view-vs-reshape", "x.permute(0, 2, 3, 1).view(n, -1) fails with the message that the view size is not compatible"
)
@claim(
    "view-vs-reshape",
    "v = x.view(3, 2); v.zero_() # x is all zeros now",
    "v = x.view(-1); v[0] = 100 also sets x[0, 0]",
)
@claim("view-vs-reshape", "out.transpose(1, 2).contiguous().view(B, T, C)")
@claim(
    "view-vs-reshape",
    "reshape() copies only when it has to; for a contiguous tensor it returns a view without copying.",
)
def _() -> None:
    x = torch.ones(2, 3)
    for change in (x.view, x.reshape):
        assert change(3, 2).data_ptr() == x.data_ptr()
        with pytest.raises(RuntimeError, match="invalid for input of size 6"):
            change(5)
    assert x.shape == (2, 3)
    x.view(-1)[0] = 100
    assert x[0, 0] == 100
    x.view(3, 2).zero_()
    assert x.sum() == 0
    with pytest.raises(RuntimeError, match="view size is not compatible"):
        torch.zeros(2, 3, 4, 5).permute(0, 2, 3, 1).view(2, -1)
    assert torch.zeros(2, 4, 7, 5).transpose(1, 2).contiguous().view(2, 7, 20).shape == (2, 7, 20)


# freezing, GPUs and several of them


@claim("freeze-layers", "Those of layer1 and layer3")
@claim(
    "freeze-layers",
    "Gradients still pass through a frozen layer to trainable ones before it; only its own weights get none.",
)
@claim("freeze-layers", "Frozen layers compute their output with their old weights as before")
@claim("freeze-layers", "the optimizer simply skips parameters that have no gradient")
def _() -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2), nn.Linear(2, 1))
    model[1].requires_grad_(False)
    before = [layer.weight.clone() for layer in model]  # type: ignore[operator,union-attr]
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
    model(torch.ones(1, 2)).sum().backward()
    optimizer.step()
    assert [torch.equal(layer.weight, old) for layer, old in zip(model, before, strict=True)] == [False, True, False]


@claim(
    "freeze-layers", "With a zero gradient instead of None, weight decay and momentum would still change the parameter."
)
@claim("freeze-layers", "p.requires_grad = False; p.grad = None # drop the leftover gradient too")
def _() -> None:
    for start, moves in ((torch.zeros(1), True), (None, False)):
        p = nn.Parameter(torch.ones(1))
        p.grad = start
        torch.optim.SGD([p], lr=0.1, weight_decay=0.5).step()
        assert (p.item() != 1) is moves


@claim("freeze-layers", "Everything fixed by mistake -> RuntimeError, element 0 of tensors does not require grad")
@claim("freeze-layers", "The backward pass can stop at the first trainable layer")
@claim("freeze-layers", "model.train() at the start of each epoch switches the BatchNorm layers back")
@claim("freeze-layers", "Running statistics are buffers and Dropout depends on the mode")
@claim("freeze-layers", "Dropout in the fixed part stays active as well, unless these modules are set to eval().")
def _() -> None:
    torch.manual_seed(0)
    backbone, head = nn.Sequential(nn.Linear(2, 50), nn.BatchNorm1d(50), nn.Dropout(0.5)), nn.Linear(50, 1)
    model = nn.Sequential(backbone, head)
    backbone.requires_grad_(False)
    features = backbone(torch.randn(4, 2))
    assert not features.requires_grad, "nothing is recorded in front of the head"
    assert (features == 0).any(), "dropout is on"
    backbone.eval()
    assert model.train() is model
    assert backbone[1].training
    model.requires_grad_(False)
    with pytest.raises(RuntimeError, match="element 0 of tensors does not require grad"):
        model(torch.randn(4, 2)).sum().backward()


@claim("freeze-layers", "optimizer.add_param_group({'params': model.layer4.parameters(), 'lr': 1e-5})")
@claim(
    "freeze-layers",
    "A typical bug is to unfreeze a block that was never handed to the optimizer, so it still does not learn.",
)
@claim(
    "transfer-learning",
    "torch.optim.AdamW([{'params': backbone.parameters(), 'lr': 1e-5}, {'params': head.parameters()",
)
def _() -> None:
    block, head = nn.Linear(2, 2).requires_grad_(False), nn.Linear(2, 1)
    optimizer = torch.optim.SGD(filter(lambda p: p.requires_grad, head.parameters()), lr=0.1)
    block.requires_grad_(True)
    before = block.weight.clone()

    def train() -> None:
        optimizer.zero_grad()
        head(block(torch.ones(1, 2))).sum().backward()
        optimizer.step()

    train()
    assert torch.equal(block.weight, before)
    optimizer.add_param_group({"params": block.parameters(), "lr": 1e-2})
    train()
    assert not torch.equal(block.weight, before)
    groups = torch.optim.AdamW([{"params": block.parameters(), "lr": 1e-5}, {"params": head.parameters(), "lr": 1e-3}])
    assert [group["lr"] for group in groups.param_groups] == [1e-5, 1e-3]


@claim(
    "gpu-usage", "is_available() gives True or False, device_count() the number of cards and memory_allocated() bytes"
)
@claim(
    "gpu-usage",
    "torch.accelerator.is_available() and current_accelerator() do the same for other kinds of accelerators.",
)
@claim("gpu-usage", "model.device_usage() prints the GPU usage of a model.")
@claim("gpu-usage", "prof.key_averages().table(sort_by='cuda_time_total') lists the slowest operations.")
@claim("gpu-usage", "x.to('cuda') returns a new tensor, so without assigning it the batch stays where it was.")
def _() -> None:
    assert isinstance(torch.cuda.is_available(), bool)
    assert isinstance(torch.cuda.device_count(), int)
    assert isinstance(torch.accelerator.is_available(), bool)
    assert (torch.accelerator.current_accelerator() is None) is not torch.accelerator.is_available()
    names = "utilization memory_summary max_memory_allocated memory_reserved mem_get_info synchronize empty_cache"
    assert all(callable(getattr(torch.cuda, name)) for name in (*names.split(), "reset_peak_memory_stats"))
    assert not hasattr(nn.Linear(1, 1), "device_usage"), "the misconception is wrong"
    with profile(activities=[ProfilerActivity.CPU]) as prof:
        nn.Linear(2, 2)(torch.ones(1, 2))
    assert "aten::linear" in prof.key_averages().table(sort_by="cuda_time_total")
    x = torch.zeros(1)
    assert x.to("meta").device.type == "meta"
    assert x.device.type == "cpu"


@claim("data-parallel", "On two GPUs with local gradients 1 and 3, both end up with 2 after the averaging.")
@claim("data-parallel", "For ImageNet on eight GPUs, each of them sees 160,000 of the 1.28 million images per epoch.")
@claim("data-parallel", "A batch of 128 on two machines with four cards each means 16 images per card.")
@claim("data-parallel", "fully_shard(model) # FSDP2, when the weights do not fit on one card")
@claim(
    "multi-gpu",
    "If init_process_group is missing, the wrapper raises an error because there is no default process group",
)
@claim("multi-gpu", "With 10000 pictures and 4 cards, each one gets 2500 per epoch.")
def _() -> None:
    from torch.distributed.fsdp import fully_shard
    from torch.nn.parallel import DistributedDataParallel
    from torch.utils.data import DistributedSampler

    assert callable(fully_shard)
    assert (1 + 3) / 2 == 2
    assert (1_280_000 // 8, 128 // (2 * 4)) == (160_000, 16)
    assert len(DistributedSampler(range(10_000), num_replicas=4, rank=0)) == 2500  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="Default process group has not been initialized"):
        DistributedDataParallel(nn.Linear(1, 1))


@pytest.mark.parametrize(**claim.parameters())
def test_the_bank_says_so_and_it_is_so(item: str, quote: str, check: Check) -> None:
    claim.holds(item, quote, check)
