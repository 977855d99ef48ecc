"""Says on standard error what is being computed and since when."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

Progress = Callable[[str], None]


def silent(message: str) -> None:
    """Says nothing."""


def timed() -> Progress:
    """A progress that writes the seconds since now before each message."""
    began = time.monotonic()

    def say(message: str) -> None:
        print(f"[{time.monotonic() - began:6.0f} s] {message}", file=sys.stderr, flush=True)

    return say
