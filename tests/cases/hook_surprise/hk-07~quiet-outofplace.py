# title: inputs of modules that work out of place, and a pre-hook
# kind: hook_surprise
# quiet: true

import torch
class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.act = torch.nn.ReLU()
        self.wet = torch.nn.ReLU(inplace=True)
    def forward(self, x):
        return self.wet(self.act(x) + 1)
block, seen = Block(), []
block.act.register_forward_hook(lambda mod, inp, out: seen.append(inp[0].tolist()))
block.wet.register_forward_pre_hook(lambda mod, inp: seen.append(inp[0].tolist()))
block.register_forward_hook(lambda mod, inp, out: seen.append(inp[0].tolist()))
block(torch.tensor([5., -5.]))
norm = torch.nn.BatchNorm1d(2)
norm.register_forward_hook(lambda mod, inp, out: seen.append(inp[0].mean()))
norm(torch.randn(4, 2))
