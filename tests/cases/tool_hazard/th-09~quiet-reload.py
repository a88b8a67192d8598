# title: The extension itself is loaded twice, and reloaded
# kind: tool_hazard
# quiet: true

ip = get_ipython()
ip.extension_manager.load_extension("leafmagic")
before = {name: len(found) for name, found in ip.events.callbacks.items()}
# %%
import torch
w = torch.ones(1, requires_grad=True)
(w * 2).backward()
# %%
ip.extension_manager.load_extension("leafmagic")
assert {name: len(found) for name, found in ip.events.callbacks.items()} == before
