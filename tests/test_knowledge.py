"""Knowledge given to functions: the same results as on a view that was taken by hand."""

from __future__ import annotations

from typing import Any

import pytest

import unskew as us
from unskew.data import Recency

REFERENCE, AT = 300, 480
CAMPAIGNS = ("330:350", "430:450")
DATES: dict[str, Any] = {"since": REFERENCE, "until": AT}


@pytest.fixture(scope="module")
def world() -> us.worlds.World:
    return us.simulate(users=300, items=80, seed=2)


@pytest.fixture(scope="module")
def log(world: us.worlds.World) -> us.Log:
    return us.read_log(world.tables["log"].drop_columns(["exposed"]))


@pytest.fixture(scope="module")
def view(log: us.Log) -> us.Log:
    return us.views.take_view(log, campaigns=CAMPAIGNS, **DATES)


KNOWN = us.Knowledge(campaigns=CAMPAIGNS)


def test_the_view_by_hand_is_another_log_than_the_plain_one(log: us.Log, view: us.Log) -> None:
    assert view.view == "outside"
    assert us.evaluate("knn", view.at(AT)).value != us.evaluate("knn", log.at(AT)).value


def test_evaluate_scores_the_view(log: us.Log, view: us.Log) -> None:
    score = us.evaluate("knn", log.at(AT), knowledge=KNOWN)
    by_hand = us.evaluate("knn", us.views.take_view(log, campaigns=CAMPAIGNS, until=AT, candidates=["knn"]).at(AT))
    assert score == by_hand
    assert score.view == "outside"


def test_weights_fitted_with_the_same_knowledge_fit_a_score_with_it(log: us.Log, view: us.Log) -> None:
    weights = us.fit_weights(log.at(AT), log.at(REFERENCE), knowledge=KNOWN)
    by_hand = us.fit_weights(view.at(AT), view.at(REFERENCE))
    assert weights.to_arrow().equals(by_hand.to_arrow())
    score = us.evaluate("knn", log.at(AT), weights=weights, knowledge=KNOWN)
    assert score.value == us.evaluate("knn", view.at(AT), weights=by_hand).value
    with pytest.raises(us.PolicyError, match="view"):
        us.evaluate("knn", log.at(AT), weights=us.fit_weights(log.at(AT), log.at(REFERENCE)), knowledge=KNOWN)


def test_drift_compares_both_dates_in_the_view(log: us.Log, view: us.Log) -> None:
    moved = us.drift(log.at(AT), log.at(REFERENCE), knowledge=KNOWN)
    assert moved.to_dict() == us.drift(view.at(AT), view.at(REFERENCE)).to_dict()
    assert moved.bound < us.drift(log.at(AT), log.at(REFERENCE)).bound


def test_a_saved_reference_of_drift_stays_as_it_is(log: us.Log, view: us.Log) -> None:
    mix = view.at(REFERENCE).marginal()
    assert us.drift(log.at(AT), mix, knowledge=KNOWN).to_dict() == us.drift(view.at(AT), mix).to_dict()


def test_pairs_are_drawn_from_the_view(log: us.Log, view: us.Log) -> None:
    drawn = us.sample_pairs(log.at(AT), sample=200, seed=3, knowledge=KNOWN)
    assert drawn.to_arrow().equals(us.sample_pairs(view.at(AT), sample=200, seed=3).to_arrow())
    assert not drawn.to_arrow().equals(us.sample_pairs(log.at(AT), sample=200, seed=3).to_arrow())


@pytest.mark.parametrize("as_profiles", [False, True])
def test_a_timeline_is_that_of_the_view(log: us.Log, view: us.Log, as_profiles: bool) -> None:
    grid: Any = {"end": AT, "every": 90}
    given: Any = log.at(REFERENCE) if as_profiles else REFERENCE
    series = us.timeline(log, ["popular", "knn"], reference=given, knowledge=KNOWN, **grid)
    assert series.rows.equals(us.timeline(view, ["popular", "knn"], reference=REFERENCE, **grid).rows)
    assert set(series.rows.column("view").to_pylist()) == {"outside"}


