"""Pictures of agreement as SVG text for a page that may be light or dark.

Lines and letters take the colour of the surrounding text, nothing is filled behind them, and no font or address outside
the page is named. The same numbers give the same text, byte for byte. Every picture takes ``translate``, which turns an
English label into the reader's language; letters that matplotlib has no glyphs for are written as text all the same.
"""

from __future__ import annotations

import html
import io
import re
import warnings
from collections.abc import Callable, Sequence
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from grader.i18n import mark_for_translation as _
from grader.intervals import ConfidenceBin, RiskCoverage

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Floats = npt.NDArray[np.float64]
Translate = Callable[[str], str]

_INK = "#010203"  # stands for the colour of the text around the picture
_DATA, _OTHER, _GRID = "#3f87c9", "#d9822b", "#8a8a8a"
_STYLE = {
    "svg.fonttype": "none",
    "font.family": "sans-serif",
    "font.size": 10,
    "text.color": _INK,
    "axes.edgecolor": _INK,
    "axes.labelcolor": _INK,
    "xtick.color": _INK,
    "ytick.color": _INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": _GRID,
    "grid.alpha": 0.3,
    "legend.frameon": False,
}
_LOCK = Lock()  # matplotlib's settings belong to the process


class _Drawing:
    """One picture: settings in force while it is drawn, SVG text at the end."""

    def __init__(self, name: str, description: str, size: tuple[float, float] = (4.6, 3.8)) -> None:
        self._name, self._description, self._size = name, description, size
        self.svg = ""

    def __enter__(self) -> tuple[_Drawing, Axes]:
        import matplotlib as mpl
        from matplotlib.figure import Figure

        _LOCK.acquire()
        settings: dict[Any, Any] = {**_STYLE, "svg.hashsalt": self._name}
        self._settings = mpl.rc_context(settings)
        self._settings.__enter__()
        self._figure: Figure = Figure(figsize=self._size, layout="constrained")
        return self, self._figure.add_subplot()

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        try:
            if kind is None:
                self.svg = _clean(self._figure, self._name, self._description)
        finally:
            self._settings.__exit__(None, None, None)
            _LOCK.release()


def _clean(figure: Figure, name: str, description: str) -> str:
    """The figure as a small ``svg`` element for use inside a page, with identifiers of its own."""
    target = io.StringIO()
    with warnings.catch_warnings():  # the browser has the glyphs; guarded by the lock
        warnings.filterwarnings("ignore", "Glyph .* missing from font", UserWarning)
        figure.savefig(target, format="svg", transparent=True, metadata={"Date": None})
    text = target.getvalue()
    text = re.sub(r"<metadata>.*?</metadata>", "", text[text.index("<svg") :], flags=re.S)
    text = re.sub(r'\sxmlns(:\w+)?="[^"]*"', "", text).replace("xlink:href", "href")
    text = re.sub(r'\bid="([^"]+)"', rf'id="{name}-\1"', text)
    text = re.sub(r"url\(#([^)]+)\)", rf"url(#{name}-\1)", text)
    text = re.sub(r'href="#([^"]+)"', rf'href="#{name}-\1"', text)
    text = re.sub(r'<!--.*?-->|(?<=<g) id="[^"]*"| transform="rotate\(-0 [^"]*"', "", text, flags=re.S)
    text = re.sub(r'font-family: [^;"]*', "font-family: sans-serif", text)
    text = re.sub(r"-?\d+\.\d{3,}", lambda number: f"{float(number[0]):.2f}", re.sub(r"\s*\n\s*", "\n", text))
    label = html.escape(description, quote=True)
    opening = rf'<svg role="img" aria-label="{label}" viewBox="\1">'
    text = re.sub(r'<svg[^>]*?viewBox="([^"]+)"[^>]*>', opening, text, count=1)
    return text.replace(_INK, "currentColor").strip()


def scatter(human: Floats, machine: Floats, *, scale_max: float, translate: Translate = str) -> str:
    """Machine against human marks; the area of a dot counts the responses at its place."""
    cell = scale_max / 50
    places = np.column_stack([np.round(human, 6), np.round(machine / cell) * cell])
    points, counts = np.unique(places, axis=0, return_counts=True)
    size = 160 * counts / max(counts.max(), 8) + 6
    with _Drawing("scatter", translate(_("Machine marks against human marks"))) as (drawing, ax):
        ax.plot([0, scale_max], [0, scale_max], color=_INK, linewidth=1, linestyle=":")
        ax.scatter(points[:, 0], points[:, 1], s=size, color=_DATA, alpha=0.6, linewidths=0)
        _axes(ax, translate(_("human mark")), translate(_("machine mark")), scale_max)
    return drawing.svg


