"""Classifies PyTorch tensors: real memory to launch on, or fake and traced ones."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

import torch

Tensors: TypeAlias = Mapping[str, Any]  # None for what is to be allocated

_PRESENT = frozenset({torch.Tensor, torch.nn.Parameter, type(None)})
# There are no public words for these: how many modes watch what operators do, and which transform of torch.func is on.
_modes = torch._C._len_torch_dispatch_stack  # noqa: SLF001
_transform = torch._C._functorch.peek_interpreter_stack  # noqa: SLF001


def first(tensors: Tensors) -> Any:
    return next(tensor for tensor in tensors.values() if tensor is not None)


def index_of(device: Any) -> int:
    return int(torch.cuda.current_device() if device.index is None else device.index)


def against_kinds(tensors: Tensors) -> str | None:
    """What has no plain memory of its own: a DTensor, a quantised weight, whatever `vmap` hands on."""
    for name, tensor in tensors.items():
        kind = type(tensor)
        if kind in _PRESENT:
            continue
        if not isinstance(tensor, torch.Tensor):
            return f"{name} is a {kind.__name__}, not a tensor"
        is_plain = kind.__torch_dispatch__ is torch.Tensor.__torch_dispatch__
        if not is_plain and not kind.__module__.startswith("torch._subclasses."):  # those of PyTorch's own tracers
            return f"{name} is a {kind.__name__}"
    if not torch.compiler.is_compiling() and _transform() is not None:
        return "it cannot be transformed by torch.func"
    return None


def is_traced(tensors: Tensors) -> bool:
    """Whether somebody wants to know what happens to them, or they stand for tensors that are not there yet."""
    if torch.compiler.is_compiling() or _modes() > 0:
        return True
    return not _PRESENT.issuperset(map(type, tensors.values()))


def ready_for(tensor: Any, alignment: int) -> Any:
    """The tensor itself, or a copy where a row has gaps or its address is not one that wide accesses take."""
    if tensor.is_contiguous() and not tensor.is_neg() and tensor.data_ptr() % alignment == 0:
        return tensor
    return tensor.clone(memory_format=torch.contiguous_format)


def overlap(one: Any, other: Any) -> bool:
    """Of tensors with gaps, only what begins at the same place is said to: they may lie in each other's gaps."""
    first, second = one.data_ptr(), other.data_ptr()
    if one.is_contiguous() and other.is_contiguous():
        return bool(first < second + other.nbytes and second < first + one.nbytes)
    return bool(first == second and one.nbytes and other.nbytes)
