"""A tuned kernel as a function of tensors, launched on the current stream."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

import torch

from .driver import Function
from .planning import Gpu, Plan, Planner, parameter_values

Tensors: TypeAlias = Mapping[str, Any]  # None for what is to be allocated
Numbers: TypeAlias = Mapping[str, Any]

_PRESENT = (torch.Tensor, torch.nn.Parameter, type(None))
_REMEMBERED = 4096  # plans: one for each set of shapes, for sizes change from call to call


@dataclass(frozen=True)
class Tuned:
    name: str
    folder: Path
    planner: Planner
    _gpus: dict[int, Gpu] = field(default_factory=dict, init=False, compare=False, repr=False)
    _plans: dict[Any, Plan | str] = field(default_factory=dict, init=False, compare=False, repr=False)
    _functions: dict[tuple[str, int], Function] = field(default_factory=dict, init=False, compare=False, repr=False)
    _defaults: dict[str, Any] = field(default_factory=dict, init=False, compare=False, repr=False)
    _operator: Any = field(default=None, init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        """Compilers of PyTorch cannot look into a launch: they get an operator that they need not look into."""
        self._defaults.update({number.name: number.default for number in self.planner.numbers})
        namespace, name = "warpsmith_tuned", self.folder.parent.name
        if not hasattr(getattr(torch.ops, namespace), name):
            written = tuple(f"t{i}" for i, operand in enumerate(self.planner.operands) if operand.is_written)
            operator = torch.library.custom_op(
                f"{namespace}::{name}", self._of_operator, mutates_args=written, device_types="cuda", schema=self.schema
            )
            operator.register_fake(lambda *_: None)
        object.__setattr__(self, "_operator", getattr(getattr(torch.ops, namespace), name))

    def run(self, tensors: Tensors, numbers: Numbers) -> Any:
        """The outputs, one alone by itself. Raises ValueError where the kernel is not meant for that."""
        found = self.attempt(tensors, numbers)
        if isinstance(found, str):
            raise ValueError(f"the tuned {self.name} is not for this: {found}")  # noqa: TRY004 - a reason, not a wrong type
        outputs = [found[operand.name] for operand in self.planner.operands if operand.is_output]
        return outputs[0] if len(outputs) == 1 else tuple(outputs) or None

    def attempt(self, tensors: Tensors, numbers: Numbers) -> dict[str, Any] | str:
        """Launch it; all tensors then, outputs that were not given among them. Or why these must be left to another kernel."""
        given = {**self._defaults, **numbers}
        plan = self._plan(tensors, given)
        if isinstance(plan, str):
            return plan
        device = _first(tensors).device
        if (reason := self._against_now(plan, tensors, device)) is not None:
            return reason
        whole = dict(tensors)
        for operand in self.planner.operands:
            if whole.get(operand.name) is None:
                dtype = getattr(torch, operand.dtype)
                whole[operand.name] = torch.empty(plan.outputs[operand.name], dtype=dtype, device=device)
        if _is_traced(whole):
            values = [given[number.name] for number in self.planner.numbers]
            self._operator(*(whole[operand.name] for operand in self.planner.operands), *values)
        else:
            self._launch(plan, whole, given, _index(device))
        return whole

    def why_not(self, tensors: Tensors, numbers: Numbers) -> str | None:
        plan = self._plan(tensors, {**self._defaults, **numbers})
        return plan if isinstance(plan, str) else self._against_now(plan, tensors, _first(tensors).device)

    def load(self, device: int | None = None) -> None:
        """Load the machine code of every configuration now, which the first launch would do: a graph's capture allows none."""
        index = torch.cuda.current_device() if device is None else device
        with torch.cuda.device(index):
            torch.cuda.current_stream(index).synchronize()  # brings the context about
            for configuration in self.planner.configurations:
                self._function(configuration.name, configuration.code, index)

    @property
    def schema(self) -> str:
        """Of the operator."""
        tensors = [f"Tensor{f'(a{i}!)' if o.is_written else ''} t{i}" for i, o in enumerate(self.planner.operands)]
        kinds = {bool: "bool", int: "int", float: "float"}
        numbers = [f"{'int' if n.is_size else kinds[type(n.default)]} n{i}" for i, n in enumerate(self.planner.numbers)]
        return f"({', '.join([*tensors, *numbers])}) -> ()"

    def _plan(self, tensors: Tensors, numbers: Numbers) -> Plan | str:
        if _is_traced(tensors):
            return self._planned(tensors, numbers)  # sizes may be symbols, which nothing can be looked up by
        key = (
            *((t.shape, t.dtype, t.device) if (t := tensors.get(o.name)) is not None else None for o in self.planner.operands),
            *(None if number.is_free else numbers[number.name] for number in self.planner.numbers),
        )
        found = self._plans.get(key)
        if found is None:
            if len(self._plans) >= _REMEMBERED:
                self._plans.clear()
            found = self._plans[key] = self._planned(tensors, numbers)
        return found

    def _planned(self, tensors: Tensors, numbers: Numbers) -> Plan | str:
        present = {name: tensor for name, tensor in tensors.items() if tensor is not None}
        devices = {str(tensor.device) for tensor in present.values()}
        if len(devices) != 1 or not next(iter(devices)).startswith("cuda"):
            return f"its tensors must be on one GPU, not on {', '.join(sorted(devices)) or 'none'}"
        for operand in self.planner.operands:
            tensor = present.get(operand.name)
            if tensor is None and not operand.is_output:
                return f"{operand.name} is missing"
            if tensor is not None and tensor.dtype is not getattr(torch, operand.dtype):
                return f"{operand.name} is {tensor.dtype}, not torch.{operand.dtype}"
            if tensor is not None and tensor.dim() < operand.axes:
                return f"{operand.name} has {tensor.dim()} axes, not {operand.axes}"
        for number in self.planner.numbers:
            if number.is_size and numbers[number.name] is None:
                return f"the size {number.name} is missing"
        shapes = {name: tuple(tensor.shape) for name, tensor in present.items()}
        return self.planner.plan(shapes, numbers, self._gpu(_index(_first(present).device)))

    def _against_now(self, plan: Plan, tensors: Tensors, device: Any) -> str | None:
        """What is another thing from call to call, with the same shapes."""
        if torch.is_grad_enabled() and any(tensor is not None and tensor.requires_grad for tensor in tensors.values()):
            return "it has no gradient"
        if (plan.configuration.name, _index(device)) not in self._functions and torch.cuda.is_current_stream_capturing():
            return "its machine code is not loaded, and cannot be while a graph is captured"
        return None

    def _of_operator(self, *given: Any) -> None:
        operands = self.planner.operands
        tensors = {operand.name: tensor for operand, tensor in zip(operands, given[: len(operands)], strict=True)}
        numbers = {n.name: value for n, value in zip(self.planner.numbers, given[len(operands) :], strict=True)}
        plan = self._plan(tensors, numbers)
        if isinstance(plan, str):
            raise RuntimeError(f"the tuned {self.name} is not for this: {plan}")  # noqa: TRY004 - a reason, not a wrong type
        self._launch(plan, tensors, numbers, _index(_first(tensors).device))

    def _launch(self, plan: Plan, tensors: Tensors, numbers: Numbers, index: int) -> None:
        if 0 in plan.grid:
            return  # an empty tensor
        with nullcontext() if index == torch.cuda.current_device() else torch.cuda.device(index):
            self._launch_here(plan, tensors, numbers, index)

    def _launch_here(self, plan: Plan, tensors: Tensors, numbers: Numbers, index: int) -> None:
        """On the current device."""
        alignment = plan.configuration.alignment
        ready = {operand.name: _ready(tensors[operand.name], alignment) for operand in self.planner.operands}
        values = parameter_values(plan, {name: tensor.data_ptr() for name, tensor in ready.items()}, numbers)
        function = self._function(plan.configuration.name, plan.configuration.code, index)
        stream = torch.cuda.current_stream(index).cuda_stream
        function.launch(plan.grid, plan.block, plan.shared_bytes, stream, values)
        for operand in self.planner.operands:
            if operand.is_written and ready[operand.name] is not tensors[operand.name]:
                tensors[operand.name].copy_(ready[operand.name])

    def _gpu(self, index: int) -> Gpu:
        found = self._gpus.get(index)
        if found is None:
            about = torch.cuda.get_device_properties(index)
            limits = {
                "max_threads_per_block": about.max_threads_per_block,
                "max_block_x": 1024,
                "max_block_y": 1024,
                "max_block_z": 64,
                "shared_bytes_per_block": about.shared_memory_per_block_optin,
                "warp_size": about.warp_size,
                "compute_units": about.multi_processor_count,
                "shared_banks": 32,
                "registers_per_thread": 255,
                "max_grid_x": 2**31 - 1,
                "max_grid_y": 2**16 - 1,
                "max_grid_z": 2**16 - 1,
            }
            found = self._gpus[index] = Gpu(f"sm_{about.major}{about.minor}", limits)
        return found

    def _function(self, name: str, code: Mapping[str, tuple[str, str]], index: int) -> Function:
        """Loaded into the device's context, which is current."""
        found = self._functions.get((name, index))
        if found is None:
            file, entry = code[self._gpu(index).architecture]
            found = self._functions[name, index] = Function((self.folder / file).read_bytes(), entry)
        return found


def _first(tensors: Tensors) -> Any:
    return next(tensor for tensor in tensors.values() if tensor is not None)


def _index(device: Any) -> int:
    return int(torch.cuda.current_device() if device.index is None else device.index)


def _is_traced(tensors: Tensors) -> bool:
    """Whether they stand for tensors that are not there yet."""
    return torch.compiler.is_compiling() or not all(type(tensor) in _PRESENT for tensor in tensors.values())


def _ready(tensor: Any, alignment: int) -> Any:
    """The tensor itself, or a copy where a row has gaps or its address is not one that wide accesses take."""
    if tensor.is_contiguous() and tensor.data_ptr() % alignment == 0:
        return tensor
    return tensor.clone(memory_format=torch.contiguous_format)
