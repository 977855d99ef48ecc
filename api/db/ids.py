"""Opaque ids that sort by the time they were made."""

from __future__ import annotations

import secrets
import time

#: Digits of an id that tell the time.
_TIME = 13


def new_id() -> str:
    """27 hexadecimal digits: microseconds since 1970, then 56 random bits."""
    return f"{time.time_ns() // 1_000:0{_TIME}x}{secrets.token_hex(7)}"


def made_at(ident: str) -> float:
    """Seconds since 1970 at which an id was made, by the clock of the host that made it.

    >>> made_at("00000000f4240" + 14 * "0")
    1.0
    """
    return int(ident[:_TIME], 16) / 1e6
