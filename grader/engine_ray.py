"""Partitions spread over a Ray cluster: a pool of workers, each with its own grader and one thread.

A worker that dies takes nothing along: Ray gives its partition to another one, which finds the result there if it was
finished. All machines need this package, and source and result folders at the same paths (a shared file system).
"""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from importlib import import_module
from pathlib import Path
from typing import Any

from grader.errors import GraderError, MissingExtraError, ModelError
from grader.grading import Grader
from grader.partitions import Done, Settings, Signatures, grade_partition

_ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}


def worker(source: Path, settings: Settings, signatures: Signatures) -> type:
    """The class of a worker, which loads its models once and grades one partition a call."""

    class Worker:
        def __init__(self) -> None:
            self._grader = replace(settings, threads=1).load()
            if settings.signatures(self._grader) != signatures:
                raise ModelError("this machine has another version of the grader or of its models; install the same")

        def __call__(self, row: dict[str, Any]) -> dict[str, Any]:
            done = grade_partition(Path(row["name"]), source, settings, signatures, self._grader)
            return {"done": json.dumps(asdict(done))}

    return Worker


class RayEngine:
    """Grades partitions on a cluster: the one of ``RAY_ADDRESS``, else one on this machine."""

    def __init__(self, *, workers: int | None = None) -> None:
        """Loads Ray.

        Args:
            workers: Workers at most; one a processor core of the cluster if not given.

        Raises:
            MissingExtraError: Ray is not installed.
        """
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # nothing is reported to anybody
        try:
            self._ray: Any = import_module("ray")
            self._data: Any = import_module("ray.data")
        except ImportError as error:
            raise MissingExtraError(f"Ray is missing ({error}): pip install 'viva-grader[ray]'") from None
        logging.getLogger("ray.data").setLevel(logging.ERROR)
        self._workers = workers

    def __call__(
        self, names: Sequence[Path], source: Path, settings: Settings, signatures: Signatures, grader: Grader
    ) -> Iterator[Done]:
        """Each partition when it is finished, in no order.

        Raises:
            GraderError: The cluster cannot be reached, or a partition could not be written.
        """
        try:
            self._start()
            self._data.DataContext.get_current().enable_progress_bars = False
            rows = self._data.from_items([{"name": str(name)} for name in names], override_num_blocks=len(names))
            made = worker(source.absolute(), settings, signatures)
            graded = rows.map(made, compute=self._pool(len(names)), num_cpus=1)
            for row in graded.iter_rows():
                yield _done(row)
        except self._ray.exceptions.RayError as error:
            raise GraderError(f"the cluster stopped: {str(error).strip().splitlines()[-1]}") from None

    def _start(self) -> None:
        if self._ray.is_initialized():
            return
        runtime = {"env_vars": _ONE_THREAD}
        try:
            self._ray.init(include_dashboard=False, log_to_driver=False, logging_level="error", runtime_env=runtime)
        except Exception as error:  # the library raises plain Exception
            raise GraderError(f"Ray could not be started: {str(error).strip().splitlines()[-1]}") from None

    def _pool(self, partitions: int) -> Any:
        cores = int(self._ray.cluster_resources().get("CPU", 1))
        most = max(1, min(self._workers or cores, partitions))
        return self._data.ActorPoolStrategy(size=most, max_tasks_in_flight_per_actor=1)


def _done(row: dict[str, Any]) -> Done:
    found = json.loads(row["done"])
    return Done(**{**found, "failed": tuple((number, reason) for number, reason in found["failed"])})
