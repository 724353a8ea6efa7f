from __future__ import annotations

import pytest

from studio_browser import Studio, Visit, new_browser, require_browser


@pytest.fixture(scope="session")
def studio(tmp_path_factory):
    """A studio for all tests, where each test has a window without a share in others."""
    require_browser()
    server = Studio(tmp_path_factory.mktemp("studio"))
    yield server
    server.end()


@pytest.fixture(scope="session")
def downloads(tmp_path_factory):
    return tmp_path_factory.mktemp("downloads")


@pytest.fixture(scope="session")
def browser(downloads):
    require_browser()
    driver = new_browser(downloads)
    yield driver
    driver.quit()


@pytest.fixture
def visit(studio, browser, downloads):
    """A fresh window's content: each visit of the page begins anew."""
    return Visit(browser, studio, downloads)


@pytest.fixture
def any_screen(visit):
    """A window with a size and theme that a test may change."""
    yield visit
    visit.browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    visit.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
