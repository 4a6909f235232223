"""A tuned kernel as a function of tensors, launched on the current stream."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

import torch

from .description import Number, Operand
from .driver import Function
from .planning import Gpu, Plan, Planner, parameter_values
from .tensors import Tensors, against_kinds, first, index_of, is_traced, overlap, ready_for

Numbers: TypeAlias = Mapping[str, Any]

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
    _written: list[Operand] = field(default_factory=list, init=False, compare=False, repr=False)
    _varying: list[Number] = field(default_factory=list, init=False, compare=False, repr=False)
    _operator: Any = field(default=None, init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        """Compilers of PyTorch cannot look into a launch: they get an operator that they need not look into."""
        self._defaults.update({number.name: number.default for number in self.planner.numbers})
        self._written.extend(operand for operand in self.planner.operands if operand.is_written)
        self._varying.extend(number for number in self.planner.numbers if number.is_free or number.is_size)
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
            raise ValueError(f"the tuned {self.name} does not support this call: {found}")  # noqa: TRY004 - a reason, not a wrong type
        outputs = [found[operand.name] for operand in self.planner.operands if operand.is_output]
        return outputs[0] if len(outputs) == 1 else tuple(outputs) or None

    def attempt(self, tensors: Tensors, numbers: Numbers) -> dict[str, Any] | str:
        """Launch it; all tensors then, outputs that were not given among them. Or why these must be left to another kernel."""
        given, traced = {**self._defaults, **numbers}, is_traced(tensors)
        plan = self._plan_now(tensors, given, traced=traced)
        if isinstance(plan, str):
            return plan
        device = first(tensors).device
        whole = dict(tensors)
        for operand in self.planner.operands:
            if whole.get(operand.name) is None:
                dtype = getattr(torch, operand.dtype)
                whole[operand.name] = torch.empty(plan.outputs[operand.name], dtype=dtype, device=device)
        if traced:
            values = [given[number.name] for number in self._varying]
            self._operator(*(whole[operand.name] for operand in self.planner.operands), *values)
        else:
            self._launch(plan, whole, given, index_of(device))
            # As after every change in place: a gradient that needs the value before is an error then, and not a wrong one.
            changed = [whole[operand.name] for operand in self._written if tensors.get(operand.name) is not None]
            torch.autograd.graph.increment_version([tensor for tensor in changed if not tensor.is_inference()])
        return whole

    def why_not(self, tensors: Tensors, numbers: Numbers) -> str | None:
        plan = self._plan_now(tensors, {**self._defaults, **numbers}, traced=is_traced(tensors))
        return plan if isinstance(plan, str) else None

    def load(self, device: int | None = None) -> None:
        """Load the machine code of every configuration now, which the first launch would do: a graph's capture allows none."""
        index = torch.cuda.current_device() if device is None else device
        with torch.cuda.device(index):
            for configuration in self.planner.configurations:
                self._function(configuration.name, configuration.code, index)

    @property
    def schema(self) -> str:
        """Of the operator."""
        tensors = [f"Tensor{f'(a{i}!)' if o.is_written else ''} t{i}" for i, o in enumerate(self.planner.operands)]
        numbers = [f"{'int' if number.is_size else 'float'} n{i}" for i, number in enumerate(self._varying)]
        return f"({', '.join([*tensors, *numbers])}) -> ()"

    def _plan_now(self, tensors: Tensors, numbers: Numbers, *, traced: bool) -> Plan | str:
        """With what is another thing from call to call, though shapes are the same."""
        reason = against_kinds(tensors) or self.planner.against_numbers(numbers)
        if reason is not None:
            return reason
        # Sizes may be symbols while a trace is made, which nothing can be looked up by.
        plan = self._planned(tensors, numbers, traced=True) if traced else self._plan(tensors, numbers)
        return plan if isinstance(plan, str) else self._against_now(plan, tensors, traced=traced) or plan

    def _plan(self, tensors: Tensors, numbers: Numbers) -> Plan | str:
        key = (
            *((t.shape, t.dtype, t.device) if (t := tensors.get(o.name)) is not None else None for o in self.planner.operands),
            *(numbers[number.name] for number in self.planner.numbers if number.is_size),
        )
        found = self._plans.get(key)
        if found is None:
            if len(self._plans) >= _REMEMBERED:
                self._plans.clear()
            found = self._plans[key] = self._planned(tensors, numbers)
        return found

    def _planned(self, tensors: Tensors, numbers: Numbers, *, traced: bool = False) -> Plan | str:
        present = {name: tensor for name, tensor in tensors.items() if tensor is not None}
        devices = {str(tensor.device) for tensor in present.values()}
        if len(devices) != 1 or not next(iter(devices)).startswith("cuda"):
            return f"its tensors must be on one GPU, not on {', '.join(sorted(devices)) or 'none'}"
        if torch.version.hip is not None:
            return "it runs on NVIDIA GPUs"
        for operand in self.planner.operands:
            tensor = present.get(operand.name)
            if tensor is None and not operand.is_output:
                return f"{operand.name} is missing"
            if tensor is not None and tensor.dtype is not getattr(torch, operand.dtype):
                return f"{operand.name} is {tensor.dtype}, not torch.{operand.dtype}"
        shapes = {name: tuple(tensor.shape) for name, tensor in present.items()}
        return self.planner.plan(shapes, numbers, self._gpu(index_of(first(present).device)), traced=traced)

    def _against_now(self, plan: Plan, tensors: Tensors, *, traced: bool) -> str | None:
        if torch.is_grad_enabled() and any(tensor is not None and tensor.requires_grad for tensor in tensors.values()):
            return "it has no gradient"
        if traced:
            return None  # the operator finds out when it runs
        index = index_of(first(tensors).device)
        if (plan.configuration.name, index) not in self._functions and torch.cuda.is_current_stream_capturing():
            return "its machine code is not loaded, and cannot be while a graph is captured"
        return self._against_memory(tensors)

    def _against_memory(self, tensors: Tensors) -> str | None:
        """Of what is written, each element must have a place of its own."""
        before: list[tuple[str, Any]] = []
        for operand in self._written:
            name, tensor = operand.name, tensors.get(operand.name)
            if tensor is None:
                continue
            if not tensor.is_contiguous() and any(s == 0 and n > 1 for s, n in zip(tensor.stride(), tensor.shape, strict=True)):
                return f"elements of {name} share memory"
            for other, earlier in before:
                if overlap(tensor, earlier):
                    return f"{other} and {name} share memory"
            before.append((name, tensor))
        return None

    def _of_operator(self, *given: Any) -> None:
        operands = self.planner.operands
        tensors = {operand.name: tensor for operand, tensor in zip(operands, given[: len(operands)], strict=True)}
        said = {n.name: value for n, value in zip(self._varying, given[len(operands) :], strict=True)}
        numbers = {**self._defaults, **said}
        plan = self._plan(tensors, numbers)
        if not isinstance(plan, str):
            plan = self._against_memory(tensors) or plan
        if isinstance(plan, str):
            raise RuntimeError(f"the tuned {self.name} does not support this call: {plan}")  # noqa: TRY004 - a reason, not a wrong type
        self._launch(plan, tensors, numbers, index_of(first(tensors).device))

    def _launch(self, plan: Plan, tensors: Tensors, numbers: Numbers, index: int) -> None:
        if 0 in plan.grid:
            return  # an empty tensor
        with nullcontext() if index == torch.cuda.current_device() else torch.cuda.device(index):
            self._launch_here(plan, tensors, numbers, index)

    def _launch_here(self, plan: Plan, tensors: Tensors, numbers: Numbers, index: int) -> None:
        """On the current device."""
        alignment = plan.configuration.alignment
        ready = {operand.name: ready_for(tensors[operand.name], alignment) for operand in self.planner.operands}
        addresses = {name: tensor.data_ptr() for name, tensor in ready.items()}
        written = [(addresses[o.name], addresses[o.name] + ready[o.name].nbytes) for o in self._written]
        for operand in self.planner.operands:
            name, read = operand.name, ready[operand.name]
            for start, end in written if not operand.is_written else ():
                if addresses[name] < end and start < addresses[name] + read.nbytes:  # it must not change while it is read
                    ready[name] = read.clone()
                    addresses[name] = ready[name].data_ptr()
                    break
        values = parameter_values(plan, addresses, numbers)
        function = self._function(plan.configuration.name, plan.configuration.code, index)
        stream = torch.cuda.current_stream(index).cuda_stream
        function.launch(plan.grid, plan.block, plan.shared_bytes, stream, values)
        for operand in self._written:
            if ready[operand.name] is not tensors[operand.name]:
                tensors[operand.name].copy_(ready[operand.name])

    def _gpu(self, index: int) -> Gpu:
        found = self._gpus.get(index)
        if found is None:
            about = torch.cuda.get_device_properties(index)
            limits = {
                "max_threads_per_block": 1024,  # of every NVIDIA GPU, as all that is a plain number here
                "max_block_x": 1024,
                "max_block_y": 1024,
                "max_block_z": 64,
                "shared_bytes_per_block": about.shared_memory_per_block_optin,
                "warp_size": 32,
                "compute_units": about.multi_processor_count,
                "shared_banks": 32,
                "registers_per_thread": 255,
                "max_grid_x": 2**31 - 1,
                "max_grid_y": 2**16 - 1,
                "max_grid_z": 2**16 - 1,
                "static_shared_bytes_per_block": 49152,
            }
            found = self._gpus[index] = Gpu(f"sm_{about.major}{about.minor}", limits)
        return found

    def _function(self, name: str, code: Mapping[str, tuple[str, str]], index: int) -> Function:
        """Loaded onto the current device."""
        found = self._functions.get((name, index))
        if found is None:
            file, entry = code[self._gpu(index).architecture]
            found = self._functions[name, index] = Function((self.folder / file).read_bytes(), entry, index)
        return found
