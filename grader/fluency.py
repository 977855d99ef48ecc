"""Do the words stand in the order of a sentence? Tells claims from shuffled words and from terms side by side.

Every word is reduced to a class (function words stand for themselves, others for their ending), and two models of
such sequences are compared: one that knows which class follows which two, one that only knows how frequent each is.
Text that people write gains from the order; shuffled words and lists lose. The counts are learned from statements of
learners (``eval/train_word_order.py``) and hold no content words.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from importlib import resources

import regex

from grader.text import Token, tokenise
from grader.words import FUNCTION_WORDS, NEGATIONS

#: How many classes a probability looks at, itself included.
ORDER = 3
#: Mean gain in nats a word, times the root of the number of words, below which words are in no order: the mean of
#: few words says little, and that of fewer than `ENOUGH_WORDS` nothing.
NO_ORDER = -4.3
ENOUGH_WORDS = 8

_ENDINGS = ("ing", "tion", "ment", "ness", "ly", "ed", "er", "est", "al", "ive", "ous", "ble", "ity", "es", "s", "e",
            "y")  # fmt: skip
_MARK = regex.compile(r"[,;:.!?=<>|/\n]")
_START, _END, _NUMBER, _CODE, _OTHER = "^", "$", "#", "<code>", "*"
_UNSEEN = 1 / 300


def word_class(token: Token) -> str:
    """The class of a word: a function word itself, ``#`` for numbers, ``<code>``, or an ending such as ``-tion``.

    >>> [word_class(token) for token in tokenise("The 3 gradients of optimizer.step() normalise")]
    ['the', '#', '-s', 'of', '<code>', '-e']
    """
    if token.kind == "number":
        return _NUMBER
    return _CODE if token.is_code else _class_of(token.text.casefold())


@lru_cache(maxsize=50_000)
def _class_of(word: str) -> str:
    if word in FUNCTION_WORDS or word in NEGATIONS:
        return word
    return next((f"-{end}" for end in _ENDINGS if word.endswith(end) and len(word) > len(end) + 2), _OTHER)


@dataclass(frozen=True)
class WordOrder:
    """Counts of class sequences.

    Attributes:
        counts: Occurrences by sequence of one to `ORDER` classes.
        version: Name of the counts, as it appears in their file.
    """

    counts: Mapping[tuple[str, ...], int]
    version: str = "0"
    _contexts: Mapping[tuple[str, ...], tuple[int, int]] = field(init=False, repr=False)
    _gain: Callable[[tuple[str, ...]], float] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        total: Counter[tuple[str, ...]] = Counter()
        kinds: Counter[tuple[str, ...]] = Counter()
        for sequence, count in self.counts.items():
            total[sequence[:-1]] += count
            kinds[sequence[:-1]] += 1
        object.__setattr__(self, "_contexts", {context: (total[context], kinds[context]) for context in total})
        object.__setattr__(self, "_gain", lru_cache(maxsize=50_000)(self._gained))

    @classmethod
    def learn(cls, texts: Iterable[str], version: str = "0") -> WordOrder:
        """Counts from ``texts``."""
        counts: Counter[tuple[str, ...]] = Counter()
        for text in texts:
            classes = _padded(tokenise(text))
            for end in range(ORDER, len(classes) + 1):
                counts.update(tuple(classes[end - size : end]) for size in range(1, ORDER + 1))
        return cls(counts, version)

    def gain(self, text: str) -> float:
        """How much more likely the order makes the words of ``text``, in nats a word; 0 for no words."""
        tokens = tokenise(text)
        if not tokens:
            return 0.0
        classes = _padded(tokens)
        found = (tuple(classes[end - ORDER : end]) for end in range(ORDER, len(classes) + 1))
        return sum(map(self._gain, found)) / len(tokens)

    def _gained(self, sequence: tuple[str, ...]) -> float:
        """How much more likely the last class is behind the others, in nats."""
        return math.log(self._probability(sequence)) - math.log(self._probability(sequence[-1:]))

    def _probability(self, sequence: tuple[str, ...]) -> float:
        """Witten and Bell's interpolation with the shorter contexts."""
        value = _UNSEEN
        for size in range(1, len(sequence) + 1):
            part = sequence[-size:]
            seen, kinds = self._contexts.get(part[:-1], (0, 0))
            if seen:
                value = (self.counts.get(part, 0) + kinds * value) / (seen + kinds)
        return value

    def to_json(self) -> str:
        """One line a context: its classes and what followed how often."""
        rows: dict[str, dict[str, int]] = {}
        for sequence, count in sorted(self.counts.items()):
            rows.setdefault(" ".join(sequence[:-1]), {})[sequence[-1]] = count
        lines = ",\n".join(f"{json.dumps(context)}: {json.dumps(row)}" for context, row in rows.items())
        return f'{{"version": {json.dumps(self.version)}, "counts": {{\n{lines}\n}}}}\n'

    @classmethod
    def from_json(cls, text: str) -> WordOrder:
        """The counts that `to_json` wrote."""
        stored = json.loads(text)
        rows = stored["counts"].items()
        return cls({(*c.split(), last): n for c, row in rows for last, n in row.items()}, str(stored["version"]))


def _padded(tokens: Sequence[Token]) -> list[str]:
    return [*[_START] * (ORDER - 1), *(word_class(token) for token in tokens), _END]


@lru_cache(maxsize=1)
def word_order() -> WordOrder:
    """The counts that ship with the project."""
    return WordOrder.from_json((resources.files("grader") / "models" / "word_order.json").read_text("utf-8"))


def out_of_order(text: str, counts: WordOrder | None = None) -> bool:
    """Whether the words of an English text are not in the order of a sentence.

    >>> out_of_order("adds gradients old ones because You the need to before PyTorch new ones the every reset step to")
    True
    >>> out_of_order("You need to reset gradients before every step because PyTorch adds the new ones to the old.")
    False
    """
    size = len(tokenise(text))
    return size >= ENOUGH_WORDS and (counts or word_order()).gain(text) * math.sqrt(size) < NO_ORDER


def longest_run(text: str) -> int:
    """Most words in a row without a function word, letter, number or mark between them: sentences rarely have six.

    >>> longest_run("It has patience dropout weight decay capacity, and more.")
    5
    """
    best = run = last = 0
    for token in tokenise(text):
        word = token.text.casefold()
        breaks = token.kind == "number" or len(word) == 1 or word in FUNCTION_WORDS or word in NEGATIONS
        run = 0 if breaks else 1 if _MARK.search(text, last, token.start) else run + 1
        best, last = max(best, run), token.end
    return best
