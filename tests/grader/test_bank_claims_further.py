"""More of what the PyTorch items claim, run: feedback on misconceptions, answers to follow-ups, quick checks, numbers.

`test_bank_claims.py` has the key statements that each item rests on; the form is the same here.
"""

from __future__ import annotations

import inspect
import math
import pickle
import tempfile
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest
import torch
import torch.nn.functional as F  # noqa: N812
from torch import nn
from torch.profiler import ProfilerActivity, profile
from torch.utils.checkpoint import checkpoint
from torch.utils.data import (
    ConcatDataset,
    DataLoader,
    Dataset,
    IterableDataset,
    Subset,
    TensorDataset,
    WeightedRandomSampler,
    random_split,
)

from grader import load_bank
from grader.bank import default_rubrics
from tests.grader.claims import Check, Claims

claim = Claims(load_bank(default_rubrics() / "pytorch"))


def leaf(*values: float) -> torch.Tensor:
    return torch.tensor(values[0] if len(values) == 1 else values, requires_grad=True)


def gradient(tensor: torch.Tensor) -> torch.Tensor:
    assert tensor.grad is not None
    return tensor.grad


# autograd and backpropagation


@claim("autograd", "If loss = (w * x - t) ** 2, then loss.backward() fills w.grad with 2 * (w * x - t) * x.")
@claim("autograd", "(5 * a).backward(); print(a.grad) # tensor(5.)")
def _() -> None:
    w, x, t = leaf(2.0), 3.0, 1.0
    ((w * x - t) ** 2).backward()
    assert gradient(w).item() == 2 * (2 * 3 - 1) * 3
    a = leaf(2.0)
    (5 * a).backward()
    assert gradient(a) == 5


@claim("autograd", "y.backward(torch.ones_like(y)) is the same as y.sum().backward()")
@claim("autograd", "Where several paths lead to the same tensor, the products along the paths are added up.")
def _() -> None:
    for way in (lambda y: y.backward(torch.ones_like(y)), lambda y: y.sum().backward()):
        x = leaf(1.0, 2.0)
        way(x * 3 + x * x)
        assert gradient(x).tolist() == [3 + 2, 3 + 4]


@claim("autograd", "Operations such as argmax or rounding have no useful derivative")
@claim("autograd", "Leaving PyTorch through .item() or .numpy() breaks the graph")
def _() -> None:
    x = leaf(1.4, 2.6)
    assert not x.argmax().requires_grad
    x.round().sum().backward()
    assert gradient(x).tolist() == [0, 0]
    assert not torch.tensor(x.sum().item() * 2).requires_grad


@claim("autograd", "A recurrent state carried over without detach() leads to the error about going through the graph")
@claim(
    "dynamic-graph", "Carrying the hidden state from batch to batch without detach() leads to the error about a second"
)
@claim("detach-vs-no-grad", "h = h.detach() after every 50 time steps keeps the graph from growing endlessly.")
def _() -> None:
    cell, x = nn.RNNCell(1, 1), torch.ones(1, 1)
    state = cell(x)
    state.sum().backward()
    with pytest.raises(RuntimeError, match="backward through the graph a second time"):
        cell(x, state).sum().backward()
    state = cell(x).detach()
    cell(x, state).sum().backward()


@claim("autograd", "print grad_fn and its next_functions to see what has been recorded")
@claim("dynamic-graph", "Printing z.grad_fn.next_functions shows the graph that has just been built.")
@claim("dynamic-graph", "loss.grad_fn shows MseLossBackward0 after the loss has been computed")
@claim("leaf-tensor", "there an AccumulateGrad node takes the gradient")
def _() -> None:
    x = leaf(1.0)
    ((before, _), *_) = (x * 2).grad_fn.next_functions  # type: ignore[union-attr]
    assert type(before).__name__ == "AccumulateGrad"
    assert type(F.mse_loss(x, torch.tensor(0.0)).grad_fn).__name__ == "MseLossBackward0"


@claim("autograd", "backward() only fills .grad; the weights are changed by optimizer.step().")
@claim("autograd", "the derivatives are worked out from the loss back to the inputs")
@claim("backprop-steps", "the optimizer changes the weights when all of them are known")
@claim("training-loop", "backward() only fills .grad; the weights change in optimizer.step().")
@claim("zero-grad", "Neither backward() nor step() clears .grad; backward() adds to it.")
def _() -> None:
    w = leaf(2.0)
    optimizer = torch.optim.SGD([w], lr=0.1)
    loss = w**2
    assert w.grad is None, "nothing is computed in the forward pass"
    loss.backward()
    assert (w.item(), gradient(w).item()) == (2, 4)
    optimizer.step()
    assert w.item() == pytest.approx(1.6)
    assert gradient(w) == 4
    (w**2).backward()
    assert gradient(w).item() == pytest.approx(4 + 3.2)


@claim("autograd", "tensor(12.)", "8 is the value of y and not its slope at x = 2.")
@claim("autograd", "1 is the derivative of y with respect to itself")
@claim("backprop-steps", "dL/dy = 8 - 5 = 3 and dy/dw = 4", "That is the value of the loss and not its derivative.")
@claim("zero-grad", "Without clearing, backward() computes a gradient of 2 for it. What does w.grad hold now?")
@claim("zero-grad", "If the first batch gives 0.5 and the second 0.3, the field holds 0.8 after both.")
def _() -> None:
    x = leaf(2.0)
    y = x**3
    y.retain_grad()
    y.backward()
    assert (y.item(), gradient(x), gradient(y)) == (8, 12, 1)
    w = leaf(2.0)
    y = w * 4
    y.retain_grad()
    loss = (y - 5) ** 2 / 2
    loss.backward()
    assert (loss.item(), gradient(y), gradient(w)) == (4.5, 3, 12)
    for first, second, total in ((3.0, 2.0, 5.0), (0.5, 0.3, 0.8)):
        p = leaf(1.0)
        (first * p).backward()
        (second * p).backward()
        assert gradient(p).item() == pytest.approx(total)


@claim("backprop-steps", "With a learning rate of 0.01 and a gradient of 12, a weight of 2 becomes 1.88.")
@claim("backprop-steps", "For y = w * x with x = 3 and an error signal of 2, the gradient of w is 6.")
@claim("backprop-steps", "For y = w2 * w1 * x the gradient of w1 is the error times w2 times x.")
@claim("backprop-steps", "Two layers with weights 2 and 3 multiply the error signal by 3 on its way to the first one.")
def _() -> None:
    w = leaf(2.0)
    w.grad = torch.tensor(12.0)
    torch.optim.SGD([w], lr=0.01).step()
    assert w.item() == pytest.approx(1.88)
    w = leaf(1.0)
    (w * 3).backward(torch.tensor(2.0))
    assert gradient(w) == 6
    w1, w2, x, error = leaf(2.0), leaf(3.0), 5.0, 0.5
    hidden = w1 * x
    hidden.retain_grad()
    (w2 * hidden).backward(torch.tensor(error))
    assert gradient(hidden) == error * 3
    assert gradient(w1) == error * 3 * x


