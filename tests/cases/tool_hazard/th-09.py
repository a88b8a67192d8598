# title: Loading an extension twice runs its cell callbacks twice
# kind: tool_hazard
# variable: load_ipython_extension
# says: Two callbacks per cell: IPython de-duplicates only identical function objects, not fresh
#     lambdas/bound methods.
# fix: Keep one module-level instance and implement unload_ipython_extension.
# torch: no error, no warning; prints: 2
# source: ipython/ipython#12625
# quiet: true

import torch
calls = []
def load_ipython_extension(ip):
    ip.events.register("post_run_cell", lambda r: calls.append(1))  #! cause
load_ipython_extension(get_ipython())
load_ipython_extension(get_ipython())
# %%
calls.clear()
# %%
print(len(calls))  #! symptom
