"""The report in a real headless Chromium: no script of the data runs, the console is silent, the search box works.

The browser is Debian's, driven over the WebDriver protocol; where it is absent the tests are skipped. With FASTSCORE_SCREENSHOTS
naming a folder, pictures of the page are left there.
"""

from __future__ import annotations

import base64
import json
import os
import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from tests.hostile import HOSTILE, hostile_items

for _module in ("altair", "vl_convert", "great_tables"):
    pytest.importorskip(_module, reason=f"{_module} of the extra 'report' is not installed")

from fastscore.html.page import write_report  # noqa: E402

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
DRIVER = shutil.which("chromedriver")
pytestmark = pytest.mark.skipif(
    CHROMIUM is None or DRIVER is None, reason="no chromium and chromedriver here (Debian: chromium, chromium-driver)"
)
_ELEMENT = "element-6066-11e4-a52e-4f735466cecf"


class Browser:
    """A session of chromedriver, as much of WebDriver as is needed."""

    def __init__(self, port: int) -> None:
        self.root = f"http://127.0.0.1:{port}"
        flags = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--window-size=1200,900"]
        options = {"binary": CHROMIUM, "args": flags}
        wanted = {"browserName": "chrome", "goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL"}}
        self.session = self.call("POST", "/session", {"capabilities": {"alwaysMatch": wanted}})["sessionId"]

    def call(self, method: str, path: str, body: dict[str, Any] | None = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.root + path, data=data, method=method, headers={"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.load(answer)["value"]

    def do(self, method: str, path: str, **body: Any) -> Any:
        return self.call(method, f"/session/{self.session}{path}", None if method != "POST" else body)

    def run(self, script: str) -> Any:
        return self.do("POST", "/execute/sync", script=script, args=[])

    def open(self, page: Path) -> None:
        self.do("POST", "/url", url=page.as_uri())

    def type(self, selector: str, text: str) -> None:
        found = self.do("POST", "/element", using="css selector", value=selector)[_ELEMENT]
        self.do("POST", f"/element/{found}/clear")
        self.do("POST", f"/element/{found}/value", text=text)

    def console(self) -> list[dict[str, Any]]:
        entries: list[dict[str, Any]] = self.do("POST", "/se/log", type="browser")
        return entries

    def devtools(self, command: str, **parameters: Any) -> Any:
        return self.do("POST", "/goog/cdp/execute", cmd=command, params=parameters)

    def picture(self, file: Path) -> None:
        file.write_bytes(base64.b64decode(self.do("GET", "/screenshot")))

    def close(self) -> None:
        self.do("DELETE", "")


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    log = tmp_path_factory.mktemp("driver") / "log"
    with log.open("wb") as output:
        driver = subprocess.Popen([str(DRIVER), f"--port={port}"], stdout=output, stderr=output)
    try:
        for _ in range(100):
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/status", timeout=5):
                    break
            except (urllib.error.URLError, OSError):
                time.sleep(0.1)
        try:
            session = Browser(port)
        except urllib.error.HTTPError as error:
            pytest.skip(f"chromium does not start here: {error.read().decode(errors='replace')[:300]}")
        try:
            yield session
        finally:
            session.close()
    finally:
        driver.terminate()
        driver.wait(timeout=20)


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("page")
    one, two = folder / "<script>window.pwned=9<．script>.parquet", folder / "'&\" onload=b.parquet"
    pq.write_table(hostile_items(), one)
    pq.write_table(hostile_items(shift=4), two)
    write_report(folder / "report.html", one, two, title="<script>window.pwned=10</script>", draws=200)
    return folder / "report.html"


def pictures(tmp_path: Path) -> Path:
    return Path(os.environ.get("FASTSCORE_SCREENSHOTS") or tmp_path)


def test_hostile_texts_run_nothing_and_the_console_is_silent(browser: Browser, page: Path, tmp_path: Path) -> None:
    browser.open(page)
    assert browser.run("return document.readyState") == "complete"
    assert browser.run("return [typeof window.pwned, document.scripts.length]") == ["undefined", 1]
    assert browser.run("return document.querySelectorAll('img,iframe,a[href^=javascript],[onload],[onmouseover]').length") == 0
    assert browser.run("return performance.getEntriesByType('resource').length") == 0
    assert browser.console() == []
    assert browser.run("return document.title") == "<script>window.pwned=10</script>"
    shown = browser.run("return document.getElementById('items-table').textContent")
    for text in HOSTILE[:8]:
        assert text in shown
    assert "\\u202eright" in shown
    assert "nul\\x00in" in shown
    browser.picture(pictures(tmp_path) / "hostile.png")
    browser.run("document.getElementById('items').scrollIntoView()")
    browser.picture(pictures(tmp_path) / "hostile-items.png")


def test_search_and_filters(browser: Browser, page: Path) -> None:
    browser.open(page)
    shown = "document.querySelectorAll('.items tbody tr:not([hidden])')"
    count = f"return [document.getElementById('shown-count').textContent, {shown}.length]"
    text, rows = browser.run(count)
    assert (text, browser.run("return document.getElementById('filters').hidden")) == (f"{rows} of {rows} items", False)
    browser.type("#search", "OnMouseOver")
    found = browser.run(count)[1]
    assert 0 < found < rows
    assert browser.run(f"return Array.from({shown}).every(r => r.textContent.includes('onmouseover'))")
    browser.type("#search", "nothing has this")
    assert browser.run(count) == [f"0 of {rows} items", 0]
    browser.type("#search", "x")
    browser.run(
        "document.getElementById('search').value = ''; document.getElementById('search').dispatchEvent(new Event('input'))"
    )
    choose = (
        "const s = document.querySelector('[data-filter={}]'); s.value = s.options[1].value; s.dispatchEvent(new Event('change'))"
    )
    browser.run(choose.format("list"))
    kinds = browser.run(f"return Array.from({shown}).map(r => r.dataset.list)")
    assert len(set(kinds)) == 1
    browser.run(choose.format("group"))
    assert 0 < browser.run(count)[1] <= len(kinds)
    assert browser.console() == []


def test_light_dark_narrow_and_print(browser: Browser, page: Path, tmp_path: Path) -> None:
    browser.open(page)
    colour = "return getComputedStyle(document.body).backgroundColor"
    series = "return getComputedStyle(document.querySelector('svg [fill^=\"var(--series\"]')).fill"
    seen = {}
    for scheme in ("light", "dark"):
        browser.devtools("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        seen[scheme] = browser.run(colour), browser.run(series)
        browser.picture(pictures(tmp_path) / f"{scheme}.png")
    assert seen["light"][0] == "rgb(255, 255, 255)"
    assert seen["dark"][0] != seen["light"][0]
    assert seen["dark"][1] != seen["light"][1]
    browser.devtools("Emulation.setDeviceMetricsOverride", width=390, height=844, deviceScaleFactor=1, mobile=True)
    wide = browser.run(
        "return Array.from(document.querySelectorAll('body *')).filter(e => !e.closest('.scroll') && !e.closest('svg')"
        " && e.getBoundingClientRect().right > innerWidth).map(e => e.tagName + '.' + e.className)"
    )
    browser.devtools("Emulation.clearDeviceMetricsOverride")
    assert wide == []
    assert base64.b64decode(browser.do("POST", "/print")).startswith(b"%PDF-")
    browser.devtools("Emulation.setEmulatedMedia", media="print")
    assert browser.run(colour) == "rgb(255, 255, 255)"
    assert browser.run("return getComputedStyle(document.getElementById('filters')).display") == "none"
    browser.devtools("Emulation.setEmulatedMedia", media="")
    assert browser.console() == []
