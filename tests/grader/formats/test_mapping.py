"""Which question is which item."""

from __future__ import annotations

import pytest

from grader.errors import InputError
from grader.formats.layouts import read_layout
from grader.formats.mapping import accepted, mapped_cells, propose_mapping
from grader.formats.table import read_table

ITEMS = {
    "view-vs-reshape": "What is the difference between view() and reshape()?",
    "broadcasting": "What is broadcasting, and when does it happen?",
    "autograd": "How does autograd compute gradients?",
}


def wide(*headers):
    quoted = ",".join('"' + header.replace('"', '""') + '"' for header in headers)
    return read_layout(read_table(f"candidate,{quoted}\n1{',x' * len(headers)}\n".encode(), name="x.csv"))


def short(proposals):
    return [(one.item, one.how) for one in proposals]


def test_exact_id_wins():
    found = propose_mapping(wide("broadcasting", "View vs. Reshape", "autograd"), ITEMS)
    assert short(found) == [("broadcasting", "id"), ("view-vs-reshape", "id"), ("autograd", "id")]
    assert all(one.score == 100.0 for one in found)


def test_wording_with_score():
    found = propose_mapping(wide("1. how does Autograd compute the gradients ?", "Your name"), ITEMS)
    assert short(found) == [("autograd", "text"), (None, "none")]
    assert 85.0 <= found[0].score < 100.0
    assert found[0].alternatives[0][0] == "autograd"
    assert found[1].score < 60.0
    assert accepted(found) == {"1. how does Autograd compute the gradients ?": "autograd"}


def test_markup_and_line_breaks_do_not_count():
    sheet = wide("<p>What is broadcasting,&nbsp;and\nwhen does it happen?</p>")
    assert propose_mapping(sheet, ITEMS)[0].score == 100.0


def test_aliases_and_numbers():
    items = {"q1": "One?", "q-2": "Two?", "three": "Three?"}
    sheet = read_layout(read_table(b"Email address,Response 1,Response 2,Response 3\na,x,y,z\n", name="x.csv"))
    found = propose_mapping(sheet, items, aliases={"three": ["Response 3"]})
    assert short(found) == [("q1", "alias"), ("q-2", "alias"), ("three", "alias")]


def test_no_item_is_proposed_twice():
    found = propose_mapping(
        wide(
            "What is broadcasting, and when does it happen?",
            "What is broadcasting, and when does it happen ?",
        ),
        ITEMS,
    )
    assert short(found) == [("broadcasting", "text"), (None, "none")]


def test_a_question_leaves_an_item_to_the_one_that_fits_better():
    found = propose_mapping(wide("How does autograd compute gradient?", "How does autograd compute gradients?"), ITEMS)
    assert short(found) == [(None, "none"), ("autograd", "text")]


def test_wording_that_does_not_tell_two_items_apart_proposes_none():
    items = {"a": "Is the first statement true?", "b": "Is the third statement true?"}
    found = propose_mapping(wide("Is the statement true?"), items)
    assert short(found) == [(None, "none")]
    assert len(found[0].alternatives) == 2


def test_word_order_counts():
    items = {"a": "Does the encoder feed the decoder?"}
    found = propose_mapping(wide("Does the decoder feed the encoder?"), items)
    assert found[0].score < 100.0


def test_two_items_of_one_id_form_are_left_to_the_caller():
    items = {"view-1": "One?", "view 1": "Two?"}
    assert short(propose_mapping(wide("view_1"), items)) == [(None, "none")]


def test_the_caller_overrides():
    sheet = wide("A", "B")
    cells = mapped_cells(sheet, {"B": "autograd"})
    assert [(cell.candidate, cell.item_key, cell.column) for cell in cells] == [("1", "autograd", "B")]


@pytest.mark.parametrize(
    ("mapping", "match"),
    [
        ({"C": "autograd"}, "no question 'C' to map; allowed: 'A', 'B'"),
        ({"A": "x", "B": "x"}, "both mapped to the item 'x'"),
    ],
)
def test_a_mapping_must_fit(mapping, match):
    with pytest.raises(InputError, match=match):
        mapped_cells(wide("A", "B"), mapping)


def test_other_scripts_keep_their_letters():
    items = {"hi": "ब्रॉडकास्टिंग क्या है?"}
    assert propose_mapping(wide("ब्रॉडकास्टिंग क्या है"), items)[0].item == "hi"