@claim("backprop-steps", "Ten sigmoid layers scale the gradient by at most 0.25 to the power of 10")
@claim("backprop-steps", "the slope of a sigmoid is at most 0.25", "0.25^10 ~ 1e-6 -> early layers stop learning")
def _() -> None:
    x = torch.linspace(-5, 5, 1001, requires_grad=True)
    x.sigmoid().sum().backward()
    assert gradient(x).max().item() == pytest.approx(0.25)
    assert math.log10(0.25**10) == pytest.approx(-6, abs=0.03)
    y = start = leaf(0.0)
    for _ in range(10):
        y = y.sigmoid()
    y.backward()
    assert 0 < gradient(start).item() <= 0.25**10


@claim("backprop-steps", "If all the weights start at the same value, all hidden units get the same gradient")
@claim("backprop-steps", "A dead ReLU passes no gradient back", "ReLU with z < 0 -> local derivative 0")
def _() -> None:
    torch.manual_seed(0)
    layer, head = nn.Linear(3, 4), nn.Linear(4, 1)
    for parameter in (*layer.parameters(), *head.parameters()):
        nn.init.constant_(parameter, 0.1)
    head(layer(torch.randn(5, 3)).relu()).square().mean().backward()
    rows = gradient(layer.weight)
    assert torch.equal(rows, rows[:1].expand_as(rows))
    z = leaf(-1.0)
    z.relu().backward()
    assert gradient(z) == 0


@claim("backprop-steps", "torch.utils.checkpoint trades extra computing time for memory.")
@claim("backprop-steps", "Gradient checkpointing saves memory by computing some activations again")
def _() -> None:
    runs: list[int] = []

    def layer(x: torch.Tensor) -> torch.Tensor:
        runs.append(1)
        return x.sin().exp()

    x = leaf(0.5)
    y = checkpoint(layer, x, use_reentrant=False)
    assert len(runs) == 1
    y.backward()
    assert len(runs) == 2
    expected = leaf(0.5)
    expected.sin().exp().backward()
    torch.testing.assert_close(x.grad, expected.grad)


@claim("backprop-steps", "Stepping with a positive sign raises the loss")
@claim("backprop-steps", "the weights are moved against it, w - lr * dL/dw")
@claim("sgd", "so the learning rate times the gradient is subtracted")
def _() -> None:
    for sign, better in ((-1, True), (1, False)):
        w = leaf(2.0)
        (w**2).backward()
        moved = w.item() + sign * 0.1 * gradient(w).item()
        assert (moved**2 < 4) is better


# gradient descent


@claim("batch-gd", "That would be the count for mini-batches of 32 over three epochs.")
@claim("batch-gd", "That would be one update per example over three epochs.")
@claim("sgd", "60,000 digits and a batch size of 64 make about 938 updates in each epoch.")
@claim("sgd-vs-gd", "Batch gradient descent makes 1 update, SGD with batch size 100 makes 100")
@claim("sgd-vs-gd", "With 60,000 samples and a batch size of 100 you get 600 updates per epoch instead of one.")
@claim("utils-data", "60,000 MNIST digits with batch_size=100 -> 600 batches per epoch")
def _() -> None:
    def updates(samples: int, batch: int) -> int:
        return len(DataLoader(TensorDataset(torch.zeros(samples)), batch_size=batch))

    assert (3 * updates(6000, 32), 3 * updates(6000, 1), 3 * updates(6000, 6000)) == (564, 18_000, 3)
    assert (updates(60_000, 64), updates(60_000, 100)) == (938, 600)
    assert (updates(10_000, 10_000), updates(10_000, 100), updates(1000, 1000)) == (1, 100, 1)


@claim("batch-gd", "torch.optim.LBFGS with the full data set in its closure")
@claim("sgd", "torch.optim.SGD performs plain gradient descent in spite of its name")
@claim("sgd-vs-gd", "torch.optim.SGD fed with the full data set is plain gradient descent")
def _() -> None:
    torch.manual_seed(0)
    x = torch.randn(20, 2)
    y = x @ torch.tensor([[1.0], [-2.0]])
    model = nn.Linear(2, 1, bias=False)
    start = model.weight.detach().clone()
    plain = start - 0.1 * 2 * ((x @ start.T - y) * x).mean(0)
    sgd = torch.optim.SGD(model.parameters(), lr=0.1)
    F.mse_loss(model(x), y).backward()
    sgd.step()
    torch.testing.assert_close(model.weight.detach(), plain)
    lbfgs = torch.optim.LBFGS(model.parameters(), line_search_fn="strong_wolfe")

    def closure() -> torch.Tensor:
        lbfgs.zero_grad()
        loss = F.mse_loss(model(x), y)
        loss.backward()
        return loss

    lbfgs.step(closure)
    torch.testing.assert_close(model.weight.detach(), torch.tensor([[1.0, -2.0]]), atol=1e-4, rtol=0)


@claim("batch-gd", "If the data do not fit on the GPU, accumulate the gradients over all mini-batches")
@claim("batch-gd", "The updates are stable and the same in every run, since no chance is involved.")
def _() -> None:
    torch.manual_seed(0)
    model, x, y = nn.Linear(2, 1), torch.randn(12, 2), torch.randn(12, 1)
    F.mse_loss(model(x), y).backward()
    whole = gradient(model.weight).clone()
    model.zero_grad()
    for part, target in zip(x.split(4), y.split(4), strict=True):
        (F.mse_loss(model(part), target, reduction="sum") / len(x)).backward()
    torch.testing.assert_close(model.weight.grad, whole)


@claim("sgd", "With a constant learning rate SGD keeps jumping around the minimum, so the learning rate is decayed.")
@claim("sgd", "single steps may even raise the loss, and noise only sometimes helps")
@claim("sgd", "sched = torch.optim.lr_scheduler.StepLR(opt, step_size=30, gamma=0.1)")
@claim("sgd-vs-gd", "Single SGD steps may raise the loss; with a constant learning rate it goes on fluctuating")
@claim("batch-gd", "It settles at a minimum with a constant learning rate, because the gradient vanishes there.")
def _() -> None:
    """A line through the origin fitted to points that no line hits."""
    x = torch.tensor([1.0, 1.0, 2.0, 2.0])
    y = torch.tensor([0.0, 2.0, 1.0, 3.0])
    best = (x @ y / (x @ x)).item()

    def fitted(decay: float, batch: int) -> tuple[float, int]:
        torch.manual_seed(0)
        w = leaf(0.0)
        optimizer = torch.optim.SGD([w], lr=0.05)
        schedule = torch.optim.lr_scheduler.StepLR(optimizer, step_size=30, gamma=decay)
        rises, farthest = 0, 0.0
        for epoch in range(150):
            for rows in torch.randperm(4).split(batch):
                before = F.mse_loss(w * x, y).item()
                optimizer.zero_grad()
                F.mse_loss(w * x[rows], y[rows]).backward()
                optimizer.step()
                rises += F.mse_loss(w * x, y).item() > before + 1e-6
                if epoch >= 140:
                    farthest = max(farthest, abs(w.item() - best))
            schedule.step()
        return farthest, rises

    constant, decayed, full = fitted(1.0, 1), fitted(0.1, 1), fitted(1.0, 4)
    assert constant[0] > 0.05 > 0.01 > decayed[0]
    assert constant[1] > 0
    assert full[0] < 1e-5
    assert full[1] == 0


