"""A real browser, headless: Chromium as the system has it."""

import os
import shutil
from collections.abc import Iterator

import pytest

PLACES = ("chromium", "chromium-browser", "google-chrome")
QUIET = ("--disable-gpu", "--disable-background-networking", "--disable-component-update", "--disable-sync")


@pytest.fixture(scope="module")  # not longer: while it runs, its event loop is the thread's
def chromium() -> Iterator:
    """Return a running Chromium, or skip where there is none."""
    result = next((path for name in PLACES if (path := shutil.which(name))), None)
    if result is None:
        pytest.skip("needs Chromium (Debian's package chromium)")
    from playwright.sync_api import sync_playwright

    alone = ["--no-sandbox"] if os.geteuid() == 0 else []  # root has no sandbox
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=result, args=[*QUIET, *alone])
        yield browser
        browser.close()
