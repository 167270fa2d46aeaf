"""A check of the item mix and of scores, logged to W&B without a network and found in its files."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import wandb

import unskew as us
from unskew.monitoring import Thresholds

store = tempfile.mkdtemp()
os.environ |= {"WANDB_MODE": "offline", "WANDB_DIR": store, "WANDB_SILENT": "true"}

log = us.simulate(users=800, items=200, seed=7).log
limits = Thresholds(max_drift=0.05, max_bound=0.01, max_unexplained=0.05)
found = us.check(log, ["popular", "constant:1,3,5"], at=480, reference=300, thresholds=limits)

with wandb.init(project="recommender", job_type="unskew") as run:
    run.log(found.metrics)
    run.summary["unskew/passed"] = found.passed
    if not found.passed:
        run.alert("unskew", "\n".join(found.lines))

wandb.teardown()  # the file is whole once its writer has ended
(kept,) = Path(store).glob("wandb/offline-run-*/run-*.wandb")
written = kept.read_bytes()
for name, value in found.metrics.items():
    assert name.encode() in written
    print(f"{name:44} {value:.6f}")
