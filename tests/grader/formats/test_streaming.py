"""Table files read in pieces: the same cells as when they are read whole."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from grader.errors import InputError
from grader.formats.limits import Limits
from grader.formats.streaming import read_pieces
from grader.sources import LIMITS, frames, open_pieces, read_frame

CLEAN = "candidate,item,response,human_score\n" + "".join(
    f'c{at},{"onion" if at % 2 else "dough"},"It rises, ""{at}""\nthen",{at % 5}.5\n' for at in range(50)
)


def pieces_of(path: Path, size: int = 7) -> list[pd.DataFrame]:
    return list(frames(open_pieces(path, size=size)))


def check_same(path: Path, count: int, size: int = 7) -> None:
    whole, table = read_frame(path)
    pieces = open_pieces(path, size=size)
    parts = list(frames(pieces))
    assert len(parts) == count
    joined = pd.concat(parts)
    assert list(joined.columns) == list(whole.columns)
    assert list(joined.index) == list(whole.index)
    for label in whole.columns:
        left, right = (frame[label].astype(object).where(frame[label].notna(), "") for frame in (joined, whole))
        assert left.tolist() == right.tolist(), label
    assert (pieces.delimiter, pieces.decimal, pieces.warnings) == (table.delimiter, table.decimal, table.warnings)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
@pytest.mark.parametrize("change", [
    lambda text: text,
    lambda text: text.replace("\n", "\r\n"),
    lambda text: text.rstrip("\n"),
    lambda text: "\n\n" + text.replace("c7,", "\n\nc7,"),
    lambda text: text.replace(",", ";").replace(".5", ",5").replace("rises;", "rises,"),
    lambda text: text.replace("c1,", "\u2007é,").replace("c3,", "'=1,"),
], ids=["plain", "windows", "no end", "blank rows", "decimal comma", "letters"])  # fmt: skip
def test_clean_text_comes_in_pieces(encoding: str, change: object, tmp_path: Path) -> None:
    path = tmp_path / "in.csv"
    path.write_text(change(CLEAN), encoding, newline="")  # type: ignore[operator]
    check_same(path, 8)
    check_same(path, 1, size=50)


@pytest.mark.parametrize("change", [
    lambda text: text.encode("cp1252").replace(b"then", b"caf\xe9"),
    lambda text: text.replace("c9,", '"c9"x,').encode(),
    lambda text: text.replace("c9,", "c9,more,").encode(),
    lambda text: text.replace("c9,onion", "c9").encode(),
    lambda text: ("sep=,\n" + text).encode(),
    lambda text: text.replace("item,", ",", 1).encode(),
    lambda text: text.replace("item,", "response,", 1).encode(),
    lambda text: text.replace("then", "the\x01n", 1).encode(),
], ids=["cp1252", "stray quote", "wide", "short", "sep", "no header", "twice", "control"])  # fmt: skip
def test_what_needs_care_is_read_whole(change: object, tmp_path: Path) -> None:
    path = tmp_path / "in.csv"
    path.write_bytes(change(CLEAN))  # type: ignore[operator]
    check_same(path, 1)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "the file is empty"),
        (b"candidate,item,response\n", "a header but no rows"),
        (b'candidate,item\nx,"never closed\n', "never closes"),
        (b"candidate,item\nx,\x00\n", "NUL"),
        (b"<table><tr><td>x</td></tr></table>", "web page or XML"),
        (b"%PDF-1.7", "PDF"),
        (b"PAR1 no parquet", "damaged Parquet"),
        (b"\xff\xfea\x00,\x00\x00\xd8", "surrogate"),
    ],
)
def test_errors_are_those_of_the_careful_reader(data: bytes, words: str, tmp_path: Path) -> None:
    path = tmp_path / "in.csv"
    path.write_bytes(data)
    with pytest.raises(InputError, match=words):
        open_pieces(path)


def test_limits_hold_for_streams(tmp_path: Path) -> None:
    path = tmp_path / "in.csv"
    path.write_text(CLEAN)
    for limits, words in (
        (Limits(max_rows=40), "or more rows"),
        (Limits(max_columns=3), "4 columns"),
        (Limits(max_cell_chars=11), "characters in a cell"),
    ):
        with pytest.raises(InputError, match=words):
            read_pieces(path, limits=limits)


def test_parquet_comes_in_pieces_with_its_types(tmp_path: Path) -> None:
    path = tmp_path / "in.parquet"
    frame = pd.DataFrame(
        {
            "candidate": [f"{at:03}" for at in range(30)],
            "response": ["text", None, ""] * 10,
            "human_score": [None] * 20 + [0.5] * 10,
            "attempt": range(30),
            "when": pd.Timestamp("2026-03-01"),
        }
    )
    frame.to_parquet(path, row_group_size=11)
    check_same(path, 5)
    parts = pieces_of(path)
    assert parts[0]["human_score"].isna().all()
    assert parts[4]["human_score"].tolist() == [0.5, 0.5]
    frame.iloc[:, :1].assign(nested=[[1]] * 30).to_parquet(path)
    with pytest.raises(InputError, match="column 'nested' holds list"):
        open_pieces(path)


def test_a_workbook_is_one_piece(tmp_path: Path) -> None:
    path = tmp_path / "in.xlsx"
    pd.DataFrame({"candidate": ["a", "b"] * 10, "item": ["x", "y"] * 10}).to_excel(path, index=False)
    check_same(path, 1)


def test_limits_of_the_command_are_wider_than_those_of_the_service() -> None:
    assert LIMITS.max_rows > Limits().max_rows
