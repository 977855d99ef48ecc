"""What a study of a calibration found, in sentences that a teacher understands."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import numpy as np

from grader.feedback import component_name
from grader.i18n import mark_for_translation as _
from grader.i18n import translator

if TYPE_CHECKING:
    from grader.calibration_study import Study

Say = Callable[..., str]

GOAL = 0.8
#: Agreement may be this much lower than between two raters (Williamson, Xi & Breyer 2012).
_DEGRADATION = 0.1
#: Subgroups whose difference of standardised means is larger are named.
_DSM, _LEAST = 0.1, 10


def in_words(study: Study, language: str = "en") -> tuple[str, ...]:
    """The findings, the most important first."""
    translate = translator(language)

    def say(message: str, **fields: object) -> str:
        return translate(message).format(**fields)

    parts = (_error, _bias, _raters, _subgroups, _components, _next, _risk, _doubts)
    return tuple(sentence for part in parts for sentence in part(study, say, language))


def _error(study: Study, say: Say, language: str) -> Iterator[str]:
    yield say(
        _("Fitted to {n} labelled answers; every figure here is for answers left out of the fit."),
        n=len(study.report.human),
    )
    yield say(
        _(
            "A mark is off by {error:.2f} points (root mean square); without calibration by {before:.2f}, by giving "
            "everybody the mean {mean:.2f}."
        ),
        error=study.report.agreement.metrics["rmse"],
        before=study.before.agreement.metrics["rmse"],
        mean=study.baselines["question mean"],
    )
    if study.weighted is not None:
        yield say(
            _("The labels are no random sample; counted for all answers, a mark is off by {error:.2f} points."),
            error=study.weighted.rmse,
        )


def _bias(study: Study, say: Say, language: str) -> Iterator[str]:
    top, human = study.calibration.scale_max, study.report.human
    difference = study.report.machine - human
    off = float(np.mean(difference))
    if off >= 0.02 * top:
        yield say(_("It marks {points:.1f} points too high on average."), points=off)
    elif off <= -0.02 * top:
        yield say(_("It marks {points:.1f} points too low on average."), points=-off)
    weak = human <= top / 3
    shift = float(np.mean(difference[weak])) if weak.sum() >= 3 else 0.0
    if shift >= 0.04 * top:
        yield say(_("Weak answers get {points:.1f} points too many on average."), points=shift)
    elif shift <= -0.04 * top:
        yield say(_("Weak answers get {points:.1f} points too few on average."), points=-shift)


def _raters(study: Study, say: Say, language: str) -> Iterator[str]:
    agreement = study.report.agreement
    if "qwk" not in agreement.human_human:
        return
    fields = {"machine": agreement.metrics["qwk"], "raters": agreement.human_human["qwk"]}
    if agreement.degradation["qwk"] >= -_DEGRADATION:
        yield say(
            _("It agrees with you as well as your colleague does (QWK {machine:.2f} against {raters:.2f})."), **fields
        )
    else:
        yield say(
            _("It agrees with you less than your colleague does (QWK {machine:.2f} against {raters:.2f})."), **fields
        )


def _subgroups(study: Study, say: Say, language: str) -> Iterator[str]:
    for part in study.report.agreement.subgroups:
        if part.n < _LEAST or not abs(part.dsm) > _DSM:
            continue
        kinder = _("It is kinder to “{name}” than you are, by {points:.2f} points on average; look at these answers.")
        stricter = _(
            "It is stricter with “{name}” than you are, by {points:.2f} points on average; look at these answers."
        )
        points = part.machine_mean - part.human_mean
        yield say(kinder if part.dsm > 0 else stricter, name=part.name, points=abs(points))


def _components(study: Study, say: Say, language: str) -> Iterator[str]:
    for part in study.components:
        yield say(
            _("The credit of {component} is off by {error:.2f} (0 to 1); without calibration by {before:.2f}."),
            component=component_name(part.name, translator(language)),
            error=part.rmse,
            before=part.rmse_before,
        )


def _next(study: Study, say: Say, language: str) -> Iterator[str]:
    more = (study.labels_to_goal or 0) - len(study.report.human)
    if more > 0:
        yield say(_("About {n} more labels should bring QWK to {goal:g}."), n=more, goal=GOAL)


def _risk(study: Study, say: Say, language: str) -> Iterator[str]:
    line, policy = study.calibration.operating, study.calibration.policy
    if line.share:
        yield say(
            _(
                "At the risk you set (at most {risk:.0%} of marks off by more than {tolerance:g} points) it can mark "
                "{share:.0%} of answers by itself."
            ),
            risk=policy.risk,
            tolerance=policy.tolerance,
            share=line.share,
        )
    else:
        yield say(_("At the risk you set it cannot yet mark any answer by itself: label more, or accept more risk."))


def _doubts(study: Study, say: Say, language: str) -> Iterator[str]:
    if study.mislabelled:
        rows = ", ".join(str(study.rows[at]) for at in study.mislabelled[:8])
        yield say(_("Look again at the labels of rows {rows}: they fit badly to all the others."), rows=rows)
    if study.contradictory:
        groups = [", ".join(str(study.rows[at]) for at in group) for group in study.contradictory[:5]]
        yield say(_("The same answer has different labels in rows {rows}; all were kept."), rows="; ".join(groups))
