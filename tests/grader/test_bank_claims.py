"""What the PyTorch items claim, run against the installed PyTorch, so that the bank is right.

Each check names the item and quotes the claim as it stands in the rubric; a claim that is reworded or removed there
makes its check fail. Misconceptions are quoted too, and their checks show that they are wrong.
"""

from __future__ import annotations

import copy
import io
import math
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F  # noqa: N812
from torch import nn
from torch.distributions import Normal, kl_divergence
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset, random_split

from grader import load_bank
from grader.bank import default_rubrics
from tests.grader.claims import Check, Claims
from tests.grader.leaves import leaf

claim = Claims(load_bank(default_rubrics() / "pytorch"))


# autograd


@claim("autograd", "with x = 3 and y = x * x, y.backward() puts 6 into x.grad", "the gradients are added together")
def _() -> None:
    x = leaf(3.0)
    (x * x).backward()
    assert x.grad == 6
    (x * x).backward()
    assert x.grad == 12


@claim("autograd", "With y = x cubed and x = 2, x.grad is 12 after backward")
@claim("torch-vs-numpy", "x = torch.tensor(2., requires_grad=True); (x ** 3).backward(); x.grad # tensor(12.)")
def _() -> None:
    x = leaf(2.0)
    (x**3).backward()
    assert x.grad == 12


@claim("autograd", "y.grad_fn prints <MulBackward0>")
@claim("dynamic-graph", "y = x * 2; print(y.grad_fn) # <MulBackward0>", "(x + 1).grad_fn is AddBackward0")
def _() -> None:
    x = leaf(1.0)
    assert type((x * 3).grad_fn).__name__ == "MulBackward0"
    assert type((x + 1).grad_fn).__name__ == "AddBackward0"
    assert type((x**2).grad_fn).__name__ == "PowBackward0"


@claim("autograd", "A second backward() on the same graph raises a RuntimeError unless you passed retain_graph=True")
@claim("dynamic-graph", "fails with Trying to backward through the graph a second time")
def _() -> None:
    loss = leaf(2.0) ** 2
    loss.backward(retain_graph=True)
    loss.backward()
    with pytest.raises(RuntimeError, match="Trying to backward through the graph a second time"):
        loss.backward()


@claim("autograd", "grad can be implicitly created only for scalar outputs", "y.backward(torch.ones_like(y))")
def _() -> None:
    x = leaf(1.0, 2.0)
    with pytest.raises(RuntimeError, match="grad can be implicitly created only for scalar outputs"):
        (x * 2).backward()
    y = x * 2
    y.backward(torch.ones_like(y))
    assert x.grad is not None
    assert x.grad.tolist() == [2, 2]


@claim("autograd", "torch.tensor([1., 2.]).sum().backward() # error, the tensor does not require grad")
def _() -> None:
    with pytest.raises(RuntimeError, match="does not require grad"):
        torch.tensor([1.0, 2.0]).sum().backward()


@claim("autograd", "print(h.grad) # None with a warning, x.grad is filled")
@claim("leaf-tensor", "y.grad is None after backward() and reading it gives a warning, unless you call y.retain_grad()")
def _() -> None:
    x = leaf(1.0, 2.0)
    h = x * 2
    h.sum().backward()
    with pytest.warns(UserWarning, match="not a leaf"):
        assert h.grad is None
    assert x.grad is not None
    kept = x * 2
    kept.retain_grad()
    kept.sum().backward()
    assert kept.grad is not None


# backprop-steps


@claim(
    "backprop-steps",
    "with w = 2, x = 4, target 5 and half the squared error, the output is 8 and dL/dw = (8 - 5) * 4 = 12",
)
def _() -> None:
    w = leaf(2.0)
    loss = 0.5 * (w * 4 - 5) ** 2
    loss.backward()
    assert (w * 4).item() == 8
    assert w.grad == 12


@claim("backprop-steps", "dW2 = d2 @ a1.T; d1 = (W2.T @ d2) * (a1 > 0); dW1 = d1 @ x.T")
def _() -> None:
    torch.manual_seed(0)
    x, w1, w2 = torch.randn(3, 1), torch.randn(4, 3, requires_grad=True), torch.randn(2, 4, requires_grad=True)
    a1 = F.relu(w1 @ x)
    out = w2 @ a1
    (0.5 * out.square().sum()).backward()
    with torch.no_grad():
        d1 = (w2.T @ out) * (a1 > 0)
        torch.testing.assert_close(w2.grad, out @ a1.T)
        torch.testing.assert_close(w1.grad, d1 @ x.T)


