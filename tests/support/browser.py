"""A real browser without a window, where there is one."""

from __future__ import annotations

import shutil
from contextlib import contextmanager

import pytest

BROWSER = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))),
    None,
)
DRIVER = shutil.which("chromedriver")
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--disable-dev-shm-usage",
)  # fmt: skip
PHONE, TABLET, DESK = 390, 768, 1280

in_browser = pytest.mark.skipif(
    not (BROWSER and DRIVER), reason="needs Chromium and chromedriver"
)


@contextmanager
def open_browser(folder):
    webdriver = pytest.importorskip("selenium.webdriver")
    options = webdriver.ChromeOptions()
    options.binary_location = BROWSER
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    for flag in (*FLAGS, f"--user-data-dir={folder}"):
        options.add_argument(flag)
    service = webdriver.ChromeService(executable_path=DRIVER)
    driver = webdriver.Chrome(options=options, service=service)
    try:
        yield driver
    finally:
        driver.quit()


def show(browser, page, width, theme):
    size = {"width": width, "height": 844, "deviceScaleFactor": 1}
    mobile = {"mobile": width == PHONE}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size | mobile)
    wanted = {"name": "prefers-color-scheme", "value": theme}
    browser.execute_cdp_cmd(
        "Emulation.setEmulatedMedia", {"media": "", "features": [wanted]}
    )
    browser.get_log("browser")
    browser.get(page if isinstance(page, str) else page.as_uri())


def check_fit(browser, width):
    inner, needed = browser.execute_script(
        "return [innerWidth, document.documentElement.scrollWidth]"
    )
    assert needed <= inner <= width
