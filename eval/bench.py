"""The parts of the bench, each giving its piece of the results."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from eval.abuse import abuse_table, bank_frame, right_answers
from eval.cache import RowCache, packaged_encoder, packaged_judge
from eval.calibration import calibration_tables
from eval.datasets import read_viva
from eval.few_labels import Plan as Curve
from eval.frames import Collection, collect, english
from eval.grading import GraderSystem
from eval.meaning_bench import meaning_results
from eval.progress import Progress, silent
from eval.protocols import Plan, grouped, leave_out, official
from eval.results import described, header, marks_signature, plain_abuse, plain_line
from eval.systems import SHIPPED, Systems
from eval.viva import item_id
from eval.viva_bench import viva_results
from grader import Bank, Item, load_bank

Json = dict[str, Any]
#: Protocols whose lines are results of their own; the learning curves are part of those on calibration.
PROTOCOLS = ("official", "leave-out", "grouped")
VIVA = "viva_dev"


@dataclass(frozen=True, slots=True)
class Options:
    """What the command line sets.

    Attributes:
        data: Folder with the data; ``None`` looks in the usual places.
        cache: Folder of what was computed before; ``None`` keeps nothing.
        limit: Answers a split at most, for quick runs; ``None`` for all.
        seeds: Drawings of few labels.
        n_boot: Resamples.
        seed: Of everything that is drawn.
        prior: ``shipped``, or ``module:function`` that trains a prior on the other data sets.
        abuse_answers: Right answers a data set that the abuse suite starts from.
    """

    data: Path | None = None
    cache: Path | None = Path(".cache")
    limit: int | None = None
    seeds: int = 20
    n_boot: int = 1000
    seed: int = 0
    prior: str = SHIPPED
    abuse_answers: int = 150


@dataclass(slots=True)
class Bench:
    """Data, systems and options of one run."""

    options: Options
    collection: Collection
    systems: Systems
    bank: Bank = field(default_factory=lambda: Bank([]))
    progress: Progress = silent

    @classmethod
    def prepare(cls, options: Options, progress: Progress = silent) -> Bench:
        """Loads the data and the encoder; says what is missing."""
        collection = collect(options.data, limit=options.limit)
        for name, reason in collection.skipped.items():
            progress(f"skipped: {name}, {reason}")
        cache = RowCache(options.cache)
        encoder = packaged_encoder(options.cache)
        systems = Systems(encoder, cache, options.prior, options.seed, packaged_judge(options.cache))
        return cls(options, collection, systems, load_bank(), progress)

    def protocol(self, name: str) -> list[Json]:
        """The lines of one protocol."""
        frames, systems = self.collection.frames, self.systems
        if name == "few-labels":
            found: list[Json] = self._calibration(only=("curves",))["curves"]
            return found
        run, fits = {
            "official": (official, systems.official()),
            "leave-out": (leave_out, systems.unseen()),
            "grouped": (grouped, systems.fitted()),
        }[name]
        plan = Plan(fits, systems.baselines(), self.options.n_boot, self.options.seed, self.progress)
        return [plain_line(line) for line in run(frames, plan)]

    def _curve(self) -> Curve:
        options = self.options
        return Curve(seeds=options.seeds, n_boot=options.n_boot, seed=options.seed, progress=self.progress,
                     cache=options.cache)  # fmt: skip

    def calibration(self) -> Json:
        """The tables of `eval.calibration`."""
        return self._calibration() | {"signature": marks_signature(self.systems.shipped.grader)}

    def _calibration(self, only: Sequence[str] | None = None) -> Json:
        fit_prior, prior = self.systems.fit_prior, self.options.prior
        found = calibration_tables(self.collection.frames, fit_prior, self._curve(), salt=prior, only=only)
        self.systems.encoder.flush()
        return found

    def abuse(self) -> list[Json]:
        """The abuse suite on every data set in English, and on the items of the bank."""
        found = []
        for name, frame in english(self.collection.frames).items():
            self.progress(f"abuse: {name}")
            most = self.options.abuse_answers if self.options.limit is None else self.options.limit
            rights = right_answers(frame, most=most, seed=self.options.seed)
            found.append(self._abuse(name, rights))
        viva = self.viva_file()
        if viva is not None and len(self.bank):
            self.progress(f"abuse: {VIVA}")
            answers = read_viva(viva)
            items = self._bank_items(list(answers["question_id"]))
            rights = right_answers(bank_frame(answers, items), items, seed=self.options.seed)
            found.append(self._abuse(VIVA, rights))
        return [part for part in found if part["rows"]]

    def _abuse(self, name: str, rights: list[Any]) -> Json:
        system: GraderSystem = self.systems.shipped
        rows = abuse_table(system, rights, seed=self.options.seed, n_boot=self.options.n_boot) if rights else []
        return plain_abuse(name, rows)

    def _bank_items(self, questions: list[object]) -> Mapping[str, Item]:
        names = {str(q): item_id(q) for q in questions}
        return {question: self.bank[name] for question, name in names.items() if name in self.bank}

    def viva_file(self) -> Path | None:
        """The file of viva answers, if there."""
        path = None if self.collection.folder is None else self.collection.folder / f"{VIVA}.csv"
        return path if path is not None and path.is_file() else None

    def viva(self) -> Json:
        """The figures on viva answers; empty without the file."""
        path = self.viva_file()
        if path is None:
            self.progress(f"skipped: {VIVA}, not in the data folder")
            return {}
        self.progress(f"viva: {path.name}")
        shipped = self.systems.shipped.grader
        return viva_results(path, self.bank, shipped, n_boot=self.options.n_boot, seed=self.options.seed)

    def meaning(self) -> Json:
        """The tables on meaning; empty without a contradiction model."""
        judge = self.systems.judge
        if judge is None:
            return {}
        self.progress("meaning")
        folder, seed = self.collection.folder, self.options.seed
        found = meaning_results(self.systems.encoder, judge, self.bank, folder, self.viva_file(), seed=seed)
        self.systems.encoder.flush()
        return found | {"signature": marks_signature(self.systems.shipped.grader)}

    def header(self) -> Json:
        """What the figures depend on, and the data."""
        options = self.options
        head = header(self.systems.shipped.grader, seed=options.seed, n_boot=options.n_boot, limit=options.limit,
                      prior=options.prior)  # fmt: skip
        skipped = dict(self.collection.skipped)
        if self.viva_file() is None:
            skipped[VIVA] = "not in the data folder"
        return head | {"skipped": skipped, "data": described(self.collection)}

    def everything(self) -> Iterator[Json]:
        """All results, again after each part, so that a run that is cut off leaves what it found."""
        results = self.header() | {"lines": []}
        for name in PROTOCOLS:
            results["lines"] += self.protocol(name)
            yield results
        for part in ("viva", "abuse", "meaning", "calibration"):
            results[part] = getattr(self, part)()
            yield results
        self.systems.encoder.flush()
