"""The weekly job of airflow_dag.py: Airflow reads it without an error, and its tasks end as they should."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

import unskew as us
from unskew.over_time import Timeline

shop = Path(tempfile.mkdtemp())
os.environ |= {
    "AIRFLOW_HOME": str(shop / "airflow"),
    "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
    "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
}
us.simulate(users=800, items=200, seed=7).save(shop)
SETTINGS = """log = "log.parquet"
reference = 300
at = 480
recommenders = "popular"
[timeline]
every = 60
output = "timeline.parquet"
[report]
timeline = "timeline.parquet"
output = "report.html"
[thresholds]
max-drift = {}
"""

if __name__ == "__main__":
    from airflow.dag_processing.dagbag import DagBag
    from airflow.exceptions import AirflowException

    text = (Path(__file__).parent / "airflow_dag.py").read_text()
    (shop / "dags").mkdir()
    (shop / "dags" / "airflow_dag.py").write_text(text.replace("/srv/shop", str(shop)))
    bag = DagBag(shop / "dags")
    assert not bag.import_errors, bag.import_errors
    tasks = {task.task_id: task for task in bag.dags["unskew"].topological_sort()}
    assert list(tasks) == ["timeline", "report", "check"]

    (shop / "unskew.toml").write_text(SETTINGS.format(0.9))
    for name, task in tasks.items():
        print(f"{name}: {task.execute({})}")
    assert Timeline.load(shop / "timeline.parquet").complete
    assert "popular" in (shop / "report.html").read_text()

    (shop / "unskew.toml").write_text(SETTINGS.format(0.01))
    try:
        tasks["check"].execute({})
    except AirflowException as error:
        print(f"check, with another threshold: {error}")
    else:
        raise AssertionError("a threshold that is crossed must fail the task")
