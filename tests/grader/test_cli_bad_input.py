"""Bad input through the command line: a clear message or a condition code, never a traceback, never a lost row."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner, Result

from grader.cli import app

BANK = str(Path(__file__).parents[1] / "data" / "bank")
GAS = "Yeast eats sugar and gives off carbon dioxide, and gluten traps the gas in small bubbles."


def grader(*args: str, input: str | bytes | None = None) -> Result:
    return CliRunner(env={"GRADER_ENCODER": "hash", "COLUMNS": "120", "NO_COLOR": "1"}).invoke(app, args, input=input)


def error_line(result: Result) -> str:
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    lines = [line for line in result.stderr.splitlines() if not line.startswith("grader: note: ")]
    assert len(lines) == 1, lines
    assert "internal error" not in lines[0]
    return lines[0]


@pytest.mark.parametrize(
    ("text", "code", "score"),
    [
        ("", "blank", 0.0),
        (" \t\n\u00a0\u200b ", "blank", 0.0),
        ("\U0001f600\U0001f44d\u2728", "blank", 0.0),
        ("???", "blank", 0.0),
        ("\u0916\u092e\u0940\u0930 \u0917\u0948\u0938 \u092c\u0928\u093e\u0924\u093e \u0939\u0948", "language", None),
        ("qwrt zxcv bnmp lkjh", "gibberish", 0.0),
        ("word " * 210_000, "too_long", None),
        ("a" * 1_000_000, "too_long", None),
    ],
    ids=["empty", "whitespace", "emoji", "punctuation", "devanagari", "gibberish", "1 MB of words", "1 MB of a"],
)
def test_special_answers_get_a_condition_code(text: str, code: str, score: float | None) -> None:
    for json_wanted in (True, False):
        result = grader("grade", "dough-rises", "-", "--bank", BANK, *["--json"] * json_wanted, input=text)
        assert (result.exit_code, result.stderr) == (0, "")
        if json_wanted:
            data = json.loads(result.stdout)
            assert (data["condition_code"], data["score"]) == (code, score)
        else:
            assert f"[{code}]" in result.stdout


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"\x89PNG\r\n\x1a\n\x00\x00", "not valid UTF-8"),
        (bytes(range(128)), "NUL character"),
        ("Hefe bläht den Teig auf".encode("latin-1"), "byte 7 is not valid UTF-8"),
        (b"\xed\xa0\x80 half a character", "byte 0 is not valid UTF-8"),
        (b"\xff\xfea", "not valid UTF-16"),
        (b"x" * 8_000_001, "more than 8,000,000 bytes"),
    ],
    ids=["png", "all bytes", "latin-1", "surrogate bytes", "cut utf-16", "8 MB"],
)
def test_what_is_no_text_is_an_error(data: bytes, words: str, tmp_path: Path) -> None:
    assert words in error_line(grader("grade", "dough-rises", "-", "--bank", BANK, input=data))
    (tmp_path / "answer.bin").write_bytes(data)
    line = error_line(grader("grade", "dough-rises", "--file", str(tmp_path / "answer.bin"), "--bank", BANK))
    assert words in line
    assert "answer.bin" in line


def test_a_lone_surrogate_on_the_command_line_is_graded_and_noted() -> None:
    result = grader("grade", "dough-rises", f"\ud800 {GAS} \udcff", "--bank", BANK, "--json")
    assert result.exit_code == 0
    assert json.loads(result.stdout)["score"] == 2.5
    assert result.stderr.startswith("grader: note: ")


def test_control_characters_never_reach_the_terminal() -> None:
    text = f"\x1b[2J\x07{GAS}\x1b]0;title\x07\u202e\x85\x9b31m [bold]not markup[/bold]"
    for args in (["grade"], ["explain"]):
        result = grader(*args, "dough-rises", "-", "--bank", BANK, input=text)
        assert result.exit_code == 0
        assert not {"\x1b", "\x07", "\x9b", "\u202e"} & set(result.stdout)
        assert "Yeast eats sugar" in result.stdout
    assert json.loads(grader("grade", "dough-rises", "-", "--bank", BANK, "--json", input=text).stdout)["score"] == 2.5


BOMB = "a: &a [x, x]\nb: &b [*a, *a]\nc: &c [*b, *b]\nd: [*c, *c]\n"


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (BOMB, "anchors and aliases are not allowed"),
        ("id: x\ncomponents:\n\tdefinition: 1\n", "tabs are not allowed"),
        ("[" * 5_000, "nested deeper than"),
        ("id: x\nid: y\n", "duplicate key"),
        ("- 1\n- 2\n", "one mapping of fields"),
        ("", "one mapping of fields"),
        ("id: \x00", "not valid YAML"),
        (b"id: \xff\xfe", "not UTF-8"),
        (b"\xed\xa0\x80: 1", "not UTF-8"),
        ("id: x\nscale: {max: .nan}\n", "field is missing"),
    ],
    ids=["bomb", "tab", "deep", "twice", "list", "empty", "nul", "binary", "surrogate", "nan"],
)
@pytest.mark.parametrize(
    "command", [["grade", "x", "y", "--bank"], ["items", "list", "--bank"], ["items", "lint", "--quick"]]
)
def test_bad_rubrics_are_named_with_their_line(
    content: str | bytes, words: str, command: list[str], tmp_path: Path
) -> None:
    path = tmp_path / "x.yaml"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    result = grader(*command, str(tmp_path))
    if command[1] == "lint":
        assert (result.exit_code, result.stderr) == (1, "")
        assert words in result.stdout
    else:
        assert str(path) in error_line(result)
        if "more; " not in result.stderr:
            assert words in result.stderr


def batch(data: bytes, tmp_path: Path, *args: str, name: str = "answers.csv") -> tuple[Result, Path]:
    (tmp_path / name).write_bytes(data)
    out = tmp_path / "out.csv"
    return grader("batch", str(tmp_path / name), "-o", str(out), "--bank", BANK, *args), out


def rows(path: Path, delimiter: str = ",") -> list[dict[str, str]]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file, delimiter=delimiter))


HEAD = "candidate,item,response\n"


@pytest.mark.parametrize(
    ("data", "delimiter"),
    [
        (b"\xef\xbb\xbf" + f"{HEAD}007,dough-rises,\"{GAS}\"\n".encode(), ","),
        (f"{HEAD}007,dough-rises,\"{GAS}\"\n".replace(",dough-rises,", ";dough-rises;")
         .replace(HEAD, "candidate;item;response\n").encode(), ";"),
        (f"{HEAD}007,dough-rises,\"{GAS} Zum Beispiel nach der Gärung.\"\n".encode("latin-1"), ","),
        (f"{HEAD}007,dough-rises,\"{GAS}\"\n".encode("utf-16"), ","),
        (f"{HEAD}007,dough-rises,\"{GAS}\"\n".replace("\n", "\r\n").encode(), ","),
    ],
    ids=["bom", "semicolon", "latin-1", "utf-16", "crlf"],
)  # fmt: skip
def test_csv_dialects_are_read(data: bytes, delimiter: str, tmp_path: Path) -> None:
    result, out = batch(data, tmp_path)
    assert result.exit_code == 0, result.output
    (row,) = rows(out, delimiter)
    assert (row["candidate"], row["item"], row["score"], row["condition_code"]) == ("007", "dough-rises", "2.5" if
            delimiter == "," else "2,5", "")  # fmt: skip


def test_a_guessed_encoding_is_noted(tmp_path: Path) -> None:
    result, _ = batch(f"{HEAD}1,dough-rises,Gärung\n".encode("latin-1"), tmp_path)
    assert "cp1252" in result.stderr


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (f"{HEAD}a,dough-rises,x\na,dough-rises,y\n", "rows 2 and 3: candidate 'a' answers item 'dough-rises' twice"),
        ("candidate,item\na,dough-rises\n", "column response missing"),
        (f"{HEAD}a,dough-rise,x\n", "row 2, column item: no item 'dough-rise'; did you mean dough-rises?"),
        (f"{HEAD},dough-rises,x\n", "row 2, column candidate: empty"),
        ("candidate,item,response,score\na,dough-rises,x,3\n", "column 'score' holds a machine's marks"),
        (HEAD, "a header but no rows"),
        ("", "the file is empty"),
        ('candidate,item,response\na,dough-rises,"open\n', "opens and never closes"),
        (f"{HEAD}a,dough-rises,x\x00y\n", "NUL"),
        (f"{HEAD}a,dough-rises,{'x' * 1_000_000}\n", "row 2: a cell is longer than 131,072 characters"),
        ("%PDF-1.7 nonsense", "a PDF document"),
    ],
    ids=["duplicate", "missing", "unknown", "no candidate", "score", "no rows", "empty", "quote", "nul", "1 MB", "pdf"],
)
def test_tables_that_cannot_be_graded_are_one_line(text: str, words: str, tmp_path: Path) -> None:
    result, out = batch(text.encode(), tmp_path)
    assert words in error_line(result)
    assert not out.exists()
    assert list(tmp_path.glob("*.part")) == []


def test_duplicate_columns_keep_the_first_and_say_so(tmp_path: Path) -> None:
    result, out = batch(f'candidate,item,response,response\na,dough-rises,"{GAS}",x\n'.encode(), tmp_path)
    assert result.exit_code == 0
    assert "comes again" in result.stderr
    assert rows(out)[0]["response (2)"] == "x"


def test_formula_cells_are_graded_as_text_and_never_written_as_formulas(tmp_path: Path) -> None:
    text = f'{HEAD}=1+1,dough-rises,"=HYPERLINK(""http://x"")"\n+2,dough-rises,@SUM(A1)\n-3,dough-rises,-x\n'
    result, out = batch(text.encode(), tmp_path)
    assert result.exit_code == 0, result.output
    found = rows(out)
    assert [row["candidate"] for row in found] == ["'=1+1", "+2", "-3"]
    assert [row["response"][0] for row in found] == ["'", "'", "'"]
    again, second = tmp_path / "again.csv", tmp_path / "second.csv"
    with again.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([HEAD.strip().split(","), *(list(row.values())[:3] for row in found)])
    assert grader("batch", str(again), "-o", str(second), "--bank", BANK).exit_code == 0
    assert [row["response"] for row in rows(second)] == [row["response"] for row in found], "once is enough"


def test_no_row_is_lost_whatever_the_answers_are(tmp_path: Path) -> None:
    answers = [
        "",
        "   ",
        "\U0001f600",
        "खमीर गैस बनाता है",
        "x" * 70_000,
        "a\tb\n\nc",
        GAS,
        "'",
        '"',
        "-",
        "=",
        "NaN",
        "None",
    ]
    frame = pd.DataFrame({"candidate": range(len(answers)), "item": "dough-rises", "response": answers, "note": "k"})
    for suffix in ("csv", "xlsx", "parquet"):
        source, out = tmp_path / f"in.{suffix}", tmp_path / f"out-{suffix}.csv"
        if suffix == "csv":
            frame.to_csv(source, index=False)
        elif suffix == "xlsx":
            frame.assign(response=[answer[:30_000] for answer in answers]).to_excel(source, index=False)
        else:
            frame.to_parquet(source)
        result = grader("batch", str(source), "-o", str(out), "--bank", BANK)
        assert result.exit_code == 0, result.output
        found = rows(out)
        assert [row["candidate"] for row in found] == [str(at) for at in range(len(answers))]
        assert [row["note"] for row in found] == ["k"] * len(answers)
        assert found[6]["score"] == "2.5"
        assert found[0]["condition_code"] == "blank"
