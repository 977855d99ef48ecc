"""The report on how marks agree with raters: one HTML file that needs nothing else, and the same numbers as JSON.

    details = Details(questions=questions, responses=texts, confidence=confidence)
    report = build_report(human, machine, scale_max=5, step=0.5, details=details, signature=signature)
    path.write_text(report.to_html("de"), encoding="utf-8")

The page is in English, German or Hindi. It loads nothing from anywhere, has no script, follows the reader's light or
dark setting, and escapes every text that came from outside.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib import resources
from typing import Any

import numpy as np
import numpy.typing as npt

from grader.agreement import AgreementReport, agreement, round_to_scale
from grader.cases import Case, Details
from grader.charts import confusion, marks_calibration, reliability, residuals, risk_coverage_curve, scatter
from grader.i18n import mark_for_translation as _
from grader.i18n import translator
from grader.intervals import ConfidenceBin, FloatArray, RiskCoverage, checked, confidence_bins, risk_coverage

_BINS = 10
_MOST_POINTS = 21
BANDS = ("low", "middle", "high")
#: Measures and bands as readers see them.
NAMES: Mapping[str, str] = {
    "low": _("low"),
    "middle": _("middle"),
    "high": _("high"),
    "qwk": _("agreement (QWK)"),
    "qwk_continuous": _("agreement before rounding (QWK)"),
    "exact": _("same score point"),
    "adjacent": _("at most one step apart"),
    "pearson": _("correlation (Pearson)"),
    "spearman": _("rank correlation (Spearman)"),
    "rmse": _("root mean square error"),
    "mae": _("mean absolute error"),
    "smd": _("standardised mean difference (SMD)"),
    "within_question_r": _("correlation within questions"),
    "ece": _("error of the confidence (ECE)"),
    "aurc": _("area under risk and coverage (AURC)"),
    "prmse": _("share of the true score explained (PRMSE)"),
    "variance_of_errors": _("variance of the raters' errors"),
    "degradation_qwk": _("agreement (QWK) minus that of the raters"),
    "degradation_pearson": _("correlation minus that of the raters"),
}


@dataclass(frozen=True, slots=True, eq=False)
class Report:
    """Everything that the page and the JSON show.

    Attributes:
        title: Heading.
        signature: What the marks depend on.
        agreement: Every agreement number.
        human: Marks of the rater.
        machine: Marks of the scorer.
        points: Score points of the confusion table.
        counts: Confusion table, rows human.
        marks: (mean machine mark, mean human mark, responses) by tenths of the machine marks.
        bins: Reliability of the confidence; empty without one.
        curve: Risk by coverage, in marks; ``None`` without confidence.
        worst: Worst disagreements, largest first.
        notes: Sentences under the heading.
    """

    title: str
    signature: str
    agreement: AgreementReport
    human: FloatArray
    machine: FloatArray
    points: tuple[float, ...]
    counts: npt.NDArray[np.int64]
    marks: tuple[tuple[float, float, int], ...]
    bins: tuple[ConfidenceBin, ...]
    curve: RiskCoverage | None
    worst: tuple[Case, ...]
    notes: tuple[str, ...] = ()

    def residual_bands(self) -> list[tuple[str, FloatArray]]:
        """Machine minus human by band of the human mark; bands as in `grader.agreement.by_band`."""
        third = self.agreement.scale_max / 3
        low, high = self.human < third - 1e-6, self.human > 2 * third + 1e-6
        difference = self.machine - self.human
        return list(zip(BANDS, (difference[low], difference[~(low | high)], difference[high]), strict=True))

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers, lists and texts, ready for JSON; undefined numbers are ``None``."""
        quantiles = [0.05, 0.25, 0.5, 0.75, 0.95]
        return {
            "title": self.title,
            "signature": self.signature,
            "notes": list(self.notes),
            "agreement": self.agreement.to_dict(),
            "confusion": {"points": list(self.points), "counts": self.counts.tolist()},
            "calibration": [{"machine": m, "human": h, "n": n} for m, h, n in self.marks],
            "reliability": [asdict(each) for each in self.bins],
            "risk_coverage": None if self.curve is None else _curve(self.curve),
            "residuals": {
                name: {"n": len(v), "quantiles": np.quantile(v, quantiles).tolist() if len(v) else []}
                for name, v in self.residual_bands()
            },
            "worst": [asdict(case) for case in self.worst],
        }

    def to_json(self) -> str:
        """`to_dict` as text."""
        return json.dumps(self.to_dict(), ensure_ascii=False, indent=1, allow_nan=False) + "\n"

    def to_html(self, language: str = "en") -> str:
        """The page, with its fixed texts in ``language`` (``en``, ``de`` or ``hi``; others give English)."""
        from jinja2 import Environment, StrictUndefined

        translate = translator(language)
        source = (resources.files("grader") / "templates" / "report.html").read_text(encoding="utf-8")
        environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
        environment.filters.update(num=_number, named=lambda key: translate(NAMES.get(key, key)))
        environment.globals.update(say=lambda message, **fields: translate(message).format(**fields))
        page = environment.from_string(source)
        return page.render(report=self, charts=self.charts(language), a=self.agreement, language=language)

    def charts(self, language: str = "en") -> dict[str, str]:
        """SVG text by name; ``reliability`` and ``risk`` only where a confidence was given."""
        top, translate = self.agreement.scale_max, translator(language)
        bands = [(translate(NAMES[name]), values) for name, values in self.residual_bands()]
        found = {
            "scatter": scatter(self.human, self.machine, scale_max=top, translate=translate),
            "confusion": confusion(self.counts, self.points, translate=translate),
            "calibration": marks_calibration(self.marks, scale_max=top, translate=translate),
            "residuals": residuals(bands, scale_max=top, translate=translate),
        }
        if self.curve is not None:
            found["reliability"] = reliability(self.bins, translate=translate)
            found["risk"] = risk_coverage_curve(self.curve, translate=translate)
        return found