@claim("sgd", "The learning rate has to be tuned, since plain SGD does not adapt it as Adam does.")
@claim("sgd", "That is what Adagrad, RMSprop or Adam do; plain SGD has one learning rate")
@claim("sgd-vs-gd", "Neither is adaptive; methods such as Adagrad and Adam are, and momentum is an extra")
def _() -> None:
    """A first step of Adam has the same size whatever the gradient, one of SGD is in proportion to it."""
    moves = {}
    for name, make in (("sgd", torch.optim.SGD), ("adam", torch.optim.Adam)):
        w = leaf(0.0, 0.0)
        w.grad = torch.tensor([1.0, 100.0])
        make([w], lr=0.1).step()
        moves[name] = w.detach().abs()
    torch.testing.assert_close(moves["sgd"], torch.tensor([0.1, 10.0]))
    torch.testing.assert_close(moves["adam"], torch.tensor([0.1, 0.1]))
    assert inspect.signature(torch.optim.SGD).parameters["momentum"].default == 0


@claim(
    "sgd-vs-gd",
    "For SGD the data must be shuffled, whereas the order does not matter if all data go into the gradient.",
)
@claim("sgd", "PyTorch's DataLoader does not shuffle by default, so the randomness has to be switched on.")
@claim("sgd", "In each epoch the order is drawn anew, so that every sample is used once per epoch.")
def _() -> None:
    torch.manual_seed(0)
    data = TensorDataset(torch.arange(50))
    orders = [[int(x) for (x,) in DataLoader(data, shuffle=True)] for _ in range(2)]
    assert orders[0] != orders[1]
    assert sorted(orders[0]) == sorted(orders[1]) == list(range(50))
    assert [int(x) for (x,) in DataLoader(data)] == list(range(50))
    model, x, y = nn.Linear(2, 1), torch.randn(6, 2), torch.randn(6, 1)
    F.mse_loss(model(x), y).backward()
    first = gradient(model.weight).clone()
    model.zero_grad()
    F.mse_loss(model(x.flip(0)), y.flip(0)).backward()
    torch.testing.assert_close(model.weight.grad, first)


# BatchNorm, eval and no_grad


@claim("batchnorm", "With the default momentum of 0.1, a first batch with mean 2.5 moves running_mean from 0 to 0.25.")
@claim("batchnorm", "Scale and shift are learned by the optimizer, while the running statistics are buffers")
@claim("batchnorm", "y = gamma * (x - mean) / sqrt(var + eps) + beta")
def _() -> None:
    bn, x = nn.BatchNorm1d(1), torch.tensor([[1.0], [2.0], [3.0], [4.0]])
    with torch.no_grad():
        bn.weight.fill_(3.0)
        bn.bias.fill_(-1.0)
    expected = 3 * (x - x.mean()) / (x.var(unbiased=False) + bn.eps).sqrt() - 1
    torch.testing.assert_close(bn(x), expected)
    assert bn.running_mean is not None
    assert bn.running_mean.item() == pytest.approx(0.25)
    assert {name for name, _ in bn.named_parameters()} == {"weight", "bias"}
    assert {name for name, _ in bn.named_buffers()} == {"running_mean", "running_var", "num_batches_tracked"}


@claim(
    "batchnorm", "If one feature is 10, 20, 30, 40 in a batch, it is turned into the same values around zero as 1, 2"
)
@claim("batchnorm", "With mean 5 and standard deviation 2, the value 9 is mapped to 2.")
@claim("batchnorm", "divides by the standard deviation, so the values are not confined to a fixed range")
def _() -> None:
    x = torch.tensor([[1.0], [2.0], [3.0], [4.0]])
    torch.testing.assert_close(nn.BatchNorm1d(1)(x), nn.BatchNorm1d(1)(10 * x), atol=1e-4, rtol=0)
    two = torch.tensor([[3.0], [7.0]])  # mean 5, deviation 2
    assert nn.BatchNorm1d(1)(two).flatten().tolist() == pytest.approx([-1, 1], abs=1e-4)
    assert (9 - 5) / 2 == 2
    assert nn.BatchNorm1d(1)(torch.tensor([[0.0]] * 99 + [[1.0]])).max() > 5


@claim(
    "batchnorm", "The bias of the convolution before it can be left out, since subtracting the mean removes it anyway."
)
def _() -> None:
    torch.manual_seed(0)
    conv, bn, x = nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), torch.randn(2, 3, 8, 8)
    with_bias = bn(conv(x))
    with torch.no_grad():
        assert conv.bias is not None
        conv.bias.zero_()
    torch.testing.assert_close(bn(conv(x)), with_bias, atol=1e-5, rtol=1e-4)


@claim("batchnorm", "The running mean and variance that were stored during training.")
@claim("batchnorm", "In eval mode the stored buffers are used, so one sample is enough.")
@claim("batchnorm", "It is the other way round, with batch statistics in training and the stored running averages")
@claim("batchnorm", "This describes LayerNorm; BatchNorm computes its statistics for each channel across the batch.")
def _() -> None:
    bn = nn.BatchNorm1d(2)
    bn.running_mean, bn.running_var = torch.tensor([1.0, 2.0]), torch.tensor([4.0, 9.0])
    bn.eval()
    x = torch.tensor([[3.0, 5.0]])
    torch.testing.assert_close(bn(x), torch.tensor([[1.0, 1.0]]), atol=1e-4, rtol=0)
    layer_norm = nn.LayerNorm(2)(x)
    torch.testing.assert_close(layer_norm, torch.tensor([[-1.0, 1.0]]), atol=1e-4, rtol=0)
    bn.train()
    a, b = bn(torch.tensor([[3.0, 5.0], [4.0, 1.0]])), bn(torch.tensor([[3.0, 5.0], [9.0, 1.0]]))
    assert not torch.equal(a[0], b[0])


@claim(
    "batchnorm", "Forgetting model.train() after validation freezes the running averages for the rest of the training."
)
@claim("eval-vs-no-grad", "no_grad ends with its block on its own, but eval mode stays until model.train() is called.")
def _() -> None:
    bn = nn.BatchNorm1d(1)
    bn.eval()
    with torch.no_grad():
        assert not torch.is_grad_enabled()
        bn(torch.tensor([[4.0], [6.0]]))
    assert torch.is_grad_enabled()
    assert not bn.training
    assert bn.running_mean == 0
    bn.train()
    bn(torch.tensor([[4.0], [6.0]]))
    assert bn.running_mean is not None
    assert bn.running_mean > 0


@claim("eval-vs-no-grad", "Dropout is still active, and the output has no grad_fn.")
@claim("eval-vs-no-grad", "only eval() or train(False) switches dropout off")
@claim("eval-vs-no-grad", "no_grad() does not touch the layers; in training mode dropout stays active")
@claim("detach-vs-no-grad", "Dropout and BatchNorm depend on model.eval(); no_grad() concerns gradient recording only.")
@claim("overfitting-pytorch", "model.eval() switches it off, while no_grad() does not affect it")
def _() -> None:
    torch.manual_seed(0)
    model, x = nn.Sequential(nn.Linear(4, 100), nn.Dropout(0.5)), torch.ones(1, 4)
    with torch.no_grad():
        out = model(x)
    assert out.grad_fn is None
    assert (out == 0).any()
    for off in (model.eval, lambda: model.train(False)):
        model.train()
        off()
        assert not (model(x) == 0).any()
        assert model(x).grad_fn is not None


