"""Questions with model answers from Moodle XML, GIFT, QTI and tables, and back into Moodle XML and CSV."""

from __future__ import annotations

from xml.etree.ElementTree import fromstring

import pytest

from grader import InputError, Item
from grader.formats.model_answers import read_model_answers
from grader.formats.model_csv import write_table_answers
from grader.formats.model_moodle import write_moodle
from grader.formats.question import ModelQuestion

MOODLE = b"""\xef\xbb\xbf<?xml version="1.0" encoding="UTF-8"?>
<quiz>
  <question type="category"><category><text>$course$/top</text></category></question>
  <question type="essay">
    <name><text>Bread</text></name>
    <questiontext format="html"><text><![CDATA[<p>Why does <b>bread</b> rise?</p>]]></text></questiontext>
    <generalfeedback format="html"><text>not this one</text></generalfeedback>
    <defaultgrade>4.0000000</defaultgrade>
    <graderinfo format="html"><text><![CDATA[<p>Yeast gives off gas &amp; the dough holds it.</p>]]></text></graderinfo>
  </question>
  <question type="essay">
    <name><text>Cake</text></name>
    <questiontext format="html"><text>Why does cake rise?</text></questiontext>
    <generalfeedback format="html"><text>Baking powder makes bubbles.</text></generalfeedback>
    <defaultgrade>many</defaultgrade>
    <graderinfo format="html"><text></text></graderinfo>
  </question>
  <question type="essay">
    <name><text>Empty</text></name>
    <questiontext format="html"><text>What else?</text></questiontext>
  </question>
  <question type="shortanswer">
    <name><text>Gas</text></name>
    <questiontext format="html"><text>Which gas is it?</text></questiontext>
    <answer fraction="100"><text>CO2</text></answer>
    <answer fraction="100"><text>carbon dioxide</text></answer>
    <answer fraction="100"><text>*dioxide*</text></answer>
    <answer fraction="50"><text>air</text></answer>
  </question>
  <question type="pmatch">
    <name><text>Heat</text></name>
    <questiontext format="html"><text>Why does dough rise faster in a warm room?</text></questiontext>
    <usecase>0</usecase>
    <modelanswer>Yeast works faster when it is warm.</modelanswer>
    <answer fraction="100"><text>match_mw (yeast|cells faster|quicker)</text></answer>
  </question>
  <question type="pmatch">
    <name><text>P</text></name>
    <questiontext format="html"><text>Why?</text></questiontext>
    <answer fraction="100"><text>match_mw (because)</text></answer>
  </question>
  <question type="cloze"><name><text>C</text></name></question>
</quiz>
"""

GIFT = r"""// a comment
$CATEGORY: cooking

::Bread::[html]<p>Why does bread rise?</p>{####Yeast gives off gas.
It takes \{two\} hours.}

::Gas:: Which gas\: is it? {=%100%carbon dioxide#yes =CO2 =%50%air}

Essay without key {}

::Choice:: Which? {=right ~wrong}
::Sum:: 2 + 3 {#5:0}

It is hot. {T}

Match {=a -> b =c -> d}

Yeast {=raises#good} the dough.

Just a remark.
"""

QTI3 = b"""<?xml version="1.0"?>
<qti-assessment-item xmlns="http://www.imsglobal.org/xsd/imsqtiasi_v3p0" identifier="bread"
    title="Bread" xml:lang="en-GB">
  <qti-response-declaration identifier="RESPONSE" cardinality="single" base-type="string">
    %s
  </qti-response-declaration>
  <qti-outcome-declaration identifier="SCORE" base-type="float" external-scored="human" normal-maximum="3"/>
  <qti-item-body>
    <p>Why does <em>bread</em> rise?</p>
    <qti-extended-text-interaction response-identifier="RESPONSE"><qti-prompt>Two sentences.</qti-prompt>
    </qti-extended-text-interaction>
    <qti-rubric-block view="scorer"><p>[2] Yeast gives off gas.</p><p>[1] The dough holds it.</p></qti-rubric-block>
  </qti-item-body>
</qti-assessment-item>
"""
CORRECT3 = b"<qti-correct-response><qti-value>Yeast gives off gas.</qti-value></qti-correct-response>"

QTI2 = b"""<assessmentItem xmlns="http://www.imsglobal.org/xsd/imsqti_v2p1" identifier="bread">
  <responseDeclaration identifier="RESPONSE" baseType="string">
    <correctResponse><value>Yeast gives off gas.</value></correctResponse>
  </responseDeclaration>
  <itemBody><p>Why does bread rise?</p><extendedTextInteraction responseIdentifier="RESPONSE"/></itemBody>
</assessmentItem>"""


def read(data: bytes, name: str = "file") -> tuple[str, list[ModelQuestion], list[str]]:
    found = read_model_answers(data, name=name)
    return found.kind, list(found.questions), [str(note) for note in found.notes]


def test_moodle_essays_and_short_answers_are_read_and_the_rest_is_noted() -> None:
    kind, questions, notes = read(MOODLE)
    assert kind == "moodle_xml"
    assert questions == [
        ModelQuestion("Bread", "Why does bread rise?", ("Yeast gives off gas & the dough holds it.",), 4.0),
        ModelQuestion("Cake", "Why does cake rise?", ("Baking powder makes bubbles.",)),
        ModelQuestion("Gas", "Which gas is it?", ("carbon dioxide", "CO2")),
        ModelQuestion("Heat", "Why does dough rise faster in a warm room?", ("Yeast works faster when it is warm.",)),
    ]
    assert any("Empty" in note and "no model answer" in note for note in notes)
    assert any("'P' has no model answer (the field modelanswer)" in note for note in notes)
    assert any("'C' is of the type cloze" in note for note in notes)


