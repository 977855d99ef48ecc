"""Feeds a reader with what reaches new code: ``python -m eval.fuzz_coverage rubrics FOLDER -max_total_time=120``.

Needs atheris (``pip install atheris``). The first word names one of the targets of `eval.fuzz`, FOLDER holds files to
begin with and gets those that reach more, and the options are those of libFuzzer. What a reader raises besides an
`InputError`, or takes too long for, is left in a file and becomes a test beside the reader.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from typing import Any


def reader(name: str) -> Callable[[bytes], None]:
    """Feeds the target ``name`` with the bytes of a file; for answers, the first byte chooses the item.

    Raises:
        InputError: There is no such target.
    """
    fuzz, errors = import_module("eval.fuzz"), import_module("grader.errors")
    found = {target.name: target for target in fuzz.targets() if target.name != "workbooks"}
    if name not in found:
        raise errors.InputError(f"target '{name}', allowed: {', '.join(found)}")
    items = fuzz.fuzzed_items() if name == "answers" else []

    def feed(data: bytes) -> None:
        case: Any = data
        if name == "answers":
            case = items[data[0] % len(items) if data else 0], data[1:].decode("utf-8", "replace")
        with suppress(errors.InputError):
            found[name].read(case)

    return feed


def main() -> None:
    """Reads the target's name and gives the rest to libFuzzer, which ends the process."""
    try:
        atheris: Any = import_module("atheris")
    except ImportError as error:
        sys.exit(f"atheris is missing ({error}): pip install atheris")
    if len(sys.argv) < 2:
        sys.exit(str(__doc__))
    name = sys.argv.pop(1)
    with atheris.instrument_imports(include=["grader"]):
        try:
            feed = reader(name)
        except ValueError as error:  # an `InputError`, which may not be imported before
            sys.exit(str(error))
    atheris.Setup(sys.argv, feed)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
