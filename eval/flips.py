"""Edits of right statements: wrong ones that turn the meaning, and true ones that look just like them.

Edits marked as held out are never used for training, so that a test with them shows what was learned and not what
was remembered.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from eval.contradiction_words import BASE_OF, COMPLEMENTS, HELD_OUT_ANTONYMS, SYNONYMS, UNITS
from eval.flip_edits import (
    EditFunction,
    calls_swapped,
    comparison_turned,
    contracted,
    exchange,
    frame,
    misspelt,
    never_for_not,
    not_after_auxiliary,
    number,
    number_as_word,
    one_way,
    twice,
    verb_edit,
    without_never,
    without_not,
    words_edit,
)
from grader.evidence.opposites import ANTONYMS


@dataclass(frozen=True, slots=True)
class Edit:
    """An edit rule.

    Attributes:
        name: Name of the rule.
        kind: What is edited.
        wrong: Whether the meaning is turned.
        apply: The edit.
        held_out: Whether training never uses it.
        share: How often it is chosen beside others that apply; a frame fits every statement and would crowd them out.
    """

    name: str
    kind: str
    wrong: bool
    apply: EditFunction
    held_out: bool = False
    share: float = 1.0


@dataclass(frozen=True, slots=True)
class Flip:
    """An edited statement."""

    original: str
    edited: str
    rule: str
    kind: str
    wrong: bool
    share: float = 1.0


def _frame(name: str, template: str, *, wrong: bool, held_out: bool = False) -> Edit:
    return Edit(name, "negation" if wrong else "surplus", wrong, frame(template), held_out, share=0.1)


_CLAUSES = r"(?P<a>.+?),? {} (?P<b>.+)$"
_IS_THAN = r"(?P<a>.+?) (?P<v>is|are|was|were) (?P<c>(?:much |far |more |less )?\w+) than (?P<b>[^,;]+)$"
_PASSIVE = r"(?P<a>.+?) (?P<v>is|are|was|were|can be|gets) (?P<c>\w+(?:ed|en|wn|nt)) by (?P<b>[^,;]+)$"
_THING = r"(?:the |an? )?[\w.()]+"
_CONTRAST = rf"(?P<a>{_THING}) (?P<c>[^,]+?),? (?:while|whereas|but) (?P<b>{_THING}) (?P<d>[^,]+)$"
_INSTEAD = r"(?P<h>.* )?(?P<a>[\w()]+),? (?:instead of|rather than|and not) (?P<b>[\w()]+)$"
_FROM_TO = r"(?P<h>.+) from (?P<a>(?:the |an? )?[\w()]+) to (?P<b>(?:the |an? )?[\w()]+)$"
_VERB = "|".join(
    sorted(set(BASE_OF) - set("matches joins mixes combines compares connects equals measures works occurs".split()))
)
_SUBJECT_VERB_OBJECT = rf"(?P<a>(?:the |an? )?[\w().]+) (?P<v>{_VERB}) (?P<b>(?:the |an? |its )?[\w().]+(?: \w+)?)$"
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
    _frame("not_true", "It is not true that {}.", wrong=True),
    _frame("wrong_to_say", "It would be wrong to say that {}.", wrong=True),
    _frame("people_think", "Many people think that {}, but that is wrong.", wrong=True),
    _frame("some_claim", "Some claim that {}, which is false.", wrong=True),
    _frame("no_one_claims", "It is not as if {}.", wrong=True),
    _frame("misconception", "It is a common misconception that {}.", wrong=True),
    Edit("never", "negation", True, verb_edit("never {finite}", "never {finite}"), held_out=True),
    Edit("never_after_auxiliary", "negation", True, lambda text, rng: not_after_auxiliary(text, rng, "{} never"), True),
    Edit("is_unable", "negation", True, verb_edit("is unable to {base}", "are unable to {base}"), held_out=True),
    Edit("avoids", "negation", True, verb_edit("refuses to {base}", "refuse to {base}"), held_out=True),
    _frame("nobody_says", "It is a mistake to think that {}.", wrong=True, held_out=True),
    _frame("belief", "One might believe that {}, yet this does not hold.", wrong=True, held_out=True),
    Edit("antonym", "antonym", True, words_edit(ANTONYMS)),
    Edit("antonym_new_words", "antonym", True, words_edit(HELD_OUT_ANTONYMS), held_out=True),
    Edit("than_swapped", "role", True, exchange(_IS_THAN, "{b} {v} {c} than {a}")),
    Edit("contrast_swapped", "role", True, exchange(_CONTRAST, "{b} {c}, while {a} {d}")),
    Edit("instead_of_swapped", "role", True, exchange(_INSTEAD, "{h} {b} instead of {a}")),
    Edit("calls_swapped", "role", True, calls_swapped),
    Edit("from_to_swapped", "role", True, exchange(_FROM_TO, "{h} from {b} to {a}")),
    Edit("subject_object_swapped", "role", True, exchange(_SUBJECT_VERB_OBJECT, "{b} {v} {a}")),
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
    Edit("two_synonyms", "synonym", False, twice(words_edit(SYNONYMS))),
    Edit("misspelt", "surplus", False, misspelt, share=0.5),
    Edit("contracted", "negation", False, contracted),
    Edit("never_for_not", "negation", False, never_for_not),
    _frame("not_wrong", "It is not wrong to say that {}.", wrong=False),
    _frame("not_other_way", "It is the case that {}, and not the other way round.", wrong=False),
    _frame("nobody_denies", "Nobody denies that {}.", wrong=False),
    _frame("some_doubt", "Some doubt that {}, but it is so.", wrong=False),
    _frame("people_know", "Many people think that {}, and that is right.", wrong=False),
    _frame("no_comma", "No, {}.", wrong=False),
    _frame("not_opposite", "{}, and not the opposite.", wrong=False),
    _frame("no_misconception", "It is no misconception that {}.", wrong=False),
    _frame("not_otherwise", "{}, it is not otherwise.", wrong=False, held_out=True),
    _frame("no_doubt", "There is no doubt that {}.", wrong=False, held_out=True),
    _frame("unsurprisingly", "Not surprisingly, {}.", wrong=False, held_out=True),
    Edit("does", "negation", False, verb_edit("does {base}", "do {base}")),
    Edit("does_not_fail", "negation", False, verb_edit("does not fail to {base}", "do not fail to {base}")),
    Edit("never_fails", "negation", False, verb_edit("never fails to {base}", "never fail to {base}"), held_out=True),
    Edit("than_turned", "role", False, comparison_turned("{b} {v} {other} than {a}")),
    Edit("than_not_opposite", "negation", False, comparison_turned("{a} {v} not {other} than {b} but {c}")),
    Edit("from_to_turned", "role", False, exchange(_FROM_TO, "{h} to {b} from {a}")),
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
    _frame("i_think", "I think that {}.", wrong=False),
    _frame("basically", "Basically {}, as far as I know.", wrong=False, held_out=True),
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
            found.extend(sorted(chosen, key=lambda flip: rng.random() ** (1 / flip.share), reverse=True)[:most])
    return found


def _all_edits(text: str, rng: random.Random, held_out: bool) -> Iterable[Flip]:
    for edit in EDITS:
        if edit.held_out != held_out:
            continue
        edited = edit.apply(text, rng)
        if edited and edited.strip() != text.strip():
            yield Flip(text, " ".join(edited.split()), edit.name, edit.kind, edit.wrong, edit.share)


def by_rule(found: Iterable[Flip]) -> Mapping[str, list[Flip]]:
    """Flips grouped by rule."""
    groups: dict[str, list[Flip]] = {}
    for flip in found:
        groups.setdefault(flip.rule, []).append(flip)
    return groups