@claim(
    "eval-vs-no-grad", "eval() leaves autograd on, and the output of a model in eval mode still has requires_grad=True"
)
@claim("eval-vs-no-grad", "Saliency: model.eval(), x.requires_grad_(), model(x)[0, c].backward(), then x.grad")
@claim("eval-vs-no-grad", "Neither call changes requires_grad of the parameters")
@claim("eval-vs-no-grad", "Neither of them clears the gradients that are already stored")
@claim("freeze-layers", "model.eval() alone does not freeze anything, because the weights still get gradients and are")
@claim("transfer-learning", "Loading and eval() freeze nothing; layers are frozen with requires_grad=False")
def _() -> None:
    model = nn.Linear(3, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    model.eval()
    x = torch.ones(1, 3).requires_grad_()
    out = model(x)
    assert out.requires_grad
    out[0, 1].backward()
    torch.testing.assert_close(x.grad, model.weight.detach()[1:2])
    kept = gradient(model.weight).clone()
    with torch.no_grad():
        model(x)
    assert torch.equal(gradient(model.weight), kept)
    assert all(p.requires_grad for p in model.parameters())
    before = model.weight.clone()
    optimizer.step()
    assert not torch.equal(model.weight, before)


@claim("eval-vs-no-grad", "but its tensors cannot be used in autograd later")
@claim("eval-vs-no-grad", "Tensors created in it cannot take part in autograd afterwards.")
@claim("eval-vs-no-grad", "It also skips version counters and view tracking.")
@claim("eval-vs-no-grad", "Like no_grad it does not change dropout or batch norm, so eval() is still needed.")
def _() -> None:
    with torch.inference_mode():
        made = torch.ones(2)
        assert nn.Dropout(0.5).training
    with torch.no_grad():
        usable = torch.ones(2)
    (leaf(1.0, 2.0) * usable).sum().backward()
    with pytest.raises(RuntimeError, match="Inference tensors cannot be saved for backward"):
        (leaf(1.0, 2.0) * made).sum().backward()
    with pytest.raises(RuntimeError, match=r"[Vv]ersion"):
        _ = made._version


@claim("eval-vs-no-grad", "@torch.no_grad() above def evaluate(model, loader)")
@claim(
    "detach-vs-no-grad", "@torch.no_grad() above an evaluate function makes the whole function run without tracking."
)
@claim("eval-vs-no-grad", "Calling .numpy() on an output fails with an error about requires_grad")
def _() -> None:
    model = nn.Linear(2, 1)

    @torch.no_grad()
    def evaluate(x: torch.Tensor) -> torch.Tensor:
        return model(x)

    assert not evaluate(torch.ones(1, 2)).requires_grad
    with pytest.raises(RuntimeError, match="requires grad"):
        model(torch.ones(1, 2)).numpy()


# detach, leaves


@claim("detach-vs-no-grad", "3, since only the second factor is tracked")
@claim("detach-vs-no-grad", "If x is 3 and the loss is x.detach() * x, then x.grad is 3 and not 6.")
@claim(
    "detach-vs-no-grad",
    "For y = x ** 2 and z = y.detach() + x, the gradient of z with respect to x is 1 and not 2x + 1.",
)
@claim(
    "detach-vs-no-grad",
    "detach() returns a new tensor and leaves the original attached; the in-place form is detach_().",
)
def _() -> None:
    x = leaf(3.0)
    (x.detach() * x).backward()
    assert gradient(x) == 3
    x = leaf(3.0)
    y = x**2
    (y.detach() + x).backward()
    assert gradient(x) == 1
    assert y.requires_grad
    assert not y.detach_().requires_grad


@claim(
    "detach-vs-no-grad", "Zeroing a detached activation in place can make backward() fail, since the saved values were"
)
@claim("detach-vs-no-grad", "detach() shares the data with the original; for a copy of its own you add clone().")
def _() -> None:
    x = leaf(1.0, 2.0)
    y = x.exp()
    y.detach().clone().zero_()
    assert (y > 0).all()
    y.detach().zero_()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


@claim(
    "detach-vs-no-grad",
    "with torch.no_grad(): y = x * 2 gives y.requires_grad == False, outside of the block it would be",
)
@claim(
    "detach-vs-no-grad",
    "Neither clears gradients or freezes parameters; no_grad() only pauses recording until the block ends.",
)
@claim("detach-vs-no-grad", "with torch.no_grad(): layer.weight.fill_(0.5)")
@claim("detach-vs-no-grad", "Changing a parameter in place by hand needs no_grad, otherwise PyTorch raises an error.")
def _() -> None:
    x = leaf(1.0)
    (x * 2).backward()
    with torch.no_grad():
        assert not (x * 2).requires_grad
    assert (x * 2).requires_grad
    assert gradient(x) == 2
    assert x.requires_grad
    layer = nn.Linear(1, 1)
    with pytest.raises(RuntimeError, match="leaf Variable"):
        layer.weight.fill_(0.5)
    with torch.no_grad():
        layer.weight.fill_(0.5)
    assert layer.weight == 0.5


@claim("leaf-tensor", "w.detach()", "clone() is a recorded operation", "Converting the type is a recorded operation")
@claim("leaf-tensor", "The result of a recorded operation is never a leaf.")
@claim("leaf-tensor", "If you convert a tensor that requires gradients with .double(), the result is no longer a leaf.")
@claim("leaf-tensor", "Scaling an initial weight as in torch.randn(3, requires_grad=True) * 0.01 makes it a non-leaf")
@claim("leaf-tensor", "Leaves are all tensors without recorded history, so either requires_grad is False or somebody")
def _() -> None:
    w = torch.randn(3, requires_grad=True)
    assert w.detach().is_leaf
    assert not any(made.is_leaf for made in (w.clone(), w.double(), w.exp(), w * 0.01, w.to("meta")))
    assert (torch.ones(2) * 2).is_leaf, "nothing is recorded without requires_grad"


@claim(
    "leaf-tensor",
    "retain_grad() only keeps the gradient; the tensor stays a non-leaf, whereas detach() would give a new leaf.",
)
@claim("leaf-tensor", "Call retain_grad() on it before backward(), or use a hook or torch.autograd.grad.")
@claim("leaf-tensor", "y.retain_grad(); loss.backward(); y.grad")
def _() -> None:
    w, seen = leaf(1.0, 2.0), []
    y = w * 2
    y.retain_grad()
    y.register_hook(seen.append)
    (y**2).sum().backward()
    (direct,) = torch.autograd.grad(((x := w * 2) ** 2).sum(), x)
    assert gradient(y).tolist() == direct.tolist() == seen[-1].tolist() == [4, 8]
    assert not y.is_leaf


@claim("leaf-tensor", "An Adam optimizer created with y = w * 2 raises a ValueError at once.")
@claim("leaf-tensor", "all(p.is_leaf for p in model.parameters()) is True for an ordinary model")
@claim("leaf-tensor", "Set requires_grad_() last, after moving and scaling")
def _() -> None:
    w = leaf(1.0)
    with pytest.raises(ValueError, match="can't optimize a non-leaf Tensor"):
        torch.optim.Adam([w * 2])
    assert all(p.is_leaf for p in nn.Sequential(nn.Conv2d(1, 2, 3), nn.Linear(2, 2)).parameters())
    assert (torch.randn(3).double() * 0.01).requires_grad_().is_leaf


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


# losses, outputs, regularisation


@claim(
    "no-softmax-before-ce",
    "For logits [10, -10, -10] and the right class the loss is about 0, but after an extra softmax it is",
)
@claim(
    "no-softmax-before-ce", "Probabilities of 0.66, 0.24 and 0.10 become 0.45, 0.30 and 0.26 after the second softmax."
)
@claim(
    "no-softmax-before-ce",
    "For the logits [-10, 10, -10] and true class 0, the gradient of the first logit drops from -1 to",
)
@claim("no-softmax-before-ce", "softmax([1, 0]) = [0.73, 0.27], so a certain answer turns into 73 percent")
@claim("no-softmax-before-ce", "About 0.31, since the inputs 1 and 0 are normalised once more.")
@claim("no-softmax-before-ce", "That is the loss of a guess with two equal scores; 1 and 0 still differ.")
def _() -> None:
    z, first = torch.tensor([[10.0, -10.0, -10.0]]), torch.tensor([0])
    assert F.cross_entropy(z, first).item() == pytest.approx(0, abs=1e-6)
    assert F.cross_entropy(z.softmax(1), first).item() == pytest.approx(0.55, abs=0.005)
    once = torch.tensor([2.0, 1.0, 0.1]).softmax(0)
    assert once.tolist() == pytest.approx([0.66, 0.24, 0.10], abs=0.005)
    assert once.softmax(0).tolist() == pytest.approx([0.45, 0.30, 0.26], abs=0.0051)
    pulls = []
    for extra in (False, True):
        z = torch.tensor([[-10.0, 10.0, -10.0]], requires_grad=True)
        F.cross_entropy(z.softmax(1) if extra else z, first).backward()
        pulls.append(gradient(z)[0, 0].item())
    assert pulls == pytest.approx([-1, -3e-9], rel=0.1)
    assert torch.tensor([1.0, 0.0]).softmax(0).tolist() == pytest.approx([0.73, 0.27], abs=0.005)
    assert F.cross_entropy(torch.tensor([[1.0, 0.0]]), first).item() == pytest.approx(-math.log(math.e / (math.e + 1)))
    assert F.cross_entropy(torch.tensor([[4.0, 4.0]]), first).item() == pytest.approx(0.69, abs=0.005)


@claim(
    "no-softmax-before-ce",
    "The value does not change, because log_softmax of log-probabilities gives the same log-probabilities",
)
@claim(
    "no-softmax-before-ce",
    "the order of the classes is not changed by it",
    "only the target may be given as probabilities",
)
@claim(
    "no-softmax-before-ce",
    "nn.LogSoftmax(dim=1) + nn.NLLLoss() gives the same value as nn.CrossEntropyLoss() on logits",
)
@claim(
    "no-softmax-before-ce",
    "Softmax of probabilities is a different, much flatter distribution, so loss and gradients change.",
)
@claim("no-softmax-before-ce", "No error is raised and the loss stays finite")
@claim("no-softmax-before-ce", "Softmax is an ordinary differentiable function")
def _() -> None:
    torch.manual_seed(0)
    z, y = torch.randn(5, 3, requires_grad=True), torch.tensor([0, 1, 2, 1, 0])
    loss = F.cross_entropy(z, y)
    torch.testing.assert_close(F.cross_entropy(z.log_softmax(1), y), loss)
    torch.testing.assert_close(nn.NLLLoss()(nn.LogSoftmax(dim=1)(z), y), loss)
    assert torch.equal(z.softmax(1).argmax(1), z.argmax(1))
    torch.testing.assert_close(F.cross_entropy(z, F.one_hot(y, 3).float()), loss)
    twice = F.cross_entropy(z.softmax(1), y)
    assert twice.isfinite()
    assert not torch.isclose(twice, loss)
    twice.backward()
    assert gradient(z).abs().sum() > 0


@claim("no-softmax-before-ce", "two-class problems BCEWithLogitsLoss likewise must not get a sigmoid before it")
@claim("softmax-vs-sigmoid", "nn.BCELoss wants probabilities, so there the sigmoid has to be applied before.")
@claim(
    "softmax-vs-sigmoid",
    "CrossEntropyLoss and BCEWithLogitsLoss both take raw logits and apply the function themselves.",
)
def _() -> None:
    z, y = torch.tensor([2.0, -1.0]), torch.tensor([1.0, 0.0])
    torch.testing.assert_close(nn.BCELoss()(z.sigmoid(), y), nn.BCEWithLogitsLoss()(z, y))
    assert nn.BCEWithLogitsLoss()(z.sigmoid(), y) > nn.BCEWithLogitsLoss()(z, y)


@claim("softmax-vs-sigmoid", "Softmax lowers them, sigmoid leaves them as they are")
@claim(
    "softmax-vs-sigmoid",
    "For the scores [2, 1, 0.1] softmax gives about [0.66, 0.24, 0.10] and sigmoid about [0.88, 0.73, 0.52].",
)
@claim("softmax-vs-sigmoid", "so adding a constant to all of them changes nothing")
@claim("softmax-vs-sigmoid", "With three equal scores softmax gives a third for each, however high the scores are.")
@claim("softmax-vs-sigmoid", "softmax of [0, 0] is [0.5, 0.5], and the sigmoid of 0 is 0.5 too")
@claim("softmax-vs-sigmoid", "With softmax on one output the gradient is zero, as the output never changes.")
@claim("softmax-vs-sigmoid", "logits.softmax(dim=0) on shape (32, 10) makes the columns sum to 1, which is a bug")
@claim("softmax-vs-sigmoid", "Both give numbers between 0 and 1; the range from -1 to 1 belongs to tanh.")
def _() -> None:
    z, raised = torch.tensor([2.0, 1.0, 0.1]), torch.tensor([3.0, 1.0, 0.1])
    assert (raised.softmax(0)[1:] < z.softmax(0)[1:]).all()
    assert torch.equal(raised.sigmoid()[1:], z.sigmoid()[1:])
    assert z.softmax(0).tolist() == pytest.approx([0.66, 0.24, 0.10], abs=0.005)
    assert z.sigmoid().tolist() == pytest.approx([0.88, 0.73, 0.52], abs=0.005)
    torch.testing.assert_close((z + 7).softmax(0), z.softmax(0))
    torch.testing.assert_close(torch.full((3,), 50.0).softmax(0), torch.full((3,), 1 / 3))
    assert torch.zeros(2).softmax(0).tolist() == [0.5, 0.5]
    assert torch.tensor(0.0).sigmoid() == 0.5
    one = leaf(3.7)
    one.reshape(1, 1).softmax(1).sum().backward()
    assert gradient(one) == 0
    batch = torch.randn(32, 10).softmax(dim=0)
    torch.testing.assert_close(batch.sum(0), torch.ones(10))
    wide = torch.linspace(-5, 5, 11)
    assert all(((f > 0) & (f < 1)).all() for f in (wide.sigmoid(), wide.softmax(0)))
    assert (wide.tanh() < 0).any()


@claim("l1-reg", "Both with the same strength", "That is L2, whose gradient is proportional to the weight.")
@claim("l1-reg", "At zero the absolute value has no derivative, PyTorch uses 0 there.")
@claim("l1-reg", "0.1 times (2 + 3), that is, 0.5, since the absolute values are summed.")
@claim("l1-reg", "A weight of 2 costs 2 here and 4 with the squared penalty.")
@claim("l1-reg", "l1_penalty = sum(p.norm(1) for n, p in model.named_parameters() if 'bias' not in n)")
@claim("l1-reg", "w = (1, -4), lam = 0.01 -> penalty 0.05")
def _() -> None:
    w = leaf(0.1, 10.0, 0.0)
    w.abs().sum().backward()
    assert gradient(w).tolist() == [1, 1, 0]
    w.grad = None
    w.square().sum().backward()
    assert (gradient(w)[1] / gradient(w)[0]).item() == pytest.approx(100)
    assert (0.1 * torch.tensor([2.0, -3.0]).abs().sum()).item() == pytest.approx(0.5)
    assert (0.01 * torch.tensor([1.0, -4.0]).norm(1)).item() == pytest.approx(0.05)
    assert (abs(2), 2**2) == (2, 4)
    model = nn.Linear(3, 2)
    penalty = sum(p.norm(1) for n, p in model.named_parameters() if "bias" not in n)
    torch.testing.assert_close(penalty, model.weight.abs().sum())


@claim(
    "l1-reg", "Plain SGD makes the weights hover close to zero, and exact zeros need a proximal step or a threshold."
)
@claim("l1-reg", "w = torch.sign(w) * torch.clamp(w.abs() - lr * lam, min=0) # soft thresholding")
@claim("l1-reg", "AdamW with weight_decay shrinks weights in proportion and does not make them sparse.")
def _() -> None:
    w = leaf(0.123, -0.2)
    optimizer = torch.optim.SGD([w], lr=0.1)
    for _ in range(200):
        optimizer.zero_grad()
        (0.5 * w.abs().sum()).backward()
        optimizer.step()
    assert (w != 0).any()
    assert (w.abs() <= 0.05 + 1e-6).all()
    v = torch.tensor([0.123, -0.2])
    for _ in range(200):
        v = torch.sign(v) * torch.clamp(v.abs() - 0.1 * 0.5, min=0)
    assert v.tolist() == [0, 0]
    u = leaf(0.01, 100.0)
    u.grad = torch.zeros(2)
    torch.optim.AdamW([u], lr=0.1, weight_decay=0.5).step()
    torch.testing.assert_close(u.detach(), torch.tensor([0.01, 100.0]) * (1 - 0.1 * 0.5))


@claim("overfitting", "torch.optim.Adam has weight_decay=0 by default, so without setting it nothing is penalised.")
@claim("overfitting-pytorch", "weight_decay is 0 by default in SGD and Adam, but 0.01 in AdamW.")
@claim("overfitting-pytorch", "weight_decay is an argument of the optimizer and is 0 by default in SGD.")
@claim("overfitting-pytorch", "Plain PyTorch has no early stopping; you write the check yourself")
@claim("overfitting", "PyTorch has no built-in early stopping")
def _() -> None:
    kinds = (torch.optim.SGD, torch.optim.Adam, torch.optim.AdamW)
    assert [inspect.signature(kind).parameters["weight_decay"].default for kind in kinds] == [0, 0, 0.01]
    names = [name.lower() for part in (torch, nn, torch.optim, torch.optim.lr_scheduler) for name in dir(part)]
    assert not [name for name in names if "early" in name]


@claim("overfitting-pytorch", "For convolutional networks nn.Dropout2d drops whole channels at random.")
@claim("overfitting-pytorch", "F.dropout(x, p=0.3, training=self.training) inside forward does the job too.")
@claim(
    "overfitting-pytorch",
    "random_split shares one Dataset, so the random transform would also hit the validation part.",
)
@claim("overfitting-pytorch", "ds = ConcatDataset([old_ds, new_ds])")
@claim("overfitting-pytorch", "This limits the gradients of one update and not the weights.")
@claim("overfitting-pytorch", "This lowers the learning rate; it does not shrink the weights.")
def _() -> None:
    torch.manual_seed(0)
    channels = nn.Dropout2d(0.5)(torch.ones(1, 50, 3, 3)).flatten(2)
    assert ((channels == 0).all(2) | (channels == 2).all(2)).all()
    assert torch.equal(F.dropout(torch.ones(9), p=0.3, training=False), torch.ones(9))
    data = TensorDataset(torch.arange(10))
    parts = random_split(data, [0.8, 0.2])
    assert all(part.dataset is data for part in parts)
    assert len(ConcatDataset([data, data])) == 20
    w = nn.Parameter(torch.tensor([3.0, 4.0]))
    w.grad = torch.tensor([30.0, 40.0])
    nn.utils.clip_grad_norm_([w], 1.0)
    assert w.grad.norm().item() == pytest.approx(1)
    optimizer = torch.optim.SGD([w], lr=0.1)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, step_size=1)
    optimizer.zero_grad()
    optimizer.step()
    schedule.step()
    assert w.tolist() == [3, 4]
    assert optimizer.param_groups[0]["lr"] == pytest.approx(0.01)