def confusion(counts: npt.NDArray[np.int64], points: Sequence[float], *, translate: Translate = str) -> str:
    """Counts of score points, rows human and columns machine; shading is the share of the row."""
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    small = 9 if len(points) <= 12 else 6
    with _Drawing("confusion", translate(_("Score points of human and machine")), (4.8, 4.2)) as (drawing, ax):
        ax.grid(visible=False)
        for (row, column), count in np.ndenumerate(counts):
            if count:
                left, low = column - 0.5, row - 0.5
                x, y = [left, left + 1, left + 1, left], [low, low, low + 1, low + 1]
                ax.fill(x, y, color=_DATA, alpha=float(0.08 + 0.72 * shares[row, column]), linewidth=0)
                ax.text(column, row, str(count), ha="center", va="center", fontsize=small)
        labels = [f"{point:g}" for point in points]
        ax.set_xticks(range(len(points)), labels)
        ax.set_yticks(range(len(points)), labels)
        ax.set_xlim(-0.5, len(points) - 0.5)
        ax.set_ylim(-0.5, len(points) - 0.5)
        ax.set_xlabel(translate(_("machine score")))
        ax.set_ylabel(translate(_("human score")))
    return drawing.svg


def marks_calibration(
    means: Sequence[tuple[float, float, int]], *, scale_max: float, translate: Translate = str
) -> str:
    """Mean human mark of responses with like machine marks: (machine mean, human mean, responses) each."""
    x, y, n = (np.array(column, dtype=float) for column in zip(*means, strict=True))
    with _Drawing("calibration", translate(_("Mean human mark by machine mark"))) as (drawing, ax):
        ax.plot([0, scale_max], [0, scale_max], color=_INK, linewidth=1, linestyle=":")
        ax.plot(x, y, color=_DATA, linewidth=1.5)
        ax.scatter(x, y, s=20 + 100 * n / n.max(), color=_DATA, linewidths=0)
        _axes(ax, translate(_("mean machine mark")), translate(_("mean human mark")), scale_max)
    return drawing.svg


def reliability(bins: Sequence[ConfidenceBin], *, translate: Translate = str) -> str:
    """Share of right marks by stated confidence."""
    x, y = [b.confidence for b in bins], [b.accuracy for b in bins]
    n = np.array([b.n for b in bins], dtype=float)
    with _Drawing("reliability", translate(_("Share of right marks by confidence"))) as (drawing, ax):
        ax.plot([0, 1], [0, 1], color=_INK, linewidth=1, linestyle=":")
        ax.plot(x, y, color=_OTHER, linewidth=1.5)
        ax.scatter(x, y, s=20 + 100 * n / n.max(), color=_OTHER, linewidths=0)
        _axes(ax, translate(_("confidence")), translate(_("share right")), 1.0)
    return drawing.svg


def risk_coverage_curve(curve: RiskCoverage, *, translate: Translate = str) -> str:
    """Mean error, in points, of the surest responses against the share of responses they are."""
    keep = np.unique(np.linspace(0, len(curve.coverage) - 1, min(len(curve.coverage), 300)).astype(int))
    with _Drawing("risk", translate(_("Mean error of the surest responses by coverage"))) as (drawing, ax):
        ax.plot(curve.coverage[keep], curve.risk[keep], color=_OTHER, linewidth=1.5)
        ax.set_xlim(0, 1)
        ax.set_ylim(bottom=0)
        ax.set_xlabel(translate(_("share of responses marked by machine")))
        ax.set_ylabel(translate(_("mean error (points)")))
    return drawing.svg


def residuals(bands: Sequence[tuple[str, Floats]], *, scale_max: float, translate: Translate = str) -> str:
    """Machine minus human mark for each (band of the human mark, differences): median, quartiles, whiskers."""
    filled = [(f"{name}\n(n {len(values)})", values) for name, values in bands if len(values)]
    ink = {"color": _INK, "linewidth": 1}
    description = translate(_("Machine minus human mark by band of the human mark"))
    with _Drawing("residuals", description, (4.6, 2.8)) as (drawing, ax):
        ax.axvline(0, color=_INK, linewidth=1, linestyle=":")
        boxes = ax.boxplot(
            [values for label, values in filled],
            orientation="horizontal",
            tick_labels=[label for label, values in filled],
            patch_artist=True,
            showfliers=False,
            whis=(5, 95),
            boxprops={"facecolor": _DATA, "edgecolor": _INK},
            medianprops=ink, whiskerprops=ink, capprops=ink,
        )  # fmt: skip
        for box in boxes["boxes"]:
            box.set_alpha(0.7)
        ax.set_xlim(-scale_max * 1.02, scale_max * 1.02)
        ax.set_xlabel(translate(_("machine minus human mark")))
    return drawing.svg


def _axes(ax: Axes, x: str, y: str, top: float) -> None:
    margin = top * 0.04
    ax.set_xlim(-margin, top + margin)
    ax.set_ylim(-margin, top + margin)
    ax.set_xlabel(x)
    ax.set_ylabel(y)
