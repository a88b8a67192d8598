# title: A cell magic that runs the cell with exec() into its own dict loses the assignments
# kind: tool_hazard
# variable: my_cell_magic
# says: Names bound inside the magic are not visible afterwards.
# fix: Run the cell with shell.run_cell / exec(code, shell.user_ns).
# torch: NameError (line 8, cell 3): name 'w' is not defined
# source: ipython/ipython#11659
# quiet: true

import torch
def my_cell_magic(line, cell):
    exec(cell, dict(get_ipython().user_ns), {})  #! cause
get_ipython().register_magic_function(my_cell_magic, "cell", "mine")
# %%
get_ipython().run_cell_magic("mine", "", "w = torch.ones(1, requires_grad=True)")
# %%
print(w)  #! symptom