# training, saving, curves


@claim(
    "resume-training",
    "Loading the optimizer state also restores the old learning rate, so a new lr given to the constructor",
)
@claim("resume-training", "loading the optimizer state brings back the saved learning rate")
@claim("resume-training", "so passing it the file name raises an error")
@claim(
    "resume-training",
    "build the model first, read the file with torch.load, and pass the dictionary to load_state_dict",
)
@claim(
    "resume-training",
    "The roles are swapped; torch.save writes, torch.load reads, and load_state_dict puts the values back",
)
@claim("resume-training", "These are buffers and therefore part of model.state_dict().")
@claim("resume-training", "the optimizer holds running averages or momentum of its own that would be lost")
def _() -> None:
    model = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    model(torch.randn(4, 2)).sum().backward()
    optimizer.step()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "checkpoint.pt"
        torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": 7}, path)
        stored = torch.load(path, map_location="cpu")
    assert "1.running_mean" in stored["model"]
    assert not any("exp_avg" in name for name in stored["model"])
    fresh = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2))
    again = torch.optim.Adam(fresh.parameters(), lr=1e-4)
    with pytest.raises(TypeError, match="dict-like"):
        fresh.load_state_dict("checkpoint.pt")  # type: ignore[arg-type]
    fresh.load_state_dict(stored["model"])
    again.load_state_dict(stored["optimizer"])
    assert torch.equal(fresh[0].weight, model[0].weight)
    assert again.param_groups[0]["lr"] == 1e-3
    assert torch.equal(again.state[fresh[0].weight]["exp_avg"], optimizer.state[model[0].weight]["exp_avg"])


