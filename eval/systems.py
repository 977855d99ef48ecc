"""The systems that the bench tests, put together from an encoder, a grader and a cache."""

from __future__ import annotations

import dataclasses
import importlib
import importlib.util
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np

from eval.baselines import Cosine, Fit, baselines
from eval.boosting import Tables, fit_committee, fit_with_answers
from eval.cache import CachedEncoder, RowCache, digest
from eval.feature_table import feature_table
from eval.frames import Frames
from eval.grading import GraderSystem
from eval.second_opinion import second_opinion
from grader import Grader
from grader.errors import InputError
from grader.evidence.judge import Judge
from grader.scoring import Prior

#: Trains a prior: ``train(frames, encoder)`` with prepared frames by data set.
TrainPrior = Callable[[Frames, CachedEncoder], Prior]
UNCALIBRATED = "uncalibrated"
BOOSTING = "boosting"
SHIPPED = "shipped"
TRAINED = "eval.prior_fit:fit_prior"


@dataclass(slots=True)
class Systems:
    """Everything that protocols fit or compare with.

    Attributes:
        encoder: Shared by all of them.
        cache: Of marks, features and cosines.
        prior: ``shipped``, or ``module:function`` of a `TrainPrior` for the protocols that leave data sets out.
        seed: Of the models fitted here.
        judge: The contradiction model of the shipped grader.
    """

    encoder: CachedEncoder
    cache: RowCache
    prior: str = SHIPPED
    seed: int = 0
    judge: Judge | None = None
    shipped: GraderSystem = field(init=False)
    _trained: dict[str, GraderSystem] = field(init=False, default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        self.shipped = GraderSystem(Grader(self.encoder, judge=self.judge), self.cache)

    @property
    def tables(self) -> Tables:
        """Gives the feature table of a frame."""
        return lambda frame: feature_table(frame, self.encoder, self.cache)

    def baselines(self) -> dict[str, Fit]:
        """See `eval.baselines`."""
        return baselines(Cosine(self.encoder, self.cache))

    def official(self) -> dict[str, Fit]:
        """The shipped grader, and the models fitted to a train split, which the contradiction model has read, too."""
        second = {} if self.judge is None else {
            "all + contradiction model": fit_with_answers(
                self.tables, seed=self.seed, second=second_opinion(self.judge)
            ),
        }  # fmt: skip
        return {
            UNCALIBRATED: lambda frames: self.shipped,
            BOOSTING: fit_committee(self.tables, [BOOSTING], seed=self.seed),
            "committee": fit_committee(self.tables, seed=self.seed),
            "committee + answers": fit_with_answers(self.tables, seed=self.seed),
            **second,
        }

    def unseen(self) -> dict[str, Fit]:
        """The systems of the protocols that test on unseen data sets."""
        return {UNCALIBRATED: self.fit_prior, "committee": fit_committee(self.tables, seed=self.seed)}

    def fitted(self) -> dict[str, Fit]:
        """The models fitted to questions of a data set and tested on its other questions."""
        return {UNCALIBRATED: lambda frames: self.shipped, "committee": fit_committee(self.tables, seed=self.seed)}

    def fit_prior(self, frames: Frames) -> GraderSystem:
        """The grader with a prior trained on ``frames``, or with the shipped one whatever it was trained on.

        The first has no contradiction model: that was trained on the train splits of the data sets left out, too.
        """
        if self.prior == SHIPPED:
            return self.shipped
        key = digest([text for name, frame in frames.items() for text in (name, *frame["answer_id"])])
        if key not in self._trained:
            prior = load_training(self.prior)(frames, self.encoder)
            grader = Grader(self.encoder, prior=prior)
            self._trained[key] = GraderSystem(grader, self.cache, salt=fingerprint(prior))
        return self._trained[key]


def load_training(name: str) -> TrainPrior:
    """The function named ``module:function``.

    Raises:
        InputError: There is no such function.
    """
    module, _, function = name.partition(":")
    try:
        found: TrainPrior = getattr(importlib.import_module(module), function)
    except (ImportError, AttributeError, ValueError) as error:
        raise InputError(f"prior {name!r} is neither {SHIPPED!r} nor module:function ({error})") from error
    return found


def default_training() -> str:
    """The project's own training of the prior where there is one, else ``shipped``."""
    module, _, function = TRAINED.partition(":")
    if importlib.util.find_spec(module) is None:
        return SHIPPED
    return TRAINED if hasattr(importlib.import_module(module), function) else SHIPPED


def fingerprint(prior: object) -> str:
    """Hash of the numbers of a prior, whatever its fields are."""
    return digest(list(_content(prior)), 12)


def _content(value: object) -> Iterator[str]:
    if dataclasses.is_dataclass(value):
        for each in dataclasses.fields(value):
            yield each.name
            yield from _content(getattr(value, each.name))
    else:
        yield value.tobytes().hex() if isinstance(value, np.ndarray) else repr(value)