@claim("backprop-steps", "torch.autograd.gradcheck compares the backward result with numerical differences")
@claim("float32-vs-float64", "torch.autograd.gradcheck(f, (x,)) # needs float64 to be reliable")
def _() -> None:
    x = torch.tensor([0.3, 0.7], dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(torch.sin, (x,))
    with pytest.warns(UserWarning, match="double precision"), pytest.raises(RuntimeError, match="Jacobian mismatch"):
        torch.autograd.gradcheck(torch.sin, (x.detach().float().requires_grad_(),))


# batch gradient descent, SGD and their difference


@claim("batch-gd", "N = 60,000 -> 1 update per epoch, with b = 64 about 938")
@claim("sgd", "N = 1000, b = 10 -> 100 updates per epoch")
@claim("sgd-vs-gd", "N = 1000, b = 10 -> 100 steps vs 1 step")
@claim(
    "utils-data", "With 1,000 samples and batch_size=32 the loader yields 32 batches, the last one with only 8 samples"
)
def _() -> None:
    assert len(DataLoader(TensorDataset(torch.zeros(60_000)), batch_size=64)) == 938
    data = TensorDataset(torch.zeros(1000))
    assert len(DataLoader(data, batch_size=10)) == 100
    assert len(DataLoader(data, batch_size=len(data))) == 1
    batches = [len(batch) for (batch,) in DataLoader(data, batch_size=32)]
    assert (len(batches), batches[-1]) == (32, 8)


@claim("batch-gd", "w -= lr * X.T @ (X @ w - y) / len(X)")
def _() -> None:
    torch.manual_seed(0)
    x, y, w = torch.randn(20, 3), torch.randn(20), torch.zeros(3, requires_grad=True)
    (0.5 * (x @ w - y).square().mean()).backward()
    torch.testing.assert_close(w.grad, x.T @ (x @ w.detach() - y) / len(x))


@claim("sgd", "With w = 2, a gradient of 3 on the sampled example and a learning rate of 0.1, the new weight is 1.7")
def _() -> None:
    w = leaf(2.0)
    optimizer = torch.optim.SGD([w], lr=0.1)
    (3 * w).backward()
    optimizer.step()
    assert w.item() == pytest.approx(1.7)


@claim("sgd", "torch.optim.SGD(model.parameters(), lr=5.0) # loss goes to nan", "lr=10 -> nan, lr=1e-6 -> no progress")
def _() -> None:
    for rate, survives in ((10.0, False), (1e-6, True)):
        w = leaf(1.0)
        optimizer = torch.optim.SGD([w], lr=rate)
        for _ in range(200):
            optimizer.zero_grad()
            (w**2).backward()
            optimizer.step()
        assert math.isfinite(w.item()) is survives
        assert not survives or w.item() == pytest.approx(1.0, abs=1e-3)


@claim("sgd", "E[grad of batch] = full grad")
@claim("data-parallel", "samples independent -> gradient = mean of partial gradients")
@claim("multi-gpu", "all-reduce(mean) of grads in backward, then local step")
def _() -> None:
    torch.manual_seed(0)
    model, x, y = nn.Linear(3, 1), torch.randn(8, 3), torch.randn(8, 1)

    def gradient(rows: slice) -> torch.Tensor:
        model.zero_grad()
        F.mse_loss(model(x[rows]), y[rows]).backward()
        assert model.weight.grad is not None
        return model.weight.grad.clone()

    shares = torch.stack([gradient(slice(at, at + 4)) for at in (0, 4)])
    torch.testing.assert_close(shares.mean(0), gradient(slice(0, 8)))


# batchnorm, eval and no_grad


@claim("batchnorm", "x = [1, 2, 3, 4], mean 2.5, std 1.12 -> [-1.34, -0.45, 0.45, 1.34]")
@claim("batchnorm", "bn(x).mean(0) is about 0 and bn(x).std(0, unbiased=False) is about 1")
def _() -> None:
    x, bn = torch.tensor([[1.0], [2.0], [3.0], [4.0]]), nn.BatchNorm1d(1)
    out = bn(x)
    assert [round(value, 2) for value in out.flatten().tolist()] == [-1.34, -0.45, 0.45, 1.34]
    assert x.std(unbiased=False).item() == pytest.approx(1.12, abs=0.005)
    assert out.std(0, unbiased=False).item() == pytest.approx(1, abs=1e-3)


@claim("batchnorm", "batch size 1 in train mode -> ValueError", "with a single sample BatchNorm1d raises an error")
@claim("eval-vs-no-grad", "Forgetting eval() with a batch of one sample even raises an error in BatchNorm1d")
def _() -> None:
    with pytest.raises(ValueError, match="Expected more than 1 value"):
        nn.BatchNorm1d(3)(torch.zeros(1, 3))


@claim("batchnorm", "the prediction for one image depends on the other images in its batch")
def _() -> None:
    bn = nn.BatchNorm1d(1)
    assert bn(torch.tensor([[1.0], [2.0]]))[0] != bn(torch.tensor([[1.0], [9.0]]))[0]
    bn.eval()
    assert bn(torch.tensor([[1.0], [2.0]]))[0] == bn(torch.tensor([[1.0], [9.0]]))[0]


@claim("batchnorm", "nn.BatchNorm2d(64) after a convolution with 64 output channels has 64 scales and 64 shifts")
def _() -> None:
    bn = nn.BatchNorm2d(64)
    assert (bn.weight.numel(), bn.bias.numel()) == (64, 64)


@claim("eval-vs-no-grad", "eval() sets the training flag of the module and of all its submodules to False")
@claim("eval-vs-no-grad", "After model.eval() alone, model(x).requires_grad is still True")
@claim(
    "eval-vs-no-grad",
    "Inside a no_grad block autograd does not record operations, and the results have requires_grad=False",
)
def _() -> None:
    model = nn.Sequential(nn.Linear(2, 2), nn.Sequential(nn.Dropout()))
    model.eval()
    assert not any(module.training for module in model.modules())
    assert model(torch.ones(1, 2)).requires_grad
    with torch.no_grad():
        assert not model(torch.ones(1, 2)).requires_grad


@claim("eval-vs-no-grad", "forgot model.eval() -> model(x) != model(x)")
@claim("overfitting", "A typical mistake is to forget model.eval() at validation, so dropout stays on")
@claim("training-loop", "another is to forget model.eval() in validation, so that dropout stays on")
def _() -> None:
    torch.manual_seed(0)
    model, x = nn.Dropout(0.5), torch.ones(1000)
    with torch.no_grad():
        assert not torch.equal(model(x), model(x))
    model.eval()
    assert torch.equal(model(x), x)


@claim("eval-vs-no-grad", "model.train() + no_grad -> bn.running_mean changes anyway")
@claim("freeze-layers", "requires_grad=False does not stop BatchNorm from updating its running statistics in forward")
def _() -> None:
    bn = nn.BatchNorm1d(1).requires_grad_(False)
    with torch.no_grad():
        bn(torch.tensor([[4.0], [6.0]]))
    assert bn.running_mean is not None
    assert bn.running_mean.item() == pytest.approx(0.5)


# creating tensors


@claim("create-tensors", "whole numbers give an int64 tensor while 1.0 gives float32")
@claim("create-tensors", "torch.tensor([1, 2], requires_grad=True) # RuntimeError, only floating point tensors")
@claim("float32-vs-float64", "torch.tensor([1.0]).dtype # torch.float32, while np.array([1.0]).dtype is float64")
def _() -> None:
    assert torch.tensor([1, 2]).dtype == torch.int64
    assert torch.tensor([1.0]).dtype == torch.float32
    assert np.array([1.0]).dtype == np.float64
    with pytest.raises(RuntimeError, match="floating point"):
        torch.tensor([1, 2], requires_grad=True)
    with pytest.raises(RuntimeError, match="dtype"):
        nn.Linear(2, 1)(torch.tensor([1, 2]))


@claim("create-tensors", "torch.tensor copies and torch.from_numpy shares memory with the array")
@claim("create-tensors", "a = np.zeros(2); t = torch.from_numpy(a); a[0] = 5; print(t) # t shows 5 as well")
@claim("torch-vs-numpy", "torch.from_numpy(a) shares memory with the array, so a change in one shows up in the other")
def _() -> None:
    array = np.zeros(2)
    shared, copied = torch.from_numpy(array), torch.tensor(array)
    array[0] = 5
    assert (shared[0], copied[0]) == (5, 0)
    assert shared.dtype == torch.float64
    shared[1] = 7
    assert array[1] == 7


@claim("create-tensors", "torch.Tensor(3).shape # torch.Size([3]), but torch.tensor(3).shape is torch.Size([])")
@claim("create-tensors", "torch.Tensor(2, 3) reserves a 2 by 3 block and torch.tensor(2, 3) is an error")
def _() -> None:
    assert (torch.Tensor(3).shape, torch.tensor(3).shape) == ((3,), ())
    assert torch.Tensor(2, 3).shape == (2, 3)
    with pytest.raises(TypeError):
        torch.tensor(2, 3)  # type: ignore[call-overload]


@claim(
    "create-tensors",
    "torch.arange(0, 10, 2) # 0, 2, 4, 6, 8",
    "torch.zeros_like(x) # same shape, dtype and device as x",
)
def _() -> None:
    assert torch.arange(0, 10, 2).tolist() == [0, 2, 4, 6, 8]
    x = torch.ones(2, 3, dtype=torch.int16)
    like = torch.zeros_like(x)
    assert (like.shape, like.dtype, like.device) == (x.shape, x.dtype, x.device)


# detach, leaves, views


@claim(
    "detach-vs-no-grad", "z = x.detach(); z[0] = 7 also sets x[0] to 7", "x.detach().data_ptr() == x.data_ptr() # True"
)
@claim("detach-vs-no-grad", "(x * 2).detach().requires_grad is False, while x.requires_grad stays True")
def _() -> None:
    x = leaf(1.0, 2.0)
    z = x.detach()
    z[0] = 7
    assert x[0] == 7
    assert z.data_ptr() == x.data_ptr()
    assert (z.requires_grad, z.grad_fn, x.requires_grad) == (False, None, True)


@claim("detach-vs-no-grad", "arr = out.detach().numpy() # out.numpy() would raise a RuntimeError")
@claim("torch-vs-numpy", "Calling numpy() on a tensor that requires grad raises a RuntimeError")
def _() -> None:
    out = leaf(1.0, 2.0) * 2
    with pytest.raises(RuntimeError, match="detach"):
        out.numpy()
    assert out.detach().numpy().tolist() == [2, 4]


@claim("detach-vs-no-grad", "with torch.no_grad(): loss = f(x); loss.backward() -> RuntimeError")
@claim("detach-vs-no-grad", "d_loss = criterion(D(fake.detach()), zeros) trains D and leaves G alone")
def _() -> None:
    x = leaf(1.0)
    with torch.no_grad():
        loss = x**2
    with pytest.raises(RuntimeError, match="does not require grad and does not have a grad_fn"):
        loss.backward()
    generator, discriminator = nn.Linear(1, 1), nn.Linear(1, 1)
    discriminator(generator(torch.ones(1)).detach()).backward()
    assert generator.weight.grad is None
    assert discriminator.weight.grad is not None


@claim("dynamic-graph", "Starting from x = 2, the loop while y < 50 doubles y five times, and x.grad comes out as 32")
def _() -> None:
    x = leaf(2.0)
    y, rounds = x, 0
    while y < 50:
        y, rounds = y * 2, rounds + 1
    y.backward()
    assert (rounds, x.grad) == (5, 32)


@claim("leaf-tensor", "w = torch.randn(3, requires_grad=True); y = w * 2; print(w.is_leaf, y.is_leaf) # True False")
@claim("leaf-tensor", "m = nn.Linear(2, 2); m.weight.is_leaf # True, m(x).is_leaf is False")
def _() -> None:
    w, layer = torch.randn(3, requires_grad=True), nn.Linear(2, 2)
    assert (w.is_leaf, (w * 2).is_leaf, w.grad_fn) == (True, False, None)
    assert (layer.weight.is_leaf, layer(torch.ones(2)).is_leaf) == (True, False)


@claim("leaf-tensor", "SGD([non_leaf]) -> ValueError: can't optimize a non-leaf Tensor")
@claim("leaf-tensor", "w = w - lr * w.grad turns w into a non-leaf")
@claim("leaf-tensor", "with torch.no_grad(): w -= 0.1 * w.grad keeps w a leaf")
def _() -> None:
    w = leaf(1.0)
    with pytest.raises(ValueError, match="can't optimize a non-leaf Tensor"):
        torch.optim.SGD([w * 2], lr=0.1)
    (w**2).backward()
    assert w.grad is not None
    assert not (w - 0.1 * w.grad).is_leaf
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad is being used in an in-place operation"):
        w -= 0.1 * w.grad
    with torch.no_grad():
        w -= 0.1 * w.grad
    assert w.is_leaf


@claim("view-vs-reshape", "with x of shape (2, 3), x.t().view(6) raises a RuntimeError, while x.t().reshape(6) works")
@claim("view-vs-reshape", "x.t().contiguous().view(6) would work too", "x.t().is_contiguous() is False")
def _() -> None:
    x = torch.arange(6).reshape(2, 3)
    with pytest.raises(RuntimeError, match=r"view size is not compatible.*Use \.reshape"):
        x.t().view(6)
    assert x.t().reshape(6).tolist() == x.t().contiguous().view(6).tolist() == [0, 3, 1, 4, 2, 5]
    assert x.t().reshape(6).data_ptr() != x.data_ptr()
    assert not x.t().is_contiguous()


@claim("view-vs-reshape", "x = torch.zeros(4); x.view(2, 2)[0, 0] = 7; print(x) # tensor([7., 0., 0., 0.])")
@claim("view-vs-reshape", "For a contiguous x, x.reshape(3, 2) has the same data_ptr as x")
@claim("view-vs-reshape", "w = x.t().reshape(-1); w[0] = -1; print(x) # x has not changed")
def _() -> None:
    x = torch.zeros(4)
    x.view(2, 2)[0, 0] = 7
    assert x.tolist() == [7, 0, 0, 0]
    y = torch.zeros(2, 3)
    assert y.reshape(3, 2).data_ptr() == y.data_ptr() == y.view(3, 2).data_ptr()
    y.t().reshape(-1)[0] = -1
    assert y.sum() == 0


@claim("view-vs-reshape", "reshape() always copies the data, whatever the layout", "view() never copies")
def _() -> None:
    x = torch.zeros(2, 3)
    x.reshape(6)[0] = 1
    assert x[0, 0] == 1, "the misconception is wrong"


# flatten, shapes


@claim("flatten", "a batch of shape (8, 3, 4, 4) becomes (8, 48)", "64 maps of 7 by 7 become 3136 features")
@claim("flatten", "torch.flatten(torch.zeros(8, 3, 4, 4)).shape # torch.Size([384])", "start_dim is 1 by default")
@claim("flatten", "nn.Flatten(start_dim=1, end_dim=2)(torch.zeros(8, 3, 4, 4)).shape # (8, 12, 4)")
@claim("flatten", "nn.Flatten()(torch.zeros(28, 28)).shape # still (28, 28)")
def _() -> None:
    x = torch.zeros(8, 3, 4, 4)
    assert nn.Flatten()(x).shape == x.view(x.size(0), -1).shape == torch.flatten(x, 1).shape == (8, 48)
    assert torch.flatten(x).shape == (384,)
    assert nn.Flatten(start_dim=1, end_dim=2)(x).shape == (8, 12, 4)
    assert nn.Flatten()(torch.zeros(2, 64, 7, 7)).shape == (2, 3136)
    assert nn.Flatten()(torch.zeros(28, 28)).shape == (28, 28)
    assert nn.Flatten().start_dim == 1


@claim("flatten", "nn.Sequential(nn.Conv2d(1, 16, 3), nn.ReLU(), nn.Flatten(), nn.Linear(16 * 26 * 26, 10))")
@claim("flatten", "with images of another size the next linear layer raises a shape error")
def _() -> None:
    model = nn.Sequential(nn.Conv2d(1, 16, 3), nn.ReLU(), nn.Flatten(), nn.Linear(16 * 26 * 26, 10))
    assert model(torch.zeros(2, 1, 28, 28)).shape == (2, 10)
    with pytest.raises(RuntimeError, match="shapes cannot be multiplied"):
        model(torch.zeros(2, 1, 32, 32))


@claim("tensor-vs-matrix", "torch.tensor(5.).ndim is 0, torch.tensor([1., 2.]).ndim is 1, torch.eye(3).ndim is 2")
@claim("tensor-vs-matrix", "(a @ b).shape # (10, 3, 5)", "torch.mm(a, b) with 3-D inputs -> RuntimeError")
@claim("tensor-vs-matrix", "torch.ones(3, 3).ndim is 2, torch.linalg.matrix_rank(torch.ones(3, 3)) is 1")
@claim("tensor-vs-matrix", "Mixing up shapes (5,) and (5, 1) leads to unexpected broadcasting to a 5 by 5 matrix")
def _() -> None:
    assert [torch.tensor(5.0).ndim, torch.tensor([1.0, 2.0]).ndim, torch.eye(3).ndim] == [0, 1, 2]
    a, b = torch.rand(10, 3, 4), torch.rand(10, 4, 5)
    assert (a @ b).shape == torch.bmm(a, b).shape == (10, 3, 5)
    with pytest.raises(RuntimeError):
        torch.mm(a, b)
    assert torch.linalg.matrix_rank(torch.ones(3, 3)) == 1
    assert (torch.zeros(5) + torch.zeros(5, 1)).shape == (5, 5)


@claim("torch-vs-numpy", "x.sum(axis=1) and x.sum(dim=1) give the same numbers in the two libraries")
def _() -> None:
    array = np.arange(6.0).reshape(2, 3)
    assert array.sum(axis=1).tolist() == torch.from_numpy(array).sum(dim=1).tolist()


# numbers


@claim("float32-vs-float64", "A float32 value takes 4 bytes and a float64 value 8")
@claim("float32-vs-float64", "torch.zeros(1000, 1000).nbytes # 4000000, and 8000000 with dtype=torch.float64")
@claim("float32-vs-float64", "about seven significant digits", "torch.get_default_dtype() returns torch.float32")
@claim("float32-vs-float64", "mat1 and mat2 must have the same dtype, but got Double and Float")
def _() -> None:
    assert (torch.zeros(1).element_size(), torch.zeros(1, dtype=torch.float64).element_size()) == (4, 8)
    assert torch.zeros(1000, 1000).nbytes == 4_000_000
    assert -7 <= math.log10(torch.finfo(torch.float32).eps) <= -6
    assert torch.get_default_dtype() == torch.float32
    with pytest.raises(RuntimeError, match="mat1 and mat2 must have the same dtype, but got Double and Float"):
        nn.Linear(2, 1)(torch.zeros(3, 2, dtype=torch.float64))


# freezing and transfer


@claim("freeze-layers", "p.grad is None -> step() skips p -> weight unchanged", "backward() leaves their .grad at None")
@claim("freeze-layers", "A freshly created layer has requires_grad=True", "step() ignores those whose .grad is None")
@claim(
    "transfer-learning", "model.requires_grad_(False); model.fc = nn.Linear(512, 10) # only the new layer is trained"
)
def _() -> None:
    backbone, head = nn.Linear(4, 4).requires_grad_(False), nn.Linear(4, 2)
    before = backbone.weight.clone(), head.weight.clone()
    optimizer = torch.optim.SGD([*backbone.parameters(), *head.parameters()], lr=1.0, weight_decay=0.5)
    head(backbone(torch.ones(1, 4))).sum().backward()
    optimizer.step()
    assert backbone.weight.grad is None
    assert torch.equal(backbone.weight, before[0])
    assert not torch.equal(head.weight, before[1])


@claim("freeze-layers", "model.requires_grad = False, which only adds an attribute to the module and freezes nothing")
@claim("freeze-layers", "The typo param.require_grad = False raises no error and has no effect at all")
@claim(
    "freeze-layers",
    "If you fix all parameters after replacing the head, the head is fixed too and backward() raises an error",
)
@claim("freeze-layers", "stale .grad + step() -> the weight still moves")
def _() -> None:
    model: Any = nn.Linear(2, 1)
    model.requires_grad = False
    model.weight.require_grad = False
    assert model.weight.requires_grad
    model(torch.ones(2)).backward()
    before = model.weight.clone()
    model.requires_grad_(False)
    torch.optim.SGD(model.parameters(), lr=0.1).step()
    assert not torch.equal(model.weight, before)
    with pytest.raises(RuntimeError, match="does not require grad"):
        model(torch.ones(2)).backward()


# GPUs and several of them


@claim("gpu-usage", "torch.cuda.memory_allocated() returns the bytes that tensors occupy")
@claim("gpu-usage", "next(model.parameters()).device shows where the model is, and x.device shows where the batch is")
def _() -> None:
    assert isinstance(torch.cuda.is_available(), bool)
    assert isinstance(torch.cuda.memory_allocated() if torch.cuda.is_available() else 0, int)
    assert callable(torch.cuda.max_memory_allocated)
    assert next(nn.Linear(1, 1).parameters()).device == torch.zeros(1).device == torch.device("cpu")


@claim("data-parallel", "Call sampler.set_epoch(epoch), otherwise the order of the samples is the same in every epoch")
@claim("multi-gpu", "Call sampler.set_epoch(epoch) in each epoch, otherwise the shuffling is the same every time")
@claim("multi-gpu", "Do not pass shuffle=True together with a sampler, since the sampler does the shuffling")
@claim("data-parallel", "use a DistributedSampler, otherwise every process would see the same data")
def _() -> None:
    data = TensorDataset(torch.arange(20))
    samplers = [DistributedSampler(data, num_replicas=2, rank=rank) for rank in (0, 1)]
    first = [list(sampler) for sampler in samplers]
    assert sorted(first[0] + first[1]) == list(range(20))
    assert list(samplers[0]) == first[0]
    samplers[0].set_epoch(1)
    assert list(samplers[0]) != first[0]
    with pytest.raises(ValueError, match="mutually exclusive"):
        DataLoader(data, sampler=samplers[0], shuffle=True)


@claim("multi-gpu", "otherwise the keys carry the prefix module. and do not load into a plain model")
def _() -> None:
    model = nn.Linear(2, 1)
    wrapped = nn.DataParallel(model)
    assert all(key.startswith("module.") for key in wrapped.state_dict())
    with pytest.raises(RuntimeError, match="Missing key"):
        nn.Linear(2, 1).load_state_dict(wrapped.state_dict())
    nn.Linear(2, 1).load_state_dict(wrapped.module.state_dict())


# losses and regularisation


@claim("l1-reg", "With weights 3, -2 and 0.5 and lambda 0.1 the penalty is 0.1 * 5.5 = 0.55")
@claim("l1-reg", "d|w|/dw = sign(w) -> constant pull; L2 -> 2w, fades near 0")
@claim(
    "l1-reg", "With lr = 0.1 and lambda = 0.05, each update moves a weight by 0.005 towards zero because of the penalty"
)
def _() -> None:
    w = leaf(3.0, -2.0, 0.5)
    assert (0.1 * w.abs().sum()).item() == pytest.approx(0.55)
    optimizer = torch.optim.SGD([w], lr=0.1)
    (0.05 * w.abs().sum()).backward()
    optimizer.step()
    torch.testing.assert_close(w.detach(), torch.tensor([2.995, -1.995, 0.495]))


@claim("l1-reg", "the weight_decay of the optimizer is an L2 penalty")
@claim("overfitting", "weight_decay=1e-4 in the SGD optimizer shrinks all weights a little in each step")
def _() -> None:
    w = leaf(2.0, -4.0)
    (0 * w.sum()).backward()
    torch.optim.SGD([w], lr=0.1, weight_decay=0.5).step()
    torch.testing.assert_close(w.detach(), torch.tensor([2.0, -4.0]) * (1 - 0.1 * 0.5))


@claim(
    "no-softmax-before-ce", "F.cross_entropy(z, y) == F.nll_loss(F.log_softmax(z, dim=1), y), so z must be raw scores"
)
@claim("no-softmax-before-ce", "with ten classes even a perfect and completely sure model keeps a loss of about 1.46")
@claim("no-softmax-before-ce", "ce(torch.tensor([[1., 0.]]), torch.tensor([0])) # 0.3133")
def _() -> None:
    z, y = torch.tensor([[2.0, -1.0, 0.5]]), torch.tensor([2])
    torch.testing.assert_close(F.cross_entropy(z, y), F.nll_loss(F.log_softmax(z, dim=1), y))
    sure = F.one_hot(torch.tensor([3]), 10).float()
    assert F.cross_entropy(sure, torch.tensor([3])).item() == pytest.approx(1.46, abs=0.005)
    assert F.cross_entropy(torch.tensor([[1.0, 0.0]]), torch.tensor([0])).item() == pytest.approx(0.3133, abs=5e-5)


@claim("softmax-vs-sigmoid", "softmax([a, b])[0] = sigmoid(a - b)", "softmax([3, 1]) -> 0.88, 0.12; sigmoid(2) -> 0.88")
@claim("softmax-vs-sigmoid", "torch.sigmoid(torch.tensor([2., 1., 0.1])).sum() # 2.14")
@claim("softmax-vs-sigmoid", "torch.softmax(torch.tensor([[3.7]]), dim=1) # tensor([[1.]]), useless")
@claim("softmax-vs-sigmoid", "torch.tensor([4., 4.]).softmax(0) # [0.5, 0.5], while sigmoid gives 0.98 for both")
def _() -> None:
    torch.testing.assert_close(torch.tensor([1.3, 0.4]).softmax(0)[0], torch.tensor(0.9).sigmoid())
    assert [round(p, 2) for p in torch.tensor([3.0, 1.0]).softmax(0).tolist()] == [0.88, 0.12]
    assert round(torch.tensor(2.0).sigmoid().item(), 2) == 0.88
    assert round(torch.tensor([2.0, 1.0, 0.1]).sigmoid().sum().item(), 2) == 2.14
    assert torch.tensor([[3.7]]).softmax(1).item() == 1
    assert torch.tensor([4.0, 4.0]).softmax(0).tolist() == [0.5, 0.5]
    assert round(torch.tensor(4.0).sigmoid().item(), 2) == 0.98


@claim("overfitting", "nn.Dropout(p=0.5) after a linear layer zeroes half of its outputs while training")
@claim("overfitting-pytorch", "model.eval() before validation, because dropout would stay active otherwise")
def _() -> None:
    torch.manual_seed(0)
    layer = nn.Dropout(p=0.5)
    assert (layer(torch.ones(10_000)) == 0).float().mean().item() == pytest.approx(0.5, abs=0.03)
    layer.eval()
    assert layer(torch.ones(10)).tolist() == [1] * 10


@claim(
    "overfitting-pytorch", "best = copy.deepcopy(model.state_dict()) # without deepcopy it changes along with the model"
)
@claim("resume-training", "state_dict() returns references, so make a deep copy")
def _() -> None:
    model = nn.Linear(1, 1)
    state, kept = model.state_dict(), copy.deepcopy(model.state_dict())
    with torch.no_grad():
        model.weight += 1
    assert state["weight"] == model.weight
    assert kept["weight"] != model.weight


# training


@claim("resume-training", "optimizer.state_dict(), which holds the running averages and the learning rate")
@claim(
    "resume-training",
    "Since PyTorch 2.6 torch.load uses weights_only=True by default, so loading a whole pickled model fails",
)
def _() -> None:
    model = nn.Linear(1, 1)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.25)
    model(torch.ones(1)).backward()
    optimizer.step()
    state = optimizer.state_dict()
    assert {"exp_avg", "exp_avg_sq"} <= set(state["state"][0])
    assert state["param_groups"][0]["lr"] == 0.25
    stored = io.BytesIO()
    torch.save({"model": model.state_dict(), "optimizer": state, "epoch": 3}, stored)
    stored.seek(0)
    assert torch.load(stored)["epoch"] == 3
    whole = io.BytesIO()
    torch.save(model, whole)
    whole.seek(0)
    with pytest.raises(Exception, match="weights_only"):
        torch.load(whole)


