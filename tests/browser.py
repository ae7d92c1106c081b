"""Headless Chromium for tests of pages. Without it they skip with a reason; in CI they fail."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

import pytest

_NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")


@contextmanager
def chromium() -> Iterator:
    """A browser, driven by Playwright; it looks nowhere but on this machine."""
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        _absent("Playwright is not installed: pip install playwright")
    path = next(filter(None, map(shutil.which, _NAMES)), None)
    if path is None:
        _absent(f"there is no browser ({', '.join(_NAMES)}): apt-get install chromium")
    # root may not use the browser's own sandbox
    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=path, args=arguments)
        yield browser
        browser.close()


class Visit:
    """A page opened from disk with the network off, and all that it asked for or complained of."""

    def __init__(self, browser, path: Path, *, anchor: str = "", width: int = 1150) -> None:
        self.context = browser.new_context(
            offline=True, viewport={"width": width, "height": 1000}, reduced_motion="reduce"
        )
        self.page = self.context.new_page()
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(f"{path.as_uri()}{anchor}")

    def texts(self, selector: str) -> list[str]:
        return self.page.locator(selector).all_inner_texts()

    def text(self, selector: str) -> str:
        return self.page.locator(selector).first.inner_text()


def _absent(reason: str) -> NoReturn:
    if os.environ.get("CI"):
        pytest.fail(f"pages were not tried in a browser: {reason}")
    pytest.skip(reason)
