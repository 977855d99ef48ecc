"""Work shared out to threads gives what one thread gives, in the same order."""

from __future__ import annotations

import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from typer.testing import CliRunner

from grader import Bank, Grader
from grader.cli import app
from grader.encoder import HashEncoder, PackagedEncoder
from grader.evidence.crossencoder import CLASSES, CrossEncoder
from grader.loading import load_grader
from grader.threads import Threads, usable_cores

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

    assert list(Threads(4).map(slow_first, range(9))) == [at * at for at in range(9)]


def test_as_many_at_a_time_as_asked() -> None:
    together = threading.Barrier(3, timeout=10)
    assert sorted(Threads(3).map(lambda _: together.wait(), range(3))) == [0, 1, 2]


@pytest.mark.parametrize(("count", "things"), [(1, 5), (4, 1)])
def test_one_alone_is_done_by_the_thread_that_asks(count: int, things: int) -> None:
    own = threading.get_ident()
    assert set(Threads(count).map(lambda _: threading.get_ident(), range(things))) == {own}


@pytest.mark.parametrize("count", [1, 3])
def test_an_error_is_raised(count: int) -> None:
    with pytest.raises(ZeroDivisionError):
        list(Threads(count).map(lambda at: 1 // at, [1, 0, 1]))


def test_there_is_a_core() -> None:
    assert usable_cores() >= 1


def test_threads_change_no_vector_and_no_probability() -> None:
    one, many = PackagedEncoder(), PackagedEncoder(threads=3)
    for first, second in zip(one.encode(ANSWERS), many.encode(ANSWERS), strict=True):
        assert first.tokens.tobytes() == second.tokens.tobytes()
        assert first.pooled.tobytes() == second.pooled.tobytes()
    pairs = [(first, second) for first in ANSWERS for second in ANSWERS[:2]]
    assert CrossEncoder().predict(pairs).tobytes() == CrossEncoder(threads=3).predict(pairs).tobytes()


def test_threads_change_no_score(pytorch_bank: Bank) -> None:
    item = pytorch_bank["zero-grad"]
    one, many = (Grader(threads=threads).grade_many(item, ANSWERS) for threads in (1, 3))
    assert [score.model_dump_json() for score in one] == [score.model_dump_json() for score in many]


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
    assert load_grader("hash", threads=8)._threads._pool is None
    assert load_grader(threads=8)._threads._pool is not None


def test_matrix_products_take_one_thread_even_when_no_model_is_loaded() -> None:
    code = (
        "import numpy; from grader import Grader; from grader.encoder import HashEncoder; Grader(HashEncoder());"
        "from threadpoolctl import threadpool_info;"
        "print({one['num_threads'] for one in threadpool_info() if one['user_api'] == 'blas'})"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
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
