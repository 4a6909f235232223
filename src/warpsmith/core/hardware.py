"""r(h) and u(theta; h): what a device offers and what a compiled kernel uses. Read from devices and compilers, never invented."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from enum import StrEnum
from typing import TypeAlias

Dim3: TypeAlias = tuple[int, int, int]

MOST_BLOCKS = 2**31 - 1
"""Along an axis of the grid, where the device sets no other limit."""


class Language(StrEnum):
    CUDA = "cuda"
    HIP = "hip"
    OPENCL = "opencl"


@dataclass(frozen=True, slots=True)
class Geometry:
    """A launch: how many blocks, how many threads in each, how many dynamic shared bytes."""

    grid: Dim3
    block: Dim3
    shared_bytes: int = 0

    @property
    def threads_per_block(self) -> int:
        return self.block[0] * self.block[1] * self.block[2]

    @property
    def blocks(self) -> int:
        return self.grid[0] * self.grid[1] * self.grid[2]


@dataclass(frozen=True, slots=True)
class Limits:
    """r(h). The field names are also the names that constraints and launch expressions may use."""

    max_threads_per_block: int
    max_block_x: int
    max_block_y: int
    max_block_z: int
    shared_bytes_per_block: int
    warp_size: int
    compute_units: int
    shared_banks: int = 32  # 1 where shared memory is ordinary memory
    registers_per_thread: int = 255  # of 4 bytes; where threads run as vectors, vectors
    max_grid_x: int = MOST_BLOCKS
    max_grid_y: int = MOST_BLOCKS
    max_grid_z: int = MOST_BLOCKS
    static_shared_bytes_per_block: int = 0
    """Of arrays whose size the source fixes: on NVIDIA GPUs less than a block may have in all. 0: as much as that."""

    def __post_init__(self) -> None:
        if not self.static_shared_bytes_per_block:
            object.__setattr__(self, "static_shared_bytes_per_block", self.shared_bytes_per_block)

    @property
    def has_banked_scratchpad(self) -> bool:
        """Whether it is a SIMT device with a banked per-block scratchpad; a CPU runs a row of threads as vectors."""
        return self.shared_banks > 1

    def names(self) -> dict[str, int]:
        return {f.name: getattr(self, f.name) for f in fields(self)}

    @staticmethod
    def known_names() -> frozenset[str]:
        return frozenset(f.name for f in fields(Limits))


@dataclass(frozen=True, slots=True)
class Resources:
    """u(theta; h) as the compiler reported it. Figures that a device does not report are None, never guessed."""

    registers: int | None = None
    spill_bytes: int | None = None
    shared_bytes: int | None = None
    vector_width: int | None = None
    gathers: int | None = None
    scatters: int | None = None
    instructions: int | None = None
    stack_bytes: int | None = None
    barriers: int | None = None
    scalar_registers: int | None = None
    load_bytes: int | None = None  # of the widest load from global memory
    max_threads: int | None = None  # that a block of this code may have: launch bounds, or what its registers allow
    remarks: tuple[str, ...] = field(default=())


@dataclass(frozen=True, slots=True)
class Reading:
    """A device's clock reading under load. `slowed_by` are the device's throttling reasons."""

    clock_mhz: int
    highest_clock_mhz: int
    memory_clock_mhz: int
    power_w: float
    slowed_by: tuple[str, ...] = ()
    temperature_c: int | None = None


@dataclass(frozen=True, slots=True)
class Counters:
    """Hardware counters of a kernel, in percent of peak; None for unavailable ones."""

    memory_percent: float | None  # of the bandwidth of its memory
    compute_percent: float | None  # of what a compute unit can issue
    cache_hit_percent: float | None  # in the last-level cache
    occupancy_percent: float | None  # warps that were there, of those a compute unit holds
    samples: int = 0


@dataclass(frozen=True, slots=True)
class NotCounted:
    """Why there are no counters: not installed, not permitted, too short."""

    reason: str


@dataclass(frozen=True, slots=True)
class UnitRates:
    """Cycles for which an instruction of a warp takes up a unit, of which each of a multiprocessor's four partitions has one."""

    fma: float
    fp64: float
    fp16: float
    lsu: float = 2.0  # loads and stores, by units that the whole multiprocessor shares
    multiply: float = 2.0  # of integers
    alu: float = 2.0
    xu: float = 8.0
    uniform: float = 2.0
    branch: float = 2.0


class Limiter(StrEnum):
    """What keeps more blocks from running at once on a compute unit, or a block from running at all."""

    THREADS = "threads"
    REGISTERS = "registers"
    SHARED_MEMORY = "shared memory"
    BARRIERS = "barriers"
    BLOCKS = "blocks"


@dataclass(frozen=True, slots=True)
class Occupancy:
    """How many blocks of one launch a compute unit holds at once, computed from what the compiler reported.

    `by` has, for each limit, the blocks it alone would allow. With no block at all, `problem` has the limit and the two numbers.
    """

    blocks: int
    warps: int
    max_warps: int
    shared_bytes: int
    by: tuple[tuple[Limiter, int], ...]
    problem: str | None = None

    @property
    def fraction(self) -> float:
        return self.warps / self.max_warps

    @property
    def limiter(self) -> Limiter:
        """The tightest limit; threads before others that are as tight, for a full compute unit lacks nothing else."""
        return min(self.by, key=lambda entry: entry[1])[0]
