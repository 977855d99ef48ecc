"""Which calibration of an item is in force: compared with the one before, promoted on command, rolled back in one.

A calibration never changes; what changes is which one marks. `compare` says what that would do to answers at hand,
`Shelf` keeps calibrations and the choice between them in a folder. A service keeps the same in its database and uses
`compare` alone.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from grader.calibration import Calibration, load_calibration
from grader.errors import InputError
from grader.grading import Grader
from grader.i18n import mark_for_translation as _
from grader.i18n import translator
from grader.rubric import Item
from grader.score import Score

UNCALIBRATED = "none"
_CHOICE = "promoted.json"


@dataclass(frozen=True, slots=True)
class Change:
    """One answer whose mark differs.

    Attributes:
        row: Its place among the compared answers, from 0.
        before: Mark in points; ``None`` where no mark is given.
        after: Mark in points; ``None`` where no mark is given.
    """

    row: int
    before: float | None
    after: float | None

    @property
    def difference(self) -> float:
        """After minus before in points; 0 where one of the two is no mark."""
        return 0.0 if self.before is None or self.after is None else self.after - self.before


@dataclass(frozen=True, slots=True)
class Comparison:
    """What another calibration does to the marks of the same answers.

    Attributes:
        before: Name of the calibration compared with, or ``none``.
        after: Name of the other one, or ``none``.
        total: Answers compared.
        changes: Those whose mark differs, the largest difference first.
        mean_change: Mean of after minus before over all answers that both mark, in points.
        newly_referred: Places (from 0) of answers that only the second one refers to a person.
        no_longer_referred: Places of answers that only the first one refers.
    """

    before: str
    after: str
    total: int
    changes: tuple[Change, ...]
    mean_change: float
    newly_referred: tuple[int, ...]
    no_longer_referred: tuple[int, ...]

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data."""
        return asdict(self)

    def summary(self, language: str = "en") -> str:
        """The comparison in one or two sentences of ``language``."""
        translate = translator(language)
        if self.changes:
            said = translate(_("{n} of {total} marks change, by {mean:+.2f} points on average over all answers."))
        else:
            said = translate(_("None of {total} marks changes."))
        words = said.format(n=len(self.changes), total=self.total, mean=self.mean_change)
        if self.newly_referred or self.no_longer_referred:
            more = translate(_("{n} answers are newly referred to a person, {m} no longer are."))
            words += " " + more.format(n=len(self.newly_referred), m=len(self.no_longer_referred))
        return words


def compare(
    grader: Grader, item: Item, responses: Sequence[str], before: Calibration | None, after: Calibration | None
) -> Comparison:
    """What ``after`` does to the marks that ``before`` gives; ``None`` stands for the uncalibrated scorer.

    Args:
        grader: Marks the responses.
        item: The item.
        responses: Answers to compare on; those of an exam, or the labelled ones.
        before: The calibration in force.
        after: The one that may follow.

    Raises:
        InputError: A calibration was made for another item, rubric or scorer.
    """
    old = grader.grade_many(item, responses, calibration=before)
    new = grader.grade_many(item, responses, calibration=after)
    return compare_scores(old, new, before=name_of(before), after=name_of(after))


def compare_scores(old: Sequence[Score], new: Sequence[Score], *, before: str, after: str) -> Comparison:
    """As `compare`, from scores of the same answers in the same order.

    Raises:
        InputError: The two are not equally many.
    """
    if len(old) != len(new):
        raise InputError(f"{len(old)} scores before but {len(new)} after; they must belong to the same answers")
    changes = [Change(row, b.score, a.score) for row, (b, a) in enumerate(zip(old, new, strict=True))]
    both = [change.difference for change in changes if change.before is not None and change.after is not None]
    changed = [change for change in changes if change.before != change.after]
    return Comparison(
        before=before,
        after=after,
        total=len(changes),
        changes=tuple(sorted(changed, key=lambda change: (-abs(change.difference), change.row))),
        mean_change=round(sum(both) / len(both), 4) if both else 0.0,
        newly_referred=_places(new, old),
        no_longer_referred=_places(old, new),
    )