def _curve(curve: RiskCoverage) -> dict[str, Any]:
    wanted = (np.linspace(0.05, 1, 20) * len(curve.coverage)).round().astype(int).clip(1) - 1
    return {
        "area": curve.area,
        "coverage": curve.coverage[wanted].tolist(),
        "risk": curve.risk[wanted].tolist(),
    }


def _number(value: object, digits: int = 3) -> str:
    if value is None or (isinstance(value, float) and np.isnan(value)):
        return "–"
    return f"{value:.{digits}f}" if isinstance(value, float) else str(value)


def build_report(
    human: npt.ArrayLike,
    machine: npt.ArrayLike,
    *,
    scale_max: float,
    step: float = 1.0,
    details: Details | None = None,
    title: str = "Agreement with raters",
    signature: str = "",
    notes: Sequence[str] = (),
    worst: int = 20,
    n_boot: int = 1000,
    seed: int = 0,
) -> Report:
    """Puts a report together from arrays, one value a response.

    Args:
        human: Marks of the rater, 0..scale_max.
        machine: Marks of the scorer, rounded or raw.
        scale_max: Highest score point.
        step: Distance of two score points.
        details: What else is known of the responses.
        title: Heading.
        signature: What the marks depend on.
        notes: Sentences to print under the heading.
        worst: How many disagreements to list.
        n_boot: Resamples of the intervals.
        seed: Of the resamples.

    Raises:
        InputError: As `grader.agreement.agreement`, or columns whose lengths differ.
    """
    more = details or Details()
    found = agreement(human, machine, scale_max=scale_max, step=step, human2=more.human2, groups=more.questions,
                      subgroups=more.subgroups, n_boot=n_boot, seed=seed)  # fmt: skip
    h, m = checked(human, "human"), checked(machine, "machine")
    more.check(len(h))
    points, counts = _confusion(h, m, scale_max, step)
    sure = None if more.confidence is None else checked(more.confidence, "confidence")
    return Report(
        title=title,
        signature=signature,
        agreement=found,
        human=h,
        machine=m,
        points=points,
        counts=counts,
        marks=_marks(h, m),
        bins=() if sure is None else _reliability(sure, np.abs(m - h) <= step + 1e-6),
        curve=None if sure is None else risk_coverage(sure, np.abs(m - h)),
        worst=_worst(h, m, more, worst),
        notes=tuple(notes),
    )


def _reliability(confidence: FloatArray, near: npt.NDArray[np.bool_]) -> tuple[ConfidenceBin, ...]:
    return confidence_bins(confidence, near.astype(float), bins=_BINS, scheme="equal_mass")


def _worst(h: FloatArray, m: FloatArray, details: Details, most: int) -> tuple[Case, ...]:
    """The cases with the largest differences; the first of equal ones first."""
    if details.responses is None:
        return ()
    difference = np.round(np.abs(m - h), 6)
    order = np.lexsort((np.arange(len(h)), -difference))
    return tuple(details.case(at, float(h[at]), float(m[at])) for at in order[:most].tolist() if difference[at] > 0)


def _confusion(
    h: FloatArray, m: FloatArray, scale_max: float, step: float
) -> tuple[tuple[float, ...], npt.NDArray[np.int64]]:
    """Score points and counts; a scale of more than 21 points is shown in tenths."""
    if round(scale_max / step) >= _MOST_POINTS:
        step = scale_max / 10
    size = round(scale_max / step) + 1
    rows, columns = (np.round(round_to_scale(x, scale_max=scale_max, step=step) / step).astype(int) for x in (h, m))
    counts = np.bincount(rows * size + columns, minlength=size * size).reshape(size, size)
    return tuple(round(at * step, 6) for at in range(size)), counts.astype(np.int64)


def _marks(h: FloatArray, m: FloatArray) -> tuple[tuple[float, float, int], ...]:
    """Mean machine and human mark of tenths of the responses by machine mark; equal marks stay together."""
    edges = np.unique(np.quantile(m, np.arange(1, _BINS) / _BINS, method="inverted_cdf"))
    where = np.searchsorted(edges, m, side="left")
    chosen = [where == at for at in np.unique(where)]
    return tuple((float(m[rows].mean()), float(h[rows].mean()), int(rows.sum())) for rows in chosen)
