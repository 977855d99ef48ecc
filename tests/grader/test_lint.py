"""The content lint: each rule on a rubric that breaks it in one place."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader import Grader
from grader.encoder import HashEncoder
from grader.errors import InputError, Problem
from grader.lint import WAIVABLE, lint, lint_text
from grader.lint_checks import RULES

KITCHEN = Path(__file__).parents[1] / "data" / "bank" / "kitchen"
DOUGH = (KITCHEN / "dough-rises.yaml").read_text("utf-8")


@pytest.fixture(scope="module")
def grader() -> Grader:
    return Grader(HashEncoder())


def changed(old: str, new: str) -> str:
    assert DOUGH.count(old) == 1, old
    return DOUGH.replace(old, new)


def only(problems: list[Problem]) -> Problem:
    assert len(problems) == 1, [str(problem) for problem in problems]
    return problems[0]


def test_a_clean_bank_has_no_problems(grader: Grader) -> None:
    assert lint([KITCHEN], grader) == []


@pytest.mark.parametrize(
    ("old", "new", "code", "field"),
    [
        ("version: 1", "version: 1 ", "trailing-blank", ""),
        ("- Anything above sixty degrees destroys these organisms.", "- '???'", "empty-statement",
         "components.example_or_pitfall.elements.killed.key_statements.1"),
        ("[carbon dioxide, CO2, gas, bubbles]", "[carbon dioxide, CO2, gas, bubbles, '-->']", "unreachable-keyword",
         "components.definition.elements.gas-trapped.keywords.groups.0.any.4"),
        ("[carbon dioxide, CO2, gas, bubbles]", "[carbon dioxide, CO2, gas, bubbles, because]", "stop-word-keyword",
         "components.definition.elements.gas-trapped.keywords.groups.0.any.4"),
        ("[carbon dioxide, CO2, gas, bubbles]", "[carbon dioxide, CO2, gas, bubbles, rises]", "keyword-in-prompt",
         "components.definition.elements.gas-trapped.keywords.groups.0.any.4"),
        ("- A warm room speeds up everything these organisms do.", "- In a warm room they do more.",
         "statement-without-keyword", "components.reason.elements.warmth.key_statements.2"),
        ("hint: Compare a summer kitchen with a winter kitchen.",
         "hint: A warm room speeds up everything these organisms do, doesn't it?", "gives-away",
         "components.reason.hint"),
        ("          - warm -> enzymes faster -> more gas per minute\n", "", "few-statements",
         "components.reason.elements.warmth.key_statements"),
        ("      - It grows because of air that was beaten into it by hand.\n", "", "few-statements",
         "misconceptions.air-kneaded-in.statements"),
    ],
)  # fmt: skip
def test_static_rules(old: str, new: str, code: str, field: str) -> None:
    problem = only(lint_text(changed(old, new), name="dough-rises.yaml"))
    assert (problem.code, problem.field, problem.file) == (code, field, "dough-rises.yaml")
    assert problem.severity == (RULES[code].severity if code in RULES else "error")
    written = changed(old, new).splitlines()[problem.line - 1]
    assert new.strip().splitlines()[0][:20] in written if new else problem.line > 1


@pytest.mark.parametrize(
    ("old", "new", "code", "field"),
    [
        ("  Warmth makes the cells work faster, so they produce more of it.\n", "", "reference-below-full",
         "reference_answer"),
        ("  Warmth makes", "  Kneading pumps air into the lump, and this air alone lifts it. Warmth makes",
         "reference-wrong", "reference_answer"),
        ("- A warm room speeds up everything these organisms do.",
         "- A warm room helps. It grows because of air that was beaten into it by hand.", "statement-wrong",
         "components.reason.elements.warmth.key_statements.2"),
        ("- In a fridge the same lump needs a whole night.",
         "- Yeast eats sugar and gives off carbon dioxide, and gluten holds the gas in small bubbles.", "same-idea",
         "components.example_or_pitfall.elements.near-the-oven"),
        ("present: You say what drives it.", "present: A warm room speeds up what these organisms do.",
         "gives-away-idea", "components.reason.feedback.present"),
        ("- oven lamp on -> doubled in 1 h", "- Bread dough rises, dough rises.", "statement-unread",
         "components.example_or_pitfall.elements.near-the-oven.key_statements.3"),
        ("- It grows because of air that was beaten into it by hand.",
         "- Anything above sixty degrees destroys these organisms.", "silent-misconception",
         "misconceptions.air-kneaded-in.statements.1"),
        ("- I would look up fermentation in a cookery book.",
         "- Anything above sixty degrees destroys these organisms.", "silent-find-out", "find_out.1"),
        ("reference_answer: Fermentation slows down a lot.", "reference_answer: Salt matters in a soup.",
         "follow-up-reference", "follow_ups.in-the-fridge.reference_answer"),
    ],
)  # fmt: skip
def test_graded_rules(grader: Grader, old: str, new: str, code: str, field: str) -> None:
    found = lint_text(changed(old, new), grader)
    assert (code, field) in {(problem.code, problem.field) for problem in found}, [str(p) for p in found]
    assert all(problem.severity == RULES[problem.code].severity for problem in found)
    assert not [problem for problem in lint_text(changed(old, new)) if problem.code == code], "needs no grader"


WAIVED = "[carbon dioxide, CO2, gas, bubbles, rises]"


@pytest.mark.parametrize(
    "where",
    [
        "components.definition.elements.gas-trapped.keywords.groups.0.any.4",
        "components.definition.elements.0.keywords",
        "components.definition",
    ],
)
def test_a_waiver_accepts_a_warning_by_its_field_or_one_above(where: str) -> None:
    text = changed("[carbon dioxide, CO2, gas, bubbles]", WAIVED)
    text += f"\nlint_waivers:\n  - {{code: keyword-in-prompt, where: {where}, reason: a test}}\n"
    assert lint_text(text) == []


def test_a_waiver_for_another_place_accepts_nothing_and_is_reported() -> None:
    text = changed("[carbon dioxide, CO2, gas, bubbles]", WAIVED)
    text += "\nlint_waivers:\n  - {code: keyword-in-prompt, where: components.def, reason: a test}\n"
    assert [problem.code for problem in lint_text(text)] == ["keyword-in-prompt", "unused-waiver"]


def test_errors_cannot_be_waived() -> None:
    text = changed("[carbon dioxide, CO2, gas, bubbles]", "[carbon dioxide, CO2, gas, bubbles, because]")
    text += "\nlint_waivers:\n  - {code: stop-word-keyword, where: components, reason: a test}\n"
    problems = lint_text(text)
    assert [problem.code for problem in problems] == ["stop-word-keyword", "unknown-waiver"]
    assert "few-statements" in problems[1].message
    assert problems[1].line == text.splitlines().index("lint_waivers:") + 2


def test_a_waiver_of_a_graded_rule_is_only_unused_when_the_rule_ran(grader: Grader) -> None:
    text = DOUGH + "\nlint_waivers:\n  - {code: same-idea, where: components, reason: a test}\n"
    assert lint_text(text) == []
    assert [problem.code for problem in lint_text(text, grader)] == ["unused-waiver"]


def test_what_loading_finds_is_reported_too_and_other_files_go_on(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("id: a\nprompt: x \n", "utf-8")
    (tmp_path / "dough-rises.yaml").write_text(DOUGH, "utf-8")
    (tmp_path / "other-name.yaml").write_text(DOUGH, "utf-8")
    found = {(Path(problem.file).name, problem.code) for problem in lint([tmp_path])}
    assert {("a.yaml", "trailing-blank"), ("a.yaml", "field"), ("other-name.yaml", "file-name")} <= found
    assert ("other-name.yaml", "duplicate-id") in found
    assert not [name for name, _ in found if name == "dough-rises.yaml"]


def test_a_file_that_is_too_large_is_named(tmp_path: Path) -> None:
    (tmp_path / "big.yaml").write_bytes(b"#" * 1_000_001)
    assert only(lint([tmp_path])).code == "file-size"


def test_a_missing_path_is_an_input_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file or folder"):
        lint([tmp_path / "nope"])


def test_line_ends_of_windows_are_no_trailing_blanks() -> None:
    assert lint_text(DOUGH.replace("\n", "\r\n").encode()) == []


def test_every_rule_is_documented() -> None:
    page = (Path(__file__).parents[2] / "docs" / "rubric-format.md").read_text("utf-8")
    assert [code for code in RULES if f"`{code}`" not in page] == []
    assert set(RULES) > WAIVABLE
