"""A weekly job in Airflow: the file of its DAG, which Airflow reads, and whose two tasks it runs here once."""

from datetime import datetime

from airflow.providers.standard.operators.bash import BashOperator
from airflow.sdk import DAG

with DAG("unskew", schedule="@weekly", start_date=datetime(2024, 1, 1), catchup=False) as dag:
    timeline = BashOperator(task_id="timeline", bash_command="unskew timeline --resume", cwd="/srv/shop")
    timeline >> BashOperator(task_id="check", bash_command="unskew check", cwd="/srv/shop")
