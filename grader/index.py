"""An item prepared for scoring: its statements encoded once, its words weighted, its own thresholds measured."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from grader.encoder import Encoder, Encoding
from grader.evidence.similarity import PROMPT_WEIGHT, Compare, KeyStatements, Phrase, phrase
from grader.rubric import Element, Item
from grader.segment import statements
from grader.text import normalise, stems, tokenise

Floats = NDArray[np.float32]

#: Information from which on a word can carry a key idea.
KEY_WORD = 0.5
_FEW = 0.2


@dataclass(frozen=True, slots=True)
class Slot:
    """Where a key statement stands in its item."""

    component: str
    element: int
    statement: int


@dataclass(frozen=True, slots=True, eq=False)
class ItemIndex:
    """Everything about an item that does not depend on a response.

    Attributes:
        item: The item.
        keys: All key statements of all elements, stacked.
        slots: For each key statement, its component and element.
        background: How much of each key statement the item's other components already say, shape (k,).
        siblings: How much of each key statement the other wordings of its element say on average, shape (k,);
            0 if it has none.
        wordings: Logarithm to base 2 of the number of wordings of the key statement's element, shape (k,).
        misconceptions: All misconception statements, stacked; ``None`` if there are none.
        misconception_slots: For each of them, the index of its misconception.
        find_out: The ways to find out, stacked; ``None`` if there are none.
        prompt: The prompt.
        prompt_stems: Stems of the prompt's words.
        key_terms: Stems of the content words of the key statements that the prompt does not say.
        model_statements: The statements of the reference answer, in lower case; none of them is doubted.
        prompt_says_key: Whether more than a few key statements have no weighty word that the prompt does not say.
        vocabulary: Lower-case words of the whole item; spelling correction aims at them and never changes them.
    """

    item: Item
    keys: KeyStatements
    slots: tuple[Slot, ...]
    background: Floats
    siblings: Floats
    wordings: Floats
    misconceptions: KeyStatements | None
    misconception_slots: tuple[int, ...]
    find_out: KeyStatements | None
    prompt: Phrase
    prompt_stems: frozenset[str]
    key_terms: frozenset[str]
    vocabulary: frozenset[str]
    model_statements: frozenset[str]
    prompt_says_key: bool

    def phrases(self, texts: Sequence[str], encodings: Sequence[Encoding]) -> list[Phrase]:
        """Statements of a response, weighted as this item's own statements are."""
        language = self.item.language
        return [
            phrase(text, encoding, self.prompt_stems, language) for text, encoding in zip(texts, encodings, strict=True)
        ]


def build_index(item: Item, encoder: Encoder, compare: Compare | None = None) -> ItemIndex:
    """Encodes every statement of ``item`` once; see `KeyStatements` for ``compare``."""
    slots = [
        Slot(name, at, number)
        for name, component in item.components.items()
        for at, element in enumerate(component.elements)
        for number in range(len(element.key_statements))
    ]
    wordings = [
        text
        for component in item.components.values()
        for element in component.elements
        for text in element.key_statements
    ]

    wrong = [(i, text) for i, m in enumerate(item.misconceptions) for text in m.statements]
    texts = [item.prompt, *wordings, *(text for _, text in wrong), *item.find_out]
    clean = [normalise(text).text for text in texts]
    prompt_stems = frozenset(stems(clean[0], item.language))
    phrases = [
        phrase(text, encoding, prompt_stems, item.language)
        for text, encoding in zip(clean, encoder.encode(clean), strict=True)
    ]
    keys = KeyStatements(phrases[1 : 1 + len(wordings)], compare)
    rest = phrases[1 + len(wordings) :]
    counts = Counter((slot.component, slot.element) for slot in slots)
    background, siblings = _thresholds(keys, slots, phrases[0])
    return ItemIndex(
        item=item,
        keys=keys,
        slots=tuple(slots),
        background=background,
        siblings=siblings,
        wordings=np.array([np.log2(counts[s.component, s.element]) for s in slots], dtype=np.float32),
        misconceptions=KeyStatements(rest[: len(wrong)], compare) if wrong else None,
        misconception_slots=tuple(index for index, _ in wrong),
        find_out=KeyStatements(rest[len(wrong) :], compare) if item.find_out else None,
        prompt=phrases[0],
        prompt_stems=prompt_stems,
        key_terms=frozenset(t for p in keys.phrases for t, weight in p.terms.items() if weight > PROMPT_WEIGHT),
        vocabulary=_vocabulary(item, clean),
        model_statements=frozenset(part.text.casefold() for part in statements(normalise(item.reference_answer))),
        prompt_says_key=sum(not _says_more(p) for p in keys.phrases) > _FEW * len(keys),
    )


def _thresholds(keys: KeyStatements, slots: Sequence[Slot], prompt: Phrase) -> tuple[Floats, Floats]:
    """Recall of each key statement in what is not its idea (other components, prompt) and in its own siblings."""
    recall = keys.align([*keys.phrases, prompt]).recall
    components = np.array([slot.component for slot in slots])
    elements = np.array([slot.element for slot in slots])
    other = np.append(components, "")[None, :] != components[:, None]
    background = np.where(other, recall, -1.0).max(axis=1)
    same = (components[None, :] == components[:, None]) & (elements[None, :] == elements[:, None])
    np.fill_diagonal(same, False)
    counts = same.sum(axis=1)
    siblings = np.where(same, recall[:, :-1], 0.0).sum(axis=1) / np.maximum(counts, 1)
    return background.astype(np.float32), siblings.astype(np.float32)


def _says_more(key: Phrase) -> bool:
    """Whether a key statement has a weighty word of its own (the prompt's words weigh at most a fifth)."""
    return any(weight >= KEY_WORD for weight in key.terms.values())


def _vocabulary(item: Item, texts: Sequence[str]) -> frozenset[str]:
    elements: list[Element] = [e for c in item.components.values() for e in c.elements]
    keywords = [
        alternative
        for element in elements
        if element.keywords
        for group in element.keywords.groups
        for alternative in group.any
    ]
    everything = [*texts, item.reference_answer, *keywords]
    return frozenset(token.text.casefold() for text in everything for token in tokenise(text))
