"""Edits of a statement: negation, antonyms, roles, numbers, order, cause, put in or taken out by grammar.

An edit takes a statement and a source of randomness and returns the edited statement, or ``None`` where it does not
apply.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterable, Sequence

from eval.contradiction_words import BASE_OF, NUMBER_WORDS, VERBS, third_person
from grader.evidence.opposites import COMPARATIVES

EditFunction = Callable[[str, random.Random], str | None]

_AUXILIARY = re.compile(
    r"\b(is|are|was|were|can|could|will|would|should|must|may|might|has to|have to|does|do|did)\b"
    r"(?! not\b|n['’]t\b)",
    re.I,
)
_NEGATED = re.compile(
    r"\b(is|are|was|were|can|could|will|would|should|must|does|do|did|has|have)(?: not|n['’]t)\b", re.I
)
_CANNOT = re.compile(r"\bcannot\b|\bcan['’]t\b", re.I)
_SUBORDINATE = re.compile(
    r"\b(?:if|when|because|since|that|which|who|where|while|whereas|unless|although|so|but|to|after|before|until|than)\b",
    re.I,
)
_TURNED = re.compile(r"(?:\b(?:not|never|no longer|cannot|hardly|neither|nor|nothing|none|no)|n['’]t)\b[^,;.]*$", re.I)
_PLURAL_SUBJECT = re.compile(r"\b(?:they|we|you|these|those|both|[a-z]{3,}[^s\W]s)\s+$", re.I)
_VERB = re.compile(r"\b[a-z]+\b")


def _swap(text: str, start: int, end: int, word: str) -> str:
    old = text[start:end]
    word = word[:1].upper() + word[1:] if old[:1].isupper() and not old.isupper() else word
    return text[:start] + word + text[end:]


def _in_main_clause(text: str, at: int) -> bool:
    """Whether nothing before ``at`` opens a subordinate clause or turns the meaning already."""
    before = text[:at]
    if _SUBORDINATE.match(before) and "," in before:
        before = before.split(",", 1)[1]
    return not (_SUBORDINATE.search(before) or _TURNED.search(before))


def not_after_auxiliary(text: str, rng: random.Random, form: str = "{} not") -> str | None:
    """Negation of the first auxiliary of the main clause, in the given form."""
    places = [m for m in _AUXILIARY.finditer(text) if _in_main_clause(text, m.start())]
    if not places:
        return None
    word = places[0].group(1)
    if form == "{}n't":
        special = {"can": "can't", "will": "won't"}
        if word.casefold() in ("may", "might", "has to", "have to"):
            return None
        return _swap(text, places[0].start(), places[0].end(), special.get(word.casefold(), word + "n't"))
    if word.casefold() in ("has to", "have to"):
        negated = "does not have to" if word[2] == "s" else "do not have to"
        return _swap(text, places[0].start(), places[0].end(), negated)
    if word.casefold() == "can" and form == "{} not":
        return _swap(text, places[0].start(), places[0].end(), "cannot")
    return _swap(text, places[0].start(), places[0].end(), form.format(word))


def _main_verb(text: str) -> tuple[int, int, str, bool] | None:
    """Place and base form of the first finite full verb, and whether it is third person singular."""
    for match in _VERB.finditer(text):
        word, before = match.group(), text[: match.start()]
        if not before.strip() or not _in_main_clause(text, match.start()):
            continue
        if word in BASE_OF and not re.search(r"\b(?:the|a|an|its|of|in|with|and|or|no|not|only)\s+$", before):
            return match.start(), match.end(), BASE_OF[word], True
        if word in VERBS and _PLURAL_SUBJECT.search(before):
            return match.start(), match.end(), word, False
    return None


def verb_edit(singular: str, plural: str) -> EditFunction:
    """Replaces the main verb; ``{base}`` and ``{finite}`` stand for its forms."""

    def edit(text: str, rng: random.Random) -> str | None:
        found = _main_verb(text)
        if found is None:
            return None
        start, end, base, third = found
        finite = text[start:end]
        return text[:start] + (singular if third else plural).format(base=base, finite=finite) + text[end:]

    return edit


def without_not(text: str, rng: random.Random) -> str | None:
    """The statement without its first *not*."""
    if _CANNOT.search(text):
        return _CANNOT.sub("can", text, count=1)
    found = _NEGATED.search(text)
    if found is None:
        return None
    return text[: found.start()] + found.group(1) + text[found.end() :]


_POSITIVE = (
    ("never", "always"),
    ("no longer", "still"),
    ("without", "with"),
    ("no", "some"),
    ("nothing", "everything"),
    ("none", "all"),
)


def without_never(text: str, rng: random.Random) -> str | None:
    """The first *never*, *no longer*, *without* … made positive."""
    for word, other in _POSITIVE:
        found = re.search(rf"\b{word}\b", text, re.I)
        if found:
            return _swap(text, found.start(), found.end(), other)
    return None


_AFTER_NOT = re.compile(r"\b(?:not|more|most)\s+$", re.I)


def words_edit(pairs: Iterable[tuple[str, str]], *, negate: bool = False) -> EditFunction:
    """Exchanges one word for its partner in ``pairs``; with ``negate`` after a form of *be*, as *not* its partner."""
    table: dict[str, str] = {}
    for left, right in pairs:
        table.setdefault(left, right)
        table.setdefault(right, left)
    pattern = re.compile(r"\b(?:" + "|".join(sorted(map(re.escape, table), key=len, reverse=True)) + r")\b", re.I)

    def edit(text: str, rng: random.Random) -> str | None:
        places = [m for m in pattern.finditer(text) if not _AFTER_NOT.search(text[: m.start()])]
        if negate:
            places = [m for m in places if re.search(r"\b(?:is|are|was|were|be)\s+$", text[: m.start()])]
        if not places:
            return None
        place = rng.choice(places)
        other = table.get(place.group().casefold())
        if other is None:
            return None
        return _swap(text, place.start(), place.end(), f"not {other}" if negate else other)

    return edit


def exchange(pattern: str, template: str) -> EditFunction:
    """Takes the whole statement apart by ``pattern`` (groups a, b …) and puts it together by ``template``."""
    compiled = re.compile(pattern, re.I)

    def edit(text: str, rng: random.Random) -> str | None:
        found = compiled.match(text.strip().rstrip("."))
        if found is None or any(len(part.split()) > 14 for part in found.groups()):
            return None
        groups = found.groupdict()
        if groups["a"].strip().casefold() == groups["b"].strip().casefold():
            return None
        result = template.format(**{name: _inner(part) for name, part in groups.items()})
        return result[:1].upper() + result[1:] + "."

    return edit


_STARTS = frozenset(
    """The A An It They This That These Those If In You We With Without Both Each Every All One Some Many Most When
    After Before Because Since There To On At By For From Its Their Your Writing Using People Only Here No
    Not""".split()
)


def _inner(part: str) -> str:
    part = part.strip(" ,")
    first = part.split(" ", 1)[0]
    return part[:1].lower() + part[1:] if first in _STARTS else part


_NUMBER = re.compile(r"(?:(?<=\s)|^)\d+(?:\.\d+)?(?=\s|[.,;]?$)|\b(?:" + "|".join(NUMBER_WORDS[1:]) + r")\b", re.I)


def number(text: str, rng: random.Random) -> str | None:
    """Another number."""
    places = list(_NUMBER.finditer(text))
    if not places:
        return None
    place = rng.choice(places)
    word = place.group()
    if not word[0].isdigit():
        other = rng.choice([w for w in NUMBER_WORDS[1:] if w != word.casefold()])
        return _swap(text, place.start(), place.end(), other)
    factor = rng.choice((0.1, 0.5, 2, 3, 10))
    return text[: place.start()] + f"{float(word) * factor + (float(word) == 0):g}" + text[place.end() :]


def number_as_word(text: str, rng: random.Random) -> str | None:
    """A digit spelt out."""
    found = re.search(r"(?<=\s)([1-9]|1[0-2])(?=\s[a-z])", text)
    return None if found is None else text[: found.start()] + NUMBER_WORDS[int(found.group()) - 1] + text[found.end() :]


def one_way(pairs: Sequence[tuple[str, str]]) -> EditFunction:
    """Replaces the first word of ``pairs`` that occurs outside a negation."""
    compiled = [(re.compile(rf"\b{left}\b", re.I), right) for left, right in pairs]

    def edit(text: str, rng: random.Random) -> str | None:
        for pattern, right in compiled:
            found = pattern.search(text)
            if found and not _TURNED.search(text[: found.start()]) and not text[found.end() :].startswith(" not"):
                return _swap(text, found.start(), found.end(), right)
        return None

    return edit


_FRAGMENT = re.compile(r"(?:because|so|and|or|but|since|that|to|by)\b", re.I)


def frame(template: str) -> EditFunction:
    """Puts the whole statement into a frame."""

    def edit(text: str, rng: random.Random) -> str | None:
        if len(text.split()) > 25 or ". " in text or "->" in text or _FRAGMENT.match(text):
            return None
        return template.format(_inner(text.strip()).rstrip("."))

    return edit


_CALL = re.compile(r"(?<![\w.()])[\w.]+\(\)(?![\w.(])")
_SIDE_BY_SIDE = re.compile(r"^(?:,| and| or|, and|, or|/| vs\.?| versus) *$")


def calls_swapped(text: str, rng: random.Random) -> str | None:
    """The two functions that are named, one in the place of the other."""
    places = list(_CALL.finditer(text))
    if len({place.group() for place in places}) != 2 or re.search(r"\b(?:same|both|either|neither)\b", text):
        return None
    first, second = places[0], next(place for place in places if place.group() != places[0].group())
    if _SIDE_BY_SIDE.match(text[first.end() : second.start()]):
        return None
    other = {first.group(): second.group(), second.group(): first.group()}
    return _CALL.sub(lambda found: other.get(found.group(), found.group()), text)


_LONG_FORM = re.compile(r"\b(is|are|was|were|could|would|should|does|do|did|has|have) not\b(?! only)", re.I)
_SHORT_FORM = re.compile(r"\b(is|are|was|were|could|would|should|does|do|did|has|have)n['’]t\b", re.I)


def contracted(text: str, rng: random.Random) -> str | None:
    """*does not* written *doesn't*, or the other way round."""
    changed = _LONG_FORM.sub(r"\1n't", text, count=1)
    if changed == text:
        changed = _SHORT_FORM.sub(r"\1 not", text, count=1)
    return None if changed == text else changed


