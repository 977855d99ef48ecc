"""Are new answers still like the labelled ones?"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from scipy.stats import betabinom

from grader.calibration import Calibration
from grader.i18n import mark_for_translation as _
from grader.i18n import translator
from grader.representation import Array, Representation

#: Share of labelled answers that count as unusual.
_UNUSUAL = 0.05
#: A warning is raised when chance alone would give as many unusual answers less often than this.
_CHANCE = 0.01


@dataclass(frozen=True, slots=True)
class Drift:
    """New answers beside the labelled ones.

    An answer is unusual when it is further from all labelled answers than 95 % of them are from one another.

    Attributes:
        total: New answers.
        unusual: Places (from 0) of the unusual ones, the furthest first.
        share: Unusual among all, 0..1.
        expected: What that share is for answers like the labelled ones, 0..1.
        p_value: Probability of at least as many unusual ones if the new answers were like the labelled ones.
        warning: Whether that is too improbable to be chance.
    """

    total: int
    unusual: tuple[int, ...]
    share: float
    expected: float
    p_value: float
    warning: bool

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data."""
        return asdict(self)

    def summary(self, language: str = "en") -> str:
        """The finding in one sentence of ``language``."""
        translate = translator(language)
        if self.warning:
            said = translate(
                _(
                    "{share:.0%} of {total} answers are unlike the labelled ones, {expected:.0%} were expected: label "
                    "some of them and calibrate again."
                )
            )
        else:
            said = translate(_("{total} answers are like the labelled ones."))
        return said.format(share=self.share, expected=self.expected, total=self.total)


def drift(calibration: Calibration, rows: Representation) -> Drift:
    """Whether new answers lie further from the labelled ones than those lie from one another.

    The distance is `Prediction.novelty`: the share of the correction's uncertainty that the labels leave. The line is
    the 95 % quantile of the labelled answers' leave-one-out novelties; for answers of the same kind the number above
    it follows a beta-binomial distribution, whatever the novelties are like, so the test is exact for few labels too.
    Labels that were chosen because they were unlike the others move the line up and make the test more cautious.

    Args:
        calibration: The calibration in force.
        rows: New answers of the same item, from ``Grader.represent``; blank ones are better left out.
    """
    novelty: Array = calibration.fitted.predict(rows).novelty if len(rows) else np.empty(0)
    return drift_of(calibration.fitted.left_out.novelty, novelty)


def drift_of(known: Array, novelty: Array) -> Drift:
    """As `drift`, from the leave-one-out novelties of the labelled answers and the novelties of the new ones."""
    ordered, novelty = np.round(np.sort(known), 6), np.round(novelty, 6)
    n, m = len(ordered), len(novelty)
    rank = min(int(np.ceil((1 - _UNUSUAL) * (n + 1))), n)
    order = np.argsort(-novelty, kind="stable")
    unusual = tuple(int(row) for row in order if novelty[row] > ordered[rank - 1])
    p_value = float(betabinom.sf(len(unusual) - 1, m, n + 1 - rank, rank)) if unusual else 1.0
    return Drift(
        total=m,
        unusual=unusual,
        share=len(unusual) / m if m else 0.0,
        expected=(n + 1 - rank) / (n + 1),
        p_value=p_value,
        warning=p_value < _CHANCE,
    )
