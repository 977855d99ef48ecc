"""Check labelled answers before anything is computed on them: ``python -m eval datasets check DIR``."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import pandas as pd

from eval.datasets.damage import SERIOUS, damage
from eval.datasets.published import PUBLISHED_ANSWERS, PUBLISHED_LEAKAGE
from eval.datasets.schema import SPLITS

Severity = Literal["problem", "note"]
_EXAMPLES = 3


@dataclass(frozen=True, slots=True)
class SplitCount:
    """Answers and questions of one split (or ``total``), and the published numbers where known."""

    dataset: str
    split: str
    answers: int
    questions: int
    published_answers: int | None = None
    published_questions: int | None = None

    @property
    def as_published(self) -> bool:
        """True unless a published number is known and differs."""
        return self.published_answers in (None, self.answers) and self.published_questions in (
            None,
            self.questions,
        )


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing found: ``problem`` (figures on these data would be wrong) or ``note`` (say so with them)."""

    code: str
    severity: Severity
    dataset: str
    message: str
    count: int
    examples: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Report:
    """Counts and findings over all data sets of a frame."""

    counts: tuple[SplitCount, ...]
    findings: tuple[Finding, ...]

    @property
    def ok(self) -> bool:
        """True when there is no ``problem``."""
        return all(finding.severity != "problem" for finding in self.findings)


def check(frame: pd.DataFrame) -> Report:
    """Counts and findings for a frame in the common schema, data set by data set.

    Looked for: counts that differ from the published ones, unknown splits, ids that occur twice, scores
    outside the scale, damaged encoding, missing references, answers equal to a reference, blank answers,
    exact duplicates within a split, test answers that stand verbatim in train, and questions of unseen
    splits worded like one of train.
    """
    counts: list[SplitCount] = []
    findings: list[Finding] = []
    for name in dict.fromkeys(frame["dataset"]):
        part = frame[frame["dataset"] == name].reset_index(drop=True)
        part_counts = _counts(part, str(name))
        counts += part_counts
        findings += _count_findings(part_counts, str(name))
        for look in _LOOKS:
            findings += look(part, str(name))
    return Report(tuple(counts), tuple(findings))


def _counts(part: pd.DataFrame, name: str) -> list[SplitCount]:
    published = PUBLISHED_ANSWERS.get(name, {})
    present = [split for split in dict.fromkeys((*SPLITS, *part["split"])) if (part["split"] == split).any()]
    absent = [split for split in published if split not in (*present, "total")]
    result = []
    for split in (*present, *absent, "total"):
        rows = part if split == "total" else part[part["split"] == split]
        answers, questions = published.get(split, (None, None))
        result.append(SplitCount(name, split, len(rows), int(rows["question_id"].nunique()), answers, questions))
    return result


def _count_findings(counts: Sequence[SplitCount], name: str) -> Iterator[Finding]:
    wrong = [count for count in counts if not count.as_published]
    if wrong:
        places = tuple(
            f"{count.split}: {count.answers} answers, {count.questions} questions; "
            f"published {count.published_answers}, {count.published_questions}"
            for count in wrong
        )
        yield Finding("counts", "problem", name, "counts differ from the published ones", len(wrong), places)


def _splits(part: pd.DataFrame, name: str) -> Iterator[Finding]:
    bad = part[~part["split"].isin(SPLITS)]
    if len(bad):
        message = f"unknown split; allowed are {', '.join(SPLITS)}"
        yield Finding("split", "problem", name, message, len(bad), _some(sorted(set(bad["split"]))))


def _ids(part: pd.DataFrame, name: str) -> Iterator[Finding]:
    twice = part[part["answer_id"].duplicated()]
    if len(twice):
        ids = _some(twice["answer_id"])
        yield Finding("answer_id", "problem", name, "answer_id occurs more than once", len(twice), ids)


def _scores(part: pd.DataFrame, name: str) -> Iterator[Finding]:
    places = [
        f"{identifier}: {score:g} of {highest:g}"
        for identifier, score, second, highest in zip(
            part["answer_id"], part["score"], part["score2"], part["max_score"], strict=True
        )
        if not highest > 0 or not 0 <= score <= highest or not (math.isnan(second) or 0 <= second <= highest)
    ]
    if places:
        message = "scores outside the scale; allowed is 0 to max_score, and max_score above 0"
        yield Finding("scale", "problem", name, message, len(places), _some(places))


def _encoding(part: pd.DataFrame, name: str) -> Iterator[Finding]:
    found: dict[str, list[str]] = {}
    for place, text in _texts(part):
        for kind, excerpt in damage(text).items():
            found.setdefault(kind, []).append(f"{place}: {excerpt!a}")
    for kind, places in found.items():
        severity: Severity = "problem" if kind in SERIOUS else "note"
        yield Finding("encoding", severity, name, f"texts with {kind}", len(places), _some(places))


def _texts(part: pd.DataFrame) -> Iterator[tuple[str, str]]:
    """(place, text) of every text, those of a question once."""
    for column in ("answer", "feedback"):
        for identifier, text in zip(part["answer_id"], part[column], strict=True):
            if isinstance(text, str):
                yield f"{column} {identifier}", text
    for _, row in part.drop_duplicates("question_id").iterrows():
        yield f"question {row['question_id']}", str(row["question"])
        for reference in row["reference_answers"]:
            yield f"reference of {row['question_id']}", str(reference)


