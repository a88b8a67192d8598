"""What leafmagic could leave behind, in the process and in a shell."""

from __future__ import annotations

import linecache
import sys
import threading
import warnings
from typing import Any

import torch
from torch.nn.modules import module as torch_module
from torch.optim import optimizer as torch_optimizer

_PATCHABLE: tuple[Any, ...] = (
    torch.Tensor,
    torch.autograd,
    torch.nn.Module,
    torch.nn.Parameter,
    torch.optim.Optimizer,
    torch,
)
_EVENTS = ("pre_execute", "pre_run_cell", "post_execute", "post_run_cell")


def _hook_tables() -> dict[str, int]:
    return {
        name: len(table)
        for home in (torch_module, torch_optimizer)
        for name, table in vars(home).items()
        if name.startswith("_global_") and isinstance(table, dict)
    }


def leafmagic_threads() -> list[str]:
    def is_ours(thread: threading.Thread) -> bool:
        target = getattr(thread, "_target", None)
        homes = (type(thread).__module__, getattr(target, "__module__", "") or "", thread.name)
        return any(home.startswith("leafmagic") for home in homes)

    return sorted(t.name for t in threading.enumerate() if t.is_alive() and is_ours(t))


def process_state() -> dict[str, Any]:
    """Everything outside a shell that leafmagic could leave changed."""
    state: dict[str, Any] = {
        "torch function modes": torch._C._len_torch_function_stack(),
        "torch dispatch modes": torch._C._len_torch_dispatch_stack(),
        "saved tensor hooks": torch._C._autograd._top_saved_tensors_default_hooks(True),
        "grad mode": torch.is_grad_enabled(),
        "inference mode": torch.is_inference_mode_enabled(),
        "anomaly mode": torch.is_anomaly_enabled(),
        "showwarning": warnings.showwarning,
        "excepthook": sys.excepthook,
        "trace and profile function": (sys.gettrace(), sys.getprofile()),
        "lent lines": sorted(name for name in linecache.cache if name.startswith("<timed")),
    }
    for name, length in _hook_tables().items():
        state[f"hooks in {name}"] = length
    for home in _PATCHABLE:
        for name, value in list(vars(home).items()):
            # Modules cache what they import lazily; only functions can be patched.
            if callable(value) or isinstance(value, property):
                state[f"{home.__name__}.{name}"] = value
    return state


def changes(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    """Say what differs between two states; new names in a namespace are no change."""
    found = []
    for key, old in before.items():
        new = after.get(key)
        if new is old or new == old:
            continue
        if isinstance(old, dict) and isinstance(new, dict):
            found += [
                f"{key}: {name!r}: {old.get(name)!r} -> {new.get(name)!r}"
                for name in {**old, **new}
                if old.get(name) != new.get(name)
            ]
        else:
            found.append(f"{key}: {old!r} -> {new!r}")
    return found


def shell_state(shell: Any) -> dict[str, Any]:
    """Everything in a shell that an extension can change."""
    manager = shell.magics_manager
    commands = shell.strdispatchers["complete_command"]
    return {
        "input transformers": list(shell.input_transformers_cleanup),
        "post transformers": list(shell.input_transformers_post),
        "line transformers": list(shell.input_transformer_manager.line_transforms),
        "token transformers": list(shell.input_transformer_manager.token_transformers),
        "ast transformers": list(shell.ast_transformers),
        "events": {name: list(found) for name, found in shell.events.callbacks.items()},
        "line magics": dict(manager.magics["line"]),
        "cell magics": dict(manager.magics["cell"]),
        "magic registry": dict(manager.registry),
        "configurables": [id(c) for c in shell.configurables],
        "completers": {key: list(chain) for key, chain in commands.strs.items()},
        "matchers": list(shell.Completer.custom_matchers),
        "completer patterns": list(commands.regexs),
        "instance attributes": {n for n in vars(shell) if n.startswith("show")},
        "showtraceback": shell.showtraceback,
        "run_cell": shell.run_cell,
        "custom exceptions": shell.custom_exceptions,
        "excepthook": sys.excepthook,
        "displayhook": sys.displayhook,
        "display formatters": {
            name: (dict(f.type_printers), dict(f.deferred_printers))
            for name, f in shell.display_formatter.formatters.items()
        },
    }
