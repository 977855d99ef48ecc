"""Made statements in technical language: one relation, many wordings, some of them saying the opposite.

The slots are filled at random, so that nothing but the wording tells whether two statements agree. Every negative
word occurs in right wordings as well as in wrong ones. Slots and wordings are in ``data/made.yaml``.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

from eval.contradiction_words import NUMBER_WORDS

Slots = dict[str, str]
Fill = Callable[[random.Random], Slots]

DATA = Path(__file__).resolve().parent / "data" / "made.yaml"
_NOUNS = "layers copies parts bits samples steps terms cells chambers electrons rounds groups threads keys".split()
_SHARES = (5, 10, 20, 25, 30, 60, 70, 75, 80, 90, 95, 99)
_MODES = (
    ("training", "evaluation"),
    ("train mode", "eval mode"),
    ("training", "inference"),
    ("daylight", "darkness"),
    ("debug mode", "release mode"),
    ("summer", "winter"),
    ("read mode", "write mode"),
    ("rest", "exercise"),
)


@dataclass(frozen=True, slots=True)
class Made:
    """A made pair: ``kind`` names its family, ``verdict`` is right, wrong or partly."""

    key: str
    response: str
    verdict: str
    kind: str


@cache
def _data() -> Mapping[str, Any]:
    return dict(YAML(typ="safe").load(DATA.read_text(encoding="utf-8")))


def _choice(rng: random.Random, name: str) -> list[str]:
    return list(rng.choice(_data()["slots"][name]))


def _two(rng: random.Random) -> Slots:
    first, second = rng.sample(_choice(rng, "things"), 2)
    return {"a": first, "b": second}


def _negated(base: str) -> str:
    return f"is not {base[3:]}" if base.startswith("be ") else f"does not {base}"


def _predicate(rng: random.Random) -> Slots:
    """One of two opposite things that a thing may do, in all forms that a wording may need."""
    does, do, other, others = _choice(rng, "predicates")
    if rng.random() < 0.5:
        does, do, other, others = other, others, does, do
    slots = {"does": does, "do": do, "other": other, "others": others}
    slots |= {"no": _negated(do), "no_a": _negated(do), "no_b": _negated(others), "not_other": _negated(others)}
    slots["never"] = f"cannot {do}" if do.startswith("be ") else f"will not {do}"
    return slots


def _contrast(rng: random.Random) -> Slots:
    slots = _two(rng) | _predicate(rng)
    alike = slots["do"].startswith("be ")
    slots["both"] = f"{slots['a']} {slots['other']}" if alike else f"both of them {slots['do']}"
    return slots


def _transitive(rng: random.Random) -> Slots:
    return _two(rng) | dict(zip(("base", "third", "participle"), _choice(rng, "transitive"), strict=True))


def _comparison(rng: random.Random) -> Slots:
    slots = _two(rng)
    more, less, plain = _choice(rng, "comparatives")
    slots["same"] = f"{slots['a']} is exactly as {plain} as {slots['b']}"
    if rng.random() < 0.3:
        more, less = less, more
    slots |= {"more": more, "less": less, "plain": plain}
    slots["vague"] = f"{slots['a']} differs from {slots['b']} in how {plain} it is"
    return slots


def _order(rng: random.Random) -> Slots:
    first, second = rng.sample(_data()["slots"]["events"], 2)
    return {"a": str(first), "b": str(second)}


def _cause(rng: random.Random) -> Slots:
    cause, effect = _choice(rng, "causes")
    return {"a": cause, "b": effect}


def _share(rng: random.Random) -> Slots:
    right, wrong = rng.sample(_SHARES, 2)
    return _two(rng) | {"p": str(right), "q": str(wrong), "rest": str(100 - right), "noun": rng.choice(_NOUNS)}


def _quantity(rng: random.Random) -> Slots:
    n, m = rng.sample(range(1, 13), 2)
    slots = _two(rng) | {"n": str(n), "m": str(m), "total": str(n + m), "noun": rng.choice(_NOUNS)}
    return slots | {"w": NUMBER_WORDS[n - 1], "mw": NUMBER_WORDS[m - 1], "some": "several" if n > 2 else "a few"}


def _mode(rng: random.Random) -> Slots:
    modes = list(rng.choice(_MODES))
    rng.shuffle(modes)
    return _two(rng) | {"x": modes[0], "y": modes[1]}


def _single(rng: random.Random) -> Slots:
    return _two(rng) | _predicate(rng)


FAMILIES: Mapping[str, Fill] = {
    "contrast": _contrast,
    "transitive": _transitive,
    "comparison": _comparison,
    "order": _order,
    "cause": _cause,
    "share": _share,
    "quantity": _quantity,
    "mode": _mode,
    "single": _single,
}


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:] + "."


def _half(wordings: Sequence[str], held_out: bool) -> list[str]:
    """The wordings that training sees (three of four), or the others."""
    return [wording for at, wording in enumerate(wordings) if (at % 4 == 3) == held_out]


def made_pairs(count: int, seed: int, families: Sequence[str] | None = None, *, held_out: bool = False) -> list[Made]:
    """``count`` made pairs, about 42 % right, 44 % wrong, 14 % partly.

    Args:
        count: Number of pairs.
        seed: Seed of all choices.
        families: Names of the families to use; all if not given.
        held_out: Use the wordings that training never sees.
    """
    rng = random.Random(seed)
    names = list(families or FAMILIES)
    return [_made(rng.choice(names), rng, held_out) for _ in range(count)]


def _made(name: str, rng: random.Random, held_out: bool) -> Made:
    wordings, slots = _data()["families"][name], FAMILIES[name](rng)
    verdict = rng.choices(("right", "wrong", "partly"), (0.42, 0.44, 0.14))[0]
    key = rng.choice(wordings["keys"])
    pool = list(wordings["partly"]) if verdict == "partly" else _half(wordings[verdict], held_out)
    if verdict == "right" and not held_out:
        pool += wordings["keys"]
    pool = [wording for wording in pool if wording != key]
    key, response = key.format(**slots), rng.choice(pool).format(**slots)
    if verdict == "wrong" and rng.random() < 0.5:
        key, response = response, key
    return Made(_sentence(key), _sentence(response), verdict, name)
