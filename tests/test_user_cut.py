"""Where users are cut into blocks: the same from sizes one by one as from how many have each size."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from unskew.arrays.profiles import cut_users


@given(
    st.lists(st.tuples(st.integers(1, 10**6), st.integers(1, 40)), min_size=1, max_size=30),
    st.integers(1, 200),
    st.none() | st.integers(1, 50),
)
def test_a_cut_from_runs_of_sizes_is_the_cut_of_the_users_one_by_one(
    runs: list[tuple[int, int]], n_items: int, blocks: int | None
) -> None:
    sizes, times = (np.array(column) for column in zip(*runs, strict=True))
    users = np.repeat(sizes, times)
    found = cut_users(sizes, n_items, repeated=times, blocks=blocks)
    assert np.array_equal(found, cut_users(users, n_items, blocks=blocks))
    assert (found[0], found[-1]) == (0, len(users))
    assert (np.diff(found) > 0).all()
    ends = np.cumsum(users + 1)
    wanted = blocks or min(max(int(ends[-1]) // (8 * n_items), 2), 32)
    by_hand = {next(k for k, end in enumerate(ends) if end >= j * (ends[-1] / wanted)) for j in range(1, wanted)}
    assert set(found.tolist()) == by_hand | {0, len(users)}


def test_nobody_is_cut_into_nothing() -> None:
    assert cut_users(np.zeros(0, dtype=np.int64), 5).tolist() == [0]
