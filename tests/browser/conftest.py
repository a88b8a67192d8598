"""A real Jupyter server and a real Chromium for the tests of this folder.

`lab` is what a test asks for::

    def test_it(lab):
        page = lab.open_notebook(["%load_ext leafmagic", "%%autograd\\n..."])
        lab.run_all()                                # returns while the cells run
        lab.widget().get_by_text("waiting").wait_for()
        lab.wait_idle()                              # until the last cell has run

Where Chromium, playwright or JupyterLab is missing the tests are skipped and say why;
with the environment variable ``LEAFMAGIC_REQUIRE_BROWSER=1`` they fail instead.
"""

from __future__ import annotations

import importlib.util
import itertools
import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

REPO = Path(__file__).resolve().parents[2]
TOKEN = "tok"  # noqa: S105
CHROMIUM_ARGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
]
KERNEL_READY = """async () => {
  const panel = jupyterapp.shell.currentWidget;
  await panel.context.ready;
  await panel.sessionContext.ready;
  await panel.sessionContext.session.kernel.info;
}"""
RUN_ALL = """() => {
  window.leafmagicTestDone = false;
  const done = () => { window.leafmagicTestDone = true; };
  jupyterapp.commands.execute('notebook:run-all-cells').then(done, done);
}"""


def _chromium() -> str | None:
    return next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "chrome"))), None)


def _missing() -> str:
    """Return what is missing for these tests; empty if nothing is."""
    for module in ("playwright", "jupyterlab", "anywidget"):
        if importlib.util.find_spec(module) is None:
            return f"the package {module} is not installed"
    return "" if _chromium() else "no chromium on the PATH"


@pytest.fixture(scope="session")
def need_browser() -> None:
    """Skip where there is no browser, or fail where one is required."""
    missing = _missing()
    if missing and os.environ.get("LEAFMAGIC_REQUIRE_BROWSER") == "1":
        pytest.fail(f"browser tests are required, but {missing}")
    if missing:
        pytest.skip(missing)


class Server:
    """A running Jupyter server.

    Attributes
    ----------
    root : Path
        Its folder: notebooks are written to and read from here.
    url : str
        Such as ``http://127.0.0.1:43210``.
    """

    def __init__(self, root: Path, url: str) -> None:
        self.root = root
        self.url = url

    def call(self, path: str, method: str = "GET") -> Any:
        """Call the server's REST interface; return the JSON it answers."""
        request = urllib.request.Request(  # noqa: S310
            self.url + path, method=method, headers={"Authorization": f"token {TOKEN}"}
        )
        with urllib.request.urlopen(request, timeout=10) as answer:  # noqa: S310
            text = answer.read()
        return json.loads(text) if text else None

    def end_kernels(self) -> None:
        """End every kernel, so that a notebook opened again gets a fresh one."""
        for session in self.call("/api/sessions"):
            self.call(f"/api/sessions/{session['id']}", "DELETE")

    def write(self, cells: list[str], name: str) -> None:
        """Write a notebook with these code cells."""
        made = [
            {
                "cell_type": "code",
                "id": f"cell-{number}",
                "metadata": {},
                "execution_count": None,
                "outputs": [],
                "source": text,
            }
            for number, text in enumerate(cells)
        ]
        kernel = {
            "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}
        }
        document = {"cells": made, "metadata": kernel, "nbformat": 4, "nbformat_minor": 5}
        (self.root / name).write_text(json.dumps(document), encoding="utf-8")

    def read(self, name: str) -> Any:
        """Return a notebook as it is on disk."""
        return json.loads((self.root / name).read_text(encoding="utf-8"))


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port


def _environment(folder: Path) -> dict[str, str]:
    config = folder / "config"
    (config / "labconfig").mkdir(parents=True)
    off = {"disabledExtensions": {"@jupyterlab/apputils-extension:announcements": True}}
    (config / "labconfig" / "page_config.json").write_text(json.dumps(off), encoding="utf-8")
    return {
        **os.environ,
        "JUPYTER_CONFIG_DIR": str(config),
        "JUPYTER_DATA_DIR": str(folder / "data"),
        "JUPYTER_RUNTIME_DIR": str(folder / "runtime"),
        "JUPYTERLAB_SETTINGS_DIR": str(folder / "settings"),
        "JUPYTERLAB_WORKSPACES_DIR": str(folder / "workspaces"),
        "IPYTHONDIR": str(folder / "ipython"),
        "PYTHONPATH": os.pathsep.join(filter(None, [str(REPO), os.environ.get("PYTHONPATH", "")])),
    }


@pytest.fixture(scope="session")
def jupyter_server(
    need_browser: None,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Server]:
    """Run one JupyterLab (and Notebook 7) server for the whole session."""
    folder = tmp_path_factory.mktemp("jupyter")
    root = folder / "root"
    root.mkdir()
    port = _free_port()
    command = [
        *(sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", "--ip=127.0.0.1"),
        *(f"--port={port}", f"--IdentityProvider.token={TOKEN}", f"--ServerApp.root_dir={root}"),
        "--LabApp.expose_app_in_browser=True",
    ]
    with (folder / "server.log").open("w") as log:
        process = subprocess.Popen(command, env=_environment(folder), stdout=log, stderr=log)
        server = Server(root, f"http://127.0.0.1:{port}")
        try:
            _wait_for(server, process, folder / "server.log")
            yield server
            server.end_kernels()
        finally:
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _wait_for(server: Server, process: subprocess.Popen[bytes], log: Path) -> None:
    for _ in range(600):
        if process.poll() is not None:
            break
        try:
            server.call("/api/status")
            return
        except (urllib.error.URLError, OSError):
            time.sleep(0.1)
    pytest.fail(f"the Jupyter server did not start:\n{log.read_text()[-3000:]}")


@pytest.fixture(scope="module")
def chromium(need_browser: None) -> Iterator[Any]:
    """Run one headless Chromium for each test module.

    Not for the session: while playwright is open, asyncio believes a loop is running in
    this thread, and the tests that start kernels could not run after these.
    """
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=_chromium(), args=CHROMIUM_ARGS)
        yield browser
        browser.close()


