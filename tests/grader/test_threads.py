"""Work shared out to threads gives what one thread gives, in the same order."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from grader import Bank, Grader
from grader.cli import app
from grader.encoder import HashEncoder, PackagedEncoder
from grader.errors import InputError
from grader.evidence.crossencoder import CLASSES, CrossEncoder
from grader.loading import load_grader
from grader.text import stem
from grader.threads import Threads, usable_cores

ROOT = Path(__file__).parents[2]
STARTS = """nation relat formal hope vibr commun activ digit general sens oper electric conform radic differ adjust
    depend rest hop fill control roll probat rat ceas""".split()
ANSWERS = (
    "Gradients add up, so they are cleared before each batch.",
    "backward() overwrites the gradients. The step then uses old ones.",
    "",
    "No idea. I would look it up in the documentation of autograd.",
    "Otherwise the update mixes batches; a training loop that forgets zero_grad() diverges.",
    "Because it saves memory and the gradients are not added to what is stored.",
)


def test_results_come_in_the_order_of_the_things() -> None:
    def slow_first(at: int) -> int:
        time.sleep(0.05 if at == 0 else 0)
        return at * at

    assert Threads(4).map(slow_first, range(9)) == [at * at for at in range(9)]


def test_as_many_at_a_time_as_asked() -> None:
    together = threading.Barrier(3, timeout=10)
    assert sorted(Threads(3).map(lambda _: together.wait(), range(3))) == [0, 1, 2]


@pytest.mark.parametrize(("count", "things"), [(1, 5), (4, 1)])
def test_one_alone_is_done_by_the_thread_that_asks(count: int, things: int) -> None:
    own = threading.get_ident()
    assert set(Threads(count).map(lambda _: threading.get_ident(), range(things))) == {own}


@pytest.mark.parametrize("error", [ZeroDivisionError, IndexError, KeyboardInterrupt])
@pytest.mark.parametrize("count", [1, 3])
def test_an_error_is_raised_and_ends_it(count: int, error: type[BaseException]) -> None:
    done = []

    def work(at: int) -> None:
        if at == 1:
            raise error
        time.sleep(0.01)
        done.append(at)

    with pytest.raises(error):
        Threads(count).map(work, range(100))
    assert len(done) < 50


def test_nobody_waits_behind_what_others_asked_for() -> None:
    threads, ended, busy = Threads(2), threading.Event(), threading.Barrier(3, timeout=20)

    def wait(_: int) -> None:
        busy.wait()
        ended.wait(20)

    other = threading.Thread(target=lambda: threads.map(wait, range(2)))
    other.start()
    busy.wait()
    try:
        assert threads.map(abs, [-1, -2, -3]) == [1, 2, 3]
        assert threads.map(lambda at: threads.map(abs, [at, -at]), [1, 2]) == [[1, 1], [2, 2]]
    finally:
        ended.set()
        other.join()


def test_all_is_done_here_where_no_thread_can_be_started(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    assert Threads(4).map(abs, range(-9, 0)) == list(range(9, 0, -1))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are not forked here")
def test_a_forked_process_has_helpers_of_its_own() -> None:
    code = (
        "import os; from grader.threads import Threads; some = Threads(3); some.map(abs, range(50))\n"
        "child = os.fork(); wrong = some.map(abs, [-1, -2, -3]) != [1, 2, 3]\n"
        "raise SystemExit(wrong or bool(child and os.waitpid(child, 0)[1]))"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_no_threads_at_all_are_refused() -> None:
    with pytest.raises(InputError, match="threads: 0, must be at least 1"):
        Grader(threads=0)


@pytest.mark.parametrize(
    ("content", "most"), [("max 100000", None), ("150000 100000", 2), ("1 100000", 1), ("1 0", None), ("?", None)]
)
def test_cores_are_no_more_than_the_container_has(content: str, most: int | None, tmp_path: Path) -> None:
    (tmp_path / "cpu.max").write_text(content)
    every = usable_cores(tmp_path / "missing")
    assert every >= 1
    assert usable_cores(tmp_path / "cpu.max") == (every if most is None else min(every, most))


def test_stems_are_right_whoever_else_asks() -> None:
    words = [start + end for start in STARTS for end in ("ations", "ization", "fulness", "ically", "ements", "ingly")]
    expected = [stem(word) for word in words]
    stem.cache_clear()
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        found = Threads(8).map(lambda _: [stem(word) for word in words], range(8))
    finally:
        sys.setswitchinterval(before)
    assert found == [expected] * 8


def test_threads_change_no_vector_and_no_probability() -> None:
    one, many = PackagedEncoder(), PackagedEncoder(threads=3)
    for first, second in zip(one.encode(ANSWERS), many.encode(ANSWERS), strict=True):
        assert first.tokens.tobytes() == second.tokens.tobytes()
        assert first.pooled.tobytes() == second.pooled.tobytes()
    pairs = [(first, second) for first in ANSWERS for second in ANSWERS[:2]]
    assert CrossEncoder().predict(pairs).tobytes() == CrossEncoder(threads=3).predict(pairs).tobytes()


def test_threads_change_no_score() -> None:
    """In processes of their own, where nothing has been looked up before."""
    code = (
        "import json, sys; from grader import Grader, load_item; answers = json.load(sys.stdin)\n"
        "sys.setswitchinterval(1e-6); count = int(sys.argv[1]); item = load_item('rubrics/pytorch/zero-grad.yaml')\n"
        "for score in Grader(threads=count).grade_many(item, answers): print(score.model_dump_json())"
    )
    one, many = (
        subprocess.run(
            [sys.executable, "-c", code, str(count)],
            capture_output=True,
            text=True,
            check=True,
            cwd=ROOT,
            timeout=300,
            input=json.dumps(ANSWERS * 3),
        ).stdout
        for count in (1, 4)
    )
    assert len(one.splitlines()) == 3 * len(ANSWERS)
    assert one == many


class _Where(HashEncoder):
    """Notes on which threads it is asked."""

    def __init__(self) -> None:
        super().__init__()
        self.threads: set[int] = set()

    def predict(self, pairs):  # type: ignore[no-untyped-def]
        self.threads.add(threading.get_ident())
        time.sleep(0.01)
        return np.full((len(pairs), len(CLASSES)), 1 / len(CLASSES), dtype=np.float32)


def test_models_of_ones_own_are_asked_by_one_thread_unless_told_otherwise(pytorch_bank: Bank) -> None:
    item, answers = pytorch_bank["zero-grad"], [*ANSWERS] * 4
    own = _Where()
    Grader(own, judge=own).grade_many(item, answers)
    assert own.threads == {threading.get_ident()}
    Grader(own, judge=own, threads=2).grade_many(item, answers)
    assert len(own.threads) > 1


def test_another_model_of_the_command_line_runs_on_one_thread() -> None:
    assert load_grader("hash", threads=8)._threads.count == 1
    assert load_grader(threads=8)._threads.count == 8


def test_matrix_products_take_one_thread_even_when_no_model_is_loaded() -> None:
    code = (
        "import numpy; from grader import Grader; from grader.encoder import HashEncoder; Grader(HashEncoder());"
        "from threadpoolctl import threadpool_info;"
        "print({one['num_threads'] for one in threadpool_info() if one['user_api'] == 'blas'})"
    )
    environment = os.environ | {"OPENBLAS_NUM_THREADS": "2"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    assert done.stdout.strip() == "{1}"


@pytest.mark.parametrize(("args", "count"), [((), 5), (("--threads", "3"), 3)])
def test_the_command_line_passes_the_number_on(
    args: tuple[str, ...], count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def load(*_: object, threads: int | None, **__: object) -> Grader:
        asked.append(threads)
        return Grader(HashEncoder())

    monkeypatch.setattr("grader.loading.load_grader", load)
    done = CliRunner(env={"GRADER_THREADS": "5"}).invoke(app, [*args, "grade", "zero-grad", "Gradients add up."])
    assert done.exit_code == 0
    assert asked == [count]


def test_no_threads_are_refused() -> None:
    done = CliRunner().invoke(app, ["--threads", "0", "grade", "zero-grad", "Gradients add up."])
    assert done.exit_code == 2
    assert "--threads" in done.stderr
