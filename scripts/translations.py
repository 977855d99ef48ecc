"""Compiles the catalogues of the grader and the pages: every ``.po`` file becomes the ``.mo`` file beside it."""

from __future__ import annotations

import ast
import re
import struct
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = (ROOT / "grader" / "locale", ROOT / "api" / "web" / "locale")
_HEADER = "Content-Type: text/plain; charset=utf-8\n"


def entries(text: str) -> dict[str, str]:
    """Message to translation, without messages that are not translated yet.

    >>> entries('msgid "Yes"\\nmsgstr "Ja"\\n')
    {'Yes': 'Ja'}
    """
    found = {}
    for block in text.split("\n\n"):
        parts = re.findall(r'^(msgid|msgstr) ((?:".*"\n?)+)', block, re.MULTILINE)
        read = {kind: "".join(ast.literal_eval(line) for line in lines.strip().split("\n")) for kind, lines in parts}
        if read.get("msgid") and read.get("msgstr"):
            found[read["msgid"]] = read["msgstr"]
    return found


def compiled(messages: dict[str, str]) -> bytes:
    """The catalogue in the form that gettext reads."""
    pairs = [(key.encode(), value.encode()) for key, value in sorted({"": _HEADER, **messages}.items())]
    start = 28 + 16 * len(pairs)
    tables: list[list[int]] = [[], []]
    data = b""
    for side in (0, 1):
        for pair in pairs:
            tables[side] += [len(pair[side]), start + len(data)]
            data += pair[side] + b"\0"
    head = struct.pack("<7I", 0x950412DE, 0, len(pairs), 28, 28 + 8 * len(pairs), 0, 0)
    return head + struct.pack(f"<{4 * len(pairs)}I", *tables[0], *tables[1]) + data


def main() -> None:
    """Compile all catalogues."""
    for folder in FOLDERS:
        for path in sorted(folder.rglob("*.po")):
            messages = entries(path.read_text("utf-8"))
            path.with_suffix(".mo").write_bytes(compiled(messages))
            print(f"{path.relative_to(ROOT)}: {len(messages)} messages")


if __name__ == "__main__":
    main()
