"""Tensors that gradients are taken for, as the checks of the bank's claims use them."""

from __future__ import annotations

import torch


def leaf(*values: float) -> torch.Tensor:
    """A leaf that requires a gradient: a number, or a vector of several."""
    return torch.tensor(values[0] if len(values) == 1 else values, requires_grad=True)


def gradient(tensor: torch.Tensor) -> torch.Tensor:
    """The gradient that a backward pass has left in ``tensor``."""
    assert tensor.grad is not None
    return tensor.grad
