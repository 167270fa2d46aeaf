"""A check of the item mix and of scores, logged to MLflow and read back from its store."""

from __future__ import annotations

import os
import tempfile

import mlflow

import unskew as us
from unskew.monitoring import Thresholds

store = tempfile.mkdtemp()
os.environ |= {"MLFLOW_TRACKING_URI": f"sqlite:///{store}/mlflow.db", "MLFLOW_ARTIFACT_ROOT": store}
os.chdir(store)

log = us.simulate(users=800, items=200, seed=7).log
limits = Thresholds(max_drift=0.05, max_bound=0.01, max_unexplained=0.05)
found = us.check(log, ["popular", "constant:1,3,5"], at=480, reference=300, thresholds=limits)

with mlflow.start_run(run_name=f"unskew {found.at}"):
    mlflow.log_metrics(found.metrics)
    mlflow.set_tag("unskew.passed", found.passed)
    mlflow.log_text("\n".join(found.lines), "unskew.txt")

kept = mlflow.last_active_run()
assert kept.data.metrics == found.metrics
assert kept.data.tags["unskew.passed"] == "False"
assert mlflow.artifacts.load_text(f"{kept.info.artifact_uri}/unskew.txt") == "\n".join(found.lines)
for name, value in kept.data.metrics.items():
    print(f"{name:44} {value:.6f}")
