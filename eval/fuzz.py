"""Feeds whatever reads foreign text with made and damaged input: ``python -m eval.fuzz --minutes 10``.

A reader must answer with a result or an `InputError`, and a mark must lie on its scale and not depend on a second look.
Anything else is a fault: it is printed, made small by hypothesis, and becomes a test beside the reader.

``--seeds`` names a folder of valid files (``tests/data/formats``) of which damaged copies are made too.
"""

from __future__ import annotations

import argparse
import io
import json
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from openpyxl import Workbook

from grader import Grader, Item
from grader.bank import parse_item
from grader.encoder import HashEncoder
from grader.errors import InputError
from grader.formats.canvas import GRADEBOOK
from grader.formats.export import write_back
from grader.formats.layouts import read_sheet
from grader.formats.mapping import propose_mapping
from grader.formats.model_answers import read_model_answers
from grader.formats.results import Result
from grader.formats.roster import read_roster
from grader.formats.table import read_table
from grader.segment import statements
from grader.text import normalise

_RUBRICS = Path(__file__).parents[1] / "rubrics"
_WORDS = (
    "the gradient is added", "does not", "because ", "I don't know", "x = y.view(2)", "```", "\n- ", "\n\n", "1. ",
    "3.5e-4", "½", "e\u0301", "\u200b", "\u202e", "नमस्ते", "不", "🤖", "\ud800", "\x00", "\ufeff", "…", "!?", " " * 50,
    "a" * 300, "<b>", "&amp;", "=1+1", "\\(x^2\\)",
)  # fmt: skip
_GRADEBOOK = (
    b'Student,ID,SIS User ID,SIS Login ID,Section,Essay (1)\n    Points Possible,,,,,5\n"Bell, Ann",7,s7,ann,A,\n'
)
_HEADERS = ("candidate", "item", "response", "ID", "Student", "Response 1", "Antwort 1", "SIS User ID", "Points", "")
_PIECES: dict[str, Sequence[bytes]] = {
    "xml": (b"<quiz>", b"</quiz>", b'<question type="essay">', b"</question>", b"<text>", b"</text>", b"<![CDATA[",
            b"]]>", b"&amp;", b"&#0;", b"&x;", b"<graderinfo>", b"<qti-assessment-item>",
            b'<!DOCTYPE a [<!ENTITY x "y">]>'),
    "gift": (b"::", b"{", b"}", b"=", b"~", b"####", b"#", b"->", b"%100%", b"\\{", b"[html]", b"{T}", b"\n\n", b"//"),
    "table": (b",", b";", b"\t", b'"', b"\n", b"\r", b"\x00", b"=1+1", b"\xff\xfe", b"\xef\xbb\xbf", b"sep=;\n"),
    "yaml": (b"- ", b": ", b"\n  ", b"&a ", b"*a", b"!!python/object:x ", b"{", b"}", b"[", b"]", b"|\n", b"? ",
             b"---\n", b"'", b'"', b"weight: -1", b"weight: .nan", b"1e999", b"\t", b"components:", b"<<: "),
}  # fmt: skip


@dataclass(frozen=True)
class Target:
    """Something that reads foreign input.

    Attributes:
        name: Its name.
        inputs: What it is fed with.
        read: Raises `InputError` for what it refuses, and anything else if it is broken.
    """

    name: str
    inputs: st.SearchStrategy[Any]
    read: Callable[[Any], object]


def texts() -> st.SearchStrategy[str]:
    """Answers: arbitrary characters and pieces that scorers treat in special ways."""
    return st.lists(st.one_of(st.sampled_from(_WORDS), st.text(max_size=30)), max_size=12).map("".join)


def damaged(seeds: Sequence[bytes], pieces: Sequence[bytes]) -> st.SearchStrategy[bytes]:
    """Valid files with pieces put in, cut out and doubled."""
    spot = st.floats(0, 1, allow_nan=False)
    change = st.tuples(st.sampled_from(("put", "cut", "twice")), spot, st.integers(1, 40), st.sampled_from(pieces))
    return st.builds(_apply, st.sampled_from(seeds), st.lists(change, max_size=6))


def _apply(data: bytes, changes: Sequence[tuple[str, float, int, bytes]]) -> bytes:
    for how, where, length, piece in changes:
        at = int(where * len(data))
        middle = {"put": piece, "cut": b"", "twice": data[at : at + length] * 2}[how]
        data = data[:at] + middle + data[at + (0 if how == "put" else length) :]
    return data


def built(pieces: Sequence[bytes]) -> st.SearchStrategy[bytes]:
    """Files put together of the pieces of a format and arbitrary text."""
    text = st.text(max_size=12).map(lambda one: one.encode("utf-8", "surrogatepass"))
    return st.lists(st.one_of(st.sampled_from(pieces), text, st.binary(max_size=6)), max_size=40).map(b"".join)


def workbooks() -> st.SearchStrategy[bytes]:
    """Workbooks with arbitrary cells, whole and damaged."""
    cell = st.one_of(
        st.sampled_from(_HEADERS), st.text(st.characters(codec="utf-8", exclude_categories=["Cc"]), max_size=20),
        st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.booleans(), st.none(), st.datetimes(),
    )  # fmt: skip
    head = st.sampled_from((["candidate", "item", "response"], ["ID", "Response 1"], *([one] for one in _HEADERS)))
    rows = st.lists(st.lists(cell, max_size=6), max_size=6)
    whole = st.builds(lambda first, rest: _workbook([first, *rest]), head, rows)
    return st.one_of(whole, st.builds(lambda data, changes: _apply(data, changes), whole, _zip_changes()))


