"""Numbers in cells, and text that a spreadsheet would run."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.errors import InputError
from grader.formats.limits import Limits
from grader.formats.neutral import neutralise, restore
from grader.formats.notes import NoteLog, column_letter, shorten
from grader.formats.numeric import format_number, guess_decimal, parse_number


@pytest.mark.parametrize(
    ("text", "decimal", "value"),
    [
        ("18,5", ".", 18.5),
        ("18,5", ",", 18.5),
        ("18.5", ",", 18.5),
        ("1,234.56", ".", 1234.56),
        ("1.234,56", ".", 1234.56),
        ("1,234", ".", 1234.0),
        ("1,234", ",", 1.234),
        ("1.234", ",", 1234.0),
        ("1.234", ".", 1.234),
        ("0,500", ".", 0.5),
        ("1,234,567", ".", 1234567.0),
        ("1 234,5", ",", 1234.5),
        ("1\u00a0234,5", ",", 1234.5),
        ("\u22122.5", ".", -2.5),
        ("-0.5", ".", -0.5),
        ("+3", ".", 3.0),
        (".5", ".", 0.5),
        (" 7 ", ".", 7.0),
        ("10.", ".", 10.0),
    ],
)
def test_parse_number_reads_both_decimal_marks(text, decimal, value):
    assert parse_number(text, decimal) == value


@pytest.mark.parametrize(
    "text",
    [
        "",
        "-",
        "EX",
        "N/A",
        "1e5",
        "nan",
        "inf",
        "0x10",
        "1,2,3",
        "1.2.3,4",
        "12 34",
        "5 / 10",
        "٣",
        "--1",
        "1_0",
    ],
)
def test_parse_number_refuses_what_is_no_number(text):
    assert parse_number(text) is None


def test_parse_number_overflow_is_no_number():
    assert parse_number("9" * 400) is None


@given(st.floats(-1e6, 1e6).map(lambda value: round(value, 4)), st.sampled_from([".", ","]))
def test_format_and_parse_are_inverse(value, decimal):
    assert parse_number(format_number(value, decimal), decimal) == pytest.approx(value, abs=1e-4, rel=1e-9)


@given(st.text(max_size=30))
def test_parse_number_never_raises(text):
    value = parse_number(text)
    assert value is None or math.isfinite(value)


@pytest.mark.parametrize(
    ("value", "decimal", "text"),
    [
        (3.0, ".", "3"),
        (2.5, ",", "2,5"),
        (-0.5, ".", "-0.5"),
        (0.1 + 0.2, ".", "0.3"),
        (-0.0, ".", "0"),
        (1e-7, ".", "0.0000001"),
    ],
)
def test_format_number(value, decimal, text):
    assert format_number(value, decimal) == text


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_format_number_refuses_what_is_not_finite(value):
    with pytest.raises(InputError, match="finite"):
        format_number(value)


def test_guess_decimal_ignores_groups_of_three():
    assert guess_decimal(["1,234", "5,678"]) == "."
    assert guess_decimal(["1,5", "2,25"]) == ","
    assert guess_decimal([], ";") == ","
    assert guess_decimal(["1.5"], ";") == "."


@pytest.mark.parametrize(
    "text", ["=1+1", "+1+1", "-1+1", "@SUM(A1)", "\tx", "\rx", "=", "@", "-x", "- list", "+x", "-1,5 x"]
)
def test_formula_text_gets_an_apostrophe(text):
    assert neutralise(text) == "'" + text
    assert restore("'" + text) == text


@pytest.mark.parametrize(
    "text", ["-1", "-1.5", "+3", "-1,5", "-1,234.56", "-5%", "-", "", "x=1", " =1", "a@b", "'x", "-1e5"]
)
def test_numbers_and_plain_text_stay(text):
    assert neutralise(text) == text
    assert restore(text) == text


@given(st.text(alphabet="'=+-@\t\r 1.,a", max_size=6))
def test_restore_undoes_neutralise(text):
    assert restore(neutralise(text)) == text


@given(st.text(max_size=20))
def test_a_neutralised_text_never_starts_a_formula(text):
    safe = neutralise(text)
    assert not safe.startswith(("=", "@", "\t", "\r"))
    if safe.startswith(("+", "-")) and safe != "-":
        assert set(safe) <= set("+-0123456789.,eE%")


def test_notes_are_capped_per_kind_and_the_rest_is_counted():
    log = NoteLog(repeats=2)
    for row in range(5):
        log.add("a", "short", row=row)
    log.add("b", "other", column="Q")
    notes = log.notes()
    assert [note.row for note in notes] == [0, 1, None, None]
    assert str(notes[2]) == "column 'Q': other"
    assert str(notes[3]) == "3 more remarks of this kind are not listed"
    assert str(notes[1]) == "row 1: short"


def test_column_letters_and_shortening():
    assert [column_letter(at) for at in (0, 25, 26, 701, 702)] == ["A", "Z", "AA", "ZZ", "AAA"]
    assert shorten("a\nb") == "'a b'"
    assert len(shorten("x" * 100)) == 42


@pytest.mark.parametrize("bad", [{"max_rows": 0}, {"max_cell_chars": 200_000}, {"max_bytes": -1}])
def test_limits_are_checked(bad):
    with pytest.raises(InputError, match="allowed"):
        Limits(**bad)
