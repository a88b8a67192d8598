# title: A guard that is held, entered and left by hand
# kind: grad_mode
# quiet: true

import torch
class Timer:
    def __enter__(self):
        return self
    def __exit__(self, *error):
        return False
guard = torch.inference_mode()
guard.__enter__()
try:
    x = torch.ones(2) * 3
finally:
    guard.__exit__(None, None, None)
Timer().__enter__()
assert not torch.is_inference_mode_enabled()
