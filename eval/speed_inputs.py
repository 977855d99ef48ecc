"""Answers made with a seed, to measure speed with: from sentences of real answers where there are any."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

from eval.datasets import read_viva
from eval.exam_speed import material
from eval.viva import item_id
from grader import Bank, Item
from grader.segment import statements
from grader.text import normalise

#: Sentences that an item needs to be used.
_ENOUGH = 8


def sentences(bank: Bank, items: int, data: Path | None) -> tuple[dict[str, list[str]], str]:
    """Sentences for ``items`` items of the bank, by item id, and where they are from.

    Args:
        bank: The items.
        items: How many items; those with most sentences.
        data: Folder with ``viva_dev.csv``; without it the rubrics' own wordings and the authored answers are used.
    """
    path = data / "viva_dev.csv" if data is not None else None
    if path is None or not path.is_file():
        chosen = list(bank.values())[:items]
        return material(chosen), "rubrics and authored answers"
    found: defaultdict[str, list[str]] = defaultdict(list)
    for question, answer in read_viva(path)[["question_id", "answer"]].itertuples(index=False):
        if item_id(question) in bank:
            found[item_id(question)] += [part.text for part in statements(normalise(str(answer)))]
    rich = sorted((name for name in found if len(found[name]) >= _ENOUGH), key=lambda name: (-len(found[name]), name))
    return {name: found[name] for name in rich[:items]}, "answers of viva_dev"


def make_answers(material: Mapping[str, Sequence[str]], count: int, words: int, seed: int) -> dict[str, list[str]]:
    """About ``count`` answers of about ``words`` words in all, equally many an item, by item id."""
    chance = random.Random(seed)
    each = -(-count // len(material))
    return {name: [_answer(known, words, chance) for _ in range(each)] for name, known in material.items()}


def _answer(known: Sequence[str], words: int, chance: random.Random) -> str:
    parts: list[str] = []
    while len(" ".join(parts).split()) < words:
        parts.append(_varied(known, chance))
    return " ".join(parts)


def _varied(known: Sequence[str], chance: random.Random) -> str:
    """A sentence with three changes: a word left out, said twice, taken from another sentence, or misspelt."""
    words = chance.choice(known).split()
    for _ in range(3):
        at = chance.randrange(len(words))
        kind = chance.randrange(4)
        if kind == 0 and len(words) > 4:
            del words[at]
        elif kind == 1:
            words.insert(at, words[at])
        elif kind == 2:
            words.insert(at, chance.choice(chance.choice(known).split()))
        elif len(words[at]) > 3:
            words[at] = words[at][0] + words[at][2] + words[at][1] + words[at][3:]
    return " ".join(words)


def unique_statements(written: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    """The distinct statements that the grader reads in the answers, by item id."""
    return {
        name: list(dict.fromkeys(part.text for text in texts for part in statements(normalise(text))))
        for name, texts in written.items()
    }


def edited(item: Item) -> Item:
    """The item with one more accepted wording, as an author might add after seeing answers."""
    content = item.model_dump(mode="json")
    element = next(iter(content["components"].values()))["elements"][0]
    element["key_statements"].append(f"In other words, {element['key_statements'][0].lower()}")
    return Item.model_validate(content)
