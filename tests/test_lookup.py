"""Looking numbers up among sorted keys."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from unskew.arrays.profiles import find_sorted

NUMBERS = st.integers(-8, 8)


@given(st.sets(NUMBERS), st.lists(NUMBERS))
def test_each_number_is_found_where_a_list_has_it(keys: set[int], wanted: list[int]) -> None:
    ascending = sorted(keys)
    found = find_sorted(np.array(ascending, dtype=np.int64), np.array(wanted, dtype=np.int64))
    assert found.tolist() == [ascending.index(one) if one in keys else -1 for one in wanted]
    assert found.dtype == np.int64
