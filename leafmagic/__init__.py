"""leafmagic shows autograd as it happens, in the words of the cell."""

__version__ = "0.1.0"