def _references(part: pd.DataFrame, name: str) -> Iterator[Finding]:
    has = part["reference_answers"].map(lambda items: any(str(item).strip() for item in items))
    without = part.loc[~has.astype(bool), "question_id"].drop_duplicates()
    if len(without):
        total = part["question_id"].nunique()
        message = f"of {total} questions have no reference answer"
        yield Finding("references", "note", name, message, len(without), _some(without))
    same = [
        str(identifier)
        for identifier, answer, references in zip(
            part["answer_id"], part["answer"], part["reference_answers"], strict=True
        )
        if answer.strip() and words(answer) in {words(str(reference)) for reference in references}
    ]
    if same:
        message = "answers say exactly what a reference says; leave them out when training on references"
        yield Finding("answer_is_reference", "note", name, message, len(same), _some(same))


def words(text: str) -> str:
    """``text`` in lower case, without punctuation, single-spaced; as it is where it has no word.

    >>> words("The gap,  in the path.") == words("the gap in the path")
    True
    """
    return " ".join(re.findall(r"\w+", text.casefold())) or text.strip()


def _duplicates(part: pd.DataFrame, name: str) -> Iterator[Finding]:
    text = part["answer"].str.strip()
    blank = text == ""
    if blank.any():
        identifiers = _some(part.loc[blank, "answer_id"])
        yield Finding("blank", "note", name, "answers are blank", int(blank.sum()), identifiers)
    written = part[~blank].assign(text=text[~blank])
    keys = ["split", "question_id", "text"]
    copies = written[written.duplicated(keys)]
    if len(copies):
        scores = written.groupby(keys)["score"].nunique()
        differing = [f"{key[1]}: {key[2]!r}" for key in scores[scores > 1].index]
        message = (
            f"answers repeat an earlier one to the same question in the same split; "
            f"{len(differing)} texts were given different scores"
        )
        yield Finding("duplicates", "note", name, message, len(copies), _some(differing))


def _leakage(part: pd.DataFrame, name: str) -> Iterator[Finding]:
    train = part[part["split"] == "train"]
    if train.empty:
        return
    known = {kind: set(keys) for kind, keys in _leak_keys(train).items()}
    for split in sorted(set(part["split"]) - {"train", "none"}):
        test = part[(part["split"] == split) & (part["answer"].str.strip() != "")]
        keys = _leak_keys(test)
        hits = {kind: [key in known[kind] for key in keys[kind]] for kind in known}
        leaked = test.loc[hits["question"], "answer_id"]
        published = PUBLISHED_LEAKAGE.get((name, split))
        if any(hits["anywhere"]) or published:
            message = (
                f"of {len(test)} answers of {split} stand verbatim in train under the same question, case "
                f"and punctuation aside ({sum(hits['letters'])} letter for letter; {sum(hits['wording'])} "
                f"under a question of the same wording; {sum(hits['anywhere'])} under any question)"
            )
            if published is not None:
                message += f"; published: {published}"
            yield Finding("leakage", "note", name, message, len(leaked), _some(leaked))


def _leak_keys(part: pd.DataFrame) -> dict[str, list[tuple[str, str]]]:
    """Per way of comparing: what two answers must share to count as the same."""
    answers = [words(answer) for answer in part["answer"]]
    return {
        "letters": list(zip(part["question_id"], part["answer"].str.strip(), strict=True)),
        "question": list(zip(part["question_id"], answers, strict=True)),
        "wording": list(zip(part["question"].map(words), answers, strict=True)),
        "anywhere": [("", answer) for answer in answers],
    }


def _wording(part: pd.DataFrame, name: str) -> Iterator[Finding]:
    questions = part.drop_duplicates(["split", "question_id"])
    seen = {words(text) for text in questions.loc[questions["split"] == "train", "question"] if text.strip()}
    for split in ("test_uq", "test_ud"):
        unseen = questions[questions["split"] == split]
        same = [
            str(identifier)
            for identifier, text in zip(unseen["question_id"], unseen["question"], strict=True)
            if words(text) in seen
        ]
        if same:
            message = f"of {len(unseen)} questions of {split} are worded exactly like a question of train"
            yield Finding("question_wording", "note", name, message, len(same), _some(same))


_LOOKS: tuple[Callable[[pd.DataFrame, str], Iterator[Finding]], ...] = (
    _splits, _ids, _scores, _encoding, _references, _duplicates, _leakage, _wording,
)  # fmt: skip


def _some(items: Sequence[object] | pd.Series) -> tuple[str, ...]:
    return tuple(str(item) for item in list(items)[:_EXAMPLES])


def render(report: Report) -> str:
    """The report as plain text: one table of counts and the findings per data set, problems first."""
    lines: list[str] = []
    for name in dict.fromkeys(count.dataset for count in report.counts):
        lines += [name, f"  {'split':<10}{'answers':>9}{'published':>11}{'questions':>11}{'published':>11}"]
        for count in report.counts:
            if count.dataset == name:
                cells = (count.answers, count.published_answers, count.questions, count.published_questions)
                widths = zip(cells, (9, 11, 11, 11), strict=True)
                row = "".join(f"{'-' if cell is None else cell:>{width}}" for cell, width in widths)
                lines.append(f"  {count.split:<10}{row}{'' if count.as_published else '  differs'}")
        own = [finding for finding in report.findings if finding.dataset == name]
        for finding in sorted(own, key=lambda finding: finding.severity != "problem"):
            lines.append(f"  {finding.severity} [{finding.code}] {finding.count} {finding.message}")
            lines += [f"      {' '.join(example.split())[:100]}" for example in finding.examples]
        lines.append("")
    tally = Counter(finding.severity for finding in report.findings)
    lines.append(f"{tally['problem']} problems, {tally['note']} notes")
    return "\n".join(lines)
