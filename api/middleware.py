"""Pure ASGI layers around the application: admission, body limit, headers, request log, last-resort errors."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Container
from typing import Any

import structlog
from anyio import to_thread
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from api.db.ids import new_id
from api.problems import Problem, overloaded

_HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), microphone=(), geolocation=()"),
)
_CSP = (
    b"content-security-policy",
    b"default-src 'self'; img-src 'self' data:; style-src 'self' 'unsafe-inline'; object-src 'none'; "
    b"base-uri 'none'; frame-ancestors 'none'; form-action 'self'",
)


class BodyLimit:
    """Refuses bodies beyond ``limit`` bytes, with or without a declared length, and senders that stall.

    The ``streamed`` paths read their bodies piece by piece under limits of their own.
    """

    def __init__(self, app: ASGIApp, limit: int, seconds: float, streamed: Container[str] = ()) -> None:
        self.app = app
        self.limit = limit
        self.seconds = seconds
        self.streamed = streamed

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on while its body keeps within the limits."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        if b"%00" in scope.get("raw_path", b"") or b"%00" in scope["query_string"]:
            await Problem("bad-request", "a NUL character in the address").response()(scope, receive, send)
            return
        if scope["path"] in self.streamed:
            await self.app(scope, receive, send)
            return
        declared = dict(scope["headers"]).get(b"content-length", b"0")
        if not declared.isdigit() or int(declared) > self.limit:
            await self._too_large().response()(scope, receive, send)
            return
        seen, started = 0, False
        refusal: Problem | None = None

        async def limited() -> Message:
            nonlocal seen, refusal
            try:
                async with asyncio.timeout(self.seconds if not started else None):
                    message = await receive()
            except TimeoutError:
                refusal = Problem("timeout", f"no data for {self.seconds:g} seconds")
                raise refusal from None
            seen += len(message.get("body", b""))
            if seen > self.limit:
                refusal = self._too_large()
                raise refusal
            return message

        async def noting(message: Message) -> None:
            nonlocal started
            if refusal is None:
                started = True
                await send(message)

        try:
            await self.app(scope, limited, noting)
        except Problem:
            if started:
                raise
        # Whatever the application makes of a body that broke off, the answer is why it did.
        if refusal is not None and not started:
            await refusal.response()(scope, receive, send)

    def _too_large(self) -> Problem:
        return Problem("too-large", f"the body is larger than {self.limit:,} bytes", headers={"Connection": "close"})


class Admission:
    """Refuses a request while more than ``limit`` others wait for a thread, so that none waits for long."""

    def __init__(
        self, app: ASGIApp, limit: int, refuse: Callable[[Request, Problem], Response], always: Container[str] = ()
    ) -> None:
        """Wraps ``app``.

        Args:
            app: The application.
            limit: Requests that may wait.
            refuse: Makes the answer to a refused request.
            always: Paths that are never refused.
        """
        self.app = app
        self.limit = limit
        self.refuse = refuse
        self.always = always

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or answer at once."""
        if scope["type"] == "http" and scope["path"] not in self.always and self._waiting() >= self.limit:
            answer = self.refuse(Request(scope), overloaded("too many requests wait to be answered"))
            await answer(scope, receive, send)
            return
        await self.app(scope, receive, send)

    def _waiting(self) -> int:
        return to_thread.current_default_thread_limiter().statistics().tasks_waiting


class Deadline:
    """Answers for a request that has not begun to answer in time.

    What runs in a thread cannot be stopped: it goes on behind the answer, and stores its change whole or not at all.
    """

    def __init__(self, app: ASGIApp, seconds: float) -> None:
        self.app = app
        self.seconds = seconds
        self._late: set[asyncio.Task[None]] = set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Run the application inside; its answer counts if it begins before the deadline."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        started = asyncio.Event()
        over = False

        async def noting(message: Message) -> None:
            if not over:
                started.set()
                await send(message)

        running = asyncio.ensure_future(self.app(scope, receive, noting))
        beginning = asyncio.ensure_future(started.wait())
        try:
            await asyncio.wait({running, beginning}, timeout=self.seconds, return_when=asyncio.FIRST_COMPLETED)
            if started.is_set() or running.done():
                await running
                return
            over = True
            self._late.add(running)
            running.add_done_callback(self._late.discard)
        except asyncio.CancelledError:
            running.cancel()
            raise
        finally:
            beginning.cancel()
        await self._too_slow().response()(scope, receive, send)

    def _too_slow(self) -> Problem:
        detail = (
            f"no answer within {self.seconds:g} seconds; a change is stored whole or not at all: send it again with "
            "the same Idempotency-Key"
        )
        return Problem("too-slow", detail, headers={"Connection": "close", "Retry-After": "10"})


class Outer:
    """Security headers, request id, one log line a request without its content, and 500 documents."""

    def __init__(self, app: ASGIApp, observe: Callable[[str, int, float], None] | None = None) -> None:
        self.app = app
        self.observe = observe
        self.log = structlog.get_logger("api")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Run the application inside."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        request_id, begun, status = new_id(), time.perf_counter(), 0

        async def decorated(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message = {**message, "headers": _with_headers(message["headers"], scope["path"], request_id)}
            await send(message)

        try:
            await self.app(scope, receive, decorated)
        except Exception as error:
            self._log_error(error, request_id)
            if status:
                raise
            problem = Problem("internal", f"an error inside the service; its id in the log is {request_id}")
            await problem.response()(scope, receive, decorated)
        finally:
            self._log_request(scope, request_id, status, time.perf_counter() - begun)

    def _log_error(self, error: Exception, request_id: str) -> None:
        # Messages of exceptions may quote an answer, so only the place in our code is logged.
        trace, places = error.__traceback__, []
        while trace is not None:
            places.append(f"{trace.tb_frame.f_globals.get('__name__')}:{trace.tb_lineno}")
            trace = trace.tb_next
        self.log.error("error", kind=type(error).__name__, places=places[-6:], request_id=request_id)

    def _log_request(self, scope: Scope, request_id: str, status: int, seconds: float) -> None:
        route = getattr(scope.get("route"), "path", None)
        state: dict[str, Any] = scope.get("state", {})
        self.log.info(
            "request",
            method=scope["method"],
            route=route,
            status=status,
            ms=round(seconds * 1000, 1),
            request_id=request_id,
            actor=state.get("actor"),
        )


def _with_headers(headers: list[tuple[bytes, bytes]], path: str, request_id: str) -> list[tuple[bytes, bytes]]:
    names = {name.lower() for name, _ in headers}
    added = [pair for pair in _HEADERS if pair[0] not in names]
    if not path.startswith("/docs") and _CSP[0] not in names:
        added.append(_CSP)
    if b"cache-control" not in names:
        added.append((b"cache-control", b"no-store"))
    return [*headers, *added, (b"x-request-id", request_id.encode())]
