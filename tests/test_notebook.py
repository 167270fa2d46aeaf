"""unskew in a real Jupyter kernel, without ipywidgets: what most notebooks are."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import pytest


def run_in_kernel(code: str) -> tuple[str, str]:
    """Status and printed text of a cell in a kernel of this Python, reached through files instead of ports."""
    from jupyter_client.manager import KernelManager

    manager = KernelManager(kernel_name="python3", transport="ipc")
    messages: list[Any] = []
    manager.start_kernel()
    client = manager.client()
    try:
        client.start_channels()
        client.wait_for_ready(timeout=120)
        reply = client.execute_interactive(code, output_hook=messages.append, timeout=120)
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)
    texts = [message["content"]["text"] for message in messages if message["msg_type"] == "stream"]
    return f"{reply['content']['status']} {reply['content'].get('evalue', '')}".strip(), "".join(texts)


@pytest.mark.filterwarnings("ignore")  # of the client, about sockets that it closes late
def test_a_log_is_read_in_a_kernel_without_ipywidgets() -> None:
    assert find_spec("ipywidgets") is None
    code = (
        "import unskew as us\n"
        "log = us.read_log({'user': ['a', 'b', 'b'], 'item': [1, 2, 1], 'time': [3, 4, 5]})\n"
        "print(log)"
    )
    assert run_in_kernel(code) == ("ok", "Log(2 users, 2 items, 3 interactions from 3 to 5)\n")
