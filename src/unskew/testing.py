"""What every recommender must do, as a test class: subclass it, say how to make yours, and run pytest.

    from unskew.testing import RecommenderConformance

    class TestMine(RecommenderConformance):
        def make(self):
            return Mine()

It needs no test framework itself. The logs it uses are made here: a checkerboard, whose right answer anyone
can see, and one by chance. Their items are numbered by id, as whoever drives a recommender numbers them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

import numpy as np

from unskew.arrays.profiles import all_entries, all_users
from unskew.arrays.types import Codes, Mask
from unskew.data.log import Log
from unskew.data.slice import Slice, Snapshot
from unskew.reading.reader import read_log
from unskew.recommend.contract import (
    Batch,
    GradesHeldOut,
    HeldOutPairs,
    KnowsEmptyLists,
    RanksHeldOut,
    Recommender,
    traits_of,
)

USERS = tuple(f"u{k:02}" for k in range(24))
ITEMS = tuple(f"i{k:02}" for k in range(12))
"""The users and items of the logs; each is there at `AT`."""

LATE = "late"
"""An item that the logs have only after `AT`."""

AT = 100
"""The date of the snapshots."""

_Row = tuple[str, str, int]


def checkerboard() -> Log:
    """Users and items of two colours: each user holds what is of its colour, but for one item.

    The one is the item of its own number (modulo 12), and so the best that can be recommended; it is taken
    after `AT`.
    """
    return _make_log("checkerboard")


def random_log() -> Log:
    """Profiles of 1 to 12 items, some items in more of them than others; everybody takes more after `AT`."""
    return _make_log("random")


class RecommenderConformance:
    """The tests of a recommender; each ``test_`` method is one.

    What the recommender says in its ``traits`` is taken into account: one that may recommend the profile is not
    tested for it, and the ranks of one that is exact are not the places in its lists.

    Attributes
    ----------
    exempt_from_date
        It may recommend what nobody holds at the date, or know what comes later.
    learns
        It finds the pattern of the checkerboard.

    Examples
    --------
    >>> from unskew.recommend import Popular
    >>> class TestPopular(RecommenderConformance):
    ...     def make(self):
    ...         return Popular()
    >>> TestPopular().test_nothing_comes_twice()
    """

    exempt_from_date = False
    learns = False

    def make(self) -> Recommender:
        """A new recommender, not fitted yet. Its items and users, if it names any, are `ITEMS` and `USERS`."""
        raise NotImplementedError("a conformance test must say how to make the recommender: def make(self)")

    def test_it_is_a_recommender_and_fit_returns_itself(self) -> None:
        for case, snapshot in _snapshots():
            model = self.make()
            assert isinstance(model, Recommender), "it must have the methods fit and recommend"
            assert model.fit(snapshot) is model, f"{case}: fit must return the recommender itself"

    def test_lists_have_the_right_shape_and_hold_whole_numbers(self) -> None:
        for case, snapshot, model in self._fit_each():
            batch = leave_one_out(snapshot)
            for k in (1, 3, 10):
                lists = np.asarray(model.recommend(batch, k))
                assert lists.shape == (len(batch), k), f"{case}: shape {lists.shape} instead of {(len(batch), k)}"
                assert lists.dtype.kind in "iu", f"{case}: {lists.dtype} instead of whole numbers"

    def test_codes_exist_and_none_is_at_the_end(self) -> None:
        for case, snapshot, model in self._fit_each():
            for row, codes in enumerate(_recommend(model, leave_one_out(snapshot), 10)):
                none = codes == -1
                assert ((codes >= -1) & (codes < len(snapshot.log.items))).all(), f"{case}, row {row}: {codes}"
                assert not (none[:-1] & ~none[1:]).any(), f"{case}, row {row}: an item after none: {codes}"

    def test_nothing_comes_twice(self) -> None:
        for case, snapshot, model in self._fit_each():
            for row, codes in enumerate(_recommend(model, leave_one_out(snapshot), 10)):
                items = codes[codes >= 0]
                assert len(set(items.tolist())) == len(items), f"{case}, row {row}: repeats in {codes}"

    def test_nothing_that_the_profile_holds(self) -> None:
        for case, snapshot, model in self._fit_each():
            if traits_of(model).may_recommend_profile:
                return
            batch = leave_one_out(snapshot)
            for row, codes in enumerate(_recommend(model, batch, len(ITEMS))):
                held = np.intersect1d(codes, batch.profile(row))
                assert not len(held), f"{case}, row {row}: recommends {held}, which is in the profile"

    def test_only_what_someone_holds_at_the_date(self) -> None:
        if self.exempt_from_date:
            return
        for case, snapshot, model in self._fit_each():
            counts = snapshot.counts()
            codes = _recommend(model, leave_one_out(snapshot), len(snapshot.log.items))
            early = {snapshot.log.items[c] for c in np.unique(codes[codes >= 0]) if counts[c] == 0}
            assert not early, f"{case}: recommends {early}, which nobody holds at {snapshot.at}"

    def test_the_same_input_gives_the_same_lists(self) -> None:
        for case, snapshot, model in self._fit_each():
            batch = leave_one_out(snapshot)
            once = _recommend(model, batch, 5)
            _compare(once, _recommend(model, batch, 5), f"{case}: asked a second time")
            _compare(
                once, _recommend(self.make().fit(snapshot), batch, 5), f"{case}: made and fitted a second time"
            )

    def test_fitting_again_forgets_what_was_before(self) -> None:
        (_, first), (case, other) = _snapshots()
        batch = leave_one_out(other)
        fresh = _recommend(self.make().fit(other), batch, 5)
        _compare(
            fresh, _recommend(self.make().fit(first).fit(other), batch, 5), f"{case}: fitted to another log before"
        )

    def test_a_list_may_be_longer_than_the_catalogue(self) -> None:
        for case, snapshot, model in self._fit_each():
            n = len(snapshot.log.items)
            batch = leave_one_out(snapshot)
            lists = _recommend(model, batch, n + 7)
            assert lists.shape == (len(batch), n + 7), f"{case}: shape {lists.shape}"
            assert (lists[:, n:] == -1).all(), f"{case}: more than there are"

    def test_a_short_list_is_the_beginning_of_a_longer_one(self) -> None:
        for case, snapshot, model in self._fit_each():
            batch = leave_one_out(snapshot)
            for k in (1, 4):
                _compare(
                    _recommend(model, batch, 9)[:, :k],
                    _recommend(model, batch, k),
                    f"{case}: {k} instead of 9 items",
                )

    def test_batches_of_any_size_agree(self) -> None:
        for case, snapshot, model in self._fit_each():
            batch = leave_one_out(snapshot)
            whole = _recommend(model, batch, 5)
            none = _recommend(model, part_of(batch, 0, 0), 5)
            assert none.shape == (0, 5), f"{case}: shape {none.shape} for no profile at all"
            for row in range(len(batch)):
                alone = _recommend(model, part_of(batch, row, row + 1), 5)
                _compare(whole[row : row + 1], alone, f"{case}: row {row} alone")
            half = len(batch) // 2
            two = [_recommend(model, part_of(batch, a, b), 5) for a, b in ((0, half), (half, len(batch)))]
            _compare(whole, np.concatenate(two), f"{case}: in two parts")

    def test_an_empty_profile_is_allowed(self) -> None:
        for case, snapshot, model in self._fit_each():
            empty: list[Codes] = [np.empty(0, dtype=np.int64)] * 3
            lists = _recommend(model, batch_of(snapshot, [2, 0, 1], empty), 4)
            assert lists.shape == (3, 4), f"{case}: shape {lists.shape}"

    def test_a_user_may_come_with_several_profiles(self) -> None:
        for case, snapshot, model in self._fit_each():
            p = snapshot.profiles
            full = p.item[int(p.start[0]) : int(p.stop[0])].astype(np.int64)
            profiles = [full[:1], full, full[:0], full[1:], full[:1]]
            together = _recommend(model, batch_of(snapshot, [0] * 5, profiles), 5)
            for row, profile in enumerate(profiles):
                alone = _recommend(model, batch_of(snapshot, [0], [profile]), 5)
                _compare(together[row : row + 1], alone, f"{case}: profile {row} of one user")

    def test_the_order_of_the_rows_of_the_log_does_not_matter(self) -> None:
        for case, snapshot, model in self._fit_each():
            other = _make_log(case, shuffled=True).at(AT)
            again = _to_ids(other, _recommend(self.make().fit(other), leave_one_out(other), 5))
            once = _to_ids(snapshot, _recommend(model, leave_one_out(snapshot), 5))
            assert once == again, f"{case}: other lists after shuffling the rows of the log"

    def test_what_comes_later_is_not_known(self) -> None:
        if self.exempt_from_date:
            return
        for case, snapshot, model in self._fit_each():
            other = _make_log(case, until=AT).at(AT)
            again = _to_ids(other, _recommend(self.make().fit(other), leave_one_out(other), 5))
            once = _to_ids(snapshot, _recommend(model, leave_one_out(snapshot), 5))
            assert once == again, f"{case}: other lists when the log ends at the date"

    def test_what_it_is_given_is_left_as_it_is(self) -> None:
        for case, snapshot, model in self._fit_each():
            batch = leave_one_out(snapshot)
            p = snapshot.profiles
            arrays = (p.start, p.stop, p.item, batch.user, batch.start, batch.item)
            before = [array.copy() for array in arrays]
            model.fit(snapshot).recommend(batch, 5)
            for array, copy in zip(arrays, before, strict=True):
                assert (array == copy).all(), f"{case}: an array of the snapshot or the batch was changed"

    def test_held_out_ranks_are_places_in_the_list(self) -> None:
        for case, snapshot, model in self._fit_each():
            if not isinstance(model, RanksHeldOut):
                return
            pairs = all_pairs(snapshot)
            for k in (1, 5, len(snapshot.log.items)):
                ranks = np.asarray(model.held_out_ranks(pairs, k))
                assert ranks.shape == (len(pairs),), f"{case}: shape {ranks.shape} for {len(pairs)} pairs"
                assert ranks.dtype.kind in "iu", f"{case}: {ranks.dtype} instead of whole numbers"
                assert ((ranks >= 0) & (ranks <= k)).all(), f"{case}: ranks must lie between 0 and {k}"
                if not traits_of(model).exact:
                    hits = _recommend(model, without_each(pairs), k) == pairs.item[:, None]
                    places = np.where(hits.any(axis=1), hits.argmax(axis=1) + 1, 0)
                    _compare(places, ranks, f"{case}: ranks down to {k}")

    def test_empty_lists_are_those_without_any_item(self) -> None:
        for case, snapshot, model in self._fit_each():
            if not isinstance(model, KnowsEmptyLists):
                return
            pairs = all_pairs(snapshot)
            empty = np.asarray(model.empty_lists(pairs))
            assert empty.shape == (len(pairs),), f"{case}: shape {empty.shape} for {len(pairs)} pairs"
            assert empty.dtype.kind == "b", f"{case}: {empty.dtype} instead of true or false"
            if not traits_of(model).exact:
                lists = _recommend(model, without_each(pairs), len(snapshot.log.items))
                silent: Mask = np.all(lists < 0, axis=1)
                assert (silent == empty).all(), f"{case}: empty lists"

    def test_grades_are_one_number_for_each_profile(self) -> None:
        for case, snapshot, model in self._fit_each():
            if not isinstance(model, GradesHeldOut):
                return
            pairs = all_pairs(snapshot)
            grades = np.asarray(model.grades(without_each(pairs), pairs.item))
            assert grades.shape == (len(pairs),), f"{case}: shape {grades.shape} for {len(pairs)} profiles"
            assert grades.dtype.kind in "iuf", f"{case}: {grades.dtype} instead of numbers"

    def test_it_sees_what_anyone_can_see(self) -> None:
        if not self.learns:
            return
        snapshot = checkerboard().at(AT)
        users = snapshot.log.users.codes(USERS)
        p = snapshot.profiles
        profiles = [p.item[int(p.start[u]) : int(p.stop[u])].astype(np.int64) for u in users]
        best = _recommend(self.make().fit(snapshot), batch_of(snapshot, users.tolist(), profiles), 1)
        wanted = [[ITEMS[k % len(ITEMS)]] for k in range(len(USERS))]
        assert _to_ids(snapshot, best) == wanted, "checkerboard: not the item that each user lacks of its colour"

    def _fit_each(self) -> Iterator[tuple[str, Snapshot, Recommender]]:
        for case, snapshot in _snapshots():
            yield case, snapshot, self.make().fit(snapshot)


def batch_of(snapshot: Slice, users: Sequence[int], profiles: Sequence[Codes]) -> Batch:
    """A batch from codes of users and a profile for each."""
    start = np.concatenate([[0], np.cumsum([len(profile) for profile in profiles])]).astype(np.int64)
    item = np.concatenate([np.empty(0, dtype=np.int64), *profiles]).astype(np.int64)
    return Batch(np.array(users, dtype=np.int64), start, item, len(snapshot.log.items))


def part_of(batch: Batch, first: int, last: int) -> Batch:
    """The profiles from `first` to `last` of a batch."""
    start = batch.start[first : last + 1]
    return Batch(batch.user[first:last], start - start[0], batch.item[start[0] : start[-1]], batch.n_items)


def all_pairs(snapshot: Snapshot) -> HeldOutPairs:
    """Every pair of a user and an item of its profile."""
    p = snapshot.profiles
    entry = all_entries(p)
    return HeldOutPairs(snapshot, all_users(p), p.item[entry].astype(np.int64), entry)


def without_each(pairs: HeldOutPairs) -> Batch:
    """For each pair the profile of its user without the item."""
    p = pairs.snapshot.profiles
    profiles = []
    for user, item in zip(pairs.user, pairs.item, strict=True):
        profile = p.item[int(p.start[user]) : int(p.stop[user])].astype(np.int64)
        profiles.append(profile[profile != item])
    return batch_of(pairs.snapshot, pairs.user.tolist(), profiles)


def leave_one_out(snapshot: Snapshot) -> Batch:
    """Each profile without each of its items in turn, in the order of user ids and then of time."""
    pairs = all_pairs(snapshot)
    place = {code: k for k, code in enumerate(snapshot.log.users.codes(USERS).tolist())}
    order = np.argsort([place[user] for user in pairs.user.tolist()], kind="stable")
    return without_each(HeldOutPairs(snapshot, pairs.user[order], pairs.item[order], pairs.entry[order]))


def _recommend(model: Recommender, batch: Batch, k: int) -> Codes:
    lists: Codes = np.asarray(model.recommend(batch, k))
    return lists


def _to_ids(snapshot: Snapshot, lists: Codes) -> list[list[Any]]:
    return [[snapshot.log.items[code] if code >= 0 else None for code in row] for row in lists]


def _compare(expected: Codes, lists: Codes, case: str) -> None:
    assert expected.shape == lists.shape, f"{case}: shape {lists.shape} instead of {expected.shape}"
    differ = np.flatnonzero((expected != lists).reshape(len(expected), -1).any(axis=1))
    if len(differ):
        row = int(differ[0])
        raise AssertionError(
            f"{case}: {lists[row]} instead of {expected[row]} in row {row}, {len(differ)} such rows"
        )


def _snapshots() -> tuple[tuple[str, Snapshot], ...]:
    return tuple((case, _make_log(case).at(AT)) for case in ("checkerboard", "random"))


@cache
def _make_log(case: str, *, until: int | None = None, shuffled: bool = False) -> Log:
    rows = _checkerboard_rows() if case == "checkerboard" else _random_rows()
    rows = [row for row in rows if until is None or row[2] <= until]
    if shuffled:
        rows = [rows[k] for k in np.random.default_rng(1).permutation(len(rows))]
    users, items, times = zip(*rows, strict=True)
    return read_log({"user": list(users), "item": list(items), "time": list(times)}).numbered_by_id


def _checkerboard_rows() -> list[_Row]:
    rows = []
    for u, user in enumerate(USERS):
        liked = [i for i in range(len(ITEMS)) if (u + i) % 2 == 0]
        lacks = u % len(ITEMS)
        rows += [(user, ITEMS[i], AT + 1 if i == lacks else AT - i) for i in liked]
        rows += [(user, LATE, AT + 2)] * (u % 3 > 0)
    return rows


def _random_rows() -> list[_Row]:
    rng = np.random.default_rng(0)
    number = np.arange(len(ITEMS))
    liked = np.linspace(0.8, 0.1, len(ITEMS))
    rows = []
    for u, user in enumerate(USERS):
        holds = (rng.random(len(ITEMS)) < liked) | (number == u % len(ITEMS))  # so that nobody holds nothing
        taken = rng.permutation(number[holds])
        rows += [(user, ITEMS[i], AT - int(place)) for place, i in enumerate(taken)]
        rest = number[~holds][::-1][:6]  # what was rare becomes frequent
        rows += [(user, ITEMS[i], AT + 1 + int(place)) for place, i in enumerate(rest)]
        rows += [(user, LATE, AT + 9)] * (u > 2)
    return rows
