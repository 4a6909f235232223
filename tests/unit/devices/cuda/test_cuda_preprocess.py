"""Tokens for certificates: clang's preprocessor takes the branches that NVRTC takes."""

from __future__ import annotations

from pathlib import Path

import pytest

from warpsmith.core.hardware import Geometry, Language
from warpsmith.devices.base import CompileRequest
from warpsmith.devices.cuda.nvrtc import run_nvrtc
from warpsmith.devices.cuda.preprocess import predefined, preprocessed_tokens
from warpsmith.devices.cuda.target import parse_target


def tokens(source: str, target: str) -> list[str]:
    request = CompileRequest(source, Path("/nowhere/kernel.cu"), Language.CUDA, "k", (), Geometry((1, 1, 1), (1, 1, 1)))
    return preprocessed_tokens(request, parse_target(target))


@pytest.mark.parametrize("name", ["sm_80", "sm_90a", "sm_100f", "sm_121a"])
def test_what_is_predefined_is_what_nvrtc_predefines(name: str) -> None:
    macros = predefined(parse_target(name))
    others = {"__clang__", "__GNUC__", "__NVCC__", "__CUDA_ARCH_SPECIFIC__", "__CUDA_ARCH_FAMILY_SPECIFIC__"} - set(macros)
    wrong = [f"#if !defined({macro}) || {macro} != {value}" for macro, value in macros.items()]
    wrong += [f"#ifdef {macro}" for macro in others]
    source = "".join(f"{condition}\n#error {condition}\n#endif\n" for condition in wrong) + 'extern "C" __global__ void k() {}\n'
    flags = [f"--gpu-architecture={name}", "--std=c++20", "--device-int128"]
    assert run_nvrtc(source, "kernel.cu", ["k"], flags).log == ""
    assert tokens(source, name)[-2:] == ["{", "}"]


def test_cooperative_groups_cub_and_libcu() -> None:
    headers = ("cooperative_groups/reduce.h", "cub/warp/warp_reduce.cuh", "cuda/atomic")
    source = "".join(f"#include <{header}>\n" for header in headers) + "__global__ void k() {}\n"
    assert tokens(source, "sm_90a")[-5:] == ["k", "(", ")", "{", "}"]
