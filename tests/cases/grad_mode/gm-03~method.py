# title: A class enters inference mode in its set-up
# kind: grad_mode
# variable: torch.inference_mode(True)
# says: the guard dies at the end of the line.

import torch
class Server:
    def setup(self, net):
        self.net = net.eval()
        torch.inference_mode(True).__enter__()  #! cause
        print(torch.is_inference_mode_enabled())  #! symptom
    def answer(self, x):
        return self.net(x)
server = Server()
server.setup(torch.nn.Linear(2, 1))
print(server.answer(torch.ones(1, 2)).requires_grad)