@claim("resume-training", "With all states restored, the run continues as if it had never been interrupted.")
@claim("resume-training", "Restarting with only the weights gives a different and often worse course of training.")
@claim("resume-training", "Without the scheduler state the learning rate would jump back to its high initial value.")
@claim("resume-training", "The running averages of Adam and the position in the schedule")
def _() -> None:
    def build() -> tuple[nn.Linear, torch.optim.Adam, torch.optim.lr_scheduler.LambdaLR]:
        torch.manual_seed(0)
        model = nn.Linear(2, 1)
        optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
        return model, optimizer, torch.optim.lr_scheduler.LambdaLR(optimizer, lambda epoch: 0.5**epoch)

    def train(parts: tuple[Any, ...], epochs: int) -> None:
        model, optimizer, schedule = parts
        for _ in range(epochs):
            optimizer.zero_grad()
            F.mse_loss(model(torch.tensor([[1.0, 2.0]])), torch.tensor([[3.0]])).backward()
            optimizer.step()
            schedule.step()

    whole, begun = build(), build()
    train(whole, 6)
    train(begun, 3)
    states = [part.state_dict() for part in begun]
    everything, weights = build(), build()
    for part, state in zip(everything, states, strict=True):
        part.load_state_dict(state)
    weights[0].load_state_dict(states[0])
    assert weights[1].param_groups[0]["lr"] == 0.1
    assert everything[1].param_groups[0]["lr"] == pytest.approx(0.1 / 8)
    train(everything, 3)
    train(weights, 3)
    assert torch.equal(everything[0].weight, whole[0].weight)
    assert not torch.equal(weights[0].weight, whole[0].weight)


