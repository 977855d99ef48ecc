"""An item's scorer fitted to a teacher's marks: made, checked, kept and used.

A calibration is immutable and named by the hash of its content. It holds the labelled responses only as vectors,
never as text, and is stored as JSON and npz without pickle.
"""

from __future__ import annotations

import hashlib
import io
import json
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from grader.correction import MIN_LABELS, Fit, Kernel, fit
from grader.errors import InputError
from grader.labels import check_components, check_labels, duplicates_with_other_scores, label_weights
from grader.referral import UNFAMILIAR, Operating, Policy, near, operating_point
from grader.representation import Array, Representation
from grader.rubric import Item
from grader.score import ReferralReason

if TYPE_CHECKING:
    from grader.grading import Grader

__all__ = [
    "Calibration",
    "Calibrator",
    "ComponentFit",
    "Verdict",
    "check_labels",
    "duplicates_with_other_scores",
    "load_calibration",
    "suspicious_rows",
]

FORMAT = 2
INTERVAL = 0.9


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a calibration says about one response.

    Attributes:
        raw: Calibrated score before rounding, in points.
        confidence: Probability that the rater's mark lies within one step of the reported score point.
        low: Lower end of the 90 % interval, in points.
        high: Upper end.
        reasons: Why a person should look; empty if the machine's mark stands.
        credits: Calibrated credits, 0..1, of the components that raters marked.
    """

    raw: float
    confidence: float
    low: float
    high: float
    reasons: tuple[ReferralReason, ...]
    credits: Mapping[str, float]


@dataclass(frozen=True, eq=False)
class ComponentFit:
    """A component's credit fitted to raters' points of it.

    Attributes:
        name: The component.
        place: Its place in the item.
        labels: Raters' credits of all labelled responses, 0..1, ``nan`` where there is none, shape (n,).
        fitted: The correction of the credit, fitted to those that have one.
    """

    name: str
    place: int
    labels: Array
    fitted: Fit

    @classmethod
    def learn(
        cls, name: str, place: int, rows: Representation, labels: Array, kernel: Kernel | None = None
    ) -> ComponentFit:
        """The fit to ``labels`` of ``rows``; with a ``kernel`` its scales stay as they are."""
        marked = np.flatnonzero(~np.isnan(labels))
        chosen = rows.take(marked).of_component(place)
        return cls(name, place, labels, fit(chosen, labels[marked], kernel=kernel, adapt=kernel is None))

    def credits(self, rows: Representation) -> Array:
        """Calibrated credits of ``rows``, 0..1, shape (n,)."""
        return np.round(self.fitted.predict(rows.of_component(self.place)).mean, 4)


@dataclass(frozen=True, eq=False)
class Calibration:
    """A correction of an item's marks, learned from labelled responses.

    Attributes:
        item: Item id.
        item_version: Its version.
        rubric: Content hash of the item it was fitted with.
        encoder: Signature of the encoder.
        prior: Version of the uncalibrated scorer.
        scale_max: Top of the scale.
        step: Step of the scale.
        policy: The teacher's risk.
        fitted: The correction.
        operating: Where the policy puts the line.
        components: Credits that are corrected as well, of the components that raters marked.
    """

    item: str
    item_version: int
    rubric: str
    encoder: str
    prior: str
    scale_max: float
    step: float
    policy: Policy
    fitted: Fit
    operating: Operating
    components: tuple[ComponentFit, ...] = ()

    @cached_property
    def name(self) -> str:
        """Twelve hex digits of the hash of everything that decides a mark."""
        return hashlib.sha256(_content_bytes(self) + _header(self).encode()).hexdigest()[:12]

    def check(self, item: Item, *, encoder: str, prior: str) -> None:
        """Refuses an item or scorer this calibration was not made for.

        Raises:
            InputError: The rubric, the encoder or the prior differs; says which, and what to do.
        """
        if item.id != self.item:
            raise InputError(f"calibration {self.name} was made for item '{self.item}', not for '{item.id}'")
        if item.content_hash != self.rubric:
            raise InputError(
                f"calibration {self.name} was made for rubric {self.rubric[:8]} (version {self.item_version}) of "
                f"'{item.id}', which is now {item.content_hash[:8]} (version {item.version}): fit it again"
            )
        if (encoder, prior) != (self.encoder, self.prior):
            raise InputError(
                f"calibration {self.name} was made with {self.encoder} and prior {self.prior}, "
                f"this scorer has {encoder} and {prior}: fit it again"
            )

    def verdicts(self, rows: Representation) -> list[Verdict]:
        """Calibrated marks of responses, in order."""
        prediction = self.fitted.predict(rows)
        mean = np.round(prediction.mean, 5)
        low, high = (np.round(end * self.scale_max, 4) for end in self.fitted.interval(prediction, INTERVAL))
        points = np.round(mean * self.scale_max / self.step) * self.step
        confidence = self.fitted.within(prediction, points / self.scale_max, self.step / self.scale_max)
        sure = self.fitted.within(prediction, mean, self.policy.tolerance / self.scale_max)
        crosses = near(low, high, self.policy.pass_mark)
        credits = {part.name: part.credits(rows) for part in self.components}
        verdicts = []
        for at in range(len(mean)):
            reasons: list[ReferralReason] = []
            if sure[at] < self.operating.threshold:
                reasons.append("low_confidence")
            if prediction.novelty[at] > UNFAMILIAR:
                reasons.append("unfamiliar")
            if crosses[at]:
                reasons.append("near_cut")
            raw = round(float(mean[at]) * self.scale_max, 2)
            ends, earned = (float(low[at]), float(high[at])), {name: float(each[at]) for name, each in credits.items()}
            verdicts.append(Verdict(raw, float(confidence[at]), *ends, tuple(reasons), earned))
        return verdicts

    def save(self, folder: Path) -> Path:
        """Writes ``<folder>/<name>.npz`` in one step (never half a file) and returns its path."""
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{self.name}.npz"
        with tempfile.NamedTemporaryFile(dir=folder, suffix=".tmp", delete=False) as file:
            file.write(self.to_bytes())
        Path(file.name).replace(path)
        return path

    def to_bytes(self) -> bytes:
        """The calibration as one npz archive with a JSON header."""
        buffer = io.BytesIO()
        texts = {"header": _header(self), "name": self.name}
        encoded = {name: np.frombuffer(text.encode(), dtype=np.uint8) for name, text in texts.items()}
        arrays: dict[str, Any] = encoded | _arrays(self)
        np.savez_compressed(buffer, **arrays)
        return buffer.getvalue()


def load_calibration(source: Path | bytes) -> Calibration:
    """The calibration in a file or in bytes.

    Raises:
        InputError: It is truncated, was edited, or is of another format.
    """
    content = source if isinstance(source, bytes) else _content(source)
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as stored:
            header = json.loads(stored["header"].tobytes().decode())
            name = stored["name"].tobytes().decode()
            arrays = {key: stored[key] for key in stored.files}
        if header["format"] != FORMAT:
            raise InputError(f"calibration format {header['format']} is not {FORMAT}: fit it again")
        calibration = _restored(header, arrays)
    except InputError:
        raise
    except Exception as error:
        raise InputError(f"not a calibration, or a damaged one: {error}") from error
    if calibration.name != name:
        raise InputError(f"calibration {name} was edited or damaged: its content has the hash {calibration.name}")
    return calibration


def _restored(header: dict[str, Any], arrays: Mapping[str, Array]) -> Calibration:
    rows = Representation(**{field.name: arrays[field.name] for field in fields(Representation)})
    weights, kernel = arrays["weights"], Kernel(**header.pop("kernel"))
    parts = [
        ComponentFit.learn(part["name"], part["place"], rows, arrays["components"][:, at], Kernel(**part["kernel"]))
        for at, part in enumerate(header.pop("components"))
    ]
    policy, operating = Policy(**header.pop("policy")), Operating(**header.pop("operating"))
    header.pop("format")
    fitted = fit(rows, arrays["labels"], kernel=kernel, adapt=False, weights=weights)
    return Calibration(**header, policy=policy, operating=operating, fitted=fitted, components=tuple(parts))


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from error


def _header(calibration: Calibration) -> str:
    found: dict[str, Any] = {
        name: getattr(calibration, name)
        for name in ("item", "item_version", "rubric", "encoder", "prior", "scale_max", "step")
    }
    found["kernel"] = asdict(calibration.fitted.kernel)
    found["policy"] = asdict(calibration.policy)
    found["operating"] = asdict(calibration.operating)
    found["components"] = [
        {"name": part.name, "place": part.place, "kernel": asdict(part.fitted.kernel)}
        for part in calibration.components
    ]
    found["format"] = FORMAT
    return json.dumps(found, sort_keys=True)


def _arrays(calibration: Calibration) -> dict[str, Array]:
    fitted, parts = calibration.fitted, calibration.components
    components = np.array([part.labels for part in parts]).T if parts else np.empty((len(fitted.labels), 0))
    return {
        **fitted.rows.columns(), "labels": fitted.labels, "weights": fitted.weights, "components": components,
    }  # fmt: skip


def _content_bytes(calibration: Calibration) -> bytes:
    arrays = _arrays(calibration)
    return b"".join(np.ascontiguousarray(arrays[name], dtype=np.float64).tobytes() for name in sorted(arrays))


class Calibrator:
    """Fits calibrations with one grader."""

    def __init__(self, grader: Grader, policy: Policy | None = None) -> None:
        """Uses ``grader`` for the uncalibrated marks and vectors; ``policy`` is the teacher's risk."""
        self._grader = grader
        self._policy = policy or Policy()

    def fit(
        self,
        item: Item,
        responses: Sequence[str],
        scores: Sequence[float],
        *,
        components: Mapping[str, Sequence[float | None]] | None = None,
        chances: Sequence[float] | None = None,
    ) -> Calibration:
        """The calibration of ``item`` learned from labelled responses.

        Args:
            item: The item.
            responses: What candidates wrote.
            scores: The teacher's marks in points of the item's scale; half points and any scale are fine.
            components: The teacher's points of components, 0 to the component's weight, ``None`` where there are none;
                their credits are then fitted too. A component with fewer than three is left alone.
            chances: Probability that each response was labelled, see `grader.labels.weights_of`; equal by default.

        Raises:
            InputError: Lengths differ, a score is missing or outside the scale (its row is named), there are too few
                labels, or all are equal.
        """
        labels = check_labels(item, responses, scores)
        rows = self._grader.represent(item, list(responses))
        return self.fit_rows(item, rows, labels, components=components, chances=chances)

    def fit_rows(
        self,
        item: Item,
        rows: Representation,
        labels: Array,
        *,
        components: Mapping[str, Sequence[float | None]] | None = None,
        chances: Sequence[float] | None = None,
    ) -> Calibration:
        """As `fit`, from responses already represented and labels as shares of the scale."""
        fitted = fit(rows, labels, weights=label_weights(rows.open, chances))
        credits = check_components(item, len(labels), components or {})
        scorer = self._grader.scorer(item)
        return Calibration(
            item=item.id,
            item_version=item.version,
            rubric=item.content_hash,
            encoder=scorer.encoder.signature,
            prior=scorer.prior.version,
            scale_max=item.scale.max,
            step=item.scale.step,
            policy=self._policy,
            fitted=fitted,
            operating=operating_point(fitted, self._policy, scale_max=item.scale.max),
            components=tuple(
                ComponentFit.learn(name, place, rows, credits[name])
                for place, name in enumerate(item.components)
                if name in credits and (~np.isnan(credits[name])).sum() >= MIN_LABELS
            ),
        )


def suspicious_rows(calibration: Calibration, limit: float = 2.5) -> list[int]:
    """Rows (from 0) whose label lies more than ``limit`` deviations from what all other labels say, worst first."""
    fitted = calibration.fitted
    z = np.abs(fitted.labels - fitted.left_out.mean) / fitted.left_out.sd
    order = np.argsort(-z, kind="stable")
    return [int(row) for row in order if z[row] > limit]
