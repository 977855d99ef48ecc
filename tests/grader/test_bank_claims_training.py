"""More of what the PyTorch items claim, run: losses, training, saving, data and generative models.

Feedback on misconceptions, answers to follow-ups, quick checks and numbers; the key statements that each item rests on
are in `test_bank_claims.py`.
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
from tests.grader.leaves import gradient, leaf

claim = Claims(load_bank(default_rubrics() / "pytorch"))


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
