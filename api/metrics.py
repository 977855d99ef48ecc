"""Gauges of the jobs for Prometheus, counted in the database when they are asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import structlog
from prometheus_client.metrics_core import GaugeMetricFamily
from prometheus_client.registry import Collector
from sqlalchemy.exc import SQLAlchemyError

from api.jobs import Backlog

log = structlog.get_logger("metrics")


class JobMetrics(Collector):
    """Chunks that wait and run, and the age of the oldest that waits; none of them while the database is away."""

    def __init__(self, backlog: Callable[[], Backlog]) -> None:
        """Gauges of what ``backlog`` gives."""
        self._backlog = backlog

    def describe(self) -> Iterator[GaugeMetricFamily]:
        """Nothing, so that registering asks no database."""
        return iter(())

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """The gauges now."""
        try:
            found = self._backlog()
        except SQLAlchemyError as error:
            log.warning("backlog", kind=type(error).__name__)
            return
        yield GaugeMetricFamily("grader_chunks_waiting", "Chunks of active jobs that no worker holds", found.waiting)
        yield GaugeMetricFamily("grader_chunks_running", "Chunks of active jobs that a worker holds", found.running)
        yield GaugeMetricFamily(
            "grader_oldest_waiting_chunk_seconds",
            "Time since the oldest waiting chunk was made; 0 if none waits",
            found.oldest_seconds,
        )
