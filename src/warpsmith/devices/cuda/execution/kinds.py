"""The execution unit of each instruction, and its class in NVIDIA's profiler.

A table of names. An instruction that is missing is refused by name: counts without it would be wrong.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Pipe(StrEnum):
    """Units of a multiprocessor's partition, as named by NVIDIA's profiler."""

    FMA = "fma"  # floating point in single precision, and multiplication of integers
    FMA_HEAVY = "fmaheavy"  # the half of it that multiplies integers
    ALU = "alu"
    FP16 = "fp16"
    FP64 = "fp64"
    XU = "xu"  # transcendental functions, conversions
    UNIFORM = "uniform"
    LSU = "lsu"
    BRANCH = "cbu"
    NONE = "none"  # dispatched, and done


class Class(StrEnum):
    """As in `smsp__sass_thread_inst_executed_op_<class>_pred_on`."""

    FP16 = "fp16"
    FP32 = "fp32"
    FP64 = "fp64"
    INTEGER = "integer"
    CONVERSION = "conversion"
    CONTROL = "control"
    MEMORY = "memory"
    EXCHANGE = "inter_thread_communication"
    MISC = "misc"


@dataclass(frozen=True, slots=True)
class Kind:
    pipe: Pipe
    group: Class


_TABLE: dict[tuple[Pipe, Class], str] = {
    (Pipe.FMA, Class.FP32): "FADD FMUL FFMA FFMA32I FADD32I FMUL32I FSWZADD",
    (Pipe.ALU, Class.FP32): "FMNMX FSETP FSEL FSET FCHK FMNMX3",
    (Pipe.XU, Class.FP32): "MUFU",
    (Pipe.FP64, Class.FP64): "DADD DMUL DFMA DSETP DMNMX",
    (Pipe.FP16, Class.FP16): "HADD2 HMUL2 HFMA2 HADD2_32I HMUL2_32I HFMA2_32I",
    (Pipe.ALU, Class.FP16): "HSETP2 HSET2 HMNMX2",
    (Pipe.FMA_HEAVY, Class.INTEGER): "IMAD IDP IDP4A",
    (
        Pipe.ALU,
        Class.INTEGER,
    ): "IADD3 IADD LEA ISETP IMNMX VIMNMX VIMNMX3 IABS SHF LOP3 LOP SGXT BMSK VABSDIFF VABSDIFF4 SHL SHR VIADD"
    " VIADDMNMX ISCADD IADD32I LOP32I VHMNMX",
    (Pipe.XU, Class.INTEGER): "POPC FLO BREV",
    (Pipe.XU, Class.CONVERSION): "I2F F2I F2F FRND",
    (Pipe.ALU, Class.CONVERSION): "F2FP I2FP F2IP I2I I2IP",
    (Pipe.ALU, Class.MISC): "MOV MOV32I SEL PRMT P2R R2P PLOP3 CSET CSETP PSETP VOTE",
    (Pipe.UNIFORM, Class.INTEGER): "UIADD3 UIMAD ULEA UISETP USHF ULOP3 UPOPC UFLO UBREV USGXT UBMSK UIMNMX UIABS",
    (Pipe.UNIFORM, Class.MISC): "UMOV USEL UPRMT UPLOP3 UP2UR UR2UP VOTEU ULDC UCLEA UP2R",
    (Pipe.LSU, Class.MEMORY): "LDG STG LDS STS LDL STL LD ST LDC ATOM ATOMG ATOMS RED LDGSTS",
    (Pipe.LSU, Class.EXCHANGE): "SHFL",
    (Pipe.ALU, Class.EXCHANGE): "MATCH REDUX",
    (Pipe.NONE, Class.MISC): "NOP CS2R S2R S2UR R2UR UR2UR DEPBAR LDGDEPBAR LEPC PMTRIG GETLMEMBASE SETLMEMBASE B2R R2B BAR",
    (Pipe.BRANCH, Class.MISC): "BMOV",
    (Pipe.NONE, Class.CONTROL): "MEMBAR ERRBAR CGAERRBAR CCTL CCTLL NANOSLEEP YIELD WARPSYNC ENDCOLLECTIVE",
    (Pipe.BRANCH, Class.CONTROL): "BRA BRX JMP EXIT BSSY BSYNC BREAK CALL RET KILL BPT",
}

KINDS = {name: Kind(*kind) for kind, names in _TABLE.items() for name in names.split()}

REFUSED = {
    "HMMA": "tensor cores", "IMMA": "tensor cores", "DMMA": "tensor cores", "BMMA": "tensor cores", "HGMMA": "tensor cores",
    "IGMMA": "tensor cores", "QGMMA": "tensor cores", "BGMMA": "tensor cores", "LDSM": "matrix loads of tensor cores",
    "STSM": "matrix stores of tensor cores", "MOVM": "tensor cores", "WARPGROUP": "tensor cores",
    "TEX": "textures", "TLD": "textures", "TLD4": "textures", "TXQ": "textures", "TMML": "textures", "TXD": "textures",
    "SULD": "surfaces", "SUST": "surfaces", "SUATOM": "surfaces", "SURED": "surfaces",
    "UTMALDG": "bulk copies", "UTMASTG": "bulk copies", "UTMAPF": "bulk copies", "UBLKCP": "bulk copies",
    "SYNCS": "asynchronous barriers",
}  # fmt: skip


_LOADS = frozenset({"LDG", "LDS", "LDL", "LD"})
_STORES = frozenset({"STG", "STS", "STL", "ST"})
_ATOMICS = frozenset({"ATOM", "ATOMG", "ATOMS", "RED"})
_ACCESSES = _LOADS | _STORES | _ATOMICS | {"LDGSTS"}
_SPACES = {"LDS": "shared", "STS": "shared", "ATOMS": "shared", "LDL": "local", "STL": "local"}


def is_load(name: str) -> bool:
    return name in _LOADS


def is_store(name: str) -> bool:
    return name in _STORES


def is_atomic(name: str) -> bool:
    return name in _ATOMICS


def is_access(name: str) -> bool:
    return name in _ACCESSES


def space(name: str) -> str:
    """Global, shared or local memory."""
    return _SPACES.get(name, "global")