@claim("training-curves", "store loss.item() and not the loss tensor, because the tensor would keep the graph alive")
@claim("training-loop", "Log loss.item() and not the loss tensor, since keeping the tensor keeps its graph in memory")
def _() -> None:
    loss = leaf(2.0) ** 2
    assert isinstance(loss.item(), float)
    assert loss.grad_fn is not None
    assert loss.detach().grad_fn is None


@claim("training-loop", "model.fit(x, y) # AttributeError, that is Keras")
@claim(
    "training-loop",
    "call zero_grad() between backward() and step(), which deletes the fresh gradients, so that nothing is learned",
)
@claim("zero-grad", "backward -> zero_grad -> step = no update, the loss stays flat")
def _() -> None:
    model = nn.Linear(1, 1)
    assert not hasattr(model, "fit")
    before = model.weight.clone()
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    model(torch.ones(1)).backward()
    optimizer.zero_grad()
    optimizer.step()
    assert torch.equal(model.weight, before)


@claim("training-loop", "4 x backward, 1 x step = batch four times as big")
@claim(
    "zero-grad", "(loss / 4).backward() on each of four small batches, then a single optimizer.step() and zero_grad()"
)
def _() -> None:
    torch.manual_seed(0)
    model, x, y = nn.Linear(2, 1), torch.randn(8, 2), torch.randn(8, 1)
    F.mse_loss(model(x), y).backward()
    assert model.weight.grad is not None
    whole = model.weight.grad.clone()
    model.zero_grad()
    for at in range(0, 8, 2):
        (F.mse_loss(model(x[at : at + 2]), y[at : at + 2]) / 4).backward()
    torch.testing.assert_close(model.weight.grad, whole)


