"""What popularity, neighbours and EASE have in common: they can take a held-out pair out of what they learned."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.recommending import all_pairs, batch_of, snapshot_of, with_threads
from unskew.errors import PolicyError, UnskewError
from unskew.recommend.contract import RanksHeldOut, Recommender
from unskew.recommend.ease import EASE
from unskew.recommend.knn import ItemKNN
from unskew.recommend.popular import Popular

KINDS = ("cosine", "jaccard", "cooccurrence", "bm25")
MODELS: list[Any] = [Popular, ItemKNN, EASE]


@pytest.mark.parametrize("kind", MODELS)
def test_it_is_a_recommender_that_has_to_be_fitted(kind: Any) -> None:
    assert isinstance(kind(), Recommender)
    assert isinstance(kind(), RanksHeldOut)
    name = {Popular: "popular", ItemKNN: "knn", EASE: "ease"}[kind]
    with pytest.raises(UnskewError, match=rf"^{name}.* has not been fitted"):
        kind().recommend(batch_of([[]], 1), 1)
    with pytest.raises(UnskewError, match=rf"^{name}.* has not been fitted"):
        kind().held_out_ranks(all_pairs(snapshot_of([[1]])), 1)


@pytest.mark.parametrize("kind", MODELS)
def test_pairs_of_another_date_cannot_leave_the_model(kind: Any) -> None:
    log = snapshot_of([[1, 2, 3], [2, 3, 1]]).log
    pairs = all_pairs(log.at(2))
    with pytest.raises(PolicyError, match=r"fitted at another date than 2.*turn its parameter exact off"):
        kind().fit(log.at(1)).held_out_ranks(pairs, 5)
    assert kind(exact=False).fit(log.at(1)).held_out_ranks(pairs, 5).any()


@pytest.mark.parametrize(
    "model",
    [Popular(), *(ItemKNN(20, similarity=kind) for kind in ("cosine", "jaccard", "cooccurrence", "bm25"))],
    ids=str,
)
def test_the_number_of_threads_changes_nothing(model: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    first, *others = with_threads(monkeypatch, model.fit, 300)
    assert np.count_nonzero(first[0]) > 1000
    for other in others:
        assert all(np.array_equal(a, b) for a, b in zip(first, other, strict=True))


@pytest.mark.parametrize(
    ("model", "spec"),
    [
        (Popular(), "popular"),
        (Popular(exact=False), "popular?exact=false"),
        (ItemKNN(), "knn?neighbours=50&similarity=cosine"),
        (ItemKNN(5, exact=False), "knn?neighbours=5&similarity=cosine&exact=false"),
        (ItemKNN(5, similarity="bm25"), "knn?neighbours=5&similarity=bm25&k1=1.2&b=0.75"),
        (EASE(), "ease?l2=500"),
        (EASE(0.5, max_items=9), "ease?l2=0.5&max_items=9"),
        (EASE(2, exact=False), "ease?l2=2&exact=false"),
    ],
)
def test_it_is_written_as_on_the_command_line(model: Any, spec: str) -> None:
    assert repr(model) == spec


@pytest.mark.parametrize(
    ("kind", "options", "message"),
    [
        *(
            (Popular, {"exact": exact}, f"exact is {exact!r}, but must be true or false")
            for exact in ("none", None, 3)
        ),
        (ItemKNN, {"neighbours": 0}, "neighbours is 0, .* at least 1"),
        (ItemKNN, {"neighbours": 2.5}, "neighbours is 2.5"),
        (ItemKNN, {"neighbours": True}, "neighbours is True"),
        (ItemKNN, {"similarity": "pearson"}, "'pearson', but must be one of cosine, jaccard, cooccurrence, bm25"),
        (ItemKNN, {"exact": "profile"}, "exact is 'profile', but must be true or false"),
        (ItemKNN, {"similarity": "bm25", "exact": True}, "not possible with the similarity 'bm25'"),
        (ItemKNN, {"k1": -1.0}, "k1 is -1.0"),
        (ItemKNN, {"k1": float("nan")}, "k1 is nan"),
        (ItemKNN, {"b": 1.5}, "b is 1.5, .* at most 1"),
        (EASE, {"l2": 0}, "l2 is 0"),
        (EASE, {"l2": -1.0}, "l2 is -1.0"),
        (EASE, {"l2": float("inf")}, "l2 is inf"),
        (EASE, {"l2": "500"}, "l2 is '500'"),
        (EASE, {"max_items": 0}, "max_items is 0"),
        (EASE, {"exact": "yes"}, "exact is 'yes'"),
    ],
)
def test_options_that_make_no_sense_are_refused(kind: Any, options: Any, message: str) -> None:
    with pytest.raises(PolicyError, match=message):
        kind(**options)
