"""What each statement of a response is, before its content is looked at: a claim, or a way to look like one.

The screens work statement by statement, so adding a right statement to anything never hides it, and a list of terms
added to a right answer earns nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Literal

import regex

from grader.index import ItemIndex
from grader.segment import Statement
from grader.text import Token, identifier_parts, stem, tokenise
from grader.words import FUNCTION_WORDS, NEGATIONS, information, readable_share

Role = Literal["claim", "code", "echo", "keyword_list", "gibberish", "dont_know", "find_out"]

#: Responses longer than this many characters are not read at all (the mark stays empty, a person is asked).
HARD_LIMIT = 60_000

_BLANK = regex.compile(
    r"(?:[\W_]*|\W*(?:idk|i\.?d\.?k\.?|n/?a|none|nothing|null|nil|tbd|todo|k\.?\s?a\.?|x+|\?+)\W*)", regex.I
)
_DONT_KNOW = regex.compile(
    r"""\b(?:(?:do|did)(?:\s+not|n'?t)\s+(?:really\s+|actually\s+|quite\s+|honestly\s+)?
        (?:know|remember|recall|understand|have\s+(?:a|any)\s+(?:clue|idea))
    |(?:not|never|nowhere\s+near)\s+(?:really\s+|quite\s+|entirely\s+|at\s+all\s+|totally\s+|completely\s+|very\s+|100\s*%\s*)?
        (?:sure|certain|confident)
    |no\s+(?:idea|clue)|idk|dunno|beats\s+me|haven't\s+(?:learn|stud|read|cover|look|us)\w*
    |can(?:\s*not|'?t)\s+(?:really\s+|properly\s+)?(?:say|tell|remember|recall|explain|answer|give\s+you)
    |i(?:'ve|\s+have)?\s+forg[eo]t(?:ten)?|mix\s+(?:these|those|them|the\s+two)\s+up|never\s+(?:heard|used|came|understood|learn\w*|quite)
    |(?:need|have|want)\s+to\s+(?:check|look\s+(?:it|this|that)\s+up)|not\s+something\s+i|my\s+guess|i\s+(?:can\s+only\s+)?guess|only\s+guess\w*
    |wei(?:ß|ss)\s+(?:ich\s+)?(?:leider\s+)?nicht|keine\s+ahnung|nicht\s+sicher)\b""",
    regex.I | regex.X,
)
_FIND_OUT = regex.compile(
    r"""(?:\b(?:i|we|you|one)(?:\s+(?:would|could|will|can|might|should|'d)|'d|'ll|\s+am\s+going\s+to|\s+usually)\b
        |\b(?:to\s+find\s+out|best\s+way|quick(?:est)?\s+(?:way|test)|let\s+me|i'm\s+going\s+to)\b|^\W*(?:then|so|maybe|and)?\s*(?:would\s+)?(?=just\s+|simply\s+|first\s+)?)
        .{0,60}?\b(?:check|look|try|print|run|test|read|search|open|compare|ask|experiment|google|inspect|measure|find\s+out|see\s+(?:what|how|which|whether|if)|verify|consult|debug|step\s+through|play|grep|skim)\b
    |(?:\b(?:i|we)(?:\s+would|\s+could|'d)|^would)\b.{0,60}?\b(?:documentation|docs?|tutorials?|manual|source|forum|website|textbook|notes)\b
    |\bich\s+(?:würde|könnte)\b.{0,80}\b(?:nachsehen|nachschlagen|testen|ausprobieren|prüfen|nachlesen)\b""",
    regex.I | regex.X,
)
_CONDITIONAL = regex.compile(r"^would\b|\b(?:i|we)(?:\s+(?:would|could|will|might)|'d|'ll)\b|\bto\s+find\s+out\b|\bich\s+würde\b", regex.I)
_RELATION = regex.compile(r"->|=>|<-|!=|==|\s[<>=]=?\s|:(?=\s)|\bvs\b")
_LONG_REMARK = 20
_ENUMERATION = 3
_CLAIM_WORDS = frozenset(
    """is are was were be been being has have had does do did can could may might must will would shall should isn't
    aren't doesn't don't can't won't because so if when while than to by from into instead without until since but
    that which who where not no never each every as before after during then otherwise only once it its this these
    they them their you we your our i my he she gets get makes make uses use lets needs need""".split()
)


def is_blank(text: str) -> bool:
    """Whether a response says nothing: white space, punctuation, ``idk``, ``n/a`` and the like."""
    return _BLANK.fullmatch(text.strip()) is not None


def has_dont_know(text: str) -> bool:
    """Whether the candidate says that they do not know or are guessing."""
    return _DONT_KNOW.search(text) is not None


def role(statement: Statement, index: ItemIndex, *, honest: bool) -> Role:
    """What a statement is.

    Args:
        statement: Part of a response, normalised and spelling corrected.
        index: The item.
        honest: Whether the response says anywhere that the candidate does not know; only then is "I would check …"
            a way to find out and not part of an example.
    """
    if statement.is_code:
        return "code"
    tokens = tokenise(statement.text)
    words = [token.text for token in tokens if token.kind != "number"]
    if _is_gibberish(statement.text, tokens, index.vocabulary):
        return "gibberish"
    if _FIND_OUT.search(statement.text) and (honest or _CONDITIONAL.search(statement.text)):
        return "find_out"
    if _DONT_KNOW.search(statement.text) and len(words) <= _LONG_REMARK:
        return "dont_know"
    if is_echo(words, index):
        return "echo"
    if is_keyword_list(statement.text, tokens, most=8 if _enumerates(index) else 5):
        return "keyword_list"
    return "claim"


def _enumerates(index: ItemIndex) -> bool:
    """Whether the item asks for several things, so that a short list is an answer."""
    return any(len(c.elements) >= _ENUMERATION and (c.n or 2) > 1 for c in index.item.components.values())


def _is_gibberish(text: str, tokens: Sequence[Token], vocabulary: frozenset[str]) -> bool:
    if "=" in text or any(token.is_code for token in tokens):
        return False
    words = [token.text for token in tokens if token.kind == "word"]
    return any(len(word) >= 4 for word in words) and readable_share(words, vocabulary) < 0.4


def is_echo(words: Sequence[str], index: ItemIndex) -> bool:
    """Whether all that the words say stands in the prompt already, but for words that no key statement uses."""
    content = [word for word in words if word.casefold() not in FUNCTION_WORDS and word.casefold() not in NEGATIONS]
    old = [word for word in content if _said_by_prompt(word, index)]
    if not old:
        return not content
    new = {stem(word, index.item.language): information(word) for word in content if word not in old}
    if any(term in index.key_terms and weight >= 0.5 for term, weight in new.items()):
        return False
    return sum(new.values()) < 0.5 * (sum(new.values()) + sum(information(word) for word in old))


def _said_by_prompt(word: str, index: ItemIndex) -> bool:
    language = index.item.language
    if stem(word, language) in index.prompt_stems:
        return True
    parts = [stem(part, language) for part in identifier_parts(word)] or [stem(word, language)]
    return all(_in_prompt(part, index.prompt_stems) for part in parts)


@lru_cache(maxsize=50_000)
def _in_prompt(part: str, prompt: frozenset[str]) -> bool:
    """Same stem, or one begins with the other (grad, gradient)."""
    if part in prompt or part in FUNCTION_WORDS:
        return True
    if f"{part}s" in prompt or part.removesuffix("s") in prompt:
        return True
    return any(min(len(part), len(known)) >= 4 and (part.startswith(known) or known.startswith(part)) for known in prompt)


def is_keyword_list(text: str, tokens: Sequence[Token], *, most: int = 5) -> bool:
    """Whether the words are terms side by side without anything said about them.

    ``most`` short segments between commas make a list, or ten words in a row without a word that could claim anything.
    """
    words = [token.text.casefold() for token in tokens]
    function = sum(word in FUNCTION_WORDS for word in words)
    claims = sum(word in _CLAIM_WORDS for word in words) + 2 * len(_RELATION.findall(text))
    segments = [part for part in regex.split(r"[,;|\n]|\s[-/]\s", text) if part.strip()]
    if len(segments) >= most and len(words) <= 3.5 * len(segments):
        return claims <= 0.12 * len(words)
    return len(words) - function >= 10 and claims <= 0.06 * len(words) and function <= 0.15 * len(words)


_SCRIPTS = {"en": "Latin", "de": "Latin", "fr": "Latin", "es": "Latin", "it": "Latin", "hi": "Devanagari"}


def foreign_language(text: str, language: str) -> bool:
    """Whether ``text`` is in a script or language that an item in ``language`` does not read.

    The script decides alone. A language within the same script is only called foreign when the text has at least
    six words, hardly any of them known, and the language identifier agrees.
    """
    letters = regex.findall(r"\p{L}", text)
    script = _SCRIPTS.get(language, "Latin")
    own = len(regex.findall(rf"\p{{Script={script}}}", text)) if letters else 0
    if letters and own < 0.5 * len(letters):
        return True
    if language != "en":
        return False
    words = [token.text.casefold() for token in tokenise(text) if token.kind == "word"]
    function = sum(word in FUNCTION_WORDS for word in words)
    if len(words) < 6 or function >= 0.15 * len(words):
        return False
    return _identified(text) not in ("en", "")


@lru_cache(maxsize=1)
def _identifier() -> object:
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    identifier = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
    identifier.set_languages(["en", "de", "fr", "es", "it", "nl", "pt", "hi", "tr", "pl"])
    return identifier


def _identified(text: str) -> str:
    name, probability = _identifier().classify(text)  # type: ignore[attr-defined]
    return str(name) if probability >= 0.9 else ""
