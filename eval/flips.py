"""Edits of right statements: wrong ones that turn the meaning, and true ones that look just like them.

Edits marked as held out are never used for training, so that a test with them shows what was learned and not what
was remembered.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from eval.contradiction_words import ANTONYMS, COMPLEMENTS, HELD_OUT_ANTONYMS, SYNONYMS, UNITS
from eval.flip_edits import (
    EditFunction,
    exchange,
    frame,
    not_after_auxiliary,
    number,
    number_as_word,
    one_way,
    verb_edit,
    without_never,
    without_not,
    words_edit,
)


@dataclass(frozen=True, slots=True)
class Edit:
    """An edit rule: ``wrong`` if it turns the meaning; ``held_out`` if training never uses it."""

    name: str
    kind: str
    wrong: bool
    apply: EditFunction
    held_out: bool = False


@dataclass(frozen=True, slots=True)
class Flip:
    """An edited statement."""

    original: str
    edited: str
    rule: str
    kind: str
    wrong: bool


_CLAUSES = r"(?P<a>.+?),? {} (?P<b>.+)$"
_IS_THAN = r"(?P<a>.+?) (?P<v>is|are|was|were) (?P<c>(?:much |far |more |less )?\w+) than (?P<b>[^,;]+)$"
_PASSIVE = r"(?P<a>.+?) (?P<v>is|are|was|were|can be|gets) (?P<c>\w+(?:ed|en|wn|nt)) by (?P<b>[^,;]+)$"
_THING = r"(?:the |an? )?[\w.()]+"
_CONTRAST = rf"(?P<a>{_THING}) (?P<c>[^,]+?),? (?:while|whereas|but) (?P<b>{_THING}) (?P<d>[^,]+)$"
_INSTEAD = r"(?P<h>.* )?(?P<a>[\w()]+) instead of (?P<b>[\w()]+)$"
_THEN = r"(?:first,? )?(?P<a>.+?),? (?:and )?then (?P<b>.+)$"

EDITS: tuple[Edit, ...] = (
    Edit("not_after_auxiliary", "negation", True, not_after_auxiliary),
    Edit("contraction", "negation", True, lambda text, rng: not_after_auxiliary(text, rng, "{}n't")),
    Edit("do_not", "negation", True, verb_edit("does not {base}", "do not {base}")),
    Edit("dont", "negation", True, verb_edit("doesn't {base}", "don't {base}")),
    Edit("fails_to", "negation", True, verb_edit("fails to {base}", "fail to {base}")),
    Edit("no_longer", "negation", True, verb_edit("no longer {finite}", "no longer {finite}")),
    Edit("not_taken_out", "negation", True, without_not),
    Edit("never_taken_out", "negation", True, without_never),
    Edit("not_true", "negation", True, frame("It is not true that {}.")),
    Edit("never", "negation", True, verb_edit("never {finite}", "never {finite}"), held_out=True),
    Edit("never_after_auxiliary", "negation", True, lambda text, rng: not_after_auxiliary(text, rng, "{} never"), True),
    Edit("is_unable", "negation", True, verb_edit("is unable to {base}", "are unable to {base}"), held_out=True),
    Edit("avoids", "negation", True, verb_edit("refuses to {base}", "refuse to {base}"), held_out=True),
    Edit("nobody_says", "negation", True, frame("It is a mistake to think that {}."), held_out=True),
    Edit("antonym", "antonym", True, words_edit(ANTONYMS)),
    Edit("antonym_new_words", "antonym", True, words_edit(HELD_OUT_ANTONYMS), held_out=True),
    Edit("than_swapped", "role", True, exchange(_IS_THAN, "{b} {v} {c} than {a}")),
    Edit("contrast_swapped", "role", True, exchange(_CONTRAST, "{b} {c}, while {a} {d}")),
    Edit("instead_of_swapped", "role", True, exchange(_INSTEAD, "{h} {b} instead of {a}")),
    Edit("passive_swapped", "role", True, exchange(_PASSIVE, "{b} {v} {c} by {a}"), held_out=True),
    Edit("number", "number", True, number),
    Edit("unit", "number", True, words_edit(UNITS), held_out=True),
    Edit(
        "quantifier",
        "quantity",
        True,
        one_way(
            (
                ("all", "none of the"),
                ("every", "no"),
                ("each", "no"),
                ("always", "never"),
                ("at least", "at most"),
                ("at most", "at least"),
                ("both", "neither of the"),
                ("must", "must not"),
                ("only", "not only"),
            )
        ),
    ),
    Edit(
        "quantifier_new",
        "quantity",
        True,
        one_way(
            (
                ("most", "hardly any"),
                ("usually", "almost never"),
                ("often", "rarely if ever"),
                ("twice", "half"),
                ("double", "half"),
                ("once", "several times"),
            )
        ),
        held_out=True,
    ),
    Edit("before_after", "order", True, words_edit((("before", "after"), ("first", "last"), ("previous", "next")))),
    Edit("then_swapped", "order", True, exchange(_THEN, "first {b}, and then {a}"), True),
    Edit("because_swapped", "cause", True, exchange(_CLAUSES.format("because"), "{b} because {a}")),
    Edit(
        "so_swapped",
        "cause",
        True,
        exchange(_CLAUSES.format("(?:so|therefore|hence|which is why)"), "{b}, so {a}"),
        True,
    ),
    Edit("unless", "condition", True, one_way((("only if", "even if"), ("if", "unless")))),
    Edit(
        "without_condition",
        "condition",
        True,
        one_way((("when", "except when"), ("only when", "even when"))),
        held_out=True,
    ),
    Edit("not_complement", "negation", False, words_edit(COMPLEMENTS, negate=True)),
    Edit("synonym", "synonym", False, words_edit(SYNONYMS)),
    Edit("not_wrong", "negation", False, frame("It is not wrong to say that {}.")),
    Edit("not_other_way", "role", False, frame("It is the case that {}, and not the other way round.")),
    Edit("not_otherwise", "negation", False, frame("{}, it is not otherwise."), held_out=True),
    Edit("no_doubt", "negation", False, frame("There is no doubt that {}."), held_out=True),
    Edit("does", "negation", False, verb_edit("does {base}", "do {base}")),
    Edit("does_not_fail", "negation", False, verb_edit("does not fail to {base}", "do not fail to {base}")),
    Edit("never_fails", "negation", False, verb_edit("never fails to {base}", "never fail to {base}"), held_out=True),
    Edit(
        "than_converse",
        "role",
        False,
        exchange(
            r"(?P<a>.+?) (?P<v>is|are) (?:larger|bigger|higher|greater) than (?P<b>[^,;]+)$", "{b} {v} smaller than {a}"
        ),
    ),
    Edit("passive_to_active_cleft", "role", False, exchange(_PASSIVE, "it is {b} by which {a} {v} {c}"), held_out=True),
    Edit("while_turned", "role", False, exchange(_CONTRAST, "{b} {d}, whereas {a} {c}")),
    Edit("because_turned", "cause", False, exchange(_CLAUSES.format("because"), "since {b}, {a}")),
    Edit(
        "so_turned",
        "cause",
        False,
        exchange(_CLAUSES.format("(?:so|therefore|hence)"), "{b}, because {a}"),
        held_out=True,
    ),
    Edit("not_but", "role", False, exchange(_INSTEAD, "{h} not {b} but {a}")),
    Edit("number_as_word", "number", False, number_as_word),
    Edit("i_think", "surplus", False, frame("I think that {}.")),
    Edit("basically", "surplus", False, frame("Basically {}, as far as I know."), held_out=True),
)


def flips(texts: Iterable[str], seed: int, *, held_out: bool = False, most: int = 4) -> list[Flip]:
    """Edited versions of right statements, at most ``most`` wrong and as many true ones a statement.

    Args:
        texts: Right statements.
        seed: Seed of all choices.
        held_out: Use the rules that training never uses, and only those.
        most: Limit a statement and direction.
    """
    rng = random.Random(seed)
    found: list[Flip] = []
    for text in texts:
        made = list(_all_edits(text, rng, held_out))
        for wrong in (True, False):
            chosen = [flip for flip in made if flip.wrong == wrong]
            found.extend(rng.sample(chosen, min(most, len(chosen))))
    return found


def _all_edits(text: str, rng: random.Random, held_out: bool) -> Iterable[Flip]:
    for edit in EDITS:
        if edit.held_out != held_out:
            continue
        edited = edit.apply(text, rng)
        if edited and edited.strip() != text.strip():
            yield Flip(text, " ".join(edited.split()), edit.name, edit.kind, edit.wrong)


def by_rule(found: Iterable[Flip]) -> Mapping[str, list[Flip]]:
    """Flips grouped by rule."""
    groups: dict[str, list[Flip]] = {}
    for flip in found:
        groups.setdefault(flip.rule, []).append(flip)
    return groups
