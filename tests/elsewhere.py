"""A second device that is only believed in, so that a mix of two is an error without a GPU.

Tensors stay on the CPU; a mode keeps note of which are elsewhere, tells so when asked for their
device, and refuses, as PyTorch does, to compute with tensors of two devices. As there, a number
(a tensor without axes) and an index may come from the CPU.
"""

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_leaves, tree_map
from torch.utils.weak import WeakTensorKeyDictionary

ELSEWHERE = torch.device("xla:0")
CPU = torch.device("cpu")
_INDEXED = (torch.Tensor.__getitem__, torch.Tensor.__setitem__)


class Elsewhere(TorchFunctionMode):
    """The given tensors are there, and what is made of them, made there or moved there."""

    def __init__(self, tensors):
        super().__init__()
        self._there = WeakTensorKeyDictionary()
        self.n_computed = 0
        for tensor in tensors:
            self._there[tensor] = True

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        leaves = tree_leaves((args, kwargs))
        tensors = [each for each in leaves if isinstance(each, torch.Tensor)]
        devices = [each for each in leaves if isinstance(each, torch.device)]
        if func == torch.Tensor.device.__get__:
            return ELSEWHERE if args[0] in self._there else func(*args)
        if func in (torch.Tensor.cpu, torch.Tensor.to):
            goal = self._goal(func, args, devices)
            moved = func(*tree_map(_really, args), **tree_map(_really, kwargs))
            return self._placed(moved, goal, before=args[0])
        self._refuse_two_places(func, args, tensors)
        is_there = ELSEWHERE in devices or any(each in self._there for each in tensors)
        given = func(*tree_map(_really, args), **tree_map(_really, kwargs))
        for each in tree_leaves(given) if is_there else ():
            if isinstance(each, torch.Tensor):
                self.n_computed += 1
                self._there[each] = True
        return given

    def _goal(self, func, args, devices):
        if func == torch.Tensor.cpu:
            return CPU
        like = [each for each in args[1:] if isinstance(each, torch.Tensor)]
        return [*devices, *self._told(like), *self._told(args[:1])][0]

    def _told(self, tensors):
        return [ELSEWHERE if each in self._there else CPU for each in tensors]

    def _placed(self, moved, goal, *, before):
        if (before in self._there) == (goal == ELSEWHERE):
            if goal == ELSEWHERE:
                self._there[moved] = True
            return moved
        moved = moved.clone() if moved is before else moved
        if goal == ELSEWHERE:
            self._there[moved] = True
        return moved

    def _refuse_two_places(self, func, args, tensors):
        name = getattr(func, "__name__", str(func))
        if func in (torch.Tensor.numpy, torch.Tensor.__array__) and args[0] in self._there:
            raise TypeError("a tensor from elsewhere has no NumPy array; use Tensor.cpu().")
        if func in _INDEXED:
            here = args[0] not in self._there
            indices = [each for each in tree_leaves(args[1]) if isinstance(each, torch.Tensor)]
            if here and any(each in self._there for each in indices):
                raise RuntimeError(f"{name}: indices from elsewhere for a tensor on the CPU.")
            return
        places = {each in self._there for each in tensors if each.ndim}
        if len(places) > 1:
            raise RuntimeError(f"{name} was given tensors on two devices.")


def _really(each):
    return CPU if isinstance(each, torch.device) else each
