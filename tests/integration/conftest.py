"""What several of the tests with real processes need."""

from __future__ import annotations

import pytest

from tests.support.browser import open_browser


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    with open_browser(tmp_path_factory.mktemp("chromium")) as driver:
        yield driver


@pytest.fixture
def make_lab(tmp_path):
    """Federations of real nodes in a folder of the test, which end with it."""
    from tests.support.lab import Lab  # needs the extra dssfn[grpc]

    labs = []

    def make(n_nodes, **settings):
        labs.append(Lab(tmp_path, n_nodes, **settings))
        return labs[-1]

    yield make
    for lab in labs:
        lab.close()
