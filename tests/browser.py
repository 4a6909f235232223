"""A real browser, driven through its WebDriver by the standard library alone. Skips where Chromium is not installed."""

from __future__ import annotations

import base64
import http.client
import json
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

_DRIVER, _BROWSER = shutil.which("chromedriver"), shutil.which("chromium")
needs_browser = pytest.mark.skipif(not (_DRIVER and _BROWSER), reason="no chromium with its driver on this machine")
_ARGUMENTS = ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars")


class Browser:
    def __init__(self, port: int) -> None:
        self._port = port
        self._session = ""

    def begin(self, arguments: tuple[str, ...]) -> None:
        options = {"binary": _BROWSER, "args": [*_ARGUMENTS, *arguments]}
        logs = {"browser": "ALL"}
        wanted = {"alwaysMatch": {"goog:chromeOptions": options, "goog:loggingPrefs": logs}}
        found = self._ask("POST", "", {"capabilities": wanted})
        self._session = f"/{found['sessionId']}"

    def open(self, address: str) -> None:
        self._ask("POST", "/url", {"url": address})

    def size(self, width: int, height: int) -> None:
        """Of what is shown, whatever the smallest window is."""
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
        self.tell("Emulation.setDeviceMetricsOverride", metrics)

    def dark(self, *, on: bool) -> None:
        value = "dark" if on else "light"
        self.tell("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": value}]})

    def tell(self, command: str, parameters: dict[str, Any]) -> Any:
        """A command of Chromium's own protocol."""
        return self._ask("POST", "/goog/cdp/execute", {"cmd": command, "params": parameters})

    def run(self, script: str) -> Any:
        """The value that the script returns."""
        return self._ask("POST", "/execute/sync", {"script": script, "args": []})

    def until(self, script: str, deadline_s: float = 20.0) -> Any:
        """Waits until the script returns something that is true."""
        return eventually(lambda: self.run(script), deadline_s)

    @property
    def complaints(self) -> list[str]:
        """What the console has of errors and refusals."""
        found = self._ask("POST", "/se/log", {"type": "browser"})
        return [entry["message"] for entry in found if entry["level"] in {"SEVERE", "WARNING"}]

    def screenshot(self, file: Path, *, whole: bool = True) -> None:
        """`whole`: down to the page's end."""
        found = self.tell("Page.captureScreenshot", {"captureBeyondViewport": whole})
        file.write_bytes(base64.b64decode(found["data"]))

    def end(self) -> None:
        if self._session:
            self._ask("DELETE", "")

    def _ask(self, method: str, path: str, body: Any = None) -> Any:
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=60)
        connection.request(method, f"/session{self._session}{path}", json.dumps(body) if body is not None else None)
        answer = json.loads(connection.getresponse().read())["value"]
        connection.close()
        if isinstance(answer, dict) and "error" in answer:
            raise RuntimeError(answer["message"])
        return answer


def eventually(ask: Callable[[], Any], deadline_s: float) -> Any:
    end = time.monotonic() + deadline_s
    while not (found := ask()):
        assert time.monotonic() < end, "it did not come true"
        time.sleep(0.05)
    return found


@contextmanager
def browser(folder: Path, *arguments: str) -> Iterator[Browser]:
    """`folder` takes the browser's own files."""
    assert _DRIVER is not None, "`needs_browser` skips"
    with subprocess.Popen([_DRIVER, "--port=0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as driver:
        assert driver.stdout is not None
        try:
            said = next(line for line in driver.stdout if "started successfully on port" in line)
            found = Browser(int(said.rstrip(". \n").rpartition(" ")[2]))
            found.begin((f"--user-data-dir={folder}", *arguments))
            try:
                yield found
            finally:
                found.end()
        finally:
            driver.terminate()
