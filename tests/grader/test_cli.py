"""The command line: every command once, its errors in one line, and what it does not import."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command
from typer.testing import CliRunner, Result

from grader import Grader, load_item
from grader.cli import app
from grader.encoder import HashEncoder

ROOT = Path(__file__).parents[2]
BANK = ROOT / "tests" / "data" / "bank"
GAS = "Yeast eats sugar and gives off carbon dioxide, and gluten traps the gas in small bubbles."
WRONG = "Kneading pumps air into the lump, and this air alone lifts it."


def grader(*args: str, input: str | bytes | None = None) -> Result:
    return CliRunner(env={"GRADER_ENCODER": "hash", "COLUMNS": "120", "NO_COLOR": "1"}).invoke(app, args, input=input)


def fails(result: Result, *words: str) -> str:
    """Exit status 2, one line on standard error, nothing on standard output."""
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    lines = result.stderr.splitlines()
    assert len(lines) == 1, lines
    assert lines[0].startswith("grader: error: ")
    assert "internal error" not in lines[0]
    assert "Traceback" not in lines[0]
    for word in words:
        assert word in lines[0]
    return lines[0]


def commands(group: Any, *names: str) -> list[tuple[str, ...]]:
    found: list[tuple[str, ...]] = []
    for name, command in group.commands.items():
        here = (*names, name)
        found += commands(command, *here) if hasattr(command, "commands") else [here]
    return found


ALL = commands(get_command(app))


@pytest.mark.parametrize("names", ALL, ids=" ".join)
def test_every_command_has_help_with_every_option_explained(names: tuple[str, ...]) -> None:
    result = grader(*names, "--help")
    assert result.exit_code == 0
    command: Any = get_command(app)
    for name in names:
        command = command.commands[name]
    assert command.help
    assert [param.name for param in command.params if not getattr(param, "help", None)] == []


def test_the_commands_that_are_promised_exist() -> None:
    assert {" ".join(names) for names in ALL} >= {
        "grade", "explain", "items list", "items show", "items lint", "viva", "quick-check", "batch", "serve", "worker",
        "db upgrade", "export-all", "import-all",
    }  # fmt: skip


def test_without_arguments_the_help_is_shown() -> None:
    result = grader()
    assert result.exit_code == 2
    assert "batch" in result.stdout


def test_version() -> None:
    assert grader("--version").stdout.startswith("grader ")


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["nope"], ["No such command 'nope'"]),
        (["grade"], ["Missing argument 'ITEM'", "grader grade --help"]),
        (["grade", "dough-rises", "x", "--nope"], ["No such option: --nope"]),
        (["grade", "dough-rises", "x", "y"], ["unexpected extra argument"]),
        (["grade", "dough-rise", "x", "--bank", str(BANK)], ["no item 'dough-rise'", "did you mean dough-rises?"]),
        (["grade", "dough-rises", "x", "--bank", "nowhere"], ["nowhere: no such file or folder"]),
        (["grade", "dough-rises", "x", "--bank", str(BANK), "--language", "xx"], ["'xx'", "allowed: en, de, hi"]),
        (["grade", "dough-rises", "x", "--bank", str(BANK), "--file", "y"], ["not both"]),
        (["grade", "dough-rises", "--bank", str(BANK), "--file", "no-file.txt"], ["no-file.txt: No such file"]),
        (["grade", "dough-rises", "--bank", str(BANK), "--file", str(BANK)], ["Is a directory"]),
        (["items", "show", "nope", "--bank", str(BANK)], ["no item 'nope'"]),
        (["items", "lint", "nowhere"], ["nowhere: no such file or folder"]),
        (["viva", "--questions", "x"], ["--questions"]),
        (["viva", "--pack", "nope", "--bank", str(BANK)], ["no pack 'nope'", "allowed: kitchen"]),
        (["viva", "dough-rises", "--pack", "kitchen", "--bank", str(BANK)], ["not both"]),
        (["quick-check", "onion-tears", "--bank", str(BANK)], ["no quick check"]),
        (["batch", "answers.csv"], ["Missing option '--out'"]),
        (["import-all", "no-file.zip"], ["no-file.zip: no such file"]),
    ],
)  # fmt: skip
def test_errors_are_one_line_and_status_2(args: list[str], words: list[str]) -> None:
    fails(grader(*args), *words)


def test_grade_shows_everything_a_mark_carries() -> None:
    result = grader("grade", "dough-rises", f"{GAS} {WRONG}", "--bank", str(BANK), "--answer")
    assert result.exit_code == 0, result.output
    assert result.stderr == ""
    for words in (
        "Why does bread dough rise?", "of 5 points", "definition", "example or pitfall", f"\u201c{WRONG}\u201d",
        "What is wrong", "Kneaded-in air is far too little", "What is missing", "Hint: Compare a summer kitchen",
        "The examiner's next question", "A full answer", "rubric:", "enc:hash@1",
    ):  # fmt: skip
        assert words in result.stdout, words


def test_grade_as_json_is_the_score_of_the_library_without_key_statements() -> None:
    item = load_item(BANK / "kitchen" / "dough-rises.yaml")
    result = grader("grade", "dough-rises", GAS, "--bank", str(BANK), "--json")
    score = Grader(HashEncoder()).grade(item, GAS)
    data = json.loads(result.stdout)
    assert data == score.for_candidate().model_dump(mode="json")
    assert data["components"][0]["elements"][0]["evidence"]["key_statement"] is None
    steps = sum(step["points"] for step in data["calculation"])
    assert steps == pytest.approx(data["score"])


def test_grade_json_with_answer_adds_it_and_the_wordings() -> None:
    data = json.loads(grader("grade", "dough-rises", GAS, "--bank", str(BANK), "--json", "--answer").stdout)
    assert data["reference_answer"].startswith("Yeast eats sugar")
    assert data["components"][0]["elements"][0]["evidence"]["key_statement"] == GAS


@pytest.mark.parametrize("way", ["-", "stdin", "file", "utf-16"])
def test_grade_reads_the_answer_from_anywhere(way: str, tmp_path: Path) -> None:
    data = GAS.encode("utf-16" if way == "utf-16" else "utf-8-sig")
    (tmp_path / "answer.txt").write_bytes(data)
    where = {"-": ["-"], "stdin": []}.get(way, ["--file", str(tmp_path / "answer.txt")])
    result = grader("grade", "dough-rises", *where, "--bank", str(BANK), "--json", input=data)
    assert json.loads(result.stdout)["score"] == 2.5


def test_an_alias_and_a_single_file_name_an_item_too() -> None:
    path = BANK / "kitchen" / "dough-rises.yaml"
    for name, bank in (("rising-dough", BANK), ("dough-rises", path)):
        assert json.loads(grader("grade", name, GAS, "--bank", str(bank), "--json").stdout)["item"] == "dough-rises"


def test_one_broken_file_does_not_keep_others_from_being_graded(tmp_path: Path) -> None:
    good = (BANK / "kitchen" / "dough-rises.yaml").read_text("utf-8")
    (tmp_path / "dough-rises.yaml").write_text(good, "utf-8")
    (tmp_path / "broken.yaml").write_text("id: [", "utf-8")
    assert grader("grade", "dough-rises", GAS, "--bank", str(tmp_path)).exit_code == 0
    fails(grader("items", "list", "--bank", str(tmp_path)), "broken.yaml")


def test_explain_sums_to_the_score_and_names_what_it_rests_on() -> None:
    result = grader("explain", "dough-rises", f"{GAS} {WRONG}", "--bank", str(BANK))
    assert result.exit_code == 0, result.output
    for words in (
        "claim",
        "error",
        "nearest wording: Yeast eats",
        "keywords met: carbon dioxide",
        "recall",
        "constant",
        "contradicted by a false statement",
        "x weight 2.4",
        "The mark",
        "What the measures mean",
    ):
        assert words in result.stdout, words
    data = json.loads(grader("explain", "dough-rises", GAS, "--bank", str(BANK), "--json").stdout)
    for element in data["elements"]:
        assert element["computed"] == element["credit"]
        products = sum(m["value"] * m["weight"] for m in element["measures"])
        assert element["total"] == pytest.approx(products + element["bias"], abs=1e-3)
        assert element["scorer"] == "rubric"
        curve = (1 + 2 * element["stretch"]) / (1 + math.exp(-element["total"])) - element["stretch"]
        assert element["computed"] == pytest.approx(min(max(curve, 0), 1), abs=1e-3)


def test_items_list_and_show() -> None:
    listed = grader("items", "list", "--bank", str(BANK))
    assert "dough-rises" in listed.stdout
    assert "Why do onions make us cry?" in listed.stdout
    data = json.loads(grader("items", "list", "--bank", str(BANK), "--json").stdout)
    assert [entry["id"] for entry in data] == ["dough-rises", "onion-tears"]
    assert data[1]["components"] == {"definition": 1.0, "defence": 1.0}
    shown = grader("items", "show", "dough-rises", "--bank", str(BANK))
    assert "gas-trapped: 4 key statements" in shown.stdout
    assert GAS not in shown.stdout
    assert GAS in grader("items", "show", "dough-rises", "--bank", str(BANK), "--key").stdout
    assert json.loads(grader("items", "show", "dough-rises", "--bank", str(BANK), "--json").stdout)["version"] == 1


def test_items_lint_tells_by_its_status(tmp_path: Path) -> None:
    assert grader("items", "lint", str(BANK)).exit_code == 0
    text = (BANK / "kitchen" / "dough-rises.yaml").read_text("utf-8")
    path = tmp_path / "dough-rises.yaml"
    path.write_text(text.replace("CO2, gas, bubbles]", "CO2, gas, bubbles, rises]"), "utf-8")
    result = grader("items", "lint", str(tmp_path), "--quick")
    assert result.exit_code == 0
    assert f"warning: {path}:28: components.definition.elements.gas-trapped.keywords" in result.stdout
    assert "1 files, 0 errors, 1 warnings" in result.stdout
    assert grader("items", "lint", str(tmp_path), "--quick", "--strict").exit_code == 1
    path.write_text(text.replace("CO2, gas, bubbles]", "CO2, gas, bubbles, because]"), "utf-8")
    result = grader("items", "lint", str(tmp_path), "--quick", "--json")
    assert result.exit_code == 1
    assert [(entry["code"], entry["line"]) for entry in json.loads(result.stdout)] == [("stop-word-keyword", 28)]


def test_viva_asks_grades_follows_up_and_sums_up() -> None:
    typed = f"?\n{GAS}\n\ncold ->\nslow\n\nq\n"
    result = grader("viva", "dough-rises", "--bank", str(BANK), input=typed)
    assert result.exit_code == 0, result.output
    for words in (
        "[1/1] Why does bread dough rise?",
        "What do you see when you cut a slice?",
        "[follow-up] What changes",
        "A full answer: Fermentation slows",
        "Your viva",
        "2.5 / 5, follow-ups 2 / 2",
        "What to revise",
        "- dough-rises: Then give the why",
    ):
        assert words in result.stdout, words


def test_viva_of_a_pack_in_a_shuffled_order_and_the_end_of_the_input() -> None:
    result = grader("viva", "--pack", "kitchen", "--shuffle", "1", "--questions", "1", "--bank", str(BANK), input="x\n")
    assert "[1/1]" in result.stdout
    assert "Total: 0 /" in result.stdout
    assert "Nothing was answered." in grader("viva", "--bank", str(BANK), input="q\n").stdout


def test_quick_check_explains_every_choice() -> None:
    stem = grader("quick-check", "dough-rises", "--bank", str(BANK), input="q\n").stdout
    right = next(line.split()[0] for line in stem.splitlines() if "Carbon dioxide" in line)
    wrong = next(line.split()[0] for line in stem.splitlines() if "Oxygen" in line)
    good = grader("quick-check", "dough-rises", "--bank", str(BANK), input=f"z\n{right.lower()}\n")
    assert "one letter from A to C" in good.stdout
    assert "Right. It is what yeast gives off." in good.stdout
    assert "1 of 1 right" in good.stdout
    bad = grader("quick-check", "dough-rises", "--bank", str(BANK), input=f"{wrong}\n")
    assert "Not right. Oxygen is used up" in bad.stdout
    assert f"{right} is right: Carbon dioxide" in bad.stdout


def test_service_commands_need_the_service(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "api.settings", None)
    for args in (["serve"], ["worker"], ["db", "upgrade"], ["db", "organisations"], ["export-all", "x.zip"]):
        fails(grader(*args), "the web service cannot be loaded")


def test_service_settings_are_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRADER_PORT", "many")
    fails(grader("serve"), "settings", "port")


def test_the_database_of_the_service_is_made_filled_moved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRADER_DATABASE_URL", f"sqlite:///{tmp_path / 'one.db'}")
    fails(grader("db", "organisations"), "no such table")
    assert grader("db", "upgrade").exit_code == 0
    fails(grader("export-all", str(tmp_path / "all.zip")), "0 organisations")
    added = grader("db", "add-organisation", "School")
    ident = added.stdout.split()[0]
    assert grader("db", "organisations").stdout == f"{ident}  School\n"
    assert grader("export-all", str(tmp_path / "all.zip")).exit_code == 0
    assert grader("db", "new-key").output.startswith("gk_")
    fails(grader("import-all", str(tmp_path / "one.db")), "no exported organisation")
    monkeypatch.setenv("GRADER_DATABASE_URL", f"sqlite:///{tmp_path / 'two.db'}")
    assert grader("db", "upgrade").exit_code == 0
    assert grader("import-all", str(tmp_path / "all.zip")).stdout == f"{ident} imported\n"
    fails(grader("export-all", str(tmp_path / "x.zip"), "--organisation", "nope"), "no organisation of this id")


def test_an_unforeseen_error_is_one_line_too(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("boom\nbang")

    monkeypatch.setattr("grader.cli.answers.find_item", broken)
    result = grader("grade", "x", "y")
    assert (result.exit_code, result.stderr.count("\n")) == (2, 1)
    assert "internal error" in result.stderr
    assert "boom bang" in result.stderr


HEAVY = (
    "torch",
    "transformers",
    "sentence_transformers",
    "pandas",
    "sklearn",
    "scipy",
    "fastapi",
    "openpyxl",
    "pyarrow",
)


@pytest.mark.parametrize("args", [["--help"], ["items", "list", "--bank", str(BANK)], ["batch", "--help"]])
def test_help_and_lists_import_nothing_heavy(args: list[str]) -> None:
    script = (
        "import sys\nfrom grader.cli import main\nsys.argv = ['grader', *sys.argv[1:]]\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        f"found = [name for name in {HEAVY!r} if name in sys.modules]\nassert not found, found\n"
    )
    done = subprocess.run([sys.executable, "-c", script, *args], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_a_model_that_does_not_exist_is_named() -> None:
    result = grader("--encoder", "/no/such/model", "grade", "dough-rises", "x", "--bank", str(BANK))
    fails(result, "cannot load the encoder '/no/such/model'")


@pytest.mark.slow
def test_the_real_encoder_grades_silently() -> None:
    command = [sys.executable, "-c", "from grader.cli import main; main()", "grade", "dough-rises", GAS, "--json"]
    done = subprocess.run([*command, "--bank", str(BANK)], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    data = json.loads(done.stdout)
    assert data["score"] >= 2.0
    assert "enc:all-MiniLM-L6-v2@53aa5117" in data["signature"]


@pytest.mark.parametrize("command", ["serve", "worker"])
def test_options_before_the_command_are_settings_of_the_service(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[Any] = []
    monkeypatch.setattr(f"api.main.{command}", lambda settings: started.append(settings))
    environment = {"GRADER_ENCODER": "hash", "GRADER_CACHE": "", "GRADER_CACHE_MB": "5", "GRADER_THREADS": ""}
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    given = ("--encoder", "default", "--cache", "kept", "--cache-mb", "7", "--threads", "3")
    for options in ((), given):
        assert CliRunner().invoke(app, [*options, command]).exit_code == 0
    found = [(one.encoder, one.cache, one.cache_mb, one.threads) for one in started]
    assert found == [("hash", "off", 5, None), ("default", "kept", 7, 3)]
