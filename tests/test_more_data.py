"""What more data adds to a score: cut profiles, the score on them by hand, and a world that grows."""

from __future__ import annotations

from statistics import mean
from typing import Any

import numpy as np
import pytest

import unskew as us
from tests.scoring import hit, items_by_user, pair_shares, score_by_hand
from tests.two_dates import BEFORE, NOW, history, log_of
from unskew.data.held_out import SplitRule
from unskew.evaluation import evaluate_report
from unskew.evaluation.changes import CUTS, Part, cut_to_size

RULES = {"leave-one-out": SplitRule(), "time": SplitRule("-2"), "last": SplitRule(leave_last_out=True)}


def next_item(profile: list[Any], k: int) -> list[Any]:
    """The items that follow those of the profile by name."""
    wanted = [f"i{(int(str(i)[1:]) + 1) % 7}" for i in sorted(profile)]
    return list(dict.fromkeys(i for i in wanted if i not in profile))[:k]


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
@pytest.mark.parametrize("seed", range(3))
def test_no_known_profile_is_longer_than_its_counterpart_then_and_what_is_held_out_stays(
    rule: SplitRule, seed: int
) -> None:
    log = log_of(history(seed, 80))
    now, then = rule.split(log.at(NOW)), rule.split_reference(log.at(BEFORE), log.at(NOW))
    cut_log = cut_to_size(now, then, seed=(seed, 0))
    assert cut_log is not None
    cut = rule.split(cut_log.at(NOW))
    whole, held_out = items_by_user(now.known), items_by_user(now.pairs)
    sizes_then = sorted(map(len, items_by_user(then.known).values()), reverse=True)
    profiles = items_by_user(cut.known)
    drawn = sorted(profiles, key=lambda user: -len(whole[user]))
    assert len(profiles) == min(len(whole), len(sizes_then))
    expected = [min(len(whole[user]), size) for user, size in zip(drawn, sizes_then, strict=False)]
    assert sorted(map(len, profiles.values())) == sorted(expected)
    assert all(set(items) <= set(whole[user]) for user, items in profiles.items())
    if rule:
        assert items_by_user(cut.pairs) == {user: held_out[user] for user in held_out if user in profiles}


def test_the_cut_follows_from_its_seed_and_keeps_the_users_of_then_if_both_dates_are_asked_for() -> None:
    log = log_of(history(5, 80))
    now, then = SplitRule().split(log.at(NOW)), SplitRule().split(log.at(BEFORE))
    cuts = [cut_to_size(now, then, seed=(7, k), both=True) for k in (0, 0, 1)]
    same, again, other = (items_by_user(cut.at(NOW)) for cut in cuts if cut is not None)
    assert same == again != other
    users = set(items_by_user(then.known)) & set(items_by_user(now.known))
    assert users <= set(same)


def test_where_there_is_no_more_data_nothing_is_cut() -> None:
    log = log_of(history(5, 80))
    now, then = SplitRule().split(log.at(NOW)), SplitRule().split(log.at(BEFORE))
    assert cut_to_size(then, now, seed=(0, 0)) is None
    assert cut_to_size(now, now, seed=(0, 0)) is None


@pytest.mark.parametrize("policy", [{}, {"users": "both"}, {"min_items": 2}])
def test_more_data_is_what_plain_loops_over_the_cut_profiles_give(policy: dict[str, Any]) -> None:
    log = log_of(history(3, 90))
    now, before = log.at(NOW), log.at(BEFORE)
    least = policy.get("min_items", 1)

    def score(snapshot: us.Snapshot) -> float:
        weights = us.fit_weights(snapshot, before, **policy)
        weight = dict(zip(weights.items.to_pylist(), weights.weights.tolist(), strict=True))
        profiles = {u: p for u, p in items_by_user(snapshot).items() if len(p) >= least}
        if policy.get("users") == "both":
            profiles = {u: p for u, p in profiles.items() if u in items_by_user(before)}
        shares = pair_shares(profiles, lambda i: weight.get(i, 0.0))
        return score_by_hand(profiles, next_item, hit(2), 2, shares)

    splits = SplitRule().split(now), SplitRule().split(before)
    cuts = [cut_to_size(*splits, seed=(4, k), both=policy.get("users") == "both") for k in range(CUTS)]
    reduced = mean(score(cut.at(NOW)) for cut in cuts if cut is not None)
    options: dict[str, Any] = {"at": NOW, "reference": BEFORE, "metric": "hit@2", "refit": 0, "seed": 4, **policy}
    [change] = us.report(log, next_item, **options).changes
    [quick] = us.report(log, next_item, quick=True, **options).changes
    assert change.more_data is not None
    assert change.more_data.value == pytest.approx(score(now) - reduced, abs=1e-9)
    assert change.more_data.low < change.more_data.value < change.more_data.high
    assert quick.more_data is None
    assert quick.unexplained.value == pytest.approx(change.unexplained.value + change.more_data.value, abs=1e-12)
    whole, *parts = (part.value for part in change.parts().values())
    assert sum(parts) == pytest.approx(whole, abs=1e-12)


@pytest.mark.parametrize(
    "protocol",
    [{}, {"after": 7}, {"leave_last_out": True}, {"sample": 90}, {"sample": 90, "users": "both"}, {"folds": 3}],
)
@pytest.mark.parametrize("baseline", [None, "popular"])
@pytest.mark.filterwarnings("ignore:with one held-out item")
def test_the_parts_sum_to_the_change_under_every_protocol(protocol: dict[str, Any], baseline: str | None) -> None:
    log = log_of(history(8, 90))
    options: dict[str, Any] = {"at": NOW, "reference": BEFORE, "baseline": baseline, **protocol}
    for change in us.report(log, ["knn", "constant:i0,i1"], refit=0, **options).changes:
        whole, *parts = (part.value for part in change.parts().values())
        assert sum(parts) == pytest.approx(whole, abs=1e-12)
        assert "more data" in change.parts()
        if change.recommender != "knn" and baseline is None:
            assert change.more_data == Part(0.0, 0.0, 0.0)


def test_lists_learn_nothing_and_cost_no_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evaluate_report, "cut_to_size", lambda *_, **__: pytest.fail("profiles were cut"))
    log = log_of(history(8, 90))
    table = us.Table({"user": ["u1", "u1"], "item": ["i0", "i1"], "rank": [1, 2], "valid_from": [0, 0]})
    models = {"fixed": us.Constant(["i0", "i1"]), "table": table}
    with pytest.warns(us.UnskewWarning, match="no recommendation"):
        changes = us.report(log, models, at=NOW, reference=BEFORE, refit=0).changes
    assert [change.more_data for change in changes] == [Part(0.0, 0.0, 0.0)] * 2
    assert "more data" not in str(changes[0])


@pytest.mark.parametrize("seed", [100, 101, 102])
def test_growth_alone_is_more_data_and_no_finding(seed: int) -> None:
    """Nothing was recommended: what the score gains is what longer profiles and more users teach."""
    log = us.simulate("steady-quiet", users=1000, items=400, seed=seed).log
    [change] = us.report(log, "knn", at=500, reference=300, refit=0).changes
    assert change.more_data is not None
    before = change.more_data.value + change.unexplained.value
    assert before > 0.04
    assert change.more_data.low > 0
    assert abs(change.unexplained.value) < before / 4 or change.unexplained.low < 0 < change.unexplained.high
    assert f"{100 * change.more_data.value:+.2f} from more data" in str(change)
    assert np.isfinite(change.unexplained.low)