def _zip_changes() -> st.SearchStrategy[Sequence[tuple[str, float, int, bytes]]]:
    spot = st.floats(0, 1, allow_nan=False)
    kinds = st.sampled_from(("put", "cut", "twice"))
    return st.lists(st.tuples(kinds, spot, st.integers(1, 40), st.binary(max_size=4)), min_size=1, max_size=3)


def _workbook(rows: Sequence[Sequence[Any]]) -> bytes:
    book, out = Workbook(), io.BytesIO()
    sheet = book.active
    assert sheet is not None
    for row in rows:
        sheet.append(list(row))
    book.save(out)
    return out.getvalue()


@cache
def _grader() -> Grader:
    return Grader(HashEncoder())


def _mark(case: tuple[Item, str]) -> None:
    item, text = case
    first, again = _grader().grade_many(item, [text, text])
    assert first == again, "the same answer got two marks"
    assert first.score is None or 0 <= first.score <= item.scale.max, f"{first.score} is not on the scale"
    for statement in statements(normalise(text)):
        assert statement.text == normalise(text).text[statement.start : statement.end]


def _sheet(data: bytes) -> None:
    sheet = read_sheet(data, name="table")
    propose_mapping(sheet, {"a": "What is a?", "b": "What is b?"})
    if sheet.layout != GRADEBOOK.name:
        write_back(sheet, [Result(cell.candidate, cell.item_key, 1.5, 5.0) for cell in sheet.cells])


def _roster(data: bytes) -> None:
    read_roster(read_table(data, name="table"))


def fuzzed_items() -> list[Item]:
    """Items whose answers are fuzzed: of the bank, from a reference, and a German one."""
    items = [parse_item(path.read_bytes()) for path in sorted(_RUBRICS.rglob("*.yaml"))[:6] if path.name != "pack.yaml"]
    items += [Item.from_reference("Why does bread rise?", ["Yeast gives off gas."], max_score=5)]
    german = Item.from_reference("Warum geht Brot auf?", ["Hefe gibt Gas ab."], max_score=3)
    return [*items, german.model_copy(update={"language": "de"})]


def targets(seeds: Sequence[bytes] = ()) -> tuple[Target, ...]:
    """Everything that is fuzzed; ``seeds`` are valid tables."""
    rubrics = [path.read_bytes() for path in sorted(_RUBRICS.rglob("*.yaml"))]
    tables = [*seeds, b"candidate,item,response\n1,zero-grad,It adds.\n", b"ID;Frage 1\n1;\xfc\n"]
    xml, gift, table = _PIECES["xml"], _PIECES["gift"], _PIECES["table"]
    questions = [
        b'<quiz><question type="essay"><name><text>B</text></name><questiontext><text>Why?</text></questiontext>'
        b"<graderinfo><text>Yeast.</text></graderinfo></question></quiz>",
        b"::B:: Why does bread rise? {####Yeast gives off gas.}\n\n::G:: Which gas? {=CO2 =%50%air}\n",
        b"question,answer\nWhy?,Because.\n",
    ]

    def model_answers(data: bytes) -> None:
        read_model_answers(data, name="questions")

    return (
        Target("answers", st.tuples(st.sampled_from(fuzzed_items()), texts()), _mark),
        Target("rubrics", st.one_of(damaged(rubrics, _PIECES["yaml"]), built(_PIECES["yaml"])), parse_item),
        Target("tables", st.one_of(damaged(tables, table), built(table)), _sheet),
        Target("workbooks", workbooks(), _sheet),
        Target("gradebooks", damaged([_GRADEBOOK, *tables], table), _roster),
        Target("questions", st.one_of(damaged(questions, (*xml, *gift)), built(xml), built(gift)), model_answers),
    )


def check(target: Target, examples: int, number: int = 0) -> None:
    """Feed ``target`` with so many inputs; the same ``number`` gives the same ones.

    Raises:
        Exception: What the target raised, with the smallest input found noted on it.
    """

    @seed(number)
    @settings(
        max_examples=examples,
        deadline=None,
        database=None,
        derandomize=False,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.generate, Phase.shrink],
    )
    @given(target.inputs)
    def feed(case: Any) -> None:
        with suppress(InputError):
            target.read(case)

    feed()


def run(minutes: float, seeds: Sequence[bytes], only: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Feed the targets in turn until the time is over; one line for each, and one for each fault."""
    chosen = [target for target in targets(seeds) if not only or target.name in only]
    counts = dict.fromkeys((target.name for target in chosen), 0)
    end, number, faults, step = time.monotonic() + 60 * minutes, 0, 0, 100
    while time.monotonic() < end:
        target = chosen[number % len(chosen)]
        try:
            check(target, step, number)
        except Exception:
            faults += 1
            yield {"fault": target.name, "number": number, "trace": traceback.format_exc()[-3000:]}
        counts[target.name] += step
        number += 1
    yield {"inputs": counts, "faults": faults}


def main() -> None:
    """Read the options, feed, print."""
    parser = argparse.ArgumentParser(description="Feed readers and scorers with made and damaged input.")
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--seeds", type=Path, help="Folder of valid tables.")
    parser.add_argument("--only", nargs="*", default=[], help="Names of targets.")
    chosen = parser.parse_args()
    seeds = [path.read_bytes() for path in sorted(chosen.seeds.iterdir())] if chosen.seeds else []
    faults = 0
    for line in run(chosen.minutes, seeds, chosen.only):
        faults += "fault" in line
        print(line["trace"] if "fault" in line else json.dumps(line), flush=True)
    raise SystemExit(faults > 0)


if __name__ == "__main__":
    main()
