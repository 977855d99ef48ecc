"""What each statement of a response is, before its content is looked at: a claim, or a way to look like one.

The screens work statement by statement, so adding a right statement to anything never hides it, and a list of terms
added to a right answer earns nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Literal

import regex

from grader.evidence.keywords import Words
from grader.evidence.similarity import KeyStatements
from grader.fluency import longest_run, out_of_order
from grader.index import ItemIndex
from grader.segment import Statement, looks_like_code, statements
from grader.term_lists import asks_for_several, is_german_term_list
from grader.text import Token, identifier_parts, normalise, stem, stems, tokenise
from grader.words import FUNCTION_WORDS, NEGATIONS, information, readable_share

Role = Literal["claim", "code", "echo", "keyword_list", "gibberish", "dont_know", "find_out"]

#: Responses longer than this many characters are not read at all (the mark stays empty, a person is asked).
HARD_LIMIT = 60_000

_BLANK = regex.compile(
    r"(?:[\W_]*+|\W*+(?:idk|i\.?d\.?k\.?|n/?a|none|nothing|null|nil|tbd|todo|k\.?\s?a\.?|x+)\W*+)", regex.I
)
_DONT_KNOW = regex.compile(
    r"""(?:^|[.!?,;:(\n]\s*|\s-\s+|\b(?:but|so|well|sorry|honestly|frankly|ok|okay|hm+|u[hm]+)\s+
        |\b(?:i|we)(?:'m|'ve|'d)?\s+(?:(?:am|was|have|had|would|really|actually|just|still|also|honestly|\w+ly)\s+){0,3})
      (?:(?:do|did|would)(?:\s+not|n'?t)\s+(?:\w+ly\s+|quite\s+|even\s+)*
        (?:know|remember|recall|understand|have\s+an?y?\s+(?:clue|idea))
      |(?:not|never|nowhere\s+near)\s+(?:\w+ly\s+|quite\s+|at\s+all\s+|very\s+|so\s+|too\s+|100\s*%\s*)?
        (?:sure|certain|confident)
      |(?:not\s+(?:a\s+|the\s+)?|no\s+|have\s+no\s+)(?:real\s+|earthly\s+|faint\w+\s+)?(?:idea|clue)
      |(?:(?:have|did)\s+not|haven'?t|didn'?t)\s+(?:yet\s+|really\s+|ever\s+)?(?:learn|stud|read|cover|look)\w*
      |can(?:\s*not|'?t)\s+(?:really\s+|properly\s+|even\s+)?(?:say|tell|remember|recall|explain|answer|give\s+you)
      |(?:\w+\s+){0,3}mix\s+(?:these|those|them|the\s+two)\s+up
      |never\s+(?:heard|came|understood|learn\w*|quite\s+(?:understood|got|learn\w*))|(?:can\s+)?(?:only\s+)?guess
      |(?:need|have|want)\s+to\s+(?:check|look\s+(?:it|this|that)\s+up))
    |\b(?:i(?:'ve|\s+have)?\s+(?:(?:never|not)\s+used|forgot(?:ten)?)|i\s+forget|i'?\s?d\s?k|dunno|beats\s+me|not\s+something\s+i|my\s+guess
      |wei(?:ß|ss)\s+(?:ich\s+)?(?:leider\s+)?nicht|keine\s+ahnung|nicht\s+sicher)\b""",
    regex.I | regex.X,
)
_FIND_OUT = regex.compile(
    r"""(?:\b(?:i|we|you|one)(?:\s+(?:would|could|will|can|might|should|'d)|'d|'ll|\s+am\s+going\s+to|\s+usually)\b
        |\b(?:to\s+find\s+out|best\s+way|quick(?:est)?\s+(?:way|test)|let\s+me|i'm\s+going\s+to)\b
        |^(?!\W*(?:if|when|because|since|as|otherwise|after|before|without|with|the|it|a|an)\b))
        .{0,60}?\b(?:check|look|try|print|run|test|read|search|open|compare|ask|experiment|google|inspect|measure|play
        |find\s+out|see\s+(?:what|how|which|whether|if)|verify|consult|debug|step\s+through|grep|skim)\b
    |(?:\b(?:i|we)(?:\s+would|\s+could|'d)|^would)\b
        .{0,60}?\b(?:documentation|docs?|tutorials?|manual|source|forum|website|textbook|notes)\b
    |\bich\s+(?:würde|könnte)\b.{0,80}\b(?:nachsehen|nachschlagen|testen|ausprobieren|prüfen|nachlesen)\b""",
    regex.I | regex.X,
)
_CONDITIONAL = regex.compile(
    r"^would\b|\bi(?:\s+(?:would|could|will|might)|'d|'ll)\b|^to\s+find\s+out\b|\bich\s+(?:würde|könnte)\b", regex.I
)
_RELATION = regex.compile(r"->|=>|<-|!=|==|\s[<>=]=?\s|:(?=\s)|\bvs\b")
_SEPARATOR = regex.compile(r"[,;|\n]|\s[-/]\s")
#: Function words that neither deny nor join the terms of a list.
_PLAIN = FUNCTION_WORDS - NEGATIONS - {"and", "or"}
_JOINT = regex.compile(r"[,;|\n/]|\s-\s|\s=\s|[.!?](?=\s|$)|\b(?:and|or)\b", regex.I)
_SIGN = regex.compile(r"[=+*/<>|:]")
_ARGUMENTS = regex.compile(r"[(\[{]([^()\[\]{}]*)[)\]}]")
_BARE_NAME = regex.compile(r"\W*[\p{L}_][\p{L}\p{N}_]*\W*")
_SEVERAL_NAMES = regex.compile(r"(?:[\p{L}_]\w*[./]){5,}")
#: So many terms in a row make a list.
_TERMS = 5
_TERMS_OF_A_LIST = 8
#: So many words in a row without a small word or a mark between them are no sentence.
_LONG_RUN = 7
#: A German statement of no more words may be one term of a list.
_BARE_WORDS = 2
#: So often the same small word, and hardly any other, is no sentence either.
_SAME_JOINT = 4
_NO_OTHER = 0.75
#: Notes full of commas and signs have an order of their own.
_WORDS_A_MARK = 6
_LONG_REMARK = 20
#: Share of letters in known words below which a statement may be a sentence in another language.
_READABLE = 0.7
#: Share of a listed way to find out that a remark must contain to be that way.
_SAME_WAY = 0.6
#: Share of runs of three words that stand in the prompt from which a statement of so many words is copied from it.
_COPIED = 0.8
_ENOUGH_TO_COPY = 6
#: Share of the prompt that a repetition of it must contain if the prompt names the answer too.
_WHOLE_PROMPT = 0.8
_ENUMERATION = 3
#: Below two to the power of this many wordings, a key word may well be missing from the rubric.
_MANY_WORDINGS = 2.0
#: Information from which on a new word that the rubric uses too is more than a filler.
_SAYS_SOMETHING = 0.3
#: Share of the last question's weight that what repeats it contains.
_SAME_QUESTION = 0.4
_CLAIM_WORDS = frozenset(
    """is are was were be been being has have had does do did can could may might must will would shall should isn't
    aren't doesn't don't can't won't because so if when while than to by from into instead without until since
    but that which who where not no never each every as before after during then otherwise only once it its this
    these they them their you we your our i my he she gets get makes make uses use lets needs need""".split()
)
_VERBS = frozenset(
    """is are was were be been being has have had does do did can could may might must will would shall should isn't
    aren't doesn't don't can't won't because so if when while since but that which who where as then otherwise until
    he she gets get makes make uses use lets needs need""".split()
)


def is_blank(text: str) -> bool:
    """Whether a response says nothing: white space, punctuation, ``idk``, ``n/a`` and the like."""
    return _BLANK.fullmatch(text.strip()) is not None


def has_dont_know(text: str) -> bool:
    """Whether the candidate says that they do not know or are guessing."""
    return _DONT_KNOW.search(text) is not None


def roles(parts: Sequence[Statement], index: ItemIndex, *, honest: bool) -> list[Role]:
    """What each statement of a response is; many bare terms, each in a line of its own, are a list too."""
    found = [role(part, index, honest=honest) for part in parts]
    if index.item.language == "de":
        return _german_roles(parts, found, index)
    bare = [
        at
        for at, part in enumerate(parts)
        if _is_bare(part, found[at]) and not _says_one_of(_terms(part.text, index), index.keys)
    ]
    listed = sum(len(_with_words(_SEPARATOR.split(parts[at].text))) for at in bare)
    if index.item.language == "en" and listed >= _most(index):
        for at in bare:
            found[at] = "keyword_list"
    return found


def _german_roles(parts: Sequence[Statement], found: list[Role], index: ItemIndex) -> list[Role]:
    """The roles, with terms that stand one by one, in lines or as sentences, known as the list they are together."""
    short = [at for at, part in enumerate(parts) if found[at] == "claim" and len(part.text.split()) <= _BARE_WORDS]
    short = [at for at in short if not _says_one_of(_terms(parts[at].text, index), index.keys)]
    if _is_german_list("\n".join(parts[at].text for at in short), index):
        for at in short:
            found[at] = "keyword_list"
    return found


def _is_german_list(text: str, index: ItemIndex) -> bool:
    wordings = (p.text for p in index.keys.phrases)
    several = _enumerates(index) or asks_for_several(index.item.prompt)
    return not several and is_german_term_list(text, index.key_terms, wordings)


def _is_bare(part: Statement, role: Role) -> bool:
    """Whether a statement, or everything between its commas or lines, is a term without a claim."""
    if role not in ("claim", "code", "gibberish") or regex.search(r"=\s*\S|\w\([^)]", part.text):
        return False
    return all(is_term(segment) for segment in _SEPARATOR.split(part.text))


def _terms(text: str, index: ItemIndex) -> frozenset[str]:
    return frozenset(stems(text, index.item.language))


def _most(index: ItemIndex) -> int:
    return _TERMS_OF_A_LIST if _enumerates(index) else _TERMS


def role(statement: Statement, index: ItemIndex, *, honest: bool) -> Role:
    """What a statement is.

    Args:
        statement: Part of a response, normalised and spelling corrected.
        index: The item.
        honest: Whether the response says anywhere that the candidate does not know; only then is "I would check …"
            a way to find out and not part of an example.
    """
    text = statement.text
    tokens = tokenise(text)
    if statement.is_code and looks_like_code(text):
        return "keyword_list" if _lists_names(text, _most(index)) else "code"
    terms = _terms(text, index)
    if _is_copied(tokens, index):
        return "echo"
    if terms <= index.prompt.terms.keys() and _share(index.prompt.terms, terms) >= _WHOLE_PROMPT:
        return "echo"
    words = [token.text for token in tokens if token.kind == "word"]
    known = not words or readable_share(words, index.vocabulary) >= _READABLE
    english = index.item.language == "en"
    if english and known and _is_scattered(text):
        return "keyword_list"
    if _says_one_of(terms, index.keys) or _says_one_of(terms, index.misconceptions):
        return "claim"
    if english and _is_gibberish(text, tokens, index.vocabulary):
        return "gibberish"
    if _is_way_to_find_out(text, terms, index, honest):
        return "find_out"
    if _DONT_KNOW.search(text) and len(tokens) <= _LONG_REMARK:
        return "dont_know"
    if is_echo(text, index):
        return "echo"
    if not english:  # what follows tells a list by English verbs
        return "keyword_list" if index.item.language == "de" and _is_german_list(text, index) else "claim"
    most = _most(index)
    listed = known and (is_keyword_list(text, tokens, most=most) or _is_no_sentence(text, most))
    return "keyword_list" if listed or _lists_names(text, most) else "claim"


def _is_copied(tokens: Sequence[Token], index: ItemIndex) -> bool:
    """Whether hardly any three words in a row are not the prompt's."""
    words = [token.text.casefold() for token in tokens]
    runs = {tuple(words[at : at + 3]) for at in range(len(words) - 2)}
    return len(words) >= _ENOUGH_TO_COPY and len(runs & _prompt_runs(index.item.prompt)) >= _COPIED * len(runs)


@lru_cache(maxsize=512)
def _prompt_runs(prompt: str) -> frozenset[tuple[str, ...]]:
    words = [token.text.casefold() for token in tokenise(normalise(prompt).text)]
    return frozenset(tuple(words[at : at + 3]) for at in range(len(words) - 2))


def _says_one_of(terms: frozenset[str], wordings: KeyStatements | None) -> bool:
    """Whether a wording's words are all there and make up at least half of what is said: never a screen's business."""
    return wordings is not None and wordings.within(terms)


def _is_way_to_find_out(text: str, terms: frozenset[str], index: ItemIndex, honest: bool) -> bool:
    if not (honest or _CONDITIONAL.search(text)):
        return False
    if _FIND_OUT.search(text):
        return True
    ways = index.find_out.phrases if index.find_out else ()
    return any(_share(p.terms, terms) >= _SAME_WAY for p in ways)


def _share(wanted: Mapping[str, float], terms: frozenset[str]) -> float:
    """Share of the weight of ``wanted`` that ``terms`` contain, 0 to 1."""
    return sum(weight for term, weight in wanted.items() if term in terms) / max(sum(wanted.values()), 1e-9)


def _enumerates(index: ItemIndex) -> bool:
    """Whether the item asks for several things, so that a short list is an answer."""
    return any(len(c.elements) >= _ENUMERATION and (c.n or 2) > 1 for c in index.item.components.values())


def _is_gibberish(text: str, tokens: Sequence[Token], vocabulary: frozenset[str]) -> bool:
    if "=" in text or any(token.is_code for token in tokens):
        return False
    words = [token.text for token in tokens if token.kind == "word"]
    return any(len(word) >= 4 for word in words) and readable_share(words, vocabulary) < 0.4


def is_echo(text: str, index: ItemIndex) -> bool:
    """Whether ``text`` only repeats the prompt: at most two of its words are new, and none of them is a key word.

    Where key statements themselves are made of the prompt's words, as in "which of the two is heavier?", a right
    answer looks like a repetition, so nothing is called one. Where an element has few wordings, so that words of a
    right answer may well be missing from the rubric, only what repeats much of the question and adds no word is one.
    """
    tokens = tokenise(text)
    words = [token.text for token in tokens if token.kind != "number"]
    content = [word for word in words if word.casefold() not in FUNCTION_WORDS and word.casefold() not in NEGATIONS]
    old = [word for word in content if _said_by_prompt(word, index)]
    if index.prompt_says_key or not old:
        return not index.prompt_says_key and not content and len(words) == len(tokens)
    new = {stem(word, index.item.language): information(word) for word in content if word not in old}
    if index.item.is_model_answer or index.wordings.max() < _MANY_WORDINGS:
        return not new and not _denies(words, index) and _asks_the_same(content, index)
    if len(new) > 2 or sum(new.values()) >= 0.67 * sum(information(word) for word in old):
        return False
    numbers = [token.text for token in tokens if token.kind == "number"]
    rated = [term for term, weight in new.items() if weight >= _SAYS_SOMETHING] + numbers
    if _denies(words, index) or any(_is_rated(term, index) for term in rated):
        return False
    return not _meets_keywords(text, index)


def _denies(words: Sequence[str], index: ItemIndex) -> bool:
    """Whether there is a negation that the prompt has not."""
    return any(
        word.casefold() in NEGATIONS and stem(word, index.item.language) not in index.prompt_stems for word in words
    )


def _asks_the_same(content: Sequence[str], index: ItemIndex) -> bool:
    """Whether the words make up much of the prompt's last question."""
    asked = _question_words(index.item.prompt, index.item.language)
    said = {stem(word, index.item.language) for word in content}
    return sum(weight for term, weight in asked if term in said) >= _SAME_QUESTION * sum(weight for _, weight in asked)


@lru_cache(maxsize=512)
def _question_words(prompt: str, language: str) -> tuple[tuple[str, float], ...]:
    """Stems of the content words of the last question of a prompt (of its last sentence if it asks nothing)."""
    parts = [part.text for part in statements(normalise(prompt))]
    last = next((text for text in reversed(parts) if "?" in text), parts[-1] if parts else "")
    words = [token.text for token in tokenise(last) if token.text.casefold() not in FUNCTION_WORDS]
    return tuple({stem(word, language): information(word) for word in words}.items())


def _is_rated(term: str, index: ItemIndex) -> bool:
    """Whether a word that the prompt does not say occurs in a key statement or misconception."""
    false = index.misconceptions.phrases if index.misconceptions else ()
    return term in index.key_terms or (term not in index.prompt_stems and any(term in p.terms for p in false))


def _meets_keywords(text: str, index: ItemIndex) -> bool:
    """Whether ``text`` contains a keyword that the prompt does not say already."""
    words = Words(text, index.item.language)
    elements = (element for component in index.item.components.values() for element in component.elements)
    spans = (span for e in elements if e.keywords for group in e.keywords.groups for span in words.find(group))
    return any(not _said_by_prompt(token.text, index) for a, b in spans for token in tokenise(text[a:b]))


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
    return any(
        min(len(part), len(known)) >= 4 and (part.startswith(known) or known.startswith(part)) for known in prompt
    )


def is_keyword_list(text: str, tokens: Sequence[Token], *, most: int = _TERMS) -> bool:
    """Whether the words are terms side by side without anything said about them.

    ``most`` short segments between commas make a list, or a run of ten words without one that could claim anything
    (twice ``most`` words if commas set them apart).
    """
    words = [token.text.casefold() for token in tokens if token.kind != "number"]
    function = sum(word in FUNCTION_WORDS for word in words)
    claims = sum(word in _CLAIM_WORDS for word in words) + 2 * len(_RELATION.findall(text))
    segments = _with_words(_SEPARATOR.split(text))
    if len(segments) >= most and len(words) <= 3.5 * len(segments) and claims <= 0.12 * len(words):
        return True
    longest = 2 * most if len(segments) >= _TERMS else 2 * _TERMS
    if len(words) - function >= longest and claims <= 0.06 * len(words) and function <= 0.15 * len(words):
        return True
    segments = _with_words(_JOINT.split(text))
    plain = sum(word in _PLAIN for word in words)
    bare = sum(is_term(segment) for segment in segments)
    return len(segments) >= most and bare >= 0.85 * len(segments) and plain <= 0.2 * len(words)


def _lists_names(text: str, most: int) -> bool:
    """Whether terms are dressed as code: ``most`` bare names between two brackets, or a dotted chain of six."""
    if _SEVERAL_NAMES.search(text):
        return True
    arguments = (regex.split(r"[,;]", inside) for inside in _ARGUMENTS.findall(text.replace("()", "")))
    return any(sum(_BARE_NAME.fullmatch(name) is not None for name in names) >= most for names in arguments)


def _is_no_sentence(text: str, most: int) -> bool:
    """Whether English words stand side by side with nothing that could join them.

    Words said twice are left alone, as in "short string high pitch, long string low pitch".
    """
    words = [token.text.casefold() for token in tokenise(text) if token.kind != "number"]
    joints = [word for word in words if word in FUNCTION_WORDS or word in NEGATIONS or word in _CLAIM_WORDS]
    content = [word for word in words if word not in joints]
    if len(content) > most and len(set(content)) == len(content) and not _RELATION.search(text):
        same = max(map(joints.count, joints), default=0)
        if not joints or (same >= _SAME_JOINT and same >= _NO_OTHER * len(joints)):
            return True
    return longest_run(text) >= _LONG_RUN


def _is_scattered(text: str) -> bool:
    """Whether English words, with few commas and signs among them, are in no order."""
    marks = len(_SEPARATOR.findall(text)) + len(_SIGN.findall(text))
    return _WORDS_A_MARK * marks <= len(tokenise(text)) and out_of_order(text)


def is_term(text: str) -> bool:
    """Whether ``text`` is at most three words that claim nothing: no verb, no sign of a relation."""
    words = [token.text.casefold() for token in tokenise(text)]
    return len(words) <= 3 and not any(word in _VERBS for word in words) and not _RELATION.search(text)


def _with_words(segments: Sequence[str]) -> list[str]:
    return [segment for segment in segments if any(token.kind != "number" for token in tokenise(segment))]


#: Share of letters in English words above which a text is not foreign.
_MOSTLY_ENGLISH = 0.8
#: Share of letters in a script that no scorer reads from which a text goes to a person: the rest would be marked alone.
_FOREIGN_SCRIPT = 0.2
#: Languages in a script that no scorer reads, whatever their items say.
_UNREAD = frozenset({"hi"})
_LETTERS = regex.compile(r"\p{L}")
_READ_LETTERS = regex.compile(r"[\p{Script=Latin}\p{Script=Greek}\p{Script=Common}]")


def foreign_language(text: str, language: str) -> bool:
    """Whether ``text`` is in a script or language that an item in ``language`` does not read.

    The script decides alone, and a text that is only in part in another one is foreign too, because the rest would be
    marked without it. A language within the same script is only called foreign when the text has at least six words,
    hardly any of them known, and the language identifier agrees. There is no scorer for Hindi: an item in it is never
    marked by guess, in whatever language it is answered.
    """
    if language in _UNREAD:
        return True
    letters = [] if text.isascii() else _LETTERS.findall(text)
    unread = sum(_READ_LETTERS.match(letter) is None for letter in letters)
    if letters and unread > _FOREIGN_SCRIPT * len(letters):
        return True
    if language != "en":
        return False
    words = [token.text.casefold() for token in tokenise(text) if token.kind == "word"]
    function = sum(word in FUNCTION_WORDS for word in words)
    if len(words) < 6 or function >= 0.15 * len(words) or readable_share(words, frozenset()) > _MOSTLY_ENGLISH:
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
