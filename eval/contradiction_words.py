"""Word lists behind the made contradictions: antonyms, synonyms, verbs, numbers and units."""

from __future__ import annotations

#: Antonyms that training never sees.
HELD_OUT_ANTONYMS: tuple[tuple[str, str], ...] = tuple(
    (left, right)
    for left, right in (
        entry.split("/")
        for entry in """
        accelerates/decelerates accelerate/decelerate improves/worsens improve/worsen improved/worsened better/worse
        best/worst gradual/sudden gradually/abruptly shared/separate share/separate flexible/rigid lazy/eager
        lazily/eagerly dense/sparse ancestor/descendant attack/defend import/export north/south east/west
        concentrated/dilute saturated/unsaturated buys/sells cheap/expensive cheaper/costlier profit/loss
        supply/demand asset/liability reversible/irreversible voluntary/involuntary lossless/lossy
        ionised/neutral exothermic/endothermic homogeneous/heterogeneous together/apart tight/loose
        locked/unlocked lock/unlock blocks/unblocks blocking/nonblocking
        mandatory/optional required/optional explicit/implicit explicitly/implicitly
        """.split()
    )
)
#: Of the antonyms those where *not* the one is the other.
COMPLEMENTS: tuple[tuple[str, str], ...] = tuple(
    (left, right)
    for left, right in (
        entry.split("/")
        for entry in """
        enabled/disabled on/off active/inactive open/closed connected/disconnected attached/detached
        complete/incomplete present/absent true/false correct/incorrect valid/invalid possible/impossible
        equal/unequal balanced/unbalanced stable/unstable known/unknown visible/invisible same/different
        dependent/independent accepted/rejected mutable/immutable sorted/unsorted finite/infinite
        synchronous/asynchronous ordered/unordered biased/unbiased linear/nonlinear allowed/forbidden safe/unsafe
        """.split()
    )
)
SYNONYMS: tuple[tuple[str, str], ...] = tuple(
    (left, right)
    for left, right in (
        entry.split("/")
        for entry in """
        big/large begin/start begins/starts ends/stops fast/quick faster/quicker quickly/rapidly shows/demonstrates
        makes/produces gets/receives needs/requires need/require needed/required uses/employs use/employ
        keeps/retains keep/retain stores/saves store/save changes/alters change/alter changed/altered
        removes/deletes remove/delete creates/builds create/build allows/permits allow/permit prevents/stops
        returns/yields wrong/incorrect right/correct often/frequently
        rarely/seldom also/additionally because/since larger/bigger smaller/tinier
        increases/grows increase/grow decreases/shrinks decrease/shrink hard/difficult simple/easy
        happens/occurs happen/occur explains/describes computes/calculates compute/calculate copies/duplicates
        copy/duplicate combines/merges combine/merge separates/splits separate/split method/technique
        methods/techniques result/outcome results/outcomes part/portion amount/quantity whole/entire
        identical/same equal/same depends/relies moves/travels move/travel helps/assists
        """.split()
    )
)
#: Verbs in their base form; third person and participle are formed by rule.
VERBS: frozenset[str] = frozenset(
    """share copy store hold keep return need require use make take give get contain include change update modify
    create delete remove add insert send receive read write call run execute compute calculate measure increase
    decrease raise lower reduce improve affect influence cause produce release absorb emit reflect conduct carry
    move flow push pull attract repel expand contract melt freeze evaporate dissolve burn grow eat live die protect
    allow prevent block stop start begin end open close connect separate mix combine split convert transform turn
    depend rely work help show tell explain describe compare match sort search find lose gain save waste spend
    learn train test evaluate predict fit converge generalise normalise scale record track save load skip accumulate
    average sum multiply divide subtract estimate assume reject accept follow lead control guarantee ensure support
    replace overwrite reset initialise allocate free point refer inherit override implement raise throw catch handle
    listen wait lock synchronise broadcast forward route encrypt decrypt hash index buffer cache transport digest
    pump filter transmit vibrate rotate orbit happen occur matter apply exist remain stay become break
    travel boil pass reach fall rise form join measure act
    repeat refuse enter leave cross light heat cool weigh spin""".split()
)
NUMBER_WORDS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
#: Units of which one is mistaken for another; held out of training.
UNITS: tuple[tuple[str, str], ...] = (
    ("milliseconds", "seconds"), ("seconds", "hours"), ("minutes", "seconds"), ("metres", "centimetres"),
    ("kilometres", "metres"), ("bits", "bytes"), ("kilobytes", "megabytes"), ("MB", "GB"),
    ("grams", "kilograms"), ("volts", "amperes"), ("watts", "joules"), ("percent", "per mille"),
)  # fmt: skip


def third_person(verb: str) -> str:
    """Third person singular of a regular verb.

    >>> [third_person(v) for v in ("copy", "push", "share", "stay")]
    ['copies', 'pushes', 'shares', 'stays']
    """
    if verb.endswith("y") and verb[-2] not in "aeiou":
        return verb[:-1] + "ies"
    return verb + ("es" if verb.endswith(("s", "sh", "ch", "x", "z", "o")) else "s")


BASE_OF: dict[str, str] = {third_person(verb): verb for verb in sorted(VERBS)}
