"""Word lists behind the made contradictions: antonyms, synonyms, verbs, numbers and units."""

from __future__ import annotations

#: Pairs that cannot both hold; either word may stand for the other. Used for training.
ANTONYMS: tuple[tuple[str, str], ...] = tuple(
    (left, right)
    for left, right in (
        entry.split("/")
        for entry in """
        increase/decrease increases/decreases increased/decreased increasing/decreasing rises/falls rise/fall
        rising/falling rose/fell grows/shrinks grow/shrink growing/shrinking grew/shrank higher/lower high/low
        highest/lowest larger/smaller large/small largest/smallest bigger/smaller big/small more/less greater/smaller
        faster/slower fast/slow quickly/slowly fastest/slowest longer/shorter long/short longest/shortest
        hotter/colder hot/cold warmer/cooler warm/cool heavier/lighter heavy/light thicker/thinner thick/thin
        wider/narrower wide/narrow deeper/shallower deep/shallow stronger/weaker strong/weak harder/softer hard/soft
        harder/easier difficult/easy simple/complex older/younger early/late
        earlier/later before/after front/back upper/lower above/below upward/downward
        upwards/downwards inside/outside inner/outer internal/external inward/outward toward/away
        near/far nearer/farther closer/farther enabled/disabled enables/disables enable/disable on/off
        active/inactive activates/deactivates activated/deactivated open/closed opens/closes opened/closed
        connected/disconnected connects/disconnects connect/disconnect attached/detached attaches/detaches
        complete/incomplete present/absent positive/negative true/false correct/incorrect valid/invalid
        possible/impossible equal/unequal balanced/unbalanced stable/unstable known/unknown visible/invisible
        dependent/independent depends/independent same/different identical/different similar/different
        always/never everything/nothing everyone/nobody all/none many/few most/least more/fewer maximum/minimum
        maximises/minimises maximise/minimise maximal/minimal adds/removes add/remove added/removed adding/removing
        inserts/deletes insert/delete inserted/deleted gains/loses gain/lose gained/lost wins/loses accepts/rejects
        accept/reject accepted/rejected allows/prevents allow/prevent allowed/forbidden permits/forbids
        starts/stops start/stop started/stopped begins/ends begin/end creates/destroys create/destroy
        keeps/discards keep/discard kept/discarded saves/wastes save/waste stores/discards reads/writes read/write
        reading/writing sends/receives send/receive sent/received sender/receiver input/output inputs/outputs
        source/target client/server parent/child encrypts/decrypts encrypt/decrypt compresses/expands
        attracts/repels attract/repel attracted/repelled expands/contracts expand/contract expanded/contracted
        melts/freezes melt/freeze evaporates/condenses evaporate/condense dissolves/precipitates absorbs/releases
        absorb/release absorbed/released absorbs/emits absorb/emit heats/cools heat/cool solid/liquid acid/base
        acidic/alkaline soluble/insoluble conductor/insulator conducts/insulates series/parallel
        mutable/immutable static/dynamic local/global public/private sorted/unsorted ascending/descending
        synchronous/asynchronous sequential/parallel ordered/unordered signed/unsigned finite/infinite
        training/testing training/inference train/eval overfits/underfits overfitting/underfitting
        biased/unbiased bias/variance precision/recall supervised/unsupervised labelled/unlabelled
        linear/nonlinear discrete/continuous convex/concave rows/columns row/column numerator/denominator
        forward/backward push/pop pushes/pops top/bottom empty/full host/guest predator/prey
        arteries/veins oxygenated/deoxygenated male/female dominant/recessive living/dead alive/dead
        success/failure succeeds/fails succeed/fail pass/fail passes/fails useful/useless safe/unsafe safe/dangerous
        rough/smooth wet/dry bright/dark brighter/darker loud/quiet sharp/blunt strict/loose common/rare
        frequently/rarely often/seldom constant/variable permanent/temporary fixed/random deterministic/random
        """.split()
    )
)
#: Comparatives with their opposites.
COMPARATIVES: dict[str, str] = {
    word: other
    for entry in """
        higher/lower larger/smaller bigger/smaller greater/smaller faster/slower longer/shorter hotter/colder
        warmer/cooler heavier/lighter thicker/thinner wider/narrower deeper/shallower stronger/weaker harder/softer
        older/younger earlier/later
        """.split()
    for left, right in [entry.split("/")]
    for word, other in ((left, right), (right, left))
}
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
