"""unskew in a real Jupyter kernel, without ipywidgets: what most notebooks are."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

import unskew

NOTEBOOK = Path(unskew.__file__).parents[2] / "docs" / "quickstart.ipynb"


def run_in_kernel(*cells: str) -> tuple[str, str, list[str]]:
    """Status of the last cell, printed text, and the kinds of what is displayed, in a kernel of this Python.

    It is reached through files instead of ports. The first cell that fails is the last.
    """
    from jupyter_client.manager import KernelManager

    manager = KernelManager(kernel_name="python3", transport="ipc")
    messages: list[Any] = []
    manager.start_kernel()
    client = manager.client()
    try:
        client.start_channels()
        client.wait_for_ready(timeout=120)
        for code in cells:
            reply = client.execute_interactive(code, output_hook=messages.append, timeout=600)["content"]
            if reply["status"] != "ok":
                break
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)
    texts = [message["content"]["text"] for message in messages if message["msg_type"] == "stream"]
    kinds = [kind for message in messages for kind in message["content"].get("data", {})]
    return f"{reply['status']} {reply.get('evalue', '')}".strip(), "".join(texts), kinds


@pytest.mark.filterwarnings("ignore")  # of the client, about sockets that it closes late
def test_a_log_is_read_in_a_kernel_without_ipywidgets() -> None:
    assert find_spec("ipywidgets") is None
    code = (
        "import unskew as us\n"
        "log = us.read_log({'user': ['a', 'b', 'b'], 'item': [1, 2, 1], 'time': [3, 4, 5]})\n"
        "print(log)"
    )
    assert run_in_kernel(code) == ("ok", "Log(2 users, 2 items, 3 interactions from 3 to 5)\n", [])


@pytest.mark.filterwarnings("ignore")
def test_the_quickstart_runs_in_a_kernel() -> None:
    cells = json.loads(NOTEBOOK.read_text())["cells"]
    status, printed, kinds = run_in_kernel(*(cell["source"] for cell in cells if cell["cell_type"] == "code"))
    assert status == "ok"
    assert "Log(1000 users, 300 items, 6442 interactions from 0 to 500)" in printed
    assert "better +1.2 to +9.1 points" in printed
    assert "better +1.9 to +6.5 points" in printed
    assert kinds.count("text/html") == 2  # the report and the chart show themselves
