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
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from grader.correction import Array, Fit, Kernel, Representation, fit
from grader.errors import InputError
from grader.referral import UNFAMILIAR, Operating, Policy, near, operating_point
from grader.rubric import Item
from grader.score import ReferralReason

if TYPE_CHECKING:
    from grader.grading import Grader

FORMAT = 1
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
    """

    raw: float
    confidence: float
    low: float
    high: float
    reasons: tuple[ReferralReason, ...]


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

    @cached_property
    def name(self) -> str:
        """Twelve hex digits of the hash of everything that decides a mark."""
        return hashlib.sha256(_arrays(self.fitted) + _header(self).encode()).hexdigest()[:12]

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
            verdicts.append(Verdict(raw, float(confidence[at]), float(low[at]), float(high[at]), tuple(reasons)))
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
        rows = self.fitted.rows
        header = np.frombuffer(_header(self).encode(), dtype=np.uint8)
        digest = np.frombuffer(self.name.encode(), dtype=np.uint8)
        np.savez_compressed(
            buffer, header=header, name=digest, labels=self.fitted.labels, vectors=rows.vectors, lexical=rows.lexical,
            linear=rows.linear, prior=rows.prior,
        )  # fmt: skip
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
            rows = Representation(stored["vectors"], stored["lexical"], stored["linear"], stored["prior"])
            labels = stored["labels"]
        if header["format"] != FORMAT:
            raise InputError(f"calibration format {header['format']} is not {FORMAT}")
        kernel = Kernel(**header.pop("kernel"))
        policy = Policy(**header.pop("policy"))
        operating = Operating(**header.pop("operating"))
        header.pop("format")
        fitted = fit(rows, labels, kernel=kernel, adapt=False)
        calibration = Calibration(**header, policy=policy, operating=operating, fitted=fitted)
    except InputError:
        raise
    except Exception as error:
        raise InputError(f"not a calibration, or a damaged one: {error}") from error
    if calibration.name != name:
        raise InputError(f"calibration {name} was edited or damaged: its content has the hash {calibration.name}")
    return calibration


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from error


def _header(calibration: Calibration) -> str:
    fields: dict[str, Any] = {
        name: getattr(calibration, name)
        for name in ("item", "item_version", "rubric", "encoder", "prior", "scale_max", "step")
    }
    fields["kernel"] = asdict(calibration.fitted.kernel)
    fields["policy"] = asdict(calibration.policy)
    fields["operating"] = asdict(calibration.operating)
    fields["format"] = FORMAT
    return json.dumps(fields, sort_keys=True)


def _arrays(fitted: Fit) -> bytes:
    rows = fitted.rows
    parts = (fitted.labels, rows.vectors, rows.lexical, rows.linear, rows.prior)
    return b"".join(np.ascontiguousarray(part, dtype=np.float64).tobytes() for part in parts)


class Calibrator:
    """Fits calibrations with one grader."""

    def __init__(self, grader: Grader, policy: Policy | None = None) -> None:
        """Uses ``grader`` for the uncalibrated marks and vectors; ``policy`` is the teacher's risk."""
        self._grader = grader
        self._policy = policy or Policy()

    def fit(self, item: Item, responses: Sequence[str], scores: Sequence[float]) -> Calibration:
        """The calibration of ``item`` learned from labelled responses.

        Args:
            item: The item.
            responses: What candidates wrote.
            scores: The teacher's marks in points of the item's scale; half points and any scale are fine.

        Raises:
            InputError: Lengths differ, a score is missing or outside the scale (its row is named), there are too few
                labels, or all are equal.
        """
        labels = check_labels(item, responses, scores)
        rows = self._grader.represent(item, list(responses))
        return self.fit_rows(item, rows, labels)

    def fit_rows(self, item: Item, rows: Representation, labels: Array) -> Calibration:
        """As `fit`, from responses already represented and labels as shares of the scale."""
        fitted = fit(rows, labels)
        return Calibration(
            item=item.id,
            item_version=item.version,
            rubric=item.content_hash,
            encoder=self._grader.encoder.signature,
            prior=self._grader.prior_version,
            scale_max=item.scale.max,
            step=item.scale.step,
            policy=self._policy,
            fitted=fitted,
            operating=operating_point(fitted, self._policy, scale_max=item.scale.max),
        )


def check_labels(item: Item, responses: Sequence[str], scores: Sequence[float], *, distinct: bool = True) -> Array:
    """Labels as shares of the scale; with ``distinct`` they must not all be equal.

    Raises:
        InputError: See `Calibrator.fit`.
    """
    if len(responses) != len(scores):
        raise InputError(f"{len(responses)} responses but {len(scores)} scores")
    values = np.asarray(scores, dtype=np.float64)
    for row, value in enumerate(values):
        if not np.isfinite(value):
            raise InputError(f"row {row + 1}: the score is missing or not a number")
        if not 0 <= value <= item.scale.max:
            raise InputError(f"row {row + 1}: score {value:g} is outside the scale 0 to {item.scale.max:g}")
    if distinct and len(values) and len(set(values.tolist())) == 1:
        raise InputError(f"all {len(values)} scores are {values[0]:g}: nothing can be learned from equal scores")
    return np.asarray(values / item.scale.max, dtype=np.float64)


def duplicates_with_other_scores(responses: Sequence[str], scores: Sequence[float]) -> Mapping[str, list[int]]:
    """Rows (from 0) of responses that occur with different scores, by normalised response."""
    rows: dict[str, list[int]] = {}
    for at, response in enumerate(responses):
        rows.setdefault(" ".join(response.split()).casefold(), []).append(at)
    return {text: at for text, at in rows.items() if len({scores[row] for row in at}) > 1}


def suspicious_rows(calibration: Calibration, limit: float = 2.5) -> list[int]:
    """Rows (from 0) whose label lies more than ``limit`` deviations from what all other labels say, worst first."""
    fitted = calibration.fitted
    z = np.abs(fitted.labels - fitted.left_out.mean) / fitted.left_out.sd
    order = np.argsort(-z, kind="stable")
    return [int(row) for row in order if z[row] > limit]
