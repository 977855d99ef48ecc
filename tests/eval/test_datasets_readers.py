"""Readers: each source's original file format, written for these tests, becomes the one schema."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from eval.datasets import (
    COLUMNS,
    extra_field,
    read_asap_sas,
    read_mohler,
    read_parquet,
    read_saf,
    read_semeval,
    read_viva,
    viva_as_answers,
)
from grader.errors import InputError

DATA = Path(__file__).parents[1] / "data" / "datasets"


def _edited(tmp_path: Path, source: str, old: str, new: str) -> Path:
    """A copy of one sample file with one piece of text replaced."""
    text = (DATA / source).read_bytes()
    assert old.encode() in text
    target = tmp_path / source
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(text.replace(old.encode(), new.encode(), 1))
    return target


def _copied(tmp_path: Path, source: str) -> Path:
    shutil.copytree(DATA / source, tmp_path / source)
    return tmp_path / source


def _by_id(frame: pd.DataFrame) -> pd.DataFrame:
    assert tuple(frame.columns) == COLUMNS
    return frame.set_index("answer_id")


class TestSemEval:
    def test_beetle_five_way(self) -> None:
        frame = _by_id(read_semeval(DATA / "semeval-5way" / "beetle"))
        assert set(frame["dataset"]) == {"beetle"}
        train = frame[frame["split"] == "train"]
        assert train["score"].tolist() == [1.0, 0.5, 0.0, 0.0]
        assert train["question"].unique().tolist() == ["Why does lamp 2 go out when the wire is cut?"]
        assert train["reference_answers"].iloc[0] == [
            "The cut wire leaves no closed loop through lamp 2",
            "no loop",
        ]
        assert train["answer"].iloc[1] == "the wire & the lamp"
        assert extra_field(train, "label3").tolist() == ["correct", "incorrect", "contradictory", "incorrect"]
        assert extra_field(train, "label2").tolist() == ["correct", "incorrect", "incorrect", "incorrect"]
        assert extra_field(train, "ref_categories").iloc[0] == ["BEST", "KEYWORD"]
        assert extra_field(train, "count").tolist() == [2, 1, 1, 1]
        assert extra_field(train, "answer_match").tolist() == ["answer901", None, None, None]
        assert (frame["split"] == "test_ua").sum() == 2

    def test_extra_folder_only_when_wanted(self) -> None:
        with_extra = read_semeval(DATA / "semeval-5way" / "beetle", include_extra=True)
        assert set(with_extra["question_id"]) == {"LAMP_OUT_WHY", "LAMP_COUNT"}

    def test_scientsbank_three_way_has_no_five_way_label(self) -> None:
        frame = read_semeval(DATA / "semeval-3way")
        assert set(frame["dataset"]) == {"scientsbank"}
        assert set(frame["split"]) == {"test_ud"}
        assert frame["label"].isna().all()
        assert frame["score"].tolist() == [1.0, 0.0, 0.0]
        assert extra_field(frame, "label3").tolist() == ["correct", "contradictory", "incorrect"]
        assert set(extra_field(frame, "score_levels")) == {"0/1 (5-way label missing; partial answers score 0)"}

    def test_version_with_most_classes_is_kept(self, tmp_path: Path) -> None:
        for name in ("semeval-2way", "semeval-3way", "semeval-5way"):
            _copied(tmp_path, name)
        frame = read_semeval(tmp_path)
        assert not frame["answer_id"].duplicated().any()
        unseen = frame[frame["split"] == "test_ud"]
        assert extra_field(unseen, "label3").tolist() == ["correct", "contradictory", "incorrect"]

    def test_classes_from_the_labels_of_a_lone_file(self, tmp_path: Path) -> None:
        lone = tmp_path / "lone.xml"
        shutil.copy(DATA / "semeval-2way/sciEntsBank/test-unseen-domains/YY_2.xml", lone)
        frame = read_semeval(lone)
        assert set(frame["split"]) == {"none"}
        assert extra_field(frame, "label3").tolist() == [None, None, None]
        shutil.copy(DATA / "semeval-5way/sciEntsBank/train/ZZ_1a.xml", lone)
        assert read_semeval(lone)["label"].tolist() == ["correct", "irrelevant"]

    @pytest.mark.parametrize(
        ("old", "new", "message"),
        [
            (
                'accuracy="irrelevant"',
                'accuracy="wrong"',
                r":9: field 'accuracy': label 'wrong' is unknown; al",
            ),
            (
                ' accuracy="irrelevant"',
                "",
                r":9: field 'accuracy': <studentAnswer> needs the attribute accuracy",
            ),
            ('id="ZZ.1a.2.1" ', "", r":9: field 'id': <studentAnswer> needs the attribute id"),
            ("questionText", "prompt", r": mismatched tag|:\d+: not well-formed XML"),
            ("</question>", "", r":\d+: not well-formed XML"),
        ],
    )
    def test_error_names_file_line_and_field(self, tmp_path: Path, old: str, new: str, message: str) -> None:
        path = _edited(tmp_path, "semeval-5way/sciEntsBank/train/ZZ_1a.xml", old, new)
        with pytest.raises(InputError, match=rf"ZZ_1a\.xml{message}"):
            read_semeval(path)

    def test_label_of_another_task_in_a_named_folder(self, tmp_path: Path) -> None:
        source = "semeval-3way/sciEntsBank/test-unseen-domains/YY_2.xml"
        _edited(tmp_path, source, 'accuracy="incorrect"', 'accuracy="irrelevant"')
        with pytest.raises(InputError, match="label 'irrelevant' is unknown; allowed are correct, contradictory"):
            read_semeval(tmp_path)

    def test_labels_that_do_not_go_together(self, tmp_path: Path) -> None:
        path = _edited(tmp_path, "semeval-5way/sciEntsBank/train/ZZ_1a.xml", '"correct"', '"incorrect"')
        moved = shutil.move(path, tmp_path / "lone.xml")
        with pytest.raises(InputError, match=r"lone\.xml:9: field 'accuracy': label 'irrelevant' and"):
            read_semeval(Path(moved))

    def test_entities_are_refused(self, tmp_path: Path) -> None:
        path = tmp_path / "bomb.xml"
        path.write_text('<!DOCTYPE q [<!ENTITY a "b">]><question id="q">&a;</question>')
        with pytest.raises(InputError, match=r"bomb\.xml: entities and external references are not allowed"):
            read_semeval(path)

    def test_other_xml_and_empty_folder(self, tmp_path: Path) -> None:
        with pytest.raises(InputError, match=r"no file ending in \.xml here"):
            read_semeval(tmp_path)
        (tmp_path / "feed.xml").write_text("<rss/>")
        with pytest.raises(InputError, match=r"feed\.xml:1: field '<rss>': an element <question> is needed"):
            read_semeval(tmp_path)


class TestSaf:
    def test_xml_of_both_languages(self) -> None:
        frame = _by_id(read_saf(DATA / "saf"))
        assert set(frame["dataset"]) == {"saf_de", "saf_en"}
        german = frame.loc["train/1/1/1"]
        assert german["question_id"] == "1|1"
        assert german["answer"] == "morgens"
        assert (german["score"], german["max_score"]) == (0.5, 1.0)
        assert (german["label"], german["feedback"]) == ("Partially correct", "Warum so früh?")
        english = frame.loc["train/9.9_ZZ/ZZ_9.9.1/0"]
        assert english["answer"] == "Print jobs wait in it.\nSo the first is printed first."
        assert english["reference_answers"] == ["A queue keeps jobs in the order of arrival."]

    def test_max_score_is_shared_by_the_splits_of_a_question(self) -> None:
        frame = read_saf(DATA / "saf", language="en")
        assert frame["split"].tolist() == ["train", "train", "test_ua"]
        assert set(frame["question_id"]) == {"9.9|9.9_ZZ"}
        assert set(frame["max_score"]) == {2.5}
        assert set(read_saf(DATA / "saf", max_score=4.0)["max_score"]) == {4.0}

    def test_max_score_without_a_correct_answer(self) -> None:
        lone = read_saf(DATA / "saf" / "unseen_answers")
        assert lone["max_score"].tolist() == [1.0]

    def test_json_lines(self, tmp_path: Path) -> None:
        frame = _by_id(read_saf(DATA / "saf_json", dataset="saf_toy"))
        assert frame["split"].to_dict() == {"0a1b": "train", "0a1c": "train", "0a1d": "test_ua"}
        assert frame["question_id"].nunique() == 1
        assert frame["feedback"].isna().tolist() == [False, False, True]
        lines = (DATA / "saf_json" / "saf-toy-english-train.jsonl").read_text().splitlines()
        (tmp_path / "train.json").write_text(f"[{','.join(lines)}]")
        assert read_saf(tmp_path / "train.json")["answer"].tolist() == ["Undo in an editor.", "Searching."]

    @pytest.mark.parametrize(
        ("source", "old", "new", "message"),
        [
            ("saf/training/german/1.xml", ">0.5<", ">half<", r":14: field 'score': 'half' is not allowed"),
            (
                "saf/training/german/1.xml",
                ">Partially correct<",
                ">Ok<",
                r":14: field 'verification_feedback'",
            ),
            (
                "saf/training/german/1.xml",
                "<score>0.5</score>",
                "",
                r":14: field 'score': <studentAnswer> needs",
            ),
            (
                "saf_json/saf-toy-english-train.jsonl",
                '"score": 0.0',
                '"points": 0',
                r":2: field 'score': missing",
            ),
            ("saf_json/saf-toy-english-train.jsonl", ' "score": 0.0}', "", r":2: not JSON"),
            (
                "saf_json/saf-toy-english-train.jsonl",
                '"Incorrect"',
                '"No"',
                r":2: field 'verification_feedback'",
            ),
        ],
    )
    def test_error_names_place(self, tmp_path: Path, source: str, old: str, new: str, message: str) -> None:
        with pytest.raises(InputError, match=message):
            read_saf(_edited(tmp_path, source, old, new))

    def test_json_without_scores(self, tmp_path: Path) -> None:
        path = tmp_path / "test.json"
        path.write_text('{"question": "q", "reference answer": "r", "student answers": ["s"]}')
        with pytest.raises(InputError, match=r"test\.json: row 1: field 'reference_answer, provided_answer"):
            read_saf(path)

    def test_unknown_language(self) -> None:
        with pytest.raises(InputError, match="no answers in language 'fr'; known are en"):
            read_saf(DATA / "saf", language="fr")


class TestAsapSas:
    def test_quotes_tabs_and_windows_characters(self) -> None:
        frame = _by_id(read_asap_sas(DATA / "asap_sas" / "train.tsv", prompts={1: "Which facts are missing?"}))
        assert frame["answer"].tolist() == [
            'Add the mass of each cup, the "start" mass and the time.',
            'She says "black" soaks up\tmore heat.',
            "I don\u2019t know",
        ]
        assert frame["question_id"].tolist() == ["1", "10", "3"]
        assert frame["max_score"].tolist() == [3.0, 2.0, 2.0]
        assert frame["score"].tolist() == [3.0, 1.0, 0.0]
        assert frame["score2"].fillna(-1).tolist() == [2.0, 1.0, -1.0]
        assert frame["question"].tolist() == ["Which facts are missing?", "", ""]
        assert frame["reference_answers"].tolist() == [[], [], []]

    @pytest.mark.parametrize(
        ("old", "new", "message"),
        [
            ("Score1\t", "", r"train\.tsv:1: columns Id, EssaySet, Score2, EssayText; needed are Id"),
            ("\t10\t", "\t11\t", r"train\.tsv:3: field 'EssaySet': '11' is not allowed; 1 to 10"),
            ("\t0\t", "\tx\t", r"train\.tsv:4: field 'Score1': 'x' is not allowed"),
            ("\t3\t2\t", "\t3\t", r"train\.tsv:2: 4 fields; needed are Id"),
        ],
    )
    def test_error_names_line_and_field(self, tmp_path: Path, old: str, new: str, message: str) -> None:
        with pytest.raises(InputError, match=message):
            read_asap_sas(_edited(tmp_path, "asap_sas/train.tsv", old, new))


class TestMohler:
    ROOT = "ShortAnswerGrading_v2.0"

    def test_average_is_gold_on_the_scale_of_each_question(self) -> None:
        frame = _by_id(read_mohler(DATA / self.ROOT))
        assert frame["question_id"].tolist() == ["1.1"] * 4 + ["11.1"] * 2
        assert frame["max_score"].tolist() == [5.0] * 4 + [10.0] * 2
        assert frame["score"].tolist() == [5.0, 3.5, 0.0, 1.5, 9.5, 5.0]
        assert frame["score2"].isna().all()
        assert extra_field(frame, "me").tolist() == [5, 4, 0, 2, 10, 6]

    def test_first_rater_against_second(self) -> None:
        frame = read_mohler(DATA / self.ROOT, gold="first")
        assert frame["score"].tolist() == [5, 4, 0, 2, 10, 6]
        assert frame["score2"].tolist() == [5, 3, 0, 1, 9, 4]

    def test_averages_not_halved_stay(self, tmp_path: Path) -> None:
        root = _copied(tmp_path, self.ROOT)
        (root / "data/scores/11.1/ave").write_text("9.5\n5\n")
        assert read_mohler(root)["score"].tolist()[-2:] == [9.5, 5.0]

    def test_html_goes_and_code_stays(self) -> None:
        frame = _by_id(read_mohler(DATA / self.ROOT))
        assert frame["answer"].tolist()[:4] == [
            "It runs code again\nand again.",
            "#include <loop> or <loop> & so on",
            "",
            "It\u2019s a\nring",
        ]
        assert frame["reference_answers"].iloc[-1] == ["A list where the last in is the first out."]

    def test_without_a_list_all_numbered_files_count(self, tmp_path: Path) -> None:
        root = _copied(tmp_path, self.ROOT)
        (root / "data/docs/files").unlink()
        assert read_mohler(tmp_path)["question_id"].unique().tolist() == ["1.1", "1.2", "11.1"]

    @pytest.mark.parametrize(
        ("file", "text", "message"),
        [
            ("scores/1.1/ave", "5\n3\n", r"scores/1\.1/ave: 2 scores for 4 answers"),
            ("scores/1.1/me", "5\nx\n0\n1\n", r"scores/1\.1/me:2: field 'me': 'x' is not allowed"),
            ("raw/1.1", "no id\n", r"raw/1\.1:1: 'no id' has no id"),
            ("raw/11.1", "11.1 a\n11.2 b\n", r"raw/11\.1: row 1: field 'id': id '11\.2'; allowed is '11\.1'"),
            ("raw/questions", "1.1 What?\n", r"raw/questions: field '11\.1': no line for this question"),
        ],
    )
    def test_error_names_place(self, tmp_path: Path, file: str, text: str, message: str) -> None:
        root = _copied(tmp_path, self.ROOT)
        (root / "data" / file).write_text(text)
        with pytest.raises(InputError, match=message):
            read_mohler(root)

    def test_missing_files(self, tmp_path: Path) -> None:
        with pytest.raises(InputError, match="no data/raw/questions here"):
            read_mohler(tmp_path)
        root = _copied(tmp_path, self.ROOT)
        (root / "data/scores/1.1/other").unlink()
        with pytest.raises(InputError, match=r"scores/1\.1/other: cannot be read"):
            read_mohler(root)


class TestViva:
    def test_component_labels(self) -> None:
        viva = read_viva(DATA / "viva_dev.csv")
        assert viva["answer"].iloc[0] == "It locks pages,\nso copies to the GPU are quicker."
        assert viva["reason"].tolist() == [0.5, 0.0]
        assert viva["says_how_to_find_out"].tolist() == [0, 1]
        assert viva["score_2"].isna().tolist() == [False, True]
        assert viva["comment"].tolist() == ["Good start.", ""]

    def test_as_answers(self) -> None:
        frame = viva_as_answers(read_viva(DATA / "viva_dev.csv"))
        assert frame["score"].tolist() == [3.5, 0.75]
        assert frame["score2"].isna().tolist() == [False, True]
        assert frame["label"].tolist() == ["full", "dont_know_but_how"]
        assert extra_field(frame, "definition").tolist() == [1.0, 0.0]

    def test_second_rater_may_be_absent(self, tmp_path: Path) -> None:
        path = tmp_path / "authored.csv"
        pd.read_csv(DATA / "viva_dev.csv").filter(regex=r"^(?!.*_2$)").to_csv(path, index=False)
        assert viva_as_answers(read_viva(path), dataset="authored")["score2"].isna().all()

    @pytest.mark.parametrize(
        ("old", "new", "message"),
        [
            ("kind,", "sort,", r":1: columns missing: kind; allowed are"),
            ("score_2\n", "score2\n", r":1: columns unknown: score2; allowed are"),
            ("score_2\n", "score\n", r":1: columns there twice: score; allowed are"),
            (
                ",1.0,0.5,0.0,0,0,3.5",
                ",1.5,0.5,0.0,0,0,3.5",
                r":3: field 'definition': '1.5' is not allowed; 0 t",
            ),
            (",0,0,3.5", ",2,0,3.5", r":3: field 'has_error': '2' is not allowed; 0 or 1"),
            (",0,1,0.75", ",0,1,high", r":4: field 'score': 'high' is not allowed; a finite number"),
            (
                "pin-memory-02",
                "pin-memory-01",
                r":4: field 'answer_id': 'pin-memory-01' occurs before, in line 3",
            ),
            ("pin-memory-02", "", r":4: field 'answer_id': a text is needed"),
            (",Good start.", "", r":3: 16 cells for 17 columns"),
        ],
    )
    def test_error_names_line_and_field(self, tmp_path: Path, old: str, new: str, message: str) -> None:
        with pytest.raises(InputError, match=rf"viva_dev\.csv{message}"):
            read_viva(_edited(tmp_path, "viva_dev.csv", old, new))


@pytest.mark.parametrize("reader", [read_semeval, read_saf, read_asap_sas, read_viva, read_parquet, read_mohler])
def test_absent_path_is_named(tmp_path: Path, reader: Callable[[Path], pd.DataFrame]) -> None:
    with pytest.raises(InputError, match="absent"):
        reader(tmp_path / "absent.xml")
