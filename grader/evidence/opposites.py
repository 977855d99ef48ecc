"""Pairs of words that cannot both hold, for checks that explain and for made contradictions."""

from __future__ import annotations

#: Pairs that cannot both hold; either word may stand for the other.
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


def _opposites() -> dict[str, frozenset[str]]:
    found: dict[str, set[str]] = {}
    for left, right in ANTONYMS:
        found.setdefault(left, set()).add(right)
        found.setdefault(right, set()).add(left)
    return {word: frozenset(others) for word, others in found.items()}


#: Each word with its opposites.
OPPOSITES: dict[str, frozenset[str]] = _opposites()
