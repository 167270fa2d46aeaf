"""The text of the page around its figures, made from what was found."""

from __future__ import annotations

from collections.abc import Sequence

from unskew.reproduction.beyond_tables import LISTS, RACE
from unskew.reproduction.claims import FEW, Changes
from unskew.reproduction.phrases import format_change, format_percent
from unskew.reproduction.study import FIRST, LAST
from unskew.text import enumerate_words, thousands
from unskew.worlds.named_worlds import PAPER
from unskew.worlds.world import World


def write_lead(changes: Changes) -> str:
    """What happened to the score of g1, and where it comes from."""
    own, before = changes.found["g1"], changes.before["g1"]
    raw, left = before * own["raw"], before * own["all"]
    return (
        f"An algorithm that never changes, g1, always recommends the same five items. From day {FIRST} to day "
        f"{LAST} its offline score went from {format_percent(before, 2)} to {format_percent(before + raw, 2)}, "
        f"{format_change(own['raw'], 0)}: {_format_points(raw - left)} points come from the item mix that two "
        f"campaigns changed, {_format_points(left)} are unexplained by it."
    )


def write_about(world: World, changes: Sequence[Changes]) -> list[str]:
    """What was chosen, what follows, and how it was measured."""
    return [_describe_choices(world), _describe_findings(changes), _describe_measurement()]


def _format_points(change: float) -> str:
    """A change of a score in points."""
    return format_change(change, 2).removesuffix(" %")


def _describe_choices(world: World) -> str:
    recipe = world.recipe
    like = "of their size " if (recipe.users, recipe.items) == (PAPER.users, PAPER.items) else ""
    size = f"{thousands(recipe.users)} users, {thousands(recipe.items)} items, {len(recipe.campaigns)} campaigns"
    excluded = enumerate_words([f"one in {c.excluded}" for c in recipe.campaigns if c.excluded])
    spaced = (
        f"The campaigns skip {excluded} of the popular items, so that there is a g2; these were spaced so "
        f"widely because with more of them, in some worlds, one of g2's items is among the {FEW} that moved most, "
        f"and p = {FEW} repairs a good part of g2. "
    )
    share, more = (format_percent(race.campaign.acceptance, 0) for race in (LISTS, RACE))
    return (
        "The paper's data, the skills of a professional network, are not public. This is a simulated network "
        f"{like}({size}); all its parameters are in world/world.json. Some of these were chosen so that, with the "
        "default sizes, the raw scores move by about as much as in the paper: how much of a list people take, how "
        "much they like what is outside their topics, and how much they take by themselves. "
        f"{spaced if excluded else ''}In the closed loops of figures 9 and 10 people take {share} and {more} of a "
        f"list, so that {LISTS.rounds} rounds are enough to see where they lead."
    )


def _describe_findings(changes: Sequence[Changes]) -> str:
    """The other claims, as numbers: true of these worlds whatever they are."""
    worlds = "In this world" if len(changes) == 1 else f"In these {len(changes)} worlds"
    parts = []
    keys = [key for key in changes[0].found["g2"] if key.isdigit()]
    if str(FEW) in keys:
        g1 = max(abs(one.remaining("g1", str(FEW))) for one in changes)
        g2 = min(one.remaining("g2", key) for one in changes for key in keys if int(key) <= FEW)
        most = max(keys, key=int)
        late = max(abs(one.remaining("g2", most)) for one in changes)
        parts = [
            f"the weights of the {FEW} items that moved most leave at most {format_percent(g1, 0)} of g1's change",
            f"with p ≤ {FEW}, at least {format_percent(g2, 0)} of g2's change is left (with the spacing above)",
            f"with p = {most}, at most {format_percent(late, 0)} of it",
        ]
    worst = max(abs(one.found[name]["all"]) for one in changes for name in one.found)
    parts.append(
        f"with the weights of all items, no score differs from that of day {FIRST} by more than "
        f"{format_percent(worst, 2)} of it"
    )
    return (
        f"What follows was not chosen. {worlds}: {'; '.join(parts)}. What becomes of algorithms that are not "
        "constant (figure 8), and of the closed loops once people accept enough (figures 9 and 10), is seen "
        "there."
    )


def _describe_measurement() -> str:
    return (
        "The claims use every pair of the last day and, for p weights, the paper's gradient descent. The curves "
        "use L-BFGS, each day from the weights of the day before; both stop at a tolerance, so that the two may "
        "differ by some tenths of a percent. Seconds in figure 7 are measured on the machine that made this page; "
        "everything else is the same wherever it is made."
    )
