"""What all commands share: one-line errors, the choice of item, answer and encoder, and safe output."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from typer.core import TyperGroup

from grader.errors import GraderError, InputError, RubricError

if TYPE_CHECKING:
    from rich.progress import Progress

    from grader import Grader, Item
    from grader.bank import Bank

EXIT_PROBLEMS, EXIT_ERROR, EXIT_INTERRUPTED = 1, 2, 130
_MAX_ANSWER_BYTES = 8_000_000
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
_SURROGATE = re.compile("[\ud800-\udfff]")

BankOption = Annotated[
    list[Path] | None,
    typer.Option("--bank", metavar="PATH", help="Rubric file or folder instead of the bank that ships; repeatable."),
]
LanguageOption = Annotated[str, typer.Option("--language", help="Language of the feedback: en, de or hi.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Write JSON.")]
ItemArgument = Annotated[str, typer.Argument(metavar="ITEM", help="Id of an item; see 'grader items list'.")]
TextArgument = Annotated[
    str | None, typer.Argument(metavar="[TEXT|-]", help="The answer; '-' reads it from standard input.")
]
FileOption = Annotated[Path | None, typer.Option("--file", metavar="PATH", help="Read the answer from a file.")]


@dataclass(frozen=True, slots=True)
class Options:
    """Options that stand before the command.

    Attributes:
        encoder: See `grader.loading.load_grader`.
        cache: Folder of the cache of encodings, ``off``, or ``None`` for the user's cache folder.
        cache_mb: Megabytes that it may take.
        threads: Threads that grade; ``None`` for as many as there are cores.
    """

    encoder: str = "default"
    cache: str | None = None
    cache_mb: int = 2048
    threads: int | None = None


def fail(message: str) -> typer.Exit:
    """The exception that ends the command after one line on standard error."""
    line = " ".join(message.split())
    typer.echo(f"grader: error: {safe(line)}", err=True)
    return typer.Exit(EXIT_ERROR)


def note(message: str) -> None:
    """One line on standard error."""
    typer.echo(f"grader: note: {safe(' '.join(message.split()))}", err=True)


class GraderGroup(TyperGroup):
    """Turns every error into one line on standard error and exit status 2."""

    def main(self, args: Sequence[str] | None = None, standalone_mode: bool = True, **kwargs: Any) -> Any:  # type: ignore[override]
        """Runs the command line; ends the process unless ``standalone_mode`` is off."""
        for stream in (sys.stdout, sys.stderr):
            if hasattr(stream, "reconfigure"):
                stream.reconfigure(errors="backslashreplace")
        try:
            code = super().main(args, standalone_mode=False, **kwargs)
        except typer.Abort:
            code = EXIT_INTERRUPTED
        except typer.TyperException as error:
            code = _usage(error)
        if standalone_mode:
            sys.exit(code if isinstance(code, int) else 0)
        return code

    def invoke(self, ctx: Any) -> Any:
        """Runs the chosen command."""
        try:
            return super().invoke(ctx)
        except (typer.Exit, typer.Abort, typer.TyperException, EOFError, BrokenPipeError):
            raise
        except RubricError as error:
            count = len(error.problems)
            more = f" (and {count - 1} more; 'grader items lint' lists all)" if count > 1 else ""
            raise fail(f"{error.problems[0]}{more}" if count else str(error)) from None
        except GraderError as error:
            raise fail(str(error)) from None
        except OSError as error:
            where = f"{error.filename}: " if error.filename else ""
            raise fail(f"{where}{error.strerror or error}") from None
        except MemoryError:
            raise fail("out of memory") from None
        except Exception as error:
            if os.environ.get("GRADER_DEBUG"):
                raise
            what = f"{type(error).__name__}: {error}"
            raise fail(f"internal error, please report it ({what}); GRADER_DEBUG=1 shows where") from None


def _usage(error: typer.TyperException) -> int:
    """One line for what typer would print in several; a command without arguments has shown its help already."""
    message = error.format_message().strip()
    if not message:
        return error.exit_code
    context = getattr(error, "ctx", None)
    hint = f" (see '{context.command_path} --help')" if context is not None else ""
    return fail(f"{message}{hint}").exit_code


def safe(text: str) -> str:
    """``text`` for a terminal: control characters, direction marks and lone surrogates become U+FFFD."""
    return _SURROGATE.sub("\ufffd", _CONTROL.sub("\ufffd", text))


def console(*, err: bool = False) -> Console:
    """A console without any interpretation of what candidates or authors wrote."""
    return Console(stderr=err, highlight=False, markup=False, emoji=False)


def print_json(data: Any) -> None:
    """``data`` as JSON on standard output, escaped where the terminal cannot show it."""
    utf8 = (getattr(sys.stdout, "encoding", None) or "").lower().replace("-", "") == "utf8"
    typer.echo(json.dumps(data, indent=2, ensure_ascii=not utf8))


def check_language(language: str) -> str:
    """``language`` if there is feedback in it.

    Raises:
        InputError: There is none.
    """
    from grader.i18n import LANGUAGES

    if language not in LANGUAGES:
        raise InputError(f"no feedback in language '{language}'; allowed: {', '.join(LANGUAGES)}")
    return language


def open_bank(paths: Sequence[Path] | None) -> Bank:
    """The items in ``paths``, by default the bank that ships."""
    from grader.bank import load_bank

    return load_bank(*(paths or ()))


def find_item(paths: Sequence[Path] | None, name: str) -> Item:
    """One item by id or alias; an id is found without reading the other files.

    Raises:
        UnknownItemError: There is none.
        RubricError: Its file has problems.
    """
    from grader.bank import default_places, load_item, rubric_files

    roots = list(paths or default_places())
    for path in rubric_files(roots):
        if path.stem == name:
            item = load_item(path)
            if item.id == name:
                return item
    return open_bank(paths)[name]


@contextmanager
def busy(what: str) -> Iterator[None]:
    """Shows ``what`` on a terminal while something takes long."""
    screen = console(err=True)
    if not screen.is_terminal:
        yield
        return
    with screen.status(what):
        yield


def progress_bar(screen: Console) -> Progress:
    """A bar with counts and the time left, shown on a terminal only."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    return Progress(*columns, console=screen, disable=not screen.is_terminal)


