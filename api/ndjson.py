"""JSON lines in and out while a request is still arriving; no body is ever held whole."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress
from dataclasses import dataclass, field

from fastapi import Request
from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from api.problems import Problem

MEDIA_TYPE = "application/x-ndjson"
# A client that sends everything before it reads is waited for this far; later it must read while it sends.
_PIECES_AHEAD = 64


@dataclass(frozen=True, slots=True)
class NumberedLine:
    """A line that is not blank; ``text`` is ``None`` when it is longer than allowed."""

    number: int
    text: bytes | None


@dataclass
class LineReader:
    """Cuts a body into lines, numbered from 1, as its pieces arrive.

    Attributes:
        limit: Most bytes of a line; what is longer is dropped as it comes.
        number: Lines that are complete so far, blank ones included.
    """

    limit: int
    number: int = 0
    _line: bytearray = field(default_factory=bytearray)
    _too_long: bool = False

    def feed(self, piece: bytes) -> list[NumberedLine]:
        """The lines that ``piece`` completes."""
        *ends, rest = piece.split(b"\n")
        lines = []
        for part in ends:
            self._take(part)
            lines += self.end()
        self._take(rest)
        return lines

    def end(self) -> list[NumberedLine]:
        """The line that was begun, unless it is blank."""
        text, too_long = bytes(self._line), self._too_long
        self._line.clear()
        self._too_long = False
        self.number += 1
        if too_long:
            return [NumberedLine(self.number, None)]
        return [NumberedLine(self.number, text)] if text.strip() else []

    def _take(self, part: bytes) -> None:
        self._too_long = self._too_long or len(self._line) + len(part) > self.limit
        if self._too_long:
            self._line.clear()
        else:
            self._line += part


async def arriving_lines(request: Request, limit: int, seconds: float) -> AsyncGenerator[list[NumberedLine]]:
    """The lines of a body as they arrive, read a little ahead of whoever works on them.

    Args:
        request: The request, of which nothing was read.
        limit: Most bytes of a line.
        seconds: Longest wait for the next piece.

    Raises:
        Problem: The sender stalled.
        ClientDisconnect: The sender is gone.
    """
    pieces: asyncio.Queue[bytes | Exception] = asyncio.Queue(_PIECES_AHEAD)
    reading = asyncio.create_task(_read_ahead(request, pieces, seconds))
    reader = LineReader(limit)
    try:
        while piece := await pieces.get():
            if isinstance(piece, Exception):
                raise piece
            if lines := reader.feed(piece):
                yield lines
        if lines := reader.end():
            yield lines
    finally:
        reading.cancel()
        with suppress(asyncio.CancelledError):
            await reading


async def _read_ahead(request: Request, pieces: asyncio.Queue[bytes | Exception], seconds: float) -> None:
    """Put the pieces of the body into the queue, at the end an empty one or what went wrong."""
    body = request.stream()
    try:
        piece = None
        while piece != b"":
            async with asyncio.timeout(seconds):
                piece = await anext(body, b"")
            await pieces.put(piece)
    except TimeoutError:
        await pieces.put(Problem("timeout", f"no data for {seconds:g} seconds"))
    except ClientDisconnect as error:
        await pieces.put(error)


class Lines(Response):
    """An answer whose lines are sent as they are made.

    Other than a streaming response of the framework it leaves the body of the request to whoever makes the lines.
    """

    media_type = MEDIA_TYPE

    def __init__(self, first: bytes, rest: AsyncGenerator[bytes]) -> None:
        self.status_code = 200
        self.background = None
        self.first = first
        self.rest = rest
        self.init_headers({"X-Accel-Buffering": "no"})

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send until there are no more lines or nobody listens."""
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        with suppress(OSError):
            await send({"type": "http.response.body", "body": self.first, "more_body": True})
            async with aclosing(self.rest) as rest:
                async for piece in rest:
                    await send({"type": "http.response.body", "body": piece, "more_body": True})
            await send({"type": "http.response.body", "body": b"", "more_body": False})
