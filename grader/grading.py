"""The pipeline: the one place where the stages meet.

text → statements → screens → evidence → credit → score → feedback. `Grader.grade_many` is the primitive; everything
else (command line, tables, service) calls it, so one answer gets one mark everywhere.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from threading import Lock
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from grader.encoder import Encoder, PackagedEncoder
from grader.errors import InputError
from grader.evidence.contradiction import contradictions
from grader.evidence.crossencoder import CrossEncoder
from grader.evidence.falsehood import load_falsehood
from grader.evidence.features import element_keywords, feature_table
from grader.evidence.findings import Contradiction
from grader.evidence.judge import Judge
from grader.evidence.keywords import KeywordEvidence, Words
from grader.evidence.similarity import Alignment, Compare, Comparison, Phrase
from grader.feedback import build_feedback
from grader.index import ItemIndex, build_index
from grader.judging import (
    calibrated_components,
    errors_found,
    judge_components,
    no_components,
    off_topic,
    statement_views,
)
from grader.reading import Reading, counted_statements, read_response
from grader.rubric import Item
from grader.score import ComponentScore, ConditionCode, ReferralReason, Score
from grader.scorer import Scorer, german_scorer, is_english_only
from grader.scoring import Mark, Prior, load_prior, mark
from grader.signature import signature
from grader.threads import Threads, one_blas_thread, usable_cores
from grader.words import table_hash

if TYPE_CHECKING:
    import pandas as pd

    from grader.calibration import Calibration, Verdict
    from grader.representation import Representation

Array = NDArray[np.float64]

#: Condition codes with which a calibration may change the mark: those that labels of like answers can refute.
CALIBRATED: tuple[ConditionCode | None, ...] = (None, "too_long", "echo", "keyword_list", "off_topic")
_CACHED_ITEMS = 256
_CHUNK = 256


@dataclass(slots=True)
class _Judged:
    """One response after the evidence has been weighed, before calibration and feedback."""

    reading: Reading
    phrases: list[Phrase]
    components: list[ComponentScore]
    counted: list[int] = field(default_factory=list)
    findings: list[Contradiction] = field(default_factory=list)
    table: NDArray[np.float32] | None = None


@dataclass(frozen=True, slots=True)
class _Evidence:
    """What the counted statements say of each key statement."""

    counted: list[int]
    table: NDArray[np.float32]
    found: Alignment
    keywords: dict[tuple[str, int], KeywordEvidence]


def _evidence(
    index: ItemIndex, reading: Reading, counted: list[int], compared: Comparison, places: Sequence[int]
) -> _Evidence:
    """The evidence of the counted statements at ``places``; ``compared`` is of all that are counted."""
    chosen = [counted[place] for place in places]
    parts = [reading.statements[at] for at in chosen]
    keywords = element_keywords(index, [Words(part.text, index.item.language, part.start) for part in parts])
    found = compared.align(places)
    return _Evidence(chosen, feature_table(index, found, keywords), found, keywords)


class Grader:
    """Scores responses against items; keeps the encoder and the encoded rubrics."""

    def __init__(
        self,
        encoder: Encoder | None = None,
        *,
        prior: Prior | None = None,
        judge: Judge | None = None,
        compare: Compare | None = None,
        threads: int | None = None,
    ) -> None:
        """A grader.

        Args:
            encoder: The language model; if not given, the packaged MiniLM and the shipped contradiction model are
                loaded at the first response.
            prior: The scorer of elements; the shipped one if not given.
            judge: The contradiction model; with an ``encoder`` of your own there is none unless you give one.
            compare: Gives what statements have of key statements, say from a cache; computed if not given.
            threads: Responses weighed at a time, and batches that the shipped models compute at a time: as many as
                there are cores if not given, but one with an ``encoder`` or ``judge`` of your own, which need not bear
                several threads. NumPy's matrix products get one thread in this process either way.
        """
        one_blas_thread()
        own = encoder is not None or judge is not None
        self._threads = Threads(threads if threads is not None else 1 if own else usable_cores())
        self._encoder = encoder
        self._judge_model = judge
        self._default_judge = encoder is None and judge is None
        self._prior = prior or load_prior()
        self._compare = compare
        self._indices: OrderedDict[str, ItemIndex] = OrderedDict()
        self._lock = Lock()

    @property
    def encoder(self) -> Encoder:
        """The language model, loaded on first use."""
        with self._lock:
            if self._encoder is None:
                self._encoder = PackagedEncoder(threads=self._threads.count)
        return self._encoder

    @property
    def judge(self) -> Judge | None:
        """The contradiction model, loaded on first use."""
        with self._lock:
            if self._default_judge and self._judge_model is None:
                self._judge_model = CrossEncoder(threads=self._threads.count)
        return self._judge_model

    def scorer(self, item: Item) -> Scorer:
        """What ``item`` is scored with; a model that reads English only leaves German items to the German scorer."""
        if item.language == "de" and is_english_only(self.encoder):
            return german_scorer()
        return Scorer(self.encoder, self._prior, self.judge)

    def grade(
        self, item: Item, response: str, *, language: str = "en", calibration: Calibration | None = None
    ) -> Score:
        """The score of one response; `grade_many` with one element."""
        return self.grade_many(item, [response], language=language, calibration=calibration)[0]

    def grade_many(
        self,
        item: Item,
        responses: Sequence[str],
        *,
        language: str = "en",
        calibration: Calibration | None = None,
    ) -> list[Score]:
        """The scores of ``responses``, in order; each is what it would be alone.

        Args:
            item: The item.
            responses: What candidates wrote. Any text is acceptable, an empty one too.
            language: Language of the feedback.
            calibration: Fitted to labelled responses of this item; adds its correction, a confidence and referral.

        Raises:
            InputError: A response is not text, or the calibration was made for another rubric or scorer.
        """
        index = self.index(item)
        if calibration is None:
            return [self._score(index, judged, language) for judged in self._judge(index, responses)]
        scorer = self.scorer(item)
        calibration.check(item, encoder=scorer.encoder.signature, prior=scorer.prior.version)
        judged = list(self._judge(index, responses))
        if not judged:
            return []
        verdicts = calibration.verdicts(_representation(index, judged))
        return [
            self._score(index, one, language, verdict, calibration.name)
            for one, verdict in zip(judged, verdicts, strict=True)
        ]

    def grade_frame(
        self,
        frame: pd.DataFrame,
        bank: Mapping[str, Item] | None = None,
        *,
        ad_hoc: bool = False,
        language: str = "en",
        progress: Callable[[int], None] | None = None,
        calibrations: Mapping[str, Calibration] | None = None,
    ) -> pd.DataFrame:
        """A table with its marks, one row a response; see `grader.tables.grade_frame`.

        Args:
            frame: Long (candidate, item, response), wide (candidate, one column an item) or ad-hoc table.
            bank: Items by id; the bank that ships if not given.
            ad_hoc: Whether the table brings its own prompts and reference answers.
            language: Language of the summaries.
            progress: Called with the number of rows that were just graded.
            calibrations: Calibrations by item id; items without one are marked without.

        Raises:
            InputError: The table is not acceptable, or a calibration was made for another rubric or scorer.
        """
        from grader.bank import load_bank
        from grader.tables import grade_frame

        known = None if ad_hoc else load_bank() if bank is None else bank
        return grade_frame(frame, known, self, language=language, progress=progress, calibrations=calibrations)

    def represent(self, item: Item, responses: Sequence[str]) -> Representation:
        """What calibration knows of ``responses``: one row each, in order.

        Raises:
            InputError: A response is not text.
        """
        index = self.index(item)
        return _representation(index, list(self._judge(index, responses)))

    def index(self, item: Item) -> ItemIndex:
        """The prepared item, from a cache keyed by its content."""
        key = item.content_hash
        with self._lock:
            if key in self._indices:
                self._indices.move_to_end(key)
                return self._indices[key]
        built = build_index(item, self.scorer(item).encoder, self._compare)
        with self._lock:
            self._indices[key] = built
            while len(self._indices) > _CACHED_ITEMS:
                self._indices.popitem(last=False)
        return built

    def signature(self, item: Item, calibration: str = "none") -> str:
        """The signature that marks of ``item`` carry."""
        scorer = self.scorer(item)
        judge = f"{scorer.judge.signature}+{load_falsehood().version}" if scorer.judge else "none"
        parts = {"encoder": scorer.encoder.signature, "prior": scorer.prior.version, "words": table_hash()}
        return signature(item, **parts, judge=judge, calibration=calibration)

    def _judge(self, index: ItemIndex, responses: Sequence[str]) -> Iterator[_Judged]:
        for position, response in enumerate(responses):
            if not isinstance(response, str):
                kind = type(response).__name__
                raise InputError(f"response {position} is {kind}, must be text (use an empty string for no answer)")
        scorer = self.scorer(index.item)
        for start in range(0, len(responses), _CHUNK):
            readings = [read_response(response, index) for response in responses[start : start + _CHUNK]]
            texts = list(dict.fromkeys(s.text for reading in readings for s in reading.statements))
            phrases = dict(zip(texts, index.phrases(texts, scorer.encoder.encode(texts)), strict=True))

            yield from self._threads.map(partial(self._weigh, index, scorer, phrases), readings)

    def _weigh(self, index: ItemIndex, scorer: Scorer, known: Mapping[str, Phrase], reading: Reading) -> _Judged:
        phrases = [known[part.text] for part in reading.statements]
        counted = counted_statements(reading)
        if not counted:
            return _Judged(reading, phrases, no_components(index.item))
        chosen = [phrases[at] for at in counted]
        compared = index.keys.compare(chosen)
        every = _evidence(index, reading, counted, compared, range(len(counted)))
        claims = [reading.roles[at] == "claim" for at in counted]
        wrong = index.misconceptions.align(chosen) if index.misconceptions else None
        findings = [
            finding
            for finding in contradictions(index, chosen, every.found, wrong, claims, scorer.judge)
            if not (finding.suspected and chosen[finding.statement].text.casefold() in index.model_statements)
        ]
        false = {finding.statement for finding in findings if not finding.suspected}
        true = [place for place in range(len(counted)) if place not in false]
        right = every if len(true) in (0, len(counted)) else _evidence(index, reading, counted, compared, true)
        credit = (
            scorer.prior.credits(right.table, model_answer=index.item.is_model_answer)
            if true
            else np.zeros(len(index.keys), dtype=np.float32)
        )
        components = judge_components(index, reading, right.counted, credit, right.found, right.keywords, findings)
        about = scorer.knows_topics and reading.condition is None and not findings
        if about and off_topic(index, chosen, every.found, components):
            reading.condition = "off_topic"
            return _Judged(reading, phrases, no_components(index.item))
        return _Judged(reading, phrases, components, counted, findings, right.table)

    def _score(
        self,
        index: ItemIndex,
        judged: _Judged,
        language: str,
        verdict: Verdict | None = None,
        calibration: str = "none",
    ) -> Score:
        item, reading = index.item, judged.reading
        sure = [finding for finding in judged.findings if not finding.suspected]
        errors = errors_found(index, reading, judged.counted, sure, language)
        result = _mark(item, judged)
        condition = _condition(item, reading, result.raw)
        reasons = _referral(item, condition, judged.findings)
        confidence = None
        if verdict and reading.gradable and condition in CALIBRATED:
            judged.components = calibrated_components(judged.components, verdict.credits)
            result = _mark(item, judged).corrected(verdict.raw)
            confidence = verdict.confidence
            reasons = (*reasons, *verdict.reasons)
        rounded, steps = result.rounded(item.scale)
        score = rounded if reading.gradable else None
        return Score(
            item=item.id,
            score=score,
            max_score=item.scale.max,
            step=item.scale.step,
            raw=result.raw if reading.gradable else 0.0,
            components=tuple(judged.components),
            errors=tuple(errors),
            condition_code=condition,
            confidence=confidence,
            referred=bool(reasons),
            referral_reasons=reasons,
            calculation=steps if reading.gradable else (),
            statements=statement_views(reading, judged.counted, sure),
            feedback=build_feedback(item, judged.components, errors, condition, score, language=language),
            signature=self.signature(item, calibration),
        )


def _mark(item: Item, judged: _Judged) -> Mark:
    """The mark after the marking guide: weights, one deduction for error, caps, honest credit."""
    sure = [finding for finding in judged.findings if not finding.suspected]
    listed = [item.misconceptions[f.misconception] for f in sure if f.misconception is not None]
    penalties = [item.error_deduction if m.penalty is None else m.penalty for m in listed if m.cap is None]
    penalties += [item.error_deduction for f in sure if f.misconception is None]
    caps = {f"misconception:{m.id}": m.cap for m in listed if m.cap is not None}
    if judged.reading.condition == "keyword_list":
        caps["keyword_list"] = item.keyword_list_cap
    return mark(
        item,
        {component.name: component.points for component in judged.components},
        error_deduction=max(penalties, default=0.0),
        caps=caps,
        honest=bool(judged.reading.chosen("find_out")),
    )


def _condition(item: Item, reading: Reading, raw: float) -> ConditionCode | None:
    """The screen's code, or that the candidate does not know and has earned no more than the honest credit."""
    if reading.condition is not None or raw > item.honest_credit:
        return reading.condition
    if reading.chosen("find_out"):
        return "dont_know_how"
    return "dont_know" if reading.chosen("dont_know") else None


