# title: Boolean adjacency is stored as a parameter of a module
# kind: requires_grad_flag
# variable: adjacency
# says: parameters require grad; a bool tensor cannot.
# raises: RuntimeError

import torch
class Graph(torch.nn.Module):
    def __init__(self, adjacency):
        super().__init__()
        self.adjacency = torch.nn.Parameter(adjacency)  #! cause symptom
Graph(torch.eye(3) > 0)
