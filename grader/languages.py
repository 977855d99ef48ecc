"""Words that carry no content of their own, and words that deny, in the languages that items can be written in."""

from __future__ import annotations

from grader import words

_FUNCTION_WORD = 0.05
_GERMAN_FUNCTION_WORDS = frozenset(
    """ab aber alle allem allen aller alles als also am an andere anderem anderen anderer anderes auch auf aus außer bei
    beim bereits bevor bin bis bist da dabei dadurch dafür daher damit danach dann daran darauf daraus darin darüber
    darum das dass davon dazu dein deine deinem deinen deiner dem den denen denn der deren des deshalb dessen desto
    deswegen dich die dies diese diesem diesen dieser dieses dir doch dort du durch ebenso eben ein eine einem einen
    einer eines einige einigen einiger einiges einmal er es etwa etwas euch euer für gegen gerade gibt habe haben hat
    hatte hätte hier hinter ich ihm ihn ihnen ihr ihre ihrem ihren ihrer ihres im in indem ins insbesondere ist ja je
    jede jedem jeden jeder jedes jedoch jetzt kann können könnte konnte lassen lässt man manche mehr mein meine
    meinem meinen meiner mich mir mit muss müssen musste nach nachdem neben noch nun nur ob obwohl oder ohne paar per
    sehr sei sein seine seinem seinen seiner seines seit selbst sich sie sind so sobald sodass sollte sollten sollen
    soll solche solcher sollst somit sondern sonst soweit sowie statt trotz über um und uns unser unsere unter usw
    vom von vor während war waren wäre warum was weil welche welchem welchen welcher welches wenn wer werde werden
    wie wieder will wir wird wo wobei wodurch wofür womit worauf worin wurde wurden würde würden z b zb zu zum zur
    zwar zwischen bzw d h dh ca sowohl beispielsweise beispiel beide beiden dadurch weiter weitere weiteren daß
    muß""".split()
)
_GERMAN_NEGATIONS = frozenset(
    """nicht nie niemals kein keine keinem keinen keiner keines nichts niemand niemandem nirgends weder ohne nein
    keinesfalls keineswegs""".split()
)


def function_words(language: str) -> frozenset[str]:
    """Lower-case words such as "the" or "because"; English ones for languages without a list."""
    return _GERMAN_FUNCTION_WORDS if language == "de" else words.FUNCTION_WORDS


def negations(language: str) -> frozenset[str]:
    """Lower-case words such as "not"; English ones for languages without a list."""
    return _GERMAN_NEGATIONS if language == "de" else words.NEGATIONS


def information(word: str, language: str) -> float:
    """Weight of a word from .05 (function words) to 1; without a frequency table every other word weighs 1."""
    if language != "de":
        return words.information(word)
    return _FUNCTION_WORD if word.casefold() in _GERMAN_FUNCTION_WORDS else 1.0