@pytest.mark.parametrize("thresholds", [{"max_drift": 0.1, "max_bound": 0.1}, {"max_unexplained": 0.01}])
def test_a_check_is_that_of_the_view(log: us.Log, view: us.Log, thresholds: dict[str, float]) -> None:
    options: Any = {"at": AT, "reference": REFERENCE, "thresholds": thresholds, "refit": 0}
    result = us.check(log, "knn", knowledge=KNOWN, **options)
    assert [one.to_dict() for one in result.thresholds] == [
        one.to_dict() for one in us.check(view, "knn", **options).thresholds
    ]
    assert result.view is not None
    assert result.view["view"] == "outside"


def test_the_excess_is_that_of_the_same_options(log: us.Log) -> None:
    known = us.Knowledge(campaigns=CAMPAIGNS, production="popular")
    by_hand = us.excess(log, "popular", campaigns=CAMPAIGNS, repeats=20)
    assert us.excess(log, knowledge=known, repeats=20).to_dict() == by_hand.to_dict()


def test_exposures_are_knowledge_for_profiles_as_well(world: us.worlds.World, log: us.Log) -> None:
    known = us.Knowledge(exposures=world.exposures)
    organic = us.views.take_view(log, exposures=world.exposures)
    assert (
        us.evaluate("popular", log.at(AT), knowledge=known).value == us.evaluate("popular", organic.at(AT)).value
    )


def test_a_view_may_be_insisted_on_also_without_further_knowledge(world: us.worlds.World) -> None:
    marked = us.read_log(world.tables["log"], exposed="exposed")
    by_hand = us.evaluate("popular", us.views.organic(marked).at(AT)).value
    assert us.evaluate("popular", marked.at(AT), view="organic").value == by_hand
    with pytest.raises(us.PolicyError, match="needs a model of production"):
        us.evaluate("popular", marked.at(AT), view="thinned")


@pytest.mark.parametrize("prior", ["given", "column", "recency"])
def test_profiles_keep_their_priors_in_the_view(world: us.worlds.World, prior: str) -> None:
    table = world.tables["log"].drop_columns(["exposed"])
    table = table.append_column("worth", [[1 + int(user) % 3 for user in table.column("user").to_pylist()]])
    log = us.read_log(table, columns=["worth"])
    shares = {user: 1.0 + user % 2 for user in log.users.values.to_pylist()}
    choices: dict[str, dict[str, Any]] = {
        "given": {"p_user": shares},
        "column": {"p_user": "worth", "p_item": "worth"},
        "recency": {"p_item": Recency(30)},
    }
    priors = choices[prior]
    view = us.views.take_view(log, campaigns=CAMPAIGNS, until=AT)
    moved = us.evaluate("popular", log.at(AT, **priors), knowledge=KNOWN)
    assert moved.value == pytest.approx(us.evaluate("popular", view.at(AT, **priors)).value, rel=1e-12)
    assert moved.value != us.evaluate("popular", view.at(AT)).value


def test_users_with_few_items_stay_excluded_in_the_view(log: us.Log, view: us.Log) -> None:
    least, least_before = (log.at(date).with_min_items(3) for date in (AT, REFERENCE))
    by_hand = us.drift(*(view.at(date).with_min_items(3) for date in (AT, REFERENCE)))
    assert us.drift(least, least_before, knowledge=KNOWN).to_dict() == by_hand.to_dict()


def test_what_is_no_knowledge_or_has_no_view_is_refused(log: us.Log) -> None:
    wrong: Any = {"campaigns": CAMPAIGNS}
    with pytest.raises(us.InputError, match="is not knowledge"):
        us.evaluate("popular", log.at(AT), knowledge=wrong)
    with pytest.raises(us.PolicyError, match="not of a view of it"):
        us.drift(log.at(AT), log.between(REFERENCE, AT), knowledge=KNOWN)
    with pytest.raises(us.PolicyError, match="needs a model of production"):
        us.excess(log, knowledge=KNOWN)
    with pytest.raises(us.PolicyError, match="give knowledge or production, not both"):
        us.excess(log, "popular", knowledge=us.Knowledge(campaigns=CAMPAIGNS, production="knn"))
    with pytest.raises(us.PolicyError, match="exposures is of no use here"):
        us.excess(log, knowledge=us.Knowledge(exposures={}, production="knn"))
