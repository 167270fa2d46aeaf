"""A real browser for tests of pages: Debian's Chromium, driven by Playwright, with no network."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.debian import require_program

_FLAGS = ["--no-sandbox", "--disable-background-networking", "--disable-component-update", "--disable-sync"]


def find_chromium() -> str:
    """Where the browser is."""
    return require_program(lambda: shutil.which("chromium") or shutil.which("chromium-browser"), "chromium")


@dataclass
class Visit:
    """A page in the browser, and what went on behind it."""

    page: Any
    requests: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)
    dialogs: list[str] = field(default_factory=list)

    def dismiss(self, dialog: Any) -> None:
        """Note what a script wanted to say."""
        self.dialogs.append(dialog.message)
        dialog.dismiss()

    def require_quiet(self) -> None:
        """Nothing was asked of a network, nothing was complained about, and no script of a name has run."""
        assert self.requests == []
        assert self.complaints == []
        assert self.dialogs == []


@contextlib.contextmanager
def open_browser() -> Iterator[Any]:
    """One browser, for all tests of a module."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=find_chromium(), args=_FLAGS)
        yield browser
        browser.close()


@contextlib.contextmanager
def visit(
    browser: Any, path: Path, *, width: int = 1000, dark: bool = False, zone: str = "UTC"
) -> Iterator[Visit]:
    """Open a file, and wait until its charts and tables stand."""
    context = browser.new_context(
        viewport={"width": width, "height": 900},
        color_scheme="dark" if dark else "light",
        timezone_id=zone,
        offline=True,
    )
    page = context.new_page()
    seen = Visit(page)
    address = path.resolve().as_uri()
    page.on("request", lambda request: seen.requests.extend({request.url} - {address}))
    page.on("pageerror", lambda error: seen.complaints.append(str(error)))
    page.on("console", lambda told: seen.complaints.append(told.text))
    page.on("dialog", seen.dismiss)
    page.goto(address)
    page.wait_for_selector("html[data-drawn]", state="attached")
    yield seen
    context.close()
