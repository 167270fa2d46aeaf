"""The simulated world: its size, its history, and that the campaigns do what they should."""

from __future__ import annotations

import numpy as np
import pytest

import unskew as us
from unskew.simulate import campaign_world


def test_the_default_world_has_the_paper_s_size() -> None:
    world = campaign_world()
    log = us.read_log(world.table)
    assert len(log.users) == 34_448
    assert len(log.items) <= 35_741
    assert 3.5 < len(log) / len(log.users) < 6.5
    assert log.first == 0
    assert int(np.max(world.table.column("time").to_numpy())) <= 500


def test_the_same_seed_gives_the_same_world_and_another_seed_another() -> None:
    one, same, other = (campaign_world(300, 100, seed=s).table for s in (1, 1, 2))
    assert one.equals(same)
    assert not one.equals(other)


def test_campaigns_raise_the_pushed_items_and_nothing_happens_without_them() -> None:
    world = campaign_world(3000, 1000, seed=3)
    log = us.read_log(world.table)
    before, after = log.at(329).marginal().to_dict(), log.at(log.last).marginal().to_dict()
    pushed = world.pushed[:5]
    assert sum(after[i] for i in pushed) > 1.3 * sum(before.get(i, 0) for i in pushed)
    quiet = campaign_world(3000, 1000, seed=3, campaigns=())
    log = us.read_log(quiet.table)
    then, now = log.at(329).marginal().to_dict(), log.at(log.last).marginal().to_dict()
    assert sum(now[i] for i in pushed) == pytest.approx(sum(then[i] for i in pushed), rel=0.15)
    assert quiet.pushed == []


def test_users_join_late_only_if_asked_to() -> None:
    for growth, expected in ((0.0, 0.0), (0.4, 0.4)):
        log = us.read_log(campaign_world(2000, 500, growth=growth, seed=4).table)
        late = 1 - log.at(299).n_users / len(log.users)
        assert late == pytest.approx(expected, abs=0.04)