@claim("resume-training", "With mixed precision the state of the GradScaler belongs in the file too.")
@claim("resume-training", "store the random number states, for example torch.get_rng_state()")
@claim("resume-training", "If layer names differ, load_state_dict reports missing and unexpected keys.")
def _() -> None:
    assert "scale" in torch.amp.GradScaler("cpu").state_dict()
    state = torch.get_rng_state()
    drawn = torch.rand(2)
    torch.set_rng_state(state)
    assert torch.equal(torch.rand(2), drawn)
    with pytest.raises(RuntimeError, match=r"Missing key(?s:.*)Unexpected key"):
        nn.ModuleDict({"a": nn.Linear(1, 1)}).load_state_dict(nn.ModuleDict({"b": nn.Linear(1, 1)}).state_dict())


@claim(
    "training-curves",
    "losses.append(loss.item())",
    "loss.grad is None; the value of the loss is what you want to draw.",
)
@claim(
    "training-curves", "A PyTorch module has no history attribute.", "There is no such method; the drawing is done by"
)
@claim("training-curves", "Both lines flat at a loss of 2.3 for ten classes mean that the network only guesses.")
@claim("training-loop", "That is how Keras works; in plain PyTorch you write the loop yourself.")
@claim("autograd", "loss.grad stays None, because only leaf tensors keep their gradients.")
def _() -> None:
    loss = leaf(2.0) ** 2
    loss.backward()
    with pytest.warns(UserWarning, match="not a leaf"):
        assert loss.grad is None
    assert isinstance(loss.item(), float)
    module = nn.Linear(1, 1)
    assert not [name for name in ("history", "plot", "fit", "compile_fit") if hasattr(module, name)]
    assert not hasattr(torch, "plot")
    guess = F.cross_entropy(torch.zeros(1, 10), torch.tensor([3]))
    assert guess.item() == pytest.approx(2.3, abs=0.005)


@claim("training-curves", "plt.plot fails on a list of tensors that require grad, so convert them to numbers first.")
def _() -> None:
    mpl.use("Agg")
    from matplotlib import pyplot as plt

    losses = [leaf(2.0) ** 2, leaf(1.0) ** 2]
    with pytest.raises(RuntimeError, match="requires grad"):
        plt.plot(losses)
    plt.plot([loss.item() for loss in losses])
    plt.close("all")


@claim("training-loop", "zero_grad, forward, loss, backward, step")
@claim("training-loop", "At the time of step() there are no gradients of this batch yet.")
@claim("training-loop", "The reset deletes the gradients before step() can use them, so nothing is learned.")
@claim("training-loop", "zero_grad() may also stand right after step(), but never between backward() and step().")
@claim("training-loop", "If you leave out optimizer.step(), the loss stays flat because the weights never move.")
@claim("training-loop", "Only the gradients are cleared; the weights keep everything that was learned.")
@claim("zero-grad", "The weights do not change, and the loss stays where it is.")
def _() -> None:
    def learned(*calls: str) -> bool:
        w = leaf(2.0)
        optimizer = torch.optim.SGD([w], lr=0.1)
        loss = w**2
        for call in calls:
            if call == "forward":
                loss = w**2
            elif call == "backward":
                loss.backward()
            else:
                getattr(optimizer, call)()
        return w.item() < 2

    assert learned("zero_grad", "forward", "backward", "step")
    assert learned("forward", "backward", "step", "zero_grad")
    assert not learned("forward", "backward", "zero_grad", "step")
    assert not learned("zero_grad", "forward", "step", "backward")
    assert not learned("zero_grad", "forward", "backward")


@claim("training-loop", "train() merely sets a flag")
@claim("eval-vs-no-grad", "eval() computes nothing; it only sets a flag that some layers look at.")
def _() -> None:
    model = nn.Sequential(nn.Linear(1, 1), nn.Dropout())
    before = {name: value.clone() for name, value in model.state_dict().items()}
    for switch, flag in ((model.eval, False), (model.train, True)):
        assert switch() is model
        assert [module.training for module in model.modules()] == [flag] * 3
        assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())


@claim("zero-grad", "zero_grad() never touches the weights; it clears only the gradients stored beside them.")
@claim(
    "zero-grad", "calling backward twice on the same loss with retain_graph=True gives a .grad that is twice as large"
)
@claim("zero-grad", "and .grad keeps its size however often gradients are added to it")
@claim(
    "zero-grad",
    "A pitfall is code that reads p.grad.norm() right after the reset and fails, since p.grad is None by then.",
)
@claim("zero-grad", "Leaving it out raises no error; the gradients of all batches so far are simply added up.")
@claim("zero-grad", "Gradients are computed as before; zero_grad() only empties the place where they are stored.")
@claim("zero-grad", "l1.backward(); l2.backward() before a single step adds both gradients")
def _() -> None:
    w = leaf(2.0, 3.0)
    optimizer = torch.optim.SGD([w], lr=0.1)
    loss = (w**2).sum()
    loss.backward(retain_graph=True)
    once = gradient(w).clone()
    loss.backward()
    assert torch.equal(gradient(w), 2 * once)
    assert gradient(w).numel() == w.numel()
    optimizer.zero_grad()
    assert w.tolist() == [2, 3]
    with pytest.raises(AttributeError, match="NoneType"):
        w.grad.norm()  # type: ignore[union-attr]
    w.sum().backward()
    (4 * w).sum().backward()
    assert gradient(w).tolist() == [5, 5]
    assert w.requires_grad


# data, NumPy, generative models


class Squares(Dataset[int]):
    """The sample at index i is i squared; it has no length."""

    def __getitem__(self, index: int) -> int:
        return index**2


class Stream(IterableDataset[int]):
    """Seven samples without an index."""

    def __iter__(self) -> Any:
        return iter(range(7))


