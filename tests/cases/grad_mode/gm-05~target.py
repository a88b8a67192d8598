# title: A target of inference mode goes into a loss
# kind: grad_mode
# variable: teacher
# says: the product must save teacher.
# raises: RuntimeError

import torch
student = torch.nn.Linear(2, 2)
x = torch.ones(3, 2)
# %%
with torch.inference_mode():
    teacher = x.softmax(-1)  #! cause
loss = -(teacher * student(x).log_softmax(-1)).sum()  #! symptom
loss.backward()
