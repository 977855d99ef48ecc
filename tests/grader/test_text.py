"""Normalisation never loses where a character came from, and folds only what is typography."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.text import Normalised, identifier_parts, normalise, stem, stems, tokenise

#: What editors, keyboards, spreadsheets and markup leave in an answer.
FRAGMENTS = (
    "<b>", "</b>", "<br>", "<code>", "</code>", "`", "``", "```", "```python\n", "\n```\n", "~~~\n", "&nbsp;", "&amp;",
    "&lt;", "&#160;", "&#x200b;", "&#55296;", "&#0;", "&#1114112;", "**", "*", " - ", "1. ", "\u00a0", "\u3000",
    "\u200b", "\ufeff", "\u2019", "\u201c", "\u2014", "\u00b2", "\u00bd", "e\u0301", "\u0300", "\r\n", "\r", "\x0b",
    "\x85", "\u2028", "\x1c", "\x00", "\ud800", "\udfff", "\U0001f600", "\u092e\u0947", "x = y[0]",
    "optimizer.zero_grad()", "don't", "don`t", "dont", "gradiants", "shares memory", "e.g. ", "; ", ". ", ".The ",
    "\ufb01", "\u00df", "\u0130", "<script>", "</script>", "<!--", "-->", "if x < y and y > z", "import torch\n",
    "# c\n", "\t", "word " * 50, "\u2126", "!=", "\u2260",
)  # fmt: skip
MESSY = st.lists(
    st.one_of(st.sampled_from(FRAGMENTS), st.text(st.characters(), max_size=8), st.sampled_from(" \n.a")), max_size=20
).map("".join)


def text_of(original: str) -> str:
    return normalise(original).text


@given(MESSY)
def test_every_character_points_at_the_candidates_own(original: str) -> None:
    source = normalise(original)
    assert len(source.text) == len(source.starts) == len(source.ends)
    assert all(0 <= a < b <= len(original) for a, b in zip(source.starts, source.ends, strict=True))
    assert list(source.starts) == sorted(source.starts)
    assert list(source.ends) == sorted(source.ends)
    source.text.encode()  # no lone surrogate is left
    assert all(0 <= a <= b <= len(source.text) for a, b in source.code)


@given(st.text(st.characters(codec="utf-8"), max_size=60))
def test_a_token_without_markup_is_its_own_source(original: str) -> None:
    source = normalise(original)
    for token in tokenise(source.text):
        start, end = source.span(token.start, token.end)
        assert token.text[:1] in text_of(original[start:end])


def test_tokens_map_back_through_markup_and_entities() -> None:
    original = (
        "<p>The&nbsp;<b>stor</b>age is <i>\u201cshared\u201d</i> &amp; <code>x.view(2)</code> doesn\u2019t copy</p>"
    )
    source = normalise(original)
    found = {token.text: original[slice(*source.span(token.start, token.end))] for token in tokenise(source.text)}
    assert found["storage"] == "stor</b>age"
    assert found["shared"] == "shared"
    assert found["doesn't"] == "doesn\u2019t"
    assert found["x.view"] == "x.view"


@pytest.mark.parametrize(
    ("original", "expected"),
    [
        # T40: blanks of other kinds, zero-width characters
        ("shares\u00a0memory", "shares memory"),
        ("shares\u3000memory", "shares memory"),
        ("sha\u200bres mem\ufeffory", "shares memory"),
        ("sha\u00adres", "shares"),
        # T41: quotes, apostrophes and dashes
        ("it\u2019s \u2018x\u2019 it\u02bcs it\u00b4s it\uff07s", "it's 'x' it's it's it's"),
        ("\u201ca\u201d \u201eb\u201c \u00abc\u00bb", '"a" "b" "c"'),
        ("no\u2010copy no\u2011copy 1\u20132 \u22121", "no-copy no-copy 1-2 -1"),
        ("view\u2014no copy", "view - no copy"),
        ("don`t, it`s", "don't, it's"),
        ("a\u2026", "a..."),
        # T43: letters beyond ASCII
        ("Gr\u00f6\u00dfe \u00fcber cafe\u0301", "Gr\u00f6\u00dfe \u00fcber caf\u00e9"),
        ("\ufb01nal \uff21\uff22", "final AB"),
        ("\u092e\u0947\u092e\u094b\u0930\u0940", "\u092e\u0947\u092e\u094b\u0930\u0940"),
        # T44: markup
        ("<strong>shares</strong><br>memory", "shares\nmemory"),
        ("a &lt; b &amp;&amp; c &gt; d", "a < b && c > d"),
        ("<td>view</td><td>copy</td>", " view  copy "),
        ("x<script>alert('1')</script>y<!-- z -->", "x y "),
        ("**shares** *memory*", "shares memory"),
        # mathematics and arrows
        ("10\u00b2 \u00bd 2\u00d73", "10^2  1/2 2x3"),
        ("a \u2260 b \u2264 c \u2192 d", "a != b <= c -> d"),
        # what cannot be read
        ("a\x00b\x07c", "a b c"),
        ("a\ud800b", "a\ufffdb"),
        ("a\r\nb\rc\u2028d", "a\nb\nc\nd"),
    ],
)
def test_typography_is_folded(original: str, expected: str) -> None:
    assert text_of(original) == expected


@pytest.mark.parametrize(
    "original",
    ["if x < y and y > z: print(1)", "List[int]", "2*3 and x**2", "x = y[0]", "a & b; c", "<unknown>x</unknown>",
     "__init__", "def f(a, *args):"],
)  # fmt: skip
def test_code_that_looks_like_markup_is_kept(original: str) -> None:
    assert text_of(original) == original.replace("*args", "args")


@pytest.mark.parametrize(
    ("original", "code"),
    [
        ("call `x.view(2)` twice", ["x.view(2)"]),
        ("<code>x.view(2)</code>", ["x.view(2)"]),
        ("```python\nx = 1\ny = 2\n```\nthen", ["\nx = 1\ny = 2\n"]),
        ("```\nnever closed", ["\nnever closed"]),
        ("it`s no code and that`s fine", []),
        ("one ` alone", []),
    ],
)
def test_code_spans_are_remembered(original: str, code: list[str]) -> None:
    source = normalise(original)
    assert [source.text[a:b] for a, b in source.code] == code


def test_code_spans_move_with_replacements() -> None:
    source = normalise("dont do `loss.backward` and wont `step` it")
    changed = source.replace([(0, 4, "don't"), (26, 30, "won't")])
    assert [changed.text[a:b] for a, b in changed.code] == ["loss.backward", "step"]
    assert changed.text == "don't do loss.backward and won't step it"


def test_replaced_words_keep_their_source() -> None:
    source = normalise("the&nbsp;gradiants add up").replace([(4, 13, "gradients")])
    assert source.text == "the gradients add up"
    assert source.original[slice(*source.span(4, 13))] == "gradiants"


def test_an_empty_span_is_empty_at_its_place() -> None:
    source = normalise("<b>ab</b>")
    assert source.span(1, 1) == (4, 4)
    assert source.span(2, 2) == (4, 4), "behind the end: the last place there is"
    assert Normalised("", "", (), ()).span(0, 0) == (0, 0)


def test_identifiers_and_numbers_stay_whole() -> None:
    text = "Call optimizer.zero_grad(), then model.eval() or .grad, no_grad and x2 on 3.5 or 1,000 items; don't."
    tokens = [(token.text, token.kind) for token in tokenise(text)]
    for expected in (
        ("optimizer.zero_grad()", "code"), ("model.eval()", "code"), (".grad", "code"), ("no_grad", "code"),
        ("x2", "word"), ("3.5", "number"), ("1,000", "number"), ("don't", "word"),
    ):  # fmt: skip
        assert expected in tokens


@given(MESSY)
def test_tokens_are_disjoint_ascending_and_cover_every_letter(original: str) -> None:
    text = text_of(original)
    end, covered = 0, set()
    for token in tokenise(text):
        assert end <= token.start < token.end
        assert text[token.start : token.end] == token.text
        end = token.end
        covered.update(range(token.start, token.end))
    assert not {i for i, char in enumerate(text) if char.isalpha()} - covered


def test_stems_fall_together_where_only_grammar_or_spelling_differs() -> None:
    assert stem("normalises") == stem("normalize") == stem("Normalised")
    assert stem("copies") == stem("copied") == stem("copy")
    assert stem("gradients") == stem("gradient") != stem("grade")
    assert stem("H\u00e4user", "de") == stem("H\u00e4usern", "de")
    assert stem("words", "xx") == "word", "an unknown language is stemmed as English"


def test_an_identifier_gives_itself_and_its_parts() -> None:
    assert stems("optimizer.zero_grad()") == ["optimizer.zero_grad", "optim", "zero", "grad"]
    assert identifier_parts("GPUs_of_torch2") == ["GPUs", "of", "torch", "2"]


@pytest.mark.parametrize(
    "piece", ["<script>", "<!--", "`a", "e\u0301", "&amp;", "<a x=", "\u200b", "_", "a.", "?", " "]
)
def test_long_repetitions_are_read(piece: str) -> None:
    source = normalise(piece * (20_000 // len(piece)))
    assert len(source.text) == len(source.starts)
    tokenise(source.text)
