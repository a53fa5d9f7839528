"""A report in a real browser, and what it said or asked for."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Page


class Visit:
    """A page in the browser, and what it said or asked for."""

    def __init__(self, page: Page, file: Path) -> None:
        self.page = page
        self.file = file
        self.complaints: list[str] = []
        self.requests: list[str] = []
        page.on("console", lambda message: self.complaints.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("request", lambda request: self.requests.append(request.url))

    def open(self, anchor: str = "") -> Page:
        """Load the page anew, at an anchor, and wait until it can be used."""
        self.page.goto("about:blank")
        self.requests.clear()
        self.page.goto(f"{self.file.as_uri()}{anchor}")
        self.page.wait_for_selector("html[data-ready]")
        return self.page

    def tasks(self) -> list[str]:
        """Names of the turns in the list."""
        names: list[str] = self.page.evaluate(
            "[...document.querySelectorAll('#list .name')].map(name => name.firstChild.textContent)"
        )
        return names

    def until(self, expression: str) -> None:
        """Wait until an expression is true; asked from outside, since the page's policy forbids ``eval``."""
        for _ in range(400):
            if self.page.evaluate(expression):
                return
            self.page.wait_for_timeout(50)
        raise AssertionError(f"not true within 20 s: {expression}")