def _places(first: Sequence[Score], second: Sequence[Score]) -> tuple[int, ...]:
    """Places of answers that only ``first`` refers."""
    pairs = enumerate(zip(first, second, strict=True))
    return tuple(row for row, (one, other) in pairs if one.referred and not other.referred)


def name_of(calibration: Calibration | None) -> str:
    """The calibration's name, or ``none``."""
    return UNCALIBRATED if calibration is None else calibration.name


class Shelf:
    """A folder of calibrations and a file that says which of them is in force for each item.

    ``promoted.json`` holds for each item the names promoted so far; the last one is in force. A roll-back takes it off
    the end. Files are written whole or not at all.
    """

    def __init__(self, folder: Path) -> None:
        """Opens ``folder``, which need not exist yet."""
        self.folder = folder

    def all(self) -> list[Calibration]:
        """Every calibration in the folder, by item and name.

        Raises:
            InputError: A file is damaged.
        """
        found = [load_calibration(path) for path in sorted(self.folder.glob("*.npz"))]
        return sorted(found, key=lambda calibration: (calibration.item, calibration.name))

    def open(self, name: str) -> Calibration:
        """The calibration called ``name``; the first digits suffice where they are clear.

        Raises:
            InputError: There is none or more than one, or its file is damaged.
        """
        names = sorted(path.stem for path in self.folder.glob("*.npz"))
        fits = [known for known in names if name and known.startswith(name)]
        if len(fits) != 1:
            why = "more than one calibration begins with" if fits else "no calibration"
            raise InputError(f"{self.folder}: {why} '{name}'; there are: {', '.join(fits or names) or 'none'}")
        return load_calibration(self.folder / f"{fits[0]}.npz")

    def history(self, item: str) -> tuple[str, ...]:
        """Names promoted for ``item``, the one in force last; empty if it is marked without calibration."""
        return self._choice().get(item, ())

    def promoted(self, item: str) -> Calibration | None:
        """The calibration in force for ``item``; ``None`` if it is marked without one.

        Raises:
            InputError: Its file is missing or damaged.
        """
        names = self.history(item)
        return self.open(names[-1]) if names else None

    def in_force(self) -> dict[str, Calibration]:
        """The calibration in force by item id, for the items that have one."""
        return {item: self.open(names[-1]) for item, names in self._choice().items() if names}

    def promote(self, name: str) -> Calibration:
        """Puts a calibration of the folder in force for its item and returns it.

        Raises:
            InputError: See `open`; or it is in force already.
        """
        calibration = self.open(name)
        choice = self._choice()
        names = choice.get(calibration.item, ())
        if names and names[-1] == calibration.name:
            raise InputError(f"calibration {calibration.name} is in force for '{calibration.item}' already")
        self._write({**choice, calibration.item: (*names, calibration.name)})
        return calibration

    def roll_back(self, item: str) -> Calibration | None:
        """Puts the one before back in force for ``item`` and returns it; ``None`` if there was none before.

        Raises:
            InputError: No calibration is in force, or the file of the one before is missing or damaged.
        """
        choice = self._choice()
        names = choice.get(item, ())
        if not names:
            raise InputError(f"no calibration is in force for '{item}': there is nothing to roll back")
        before = self.open(names[-2]) if len(names) > 1 else None
        self._write({**choice, item: names[:-1]})
        return before

    def _choice(self) -> dict[str, tuple[str, ...]]:
        path = self.folder / _CHOICE
        if not path.is_file():
            return {}
        try:
            stored = json.loads(path.read_text(encoding="utf-8"))
            return {str(item): tuple(str(name) for name in names) for item, names in stored.items()}
        except (ValueError, AttributeError, TypeError) as error:
            raise InputError(f"{path}: not a list of promoted calibrations ({error})") from error

    def _write(self, choice: dict[str, tuple[str, ...]]) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        text = json.dumps({item: list(names) for item, names in sorted(choice.items()) if names}, indent=1) + "\n"
        with tempfile.NamedTemporaryFile("w", dir=self.folder, suffix=".tmp", delete=False, encoding="utf-8") as file:
            file.write(text)
        Path(file.name).replace(self.folder / _CHOICE)