def test_gift_essays_with_feedback_and_short_answers_are_read_and_the_rest_is_noted() -> None:
    kind, questions, notes = read(GIFT.replace("\n::Sum", "\n\n::Sum").encode())
    assert kind == "gift"
    assert questions == [
        ModelQuestion("Bread", "Why does bread rise?", ("Yeast gives off gas.\nIt takes {two} hours.",)),
        ModelQuestion("Gas", "Which gas: is it?", ("carbon dioxide", "CO2")),
        ModelQuestion("question 8", "Yeast _____ the dough.", ("raises",)),
    ]
    said = " ".join(notes)
    for kind in ("multiple choice", "numerical", "true or false", "matching", "without model answer", "description"):
        assert kind in said


def test_an_open_brace_in_gift_is_an_error_with_its_line() -> None:
    with pytest.raises(InputError, match=r"line 3: '\{' of 'B' is not closed"):
        read(b"::A:: a {=b}\n\n::B:: why {=because\n\nmore\n")


def test_qti_takes_the_correct_response_and_else_the_rubric_block() -> None:
    prompt = "Why does bread rise?\nTwo sentences."
    kind, questions, _ = read(QTI3 % CORRECT3)
    assert (kind, questions) == ("qti", [ModelQuestion("Bread", prompt, ("Yeast gives off gas.",), 3.0, "en")])
    (question,) = read(QTI3 % b"")[1]
    assert question.answers == ("Yeast gives off gas.\nThe dough holds it.",)


def test_qti_2_is_read_too() -> None:
    assert read(QTI2)[1] == [ModelQuestion("bread", "Why does bread rise?", ("Yeast gives off gas.",))]


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_a_table_is_read_with_its_own_delimiter(delimiter: str) -> None:
    rows = [
        ("id", "Question", "Model answer", "max score", "language"),
        ("bread", '"Why does\nbread rise?"', "<b>Yeast</b> gives off gas.", "4", "de"),
        ("cake", "Why?", "", "x", ""),
        ("", "Who?", "Me.", "-1", "german"),
    ]
    data = "\n".join(delimiter.join(row) for row in rows).encode()
    kind, questions, notes = read(data)
    assert kind == "table"
    assert questions == [
        ModelQuestion("bread", "Why does\nbread rise?", ("Yeast gives off gas.",), 4.0, "de"),
        ModelQuestion("", "Who?", ("Me.",)),
    ]
    assert any("no model answer" in note for note in notes)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b'<!DOCTYPE q [<!ENTITY a "b">]><quiz>&a;</quiz>', "a document type or entities"),
        (b'<!DOCTYPE q SYSTEM "file:///etc/passwd"><quiz/>', "a document type or entities"),
        (b"<quiz><question></quiz>", "not well-formed XML"),
        (b"<html><body/></html>", "root element 'html'"),
        (b"<quiz></quiz>", "no question with a model answer"),
        (
            MOODLE.replace(b'type="essay"', b'type="match"').replace(b'"shortanswer"', b'"x"').replace(b"pmatch", b"x"),
            "no question with a model",
        ),
        (b"name,mark\na,1\n", "no column for the question"),
        (b"question,mark\na,1\n", "no column for the model answer"),
        (b"%PDF-1.4", "PDF document"),
        (b"", "file"),
        (QTI2.replace(b"extendedTextInteraction", b"choiceInteraction"), "no extended text interaction"),
        (b"<quiz>" + b"<a>" * 100_000, "not well-formed XML"),
    ],
)
def test_what_holds_no_model_answers_is_refused(data: bytes, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read(data)


def test_too_many_bytes_are_refused() -> None:
    with pytest.raises(InputError, match="bytes; allowed: at most"):
        read(b"<quiz>" + b" " * (21 * 1024 * 1024))


def test_what_is_exported_to_moodle_comes_back(tides: Item) -> None:
    risky = Item.model_validate(
        tides.model_dump() | {"prompt": "What is a < b & c > d?\x07", "tags": ["sea"], "id": "risky"}
    )
    data = write_moodle([tides, risky])
    kind, (first, second), notes = read(data)
    assert (kind, notes) == ("moodle_xml", [])
    assert (first.name, first.prompt, first.max_score) == (tides.id, tides.prompt, 5.0)
    assert first.answers == (tides.reference_answer,)
    assert second.prompt.startswith("What is a < b & c > d?")
    root = fromstring(data)
    assert [node.get("type") for node in root] == ["essay", "essay"]
    info = root[0].findtext("graderinfo/text") or ""
    assert "<li>definition (2.4): The level of the sea" in info
    assert root[1].findtext("tags/tag/text") == "sea"


def test_what_is_exported_as_csv_comes_back(tides: Item) -> None:
    risky = Item.model_validate(tides.model_dump() | {"prompt": "=1+1, really?", "id": "risky", "language": "de"})
    kind, (first, second), notes = read(write_table_answers([tides, risky]), "export.csv")
    assert (kind, notes) == ("table", [])
    assert first == ModelQuestion(tides.id, tides.prompt, (tides.reference_answer,), 5.0, "en")
    assert (second.prompt, second.language) == ("=1+1, really?", "de")