_DOES_NOT = re.compile(r"\b(does|do)(?: not|n['’]t) ([a-z]+)\b")


def never_for_not(text: str, rng: random.Random) -> str | None:
    """*does not copy* as *never copies*."""
    found = _DOES_NOT.search(text)
    if found is None or found.group(2) not in VERBS:
        return None
    verb = third_person(found.group(2)) if found.group(1) == "does" else found.group(2)
    return f"{text[: found.start()]}never {verb}{text[found.end() :]}"


def misspelt(text: str, rng: random.Random) -> str | None:
    """Two neighbouring letters of a longer word exchanged."""
    places = list(re.finditer(r"\b[a-z]{6,}\b", text))
    if not places:
        return None
    place = rng.choice(places)
    at = place.start() + rng.randrange(1, len(place.group()) - 2)
    return text[:at] + text[at + 1] + text[at] + text[at + 2 :]


def twice(edit: EditFunction) -> EditFunction:
    """``edit`` applied to its own result."""

    def both(text: str, rng: random.Random) -> str | None:
        once = edit(text, rng)
        again = edit(once, rng) if once else None
        return None if again == text else again

    return both


_COMPARED = re.compile(rf"(?P<a>.+?) (?P<v>is|are|was|were) (?P<c>{'|'.join(COMPARATIVES)}) than (?P<b>[^,;]+)$", re.I)


def comparison_turned(template: str) -> EditFunction:
    """A comparison put in other words, ``{other}`` being the opposite of its comparative ``{c}``."""

    def edit(text: str, rng: random.Random) -> str | None:
        found = _COMPARED.match(text.strip().rstrip("."))
        if found is None or max(len(found["a"].split()), len(found["b"].split())) > 10:
            return None
        parts = {name: _inner(part) for name, part in found.groupdict().items()}
        result = template.format(**parts, other=COMPARATIVES[found["c"].casefold()])
        return result[:1].upper() + result[1:] + "."

    return edit
