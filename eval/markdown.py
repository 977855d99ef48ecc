"""Markdown tables and the way numbers are written in them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def estimate(found: Sequence[float | None] | None) -> str:
    """A value with its interval, such as ``.61 (.55–.66)``."""
    if found is None or found[0] is None:
        return "–"
    ends = "" if found[1] is None else f" ({short(found[1])}–{short(found[2])})"
    return f"{short(found[0])}{ends}"


def share(found: Sequence[float | None] | None) -> str:
    """A share with its interval in percent."""
    if found is None or found[0] is None:
        return ""
    ends = "" if found[1] is None or found[2] is None else f" ({found[1]:.0%}–{found[2]:.0%})"
    return f"{found[0]:.1%}{ends}"


def short(value: float | None) -> str:
    """Three decimals without the leading 0."""
    if value is None:
        return "–"
    return f"{value:.3f}".replace("0.", ".", 1) if abs(value) < 1 else f"{value:.2f}"


def yes(reached: bool) -> str:
    """Whether a target is reached."""
    return "yes" if reached else "**no**"
