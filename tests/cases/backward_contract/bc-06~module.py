# title: an EmbeddingBag inside a module, and RMSprop, in a function
# kind: backward_contract
# variable: net.bag.weight
# raises: RuntimeError

import torch
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.bag = torch.nn.EmbeddingBag(5, 2, mode="sum", sparse=True)  #! cause
        self.out = torch.nn.Linear(2, 1)
    def forward(self, idx):
        return self.out(self.bag(idx)).sum()
def fit(net):
    opt = torch.optim.RMSprop(net.parameters())
    net(torch.tensor([[0, 1]])).backward()
    opt.step()  #! symptom
net = Net()
fit(net)
