"""Rubric files: every problem is reported at once with file, line and field, and no file can do harm."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader import Bank, InputError, Item, RubricError, UnknownItemError, load_bank, load_item
from grader.bank import parse_item
from grader.yamlfile import MAX_FILE_BYTES

RUBRIC = """\
id: tides
version: 1
prompt: What are tides?
scale: {max: 5, step: 0.5}
reference_answer: The sea rises and falls twice a day because of the moon.
components:
  definition:
    weight: 3
    elements:
      - id: rise
        key_statements:
          - The sea rises and falls twice a day.
        keywords:
          need: any
          groups: [[twice, rise]]
  reason:
    weight: 2
    rule: at_least
    n: 1
    elements:
      - id: moon
        key_statements: [The moon pulls at it.]
misconceptions:
  - id: wind
    statements: [Wind makes them.]
    refutes: [reason]
    feedback: It makes waves.
"""


def problems(content: str | bytes) -> list[tuple[int, str, str]]:
    with pytest.raises(RubricError) as caught:
        parse_item(content, name="tides.yaml")
    assert all(problem.file == "tides.yaml" for problem in caught.value.problems)
    assert all(str(problem) in str(caught.value) for problem in caught.value.problems)
    return [(problem.line, problem.field, problem.message) for problem in caught.value.problems]


def changed(*pairs: tuple[str, str]) -> str:
    text = RUBRIC
    for old, new in pairs:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return text


@pytest.mark.parametrize("name", ["? {a: [1]}", "? - a\n  - [b]", "more: {? {a: [1]} : b}"])
def test_a_list_or_mapping_names_no_field(name: str) -> None:
    """Found by fuzzing guided by coverage."""
    colon = "" if name.startswith("more") else "\n: b"
    assert problems(f"id: tides\n{name}{colon}\n") == [
        (2, "", "the name of a field is a list or a mapping; allowed: a word")
    ]


def test_a_rubric_is_read() -> None:
    item = parse_item(RUBRIC)
    assert item.components["reason"].elements[0].key_statements == ("The moon pulls at it.",)
    assert item.components["definition"].elements[0].keywords is not None


@pytest.mark.parametrize("content", [b"\xef\xbb\xbf" + RUBRIC.encode(), RUBRIC.replace("\n", "\r\n"), RUBRIC.encode()])
def test_bom_and_line_ends_make_no_difference(content: str | bytes) -> None:
    assert parse_item(content).content_hash == parse_item(RUBRIC).content_hash


def test_trailing_blanks_are_trimmed() -> None:
    padded = changed(("[[twice, rise]]", "[['twice ', ' rise  ']]"), ("[Wind makes them.]", "['Wind makes them.  ']"))
    assert parse_item(padded).content_hash == parse_item(RUBRIC).content_hash


@pytest.mark.parametrize(
    ("old", "new", "line", "field", "message"),
    [
        ("version: 1", "version: 0", 2, "version", "greater than or equal to 1, got 0"),
        ("prompt: What", "promt: What", 3, "promt", "unknown field; see docs/rubric-format.md"),
        ("    weight: 3", "    weight: 2", 6, "components", "weights sum to 4, must sum to scale.max 5"),
        ("    weight: 3", "    weight: heavy", 8, "components.definition.weight", "valid number"),
        ("    n: 1\n", "", 16, "components.reason.n", "rule at_least needs n"),
        ("    n: 1\n", "    n: 4\n", 19, "components.reason.n", "n is 4 but there are only 1 elements"),
        ("need: any", "need: 2", 14, "components.definition.elements.0.keywords.need", "needs 2 groups but only 1"),
        ("need: any", "need: 0", 14, "components.definition.elements.0.keywords.need", "'all' or a whole number"),
        ("- The sea rises and falls twice a day.\n        k", "- ''\n        k", 12,
         "components.definition.elements.0.key_statements.0", "at least 1 character"),
        ("- The sea rises and falls twice a day.\n        k", "- note: a colon\n        k", 12,
         "components.definition.elements.0.key_statements.0", "valid string"),
        ("refutes: [reason]", "refutes: [reasons]", 26, "misconceptions.0.refutes.0", "no component 'reasons'"),
        ("rule: at_least", "rule: most", 18, "components.reason.rule", "got 'most'"),
    ],
)  # fmt: skip
def test_a_problem_has_its_line_and_field(old: str, new: str, line: int, field: str, message: str) -> None:
    found = [(at, where) for at, where, what in problems(changed((old, new))) if message in what]
    assert found == [(line, field)]


def test_all_problems_are_reported_at_once() -> None:
    text = changed(
        ("version: 1", "version: 0"), ("prompt: What", "promt: What"), ("    weight: 3", "    weight: 2"),
        ("refutes: [reason]", "refutes: [reasons]"),
    )  # fmt: skip
    assert sorted(field for _, field, _ in problems(text)) == [
        "components", "misconceptions.0.refutes.0", "prompt", "promt", "version",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("content", "line", "message"),
    [
        ("", 1, "the file holds one mapping"),
        ("- a\n- b", 1, "the file holds one mapping"),
        ("just words", 1, "the file holds one mapping"),
        ("id: a\n\tprompt: b", 2, "tabs are not allowed"),
        ("id: a\nid: b", 2, "duplicate key"),
        ("id: [a", 1, "expected"),
        ("id: a\nprompt: \x07", 2, "special characters are not allowed"),
        ("id: a\nprompt: \x00", 2, "special characters are not allowed"),
        ("---\nid: a\n---\nid: b", 3, "another document"),
        (RUBRIC.encode() + b"# Stra\xdfe", 28, "file is not UTF-8"),
        (RUBRIC.encode("utf-16"), 1, "file is not UTF-8"),
        (b"PK\x03\x04\xff\xfe", 1, "file is not UTF-8"),
        ("a: &x [1, 2]\nb: *x", 1, "anchors and aliases are not allowed"),
        ("a: &a [x, x]\nb: &b [*a, *a]\nc: &c [*b, *b]", 1, "anchors and aliases are not allowed"),
        ("[" * 500, 1, "nested deeper than 30 levels"),
        ("\n".join(" " * i + "a:" for i in range(200)), 29, "nested deeper than 30 levels"),
        ("a: [" + "1," * 15_000 + "\n" + "1," * 15_000 + "]", 2, "more than 20,000 values"),
        ("id: a\nversion: " + "9" * 5000, 0, "not valid YAML"),
    ],
)
def test_what_is_no_rubric_is_refused_with_a_line(content: str | bytes, line: int, message: str) -> None:
    ((at, _, what),) = problems(content)
    assert message in what
    assert "\n" not in what
    assert at == line


def test_a_tag_never_runs_anything() -> None:
    assert problems("id: !!python/object/apply:os.system ['true']")


def test_files_and_folders(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "tides.yaml").write_text(RUBRIC, "utf-8")
    (tmp_path / "pack.yaml").write_text("name: not a rubric", "utf-8")
    assert list(load_bank(tmp_path)) == ["tides"]
    assert load_item(tmp_path / "deep" / "tides.yaml") == load_bank(tmp_path)["tides"]


def test_problems_of_all_files_are_reported_together(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(RUBRIC, "utf-8")
    (tmp_path / "b.yaml").write_text(changed(("version: 1", "version: 0")), "utf-8")
    (tmp_path / "sub").mkdir()
    (tmp_path / "tides.yaml").write_text(RUBRIC, "utf-8")
    (tmp_path / "sub" / "tides.yaml").write_text(RUBRIC, "utf-8")
    with pytest.raises(RubricError) as caught:
        load_bank(tmp_path)
    found = {(Path(p.file).relative_to(tmp_path).as_posix(), p.code, p.field) for p in caught.value.problems}
    assert ("a.yaml", "file-name", "id") in found
    assert ("b.yaml", "field", "version") in found
    assert any(code == "duplicate-id" for _, code, _ in found)


@pytest.mark.parametrize("name", ["nowhere", "empty"])
def test_a_path_without_rubrics_is_an_input_error(tmp_path: Path, name: str) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match=name):
        load_bank(tmp_path / name)
    with pytest.raises(InputError, match="no such file"):
        load_item(tmp_path / name)


def test_a_huge_file_is_not_even_read(tmp_path: Path) -> None:
    (tmp_path / "big.yaml").write_bytes(b"a: " + b"x" * MAX_FILE_BYTES)
    with pytest.raises(RubricError, match="at most 1,000,000 are allowed"):
        load_item(tmp_path / "big.yaml")


def named(item_id: str, *aliases: str) -> Item:
    return Item.from_reference("Why?", "Because.", item_id=item_id).model_copy(update={"aliases": aliases})


def test_a_bank_finds_items_by_id_and_alias() -> None:
    bank = Bank([named("zebra"), named("apple", "fruit")])
    assert list(bank) == ["apple", "zebra"]
    assert len(bank) == 2
    assert bank["fruit"] is bank["apple"]
    assert "fruit" in bank
    assert "pear" not in bank


def test_an_unknown_item_gets_a_hint() -> None:
    bank = Bank([named("zero-grad"), named("leaf-tensor")])
    with pytest.raises(UnknownItemError, match="did you mean zero-grad"):
        bank["zero_grad"]
    with pytest.raises(UnknownItemError, match="the bank has 2 items"):
        bank["xyzzy"]


@pytest.mark.parametrize(
    "items", [[named("a"), named("a")], [named("a"), named("b", "a")], [named("b", "a"), named("a")]]
)
def test_ids_and_aliases_are_unique(items: list[Item]) -> None:
    with pytest.raises(RubricError, match="already used"):
        Bank(items)


def test_the_bank_that_ships_has_all_questions(pytorch_bank: Bank) -> None:
    expected = {
        "view-vs-reshape", "zero-grad", "leaf-tensor", "detach-vs-no-grad", "dynamic-graph", "float32-vs-float64",
        "eval-vs-no-grad", "no-softmax-before-ce", "batchnorm", "overfitting", "resume-training", "transfer-learning",
        "multi-gpu",
    }  # fmt: skip
    assert expected <= set(pytorch_bank)
    for item in (pytorch_bank[name] for name in sorted(expected)):
        assert list(item.components) == ["definition", "reason", "example_or_pitfall"]
        assert len(item.follow_ups) >= 2
        assert item.quick_checks
        assert item.find_out
        assert item.misconceptions
        assert all(len(e.key_statements) >= 4 for c in item.components.values() for e in c.elements)
