"""One real kernel for all tests of a module, driven by its messages."""

from __future__ import annotations

import importlib.util
import os
import queue
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

_NEEDED = ("ipykernel", "jupyter_client", "nbclient", "nbformat")


@dataclass
class Reply:
    """What came of one cell."""

    status: str = ""
    ename: str = ""
    evalue: str = ""
    outputs: list[dict[str, Any]] = field(default_factory=list)

    def text(self, name: str = "") -> str:
        """All that was written to a stream, or to both."""
        return "".join(
            o["text"] for o in self.outputs if o["type"] == "stream" and name in ("", o.get("name"))
        )

    @property
    def errors(self) -> list[str]:
        """The tracebacks that were shown."""
        return [_plain("\n".join(o["traceback"])) for o in self.outputs if o["type"] == "error"]

    @property
    def result(self) -> tuple[int, str] | None:
        """``Out[n]`` as its number and its text."""
        for out in self.outputs:
            if out["type"] == "execute_result":
                return out["execution_count"], out["data"]["text/plain"]
        return None

    @property
    def displays(self) -> list[dict[str, Any]]:
        """Everything that was displayed or updated, in order."""
        return [
            {**o["data"], "update": o["type"] == "update_display_data"}
            for o in self.outputs
            if o["type"] in ("display_data", "update_display_data")
        ]


def _plain(text: str) -> str:
    import re

    return re.sub(r"\x1b\[[0-9;]*m", "", text)


class Kernel:
    """A kernel and how to run cells in it."""

    def __init__(self, manager: Any, client: Any) -> None:
        self.manager, self.client = manager, client

    def send(self, code: str, **kwargs: Any) -> str:
        """Queue a cell, as Run All does."""
        message: str = self.client.execute(code, allow_stdin=False, **kwargs)
        return message

    def collect(
        self,
        *messages: str,
        timeout: float = 90,
        when: Callable[[dict[str, Any]], None] | None = None,
    ) -> list[Reply]:
        """Wait until all these cells are done."""
        replies = {message: Reply() for message in messages}
        open_ = set(messages)
        end = time.monotonic() + timeout
        while open_:
            left = end - time.monotonic()
            if left <= 0:
                raise TimeoutError(f"no end after {timeout} s: {replies}")
            try:
                message = self.client.get_iopub_msg(timeout=min(left, 5))
            except queue.Empty:
                continue
            parent, kind = message["parent_header"].get("msg_id"), message["msg_type"]
            if parent not in replies:
                continue
            if kind == "status":
                if message["content"]["execution_state"] == "idle":
                    open_.discard(parent)
                continue
            out = {"type": kind, **message["content"]}
            replies[parent].outputs.append(out)
            if when is not None:
                when(out)
        for message_id in messages:
            self._reply(message_id, replies[message_id], end)
        return list(replies.values())

    def _reply(self, message_id: str, reply: Reply, end: float) -> None:
        while True:
            content = self.client.get_shell_msg(timeout=max(1.0, end - time.monotonic()))
            if content["parent_header"].get("msg_id") == message_id:
                break
        reply.status = content["content"]["status"]
        reply.ename = content["content"].get("ename", "")
        reply.evalue = content["content"].get("evalue", "")

    def run(self, code: str, **kwargs: Any) -> Reply:
        """Run one cell."""
        return self.collect(self.send(code), **kwargs)[0]

    def run_all(self, *cells: str) -> list[Reply]:
        """Queue all cells at once; the kernel gives up the rest after an error."""
        # The kernel gives up what it has received: a first cell that takes a moment makes
        # sure that it has received all.
        wait = self.send("import time; time.sleep(0.3)")
        return self.collect(wait, *[self.send(cell) for cell in cells])[1:]

    def value(self, expression: str) -> Any:
        """Evaluate an expression whose value is plain."""
        import ast

        reply = self.run(f"print(repr({expression}))")
        assert reply.status == "ok", reply
        return ast.literal_eval(reply.text("stdout"))


def _missing() -> list[str]:
    return [name for name in _NEEDED if importlib.util.find_spec(name) is None]


@pytest.fixture(scope="module")
def running_kernel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kernel]:
    if missing := _missing():
        reason = f"a real kernel needs {', '.join(missing)}"
        if os.environ.get("LEAFMAGIC_REQUIRE_KERNEL", "") not in ("", "0"):
            pytest.fail(f"LEAFMAGIC_REQUIRE_KERNEL is set, but {reason}")
        pytest.skip(reason)
    from jupyter_client.manager import start_new_kernel

    home = tmp_path_factory.mktemp("home")
    patch = pytest.MonkeyPatch()
    for name in ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR"):
        patch.setenv(name, str(home / name))
    manager, client = start_new_kernel(kernel_name="python3", startup_timeout=90)
    try:
        kernel = Kernel(manager, client)
        ready = kernel.run("import sys, torch\n%load_ext leafmagic\n%config LeafMagic.mode = 'off'")
        assert ready.status == "ok", ready
        yield kernel
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)
        patch.undo()


_CLEAN = """(
    torch._C._len_torch_function_stack(),
    torch._C._len_torch_dispatch_stack(),
    'showtraceback' in vars(get_ipython()),
    [t.name for t in __import__('threading').enumerate() if t.name.startswith('leafmagic')],
    [name for name in __import__('linecache').cache if name.startswith('<timed')],
    len(get_ipython().magics_manager.registry['LeafMagic'].runner.stack),
)"""


@pytest.fixture
def kernel(running_kernel: Kernel) -> Iterator[Kernel]:
    """The kernel; after the test, leafmagic must be gone from torch and from the shell."""
    yield running_kernel
    # The check itself is the one execution that is running.
    assert running_kernel.value(_CLEAN) == (0, 0, False, [], [], 1)
