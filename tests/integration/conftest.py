"""What several of the tests with real processes need."""

from __future__ import annotations

import pytest

from tests.support.browser import open_browser


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    with open_browser(tmp_path_factory.mktemp("chromium")) as driver:
        yield driver