@claim("utils-data", "DataLoader(ds) # batch_size=1, shuffle=False, num_workers=0")
@claim("utils-data", "train_set, val_set = random_split(ds, [0.8, 0.2])", "ds = TensorDataset(X, y); x0, y0 = ds[0]")
def _() -> None:
    data = TensorDataset(torch.arange(10), torch.arange(10) * 2)
    loader = DataLoader(data)
    assert (loader.batch_size, loader.num_workers) == (1, 0)
    assert [x.item() for x, _ in loader] == list(range(10))
    assert [len(part) for part in random_split(data, [0.8, 0.2])] == [8, 2]
    assert [value.item() for value in data[3]] == [3, 6]


@claim("zero-grad", "(3 * w).backward(); (3 * w).backward(); w.grad # tensor(6.)")
@claim("zero-grad", "optimizer.zero_grad(); print(p.grad) # None, as set_to_none=True is the default")
@claim("zero-grad", "With optimizer.zero_grad(set_to_none=False) the fields are filled with zeros instead of None")
@claim("zero-grad", "zero_grad() resets the weights of the model to zero.")
def _() -> None:
    w = leaf(1.0)
    optimizer = torch.optim.SGD([w], lr=0.1)
    (3 * w).backward()
    (3 * w).backward()
    assert w.grad == 6
    optimizer.zero_grad(set_to_none=False)
    assert w.grad == 0
    optimizer.zero_grad()
    assert w.grad is None
    assert w == 1, "the misconception is wrong"