def make_grader(ctx: typer.Context) -> Grader:
    """The grader with the chosen encoder and cache."""
    from grader.loading import cache_folder, load_grader

    chosen = ctx.obj if isinstance(ctx.obj, Options) else Options()
    with busy("Loading the language model …"):
        cache, limit = cache_folder(chosen.cache), chosen.cache_mb * 2**20
        return load_grader(chosen.encoder, cache=cache, limit=limit, threads=chosen.threads)


def read_answer(text: str | None, file: Path | None, prompt: str = "") -> str:
    """The answer from the command line, a file, standard input, or typed at a terminal.

    Raises:
        InputError: Both a text and a file are given, or what is read is not text.
    """
    if file is not None:
        if text is not None:
            raise InputError("give the answer as TEXT or with --file, not both")
        with file.open("rb") as opened:
            return decode_answer(opened.read(_MAX_ANSWER_BYTES + 1), str(file))
    if text is None and sys.stdin.isatty():
        console(err=True).print(f"{prompt}\nYour answer, then Ctrl-D on a line of its own:")
        text = "-"
    if text is None or text == "-":
        return decode_answer(sys.stdin.buffer.read(_MAX_ANSWER_BYTES + 1), "standard input")
    if _SURROGATE.search(text):
        note("the answer holds bytes or half characters that are no text; each is read as U+FFFD")
    return _SURROGATE.sub("\ufffd", text)


def decode_answer(data: bytes, name: str) -> str:
    """The text in ``data``: UTF-8, or UTF-16 with a byte order mark.

    Raises:
        InputError: It is too much or no text.
    """
    if len(data) > _MAX_ANSWER_BYTES:
        raise InputError(f"{name}: more than {_MAX_ANSWER_BYTES:,} bytes; allowed: one answer")
    encoding = "utf-16" if data.startswith((b"\xff\xfe", b"\xfe\xff")) else "utf-8-sig"
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        kind = encoding.removesuffix("-sig").upper()
        raise InputError(f"{name}: no text (byte {error.start} is not valid {kind}); allowed: UTF-8") from None
    if "\x00" in text:
        raise InputError(f"{name}: binary data (a NUL character at position {text.index(chr(0))}); allowed: text")
    return text


def prompt_line(question: str) -> str | None:
    """One typed line without its end, ``None`` at the end of the input."""
    console().print(question, end="")
    line = sys.stdin.readline()
    return line.rstrip("\r\n") if line else None