def _referral(
    item: Item, condition: ConditionCode | None, findings: Sequence[Contradiction]
) -> tuple[ReferralReason, ...]:
    if condition == "language":
        return ("language",)
    if condition == "too_long":
        return ("too_long",)
    if condition == "off_topic" and item.limits.refer_off_topic:
        return ("off_topic",)
    return ("contradiction",) if any(finding.suspected for finding in findings) else ()


def _representation(index: ItemIndex, judged: Sequence[_Judged]) -> Representation:
    from grader.representation import Representation

    rows = [_represented(index, one) for one in judged]
    return Representation(*(np.array(column, dtype=np.float64) for column in zip(*rows, strict=True)))


def _represented(index: ItemIndex, judged: _Judged) -> tuple[Array, Array, list[float], Array, float, float]:
    """Sentence vector, words, credits, evidence and mark of one response, and whether a calibration may change it."""
    from grader.representation import evidence_vector, lexical_vector

    chosen = [judged.phrases[at] for at in judged.counted] or judged.phrases
    if chosen:
        weights = np.array([phrase.weights.sum() for phrase in chosen])
        vector = weights @ np.stack([phrase.encoding.pooled for phrase in chosen]).astype(np.float64)
    else:
        vector = np.zeros_like(index.prompt.encoding.pooled, dtype=np.float64)
    vector = vector / max(float(np.linalg.norm(vector)), 1e-9)
    credits = [component.credit for component in judged.components]
    credits += [element.credit for component in judged.components for element in component.elements]
    text = judged.reading.source.text
    raw = _mark(index.item, judged).raw
    is_open = judged.reading.gradable and _condition(index.item, judged.reading, raw) in CALIBRATED
    lexical, evidence = lexical_vector(text, index.item.language), evidence_vector(index, judged.table, text)
    return vector, lexical, credits, evidence, raw / index.item.scale.max, float(is_open)