@claim("utils-data", "100 batches of one sample each, in the order of the data set")
@claim("utils-data", "For images of shape (3, 224, 224) and batch_size=16 each batch has the shape (16, 3, 224, 224).")
@claim("utils-data", "drop_last=True) # skips the last incomplete batch")
@claim(
    "utils-data", "My subclass without __len__ crashed in the DataLoader, because the sampler needs to know the length."
)
@claim(
    "utils-data", "IterableDataset serves streams, where the samples arrive one after the other and there is no index."
)
@claim("utils-data", "Subset and ConcatDataset take a part of a data set or join several of them.")
@claim("utils-data", "With WeightedRandomSampler rare classes are drawn more often")
@claim("utils-data", "Everything passed to the workers must be picklable, so a lambda as a transform fails there.")
@claim("utils-data", "Ready-made data sets are in torchvision and similar packages; this module holds the tools")
def _() -> None:
    data = TensorDataset(torch.arange(100))
    batches = [batch.tolist() for (batch,) in DataLoader(data)]
    assert batches == [[i] for i in range(100)]
    images = TensorDataset(torch.zeros(16, 3, 224, 224))
    ((batch,),) = DataLoader(images, batch_size=16)
    assert batch.shape == (16, 3, 224, 224)
    assert len(DataLoader(data, batch_size=32, drop_last=True)) == 3
    for shuffle in (False, True):
        with pytest.raises(TypeError, match="has no len"):
            list(DataLoader(Squares(), shuffle=shuffle))
    assert [batch.tolist() for batch in DataLoader(Stream(), batch_size=3)] == [[0, 1, 2], [3, 4, 5], [6]]
    assert [int(x) for (x,) in Subset(data, [5, 2])] == [5, 2]
    drawn = list(WeightedRandomSampler([1.0, 99.0], 200, generator=torch.Generator().manual_seed(0)))
    assert sum(drawn) > 180
    with pytest.raises((AttributeError, pickle.PicklingError), match="lambda"):
        pickle.dumps(lambda x: x)
    assert not [name for name in dir(torch.utils.data) if "mnist" in name.lower() or "cifar" in name.lower()]


@claim("utils-data", "Workers are CPU processes that prepare batches; you move the batches to the GPU yourself.")
@claim("utils-data", "For sentences of different length I pass my own collate_fn, which pads them to the same length.")
@claim("utils-data", "Samples are read when they are asked for; only a few batches are in memory at a time.")
def _() -> None:
    read: list[int] = []

    class Sentences(Dataset[torch.Tensor]):
        def __len__(self) -> int:
            return 4

        def __getitem__(self, index: int) -> torch.Tensor:
            read.append(index)
            return torch.ones(index + 1)

    loader = DataLoader(
        Sentences(), batch_size=2, collate_fn=lambda xs: nn.utils.rnn.pad_sequence(xs, batch_first=True)
    )
    assert read == []
    first = next(iter(loader))
    assert (first.shape, read, first.device.type) == ((2, 2), [0, 1], "cpu")
    with pytest.raises(RuntimeError, match="equal size"):
        list(DataLoader(Sentences(), batch_size=2))


@claim("torch-vs-numpy", "np.gradient takes finite differences between neighbouring entries of an array")
@claim("torch-vs-numpy", "backward() belongs to PyTorch tensors; arrays have no such method.")
@claim("torch-vs-numpy", "Slices with a negative step such as a[::-1] work on arrays, while tensors need torch.flip.")
@claim("torch-vs-numpy", "Inside torch.no_grad() it is enough to write out.cpu().numpy().")
@claim("torch-vs-numpy", "so np.zeros((2, 3)) becomes torch.zeros(2, 3)")
@claim("torch-vs-numpy", "w = torch.tensor(3., requires_grad=True), (w ** 2).backward(), and w.grad is 6")
@claim("torch-vs-numpy", "np.array(3.) has no grad, torch.tensor(3., requires_grad=True) has")
@claim("torch-vs-numpy", "dL/dw = X.T @ (p - y) / n")
@claim(
    "torch-vs-numpy", "Both have arrays with any number of dimensions, broadcasting and the same floating-point types"
)
def _() -> None:
    array = np.array([1.0, 4.0, 9.0])
    assert np.gradient(array).tolist() == [3, 4, 5]
    assert not any(hasattr(array, name) for name in ("grad", "backward", "requires_grad", "cuda"))
    assert array[::-1].tolist() == torch.flip(torch.from_numpy(array), [0]).tolist()
    with pytest.raises(ValueError, match="step must be greater than zero"):
        _ = torch.from_numpy(array)[::-1]
    with torch.no_grad():
        assert nn.Linear(1, 1)(torch.ones(1, 1)).cpu().numpy().shape == (1, 1)
    assert np.zeros((2, 3)).shape == torch.zeros(2, 3).shape
    w = leaf(3.0)
    (w**2).backward()
    assert gradient(w) == 6
    torch.manual_seed(0)
    x, y, v = torch.randn(8, 3), torch.tensor([0.0, 1.0] * 4), torch.zeros(3, requires_grad=True)
    F.binary_cross_entropy_with_logits(x @ v, y).backward()
    torch.testing.assert_close(v.grad, x.T @ ((x @ v.detach()).sigmoid() - y) / len(x))
    assert (np.ones((2, 1)) + np.ones((1, 3))).shape == (torch.ones(2, 1) + torch.ones(1, 3)).shape


@claim("vae", "z = mu + torch.exp(0.5 * logvar) * torch.randn_like(mu)", "mu, logvar = self.encoder(x).chunk(2, dim=1)")
@claim("vae-parts", "40, namely 20 means and 20 log-variances")
@claim("vae-parts", "A typical slip is to forget the factor 0.5, although sigma is exp(0.5 * logvar).")
@claim("vae-parts", "An output of -2 for the log-variance means a standard deviation of about 0.37.")
@claim("vae-parts", "Predicting sigma directly can give negative values", "log(0) gives minus infinity")
@claim(
    "vae-parts", "The gradient is blocked at the draw, so the encoder does not learn anything from the reconstruction."
)
def _() -> None:
    torch.manual_seed(0)
    encoder, decoder, x = nn.Linear(784, 40), nn.Linear(20, 784), torch.rand(3, 784)
    mu, logvar = encoder(x).chunk(2, dim=1)
    assert mu.shape == logvar.shape == (3, 20)
    F.mse_loss(decoder(mu + torch.exp(0.5 * logvar) * torch.randn_like(mu)), x).backward()
    assert gradient(encoder.weight).abs().sum() > 0
    encoder.zero_grad()
    mu, logvar = encoder(x).chunk(2, dim=1)
    F.mse_loss(decoder(torch.normal(mu.detach(), (0.5 * logvar).exp().detach())), x).backward()
    assert encoder.weight.grad is None
    drawn = torch.distributions.Normal(mu, (0.5 * logvar).exp()).sample()
    assert not drawn.requires_grad
    assert math.exp(0.5 * -2) == pytest.approx(0.37, abs=0.005)
    assert (nn.Linear(4, 50)(torch.randn(1, 4)) < 0).any()
    assert torch.tensor(0.0).log() == -math.inf


@pytest.mark.parametrize(**claim.parameters())
def test_the_bank_says_so_and_it_is_so(item: str, quote: str, check: Check) -> None:
    claim.holds(item, quote, check)
