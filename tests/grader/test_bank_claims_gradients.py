"""More of what the PyTorch items claim, run: gradients, gradient descent, modes and leaves.

Feedback on misconceptions, answers to follow-ups, quick checks and numbers; the key statements that each item rests on
are in `test_bank_claims.py`.
"""

from __future__ import annotations

import inspect
import math

import pytest
import torch
import torch.nn.functional as F  # noqa: N812
from torch import nn
from torch.utils.checkpoint import checkpoint
from torch.utils.data import (
    DataLoader,
    TensorDataset,
)

from grader import load_bank
from grader.bank import default_rubrics
from tests.grader.claims import Check, Claims
from tests.grader.leaves import gradient, leaf

claim = Claims(load_bank(default_rubrics() / "pytorch"))


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


@pytest.mark.parametrize(**claim.parameters())
def test_the_bank_says_so_and_it_is_so(item: str, quote: str, check: Check) -> None:
    claim.holds(item, quote, check)