# variational autoencoders


@claim("vae", "kl = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())", "the KL term is exactly 0")
@claim("vae-parts", "For mu = 0 and sigma = 1 the KL term is zero, for mu = 1 and sigma = 1 it is 0.5 per dimension")
@claim("vae-parts", "torch.distributions.kl_divergence(Normal(mu, std), Normal(0, 1)).sum() gives the same number")
def _() -> None:
    def kl(mu: torch.Tensor, logvar: torch.Tensor) -> torch.Tensor:
        return -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())

    zero, one = torch.zeros(3), torch.ones(3)
    assert kl(zero, zero) == 0
    assert kl(one, zero).item() == pytest.approx(0.5 * 3)
    mu, logvar = torch.tensor([0.3, -1.2]), torch.tensor([0.5, -0.7])
    torch.testing.assert_close(kl(mu, logvar), kl_divergence(Normal(mu, (0.5 * logvar).exp()), Normal(0.0, 1.0)).sum())


@claim("vae-parts", "A pitfall is Normal(mu, std).sample(), which blocks the gradient, while rsample() lets it through")
@claim(
    "vae-parts",
    "eps outside the graph -> dz/dmu = 1, dz/dsigma = eps",
    "With mu = 1, sigma = 0.5 and eps = 2 you get z = 2",
)
@claim("vae", "eps ~ N(0, 1) outside -> d z / d mu = 1, gradients pass")
def _() -> None:
    mu, sigma, eps = leaf(1.0), leaf(0.5), 2.0
    assert not Normal(mu, 1.0).sample().requires_grad
    assert Normal(mu, 1.0).rsample().requires_grad
    z = mu + sigma * eps
    assert z == 2
    z.backward()
    assert (mu.grad, sigma.grad) == (1, eps)


@pytest.mark.parametrize(**claim.parameters())
def test_the_bank_says_so_and_it_is_so(item: str, quote: str, check: Check) -> None:
    claim.holds(item, quote, check)


def test_every_item_has_a_claim_that_was_run() -> None:
    assert {item for item, _, _ in claim.found} == set(claim.items)