class Lab:
    """JupyterLab, or Notebook 7, in a page of its own.

    Attributes
    ----------
    page : playwright Page
        The page that was opened last.
    server : Server
    strangers : list of str
        Requests that went anywhere but to this machine. At the end of a test the
        fixture asserts that there were none.
    errors : list of str
        Uncaught errors of the page's scripts.
    """

    def __init__(self, server: Server, browser: Any) -> None:
        self.server = server
        self.browser = browser
        self.page: Any = None
        self.strangers: list[str] = []
        self.errors: list[str] = []
        self._contexts: list[Any] = []
        self._numbers = itertools.count(1)

    def open_notebook(self, cells: list[str], name: str = "", **viewport: int) -> Any:
        """Write a notebook, open it in JupyterLab, wait for its kernel; return the page."""
        name = self._write(cells, name)
        return self.reopen(name, **viewport)

    def reopen(self, name: str, **viewport: int) -> Any:
        """Open a notebook that exists in a fresh page with a fresh kernel; return the page."""
        self._go(f"/lab/tree/{name}?reset", viewport)
        self.page.wait_for_function("() => window.jupyterapp?.shell?.currentWidget?.context")
        self.page.evaluate(KERNEL_READY)
        return self.page

    def open_notebook7(self, cells: list[str], name: str = "", **viewport: int) -> Any:
        """Write a notebook and open it in Notebook 7; return the page.

        Run its cells with `run_first_cell`; the other methods need JupyterLab.
        """
        name = self._write(cells, name)
        self._go(f"/notebooks/{name}", viewport)
        self.page.locator(".jp-Notebook .cm-content").first.wait_for()
        self._wait_for_kernel(name)
        return self.page

    def run_first_cell(self) -> None:
        """Run the first cell with the keyboard, as a reader does; do not wait."""
        self.page.locator(".jp-Notebook .cm-content").first.click()
        self.page.keyboard.press("Shift+Enter")

    def run_all(self) -> None:
        """Start all cells and return at once, while they run."""
        self.page.evaluate(RUN_ALL)

    def wait_idle(self, timeout_s: float = 60) -> None:
        """Wait until everything that `run_all` started has run."""
        self.page.wait_for_function("() => window.leafmagicTestDone", timeout=timeout_s * 1000)

    def is_busy(self) -> bool:
        """Whether cells that `run_all` started are still running."""
        return not self.page.evaluate("() => window.leafmagicTestDone")

    def theme(self, name: str) -> None:
        """Change the theme: ``"JupyterLab Dark"``, ``"JupyterLab Dark High Contrast"``..."""
        self.page.evaluate(
            "theme => jupyterapp.commands.execute('apputils:change-theme', { theme })", name
        )
        self.page.wait_for_function("name => document.body.dataset.jpThemeName === name", arg=name)

    def save(self) -> None:
        """Save the notebook."""
        self.page.evaluate("() => jupyterapp.commands.execute('docmanager:save')")

    def widget(self, number: int = 0) -> Any:
        """Return the locator of the n-th live widget of the page."""
        return self.page.locator("section.lm").nth(number)

    def close(self) -> None:
        """Close the pages and end the kernels."""
        for context in self._contexts:
            context.close()
        self._contexts.clear()
        self.server.end_kernels()

    def _wait_for_kernel(self, name: str) -> None:
        """Ask the server: the page's own indicator says idle before it is connected."""
        for _ in range(300):
            for session in self.server.call("/api/sessions"):
                kernel = session["kernel"]
                ready = kernel["connections"] and kernel["execution_state"] == "idle"
                if session["path"] == name and ready:
                    self.page.wait_for_timeout(300)
                    return
            self.page.wait_for_timeout(100)
        pytest.fail("the notebook's kernel did not become idle")

    def _write(self, cells: list[str], name: str) -> str:
        name = name or f"test-{os.getpid()}-{id(self):x}-{next(self._numbers)}.ipynb"
        self.server.write(cells, name)
        return name

    def _go(self, path: str, viewport: dict[str, int]) -> None:
        self.close()
        size = {"width": 1280, "height": 900, **viewport}
        context = self.browser.new_context(viewport=size)
        context.grant_permissions(["clipboard-read", "clipboard-write"])
        self._contexts.append(context)
        self.page = context.new_page()
        self.page.on("request", self._on_request)
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        sign = "&" if "?" in path else "?"
        self.page.goto(f"{self.server.url}{path}{sign}token={TOKEN}")

    def _on_request(self, request: Any) -> None:
        if not request.url.startswith((self.server.url, "data:", "blob:")):
            self.strangers.append(request.url)


@pytest.fixture
def lab(jupyter_server: Server, chromium: Any) -> Iterator[Lab]:
    """JupyterLab in a real browser; see `Lab` and the module's docstring.

    After the test no request may have left 127.0.0.1.
    """
    one = Lab(jupyter_server, chromium)
    yield one
    one.close()
    assert one.strangers == []
