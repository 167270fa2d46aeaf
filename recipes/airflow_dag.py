"""A weekly job for Airflow, as it lies in the folder of DAGs."""

from datetime import datetime

from airflow.providers.standard.operators.bash import BashOperator
from airflow.sdk import DAG

with DAG("unskew", schedule="@weekly", start_date=datetime(2024, 1, 1), catchup=False) as dag:
    timeline = BashOperator(task_id="timeline", bash_command="unskew timeline --resume", cwd="/srv/shop")
    report = BashOperator(task_id="report", bash_command="unskew report", cwd="/srv/shop")
    timeline >> report >> BashOperator(task_id="check", bash_command="unskew check", cwd="/srv/shop")
