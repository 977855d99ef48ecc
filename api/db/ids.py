"""Opaque ids that sort by the time they were made."""

from __future__ import annotations

import secrets
import time


def new_id() -> str:
    """27 hexadecimal digits: microseconds since 1970, then 56 random bits."""
    return f"{time.time_ns() // 1_000:013x}{secrets.token_hex(7)}"
