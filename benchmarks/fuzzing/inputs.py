"""Real inputs that are too small to be files of their own, and the words of their languages."""

from __future__ import annotations

import json
import sqlite3
import tempfile
from pathlib import Path

from warpsmith.core.configuration import Configuration
from warpsmith.core.outcome import ArgumentCheck, CompileFailed, Crashed, Evaluation, Measured, Verdict, WorkloadTime
from warpsmith.record.run import RunHeader, Status
from warpsmith.record.store import Store

SOURCE_WORDS = tuple(
    (
        b"__global__ __device__ __host__ __shared__ __constant__ extern static inline template typename class "
        b"struct union enum using namespace const constexpr volatile mutable unsigned void float double half int4 "
        b"float4 auto decltype sizeof return if else for while do switch case break continue goto operator new "
        b"delete this asm __asm__ __syncthreads __launch_bounds__ __restrict__ __attribute__ __declspec alignas "
        b"threadIdx blockIdx blockDim gridDim __kernel __local kernel global local barrier #if #ifdef #ifndef #elif "
        b"#else #endif #define #undef #include #pragma #error #line defined <<< >>> ... :: -> && || << >> <= >= == "
        b"!= += ++ -- 'a' \"s\" R\"x(y)x\" 1.0f 0x1p3 1'000 0b1 L'\\n' @ $ ?: ##"
    ).split()
)
TOML_WORDS = tuple(
    (
        b"kernel name source entry language arguments out in inout dtype shape role init value null launch grid "
        b"block shared workloads weight heldout reference python rtol atol traffic bytes flops parameters values "
        b"default likely constraints expr reason constants include_dirs defines template f32 f16 bf16 i32 u8 bool "
        b"normal uniform randint zeros arange permutation low high min max ceildiv [kernel] [launch] "
        b"[[constraints]] [workloads] = . true"
    ).split()
)
EXPRESSION_WORDS = tuple(
    (
        b"n d BLOCK VEC FAST warp_size max_threads and or not in if else min max ceildiv round_up round_down "
        b"is_pow2 log2 int abs float len true false True == != <= >= << >> // ** % ? : ! && || ( ) [ ] , . ~ ^ | & "
        b"lambda"
    ).split()
)
SCRIPT_WORDS = tuple(
    (
        b"import from as def return lambda class for in if elif else while with try except yield await global "
        b"nonlocal del pass None True np numpy kernel_tuner tune_kernel tune_params restrictions block_size_x "
        b"grid_div_x problem_size open read format f'{size}' range list dict zip map OrderedDict __file__ "
        b"os.path.join Path sys.argv int32 float32 random.randn zeros_like astype args kwargs * ** @"
    ).split()
)
CONFIGURATION_WORDS = tuple(
    (b"time times cache results configuration invalidity block tile true null 1 1e20 correct kernel_name objectives").split()
)

EXPRESSIONS = (
    b"ceildiv(n, BLOCK * VEC)", b"d % VEC == 0", b"min(d / 4, 1024)", b"not (BLOCK > max_threads) and VEC in [1, 2, 4]",
    b"is_pow2(BLOCK) ? n : round_up(n, 32) // 2", b"BLOCK * VEC <= 1024 || FAST && !(n < 3)", b"4 * BLOCK + (n if FAST else 0)",
    b"2 ** VEC << 3", b"-n % 7", b"FAST in ('yes', 'no')", b"1 < n < 3 <= BLOCK", b"abs(log2(BLOCK)) + int(1.5)",
)  # fmt: skip

HOST_CODE = b"""\
#include <cuda_runtime.h>
#include <cstdio>
#define BLOCK 256
template <typename T, int N>
__global__ void __launch_bounds__(BLOCK) scale(T* __restrict__ out, const T* in, float factor, int rows, int cols) {
    __shared__ T tile[N][33];
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < rows * cols; i += gridDim.x * blockDim.x) {
        tile[threadIdx.x % N][0] = in[i];
        __syncthreads();
        out[i] = factor * tile[threadIdx.x % N][0];
    }
}
int main(int argc, char** argv) {
    const int rows = argc > 1 ? atoi(argv[1]) : 1024, cols = 1 << 10;
    size_t bytes = sizeof(float) * rows * cols;
    float *in, *out; std::vector<float> host(rows * cols, 1.0f);
    cudaMalloc(&in, bytes); cudaMalloc((void**)&out, bytes);
    cudaMemcpy(in, host.data(), bytes, cudaMemcpyHostToDevice);
    dim3 block(BLOCK, 1, 1), grid((rows * cols + BLOCK - 1) / BLOCK);
    for (int size : {16, 32}) scale<float, 8><<<grid, block, 0, nullptr>>>(out, in, 2.0f, rows, size);
    scale<float, 8><<<dim3(rows / 8), 32>>>(out, in, .5f, rows, cols);
    cudaDeviceSynchronize();
}
"""

SCRIPT = b"""\
import numpy as np
import os
from collections import OrderedDict
from kernel_tuner import tune_kernel
size = int(os.environ.get("SIZE", 10**6))
shape = (size // 16, 16)
def make(n, dtype=np.float32):
    return np.random.randn(*n).astype(dtype) if isinstance(n, tuple) else np.zeros(n, dtype)
a, b = make(shape), make(shape)
c = np.zeros_like(b)
tune_params = OrderedDict()
tune_params["block_size_x"] = [32 * i for i in range(1, 9)] + [2**i for i in (9, 10)]
tune_params["tile"] = list(range(1, 5))
tune_params.update(vec=[1, 2, 4])
restrict = ["block_size_x % vec == 0", lambda p: p["tile"] * p["vec"] <= 8]
grid = {"grid_div_x": ["block_size_x", "tile"], "block_size_names": ["block_size_x"]}
source = r'''
__global__ void add(float* c, const float* a, const float* b, int n) {
  int i = blockIdx.x * block_size_x + threadIdx.x;
  for (int t = 0; t < tile; ++t) if (i * tile + t < n) c[i * tile + t] = a[i * tile + t] + b[i * tile + t];
}
'''
if __name__ == "__main__":
    answer = [c * 0 + 1, None, None, None]
    tune_kernel("add", source, size, [c, a, b, np.int32(size)], tune_params, restrictions=restrict, answer=answer, **grid,
                cmem_args={"k": np.arange(4, dtype=np.int32)}, compiler_options=["-O3", f"-DN={size}"], verbose=True)
"""

T1 = json.dumps(
    {
        "General": {"FormatVersion": 1},
        "ConfigurationSpace": {
            "TuningParameters": [
                {"Name": "block_size_x", "Type": "int", "Values": "[16*i for i in range(1,5)]", "Default": 32},
                {"Name": "tile", "Type": "int", "Values": [1, 2, 4], "Default": 1},
            ],
            "Conditions": [{"Expression": "tile * block_size_x % 32 == 0", "Parameters": ["tile", "block_size_x"]}],
        },
        "KernelSpecification": {
            "Language": "CUDA",
            "CompilerOptions": ["-DFAST=2"],
            "KernelName": "add",
            "KernelFile": "add.cu",
            "GlobalSizeType": "CUDA",
            "LocalSize": {"X": "block_size_x", "Y": "1", "Z": "1"},
            "GlobalSize": {"X": "1024 // block_size_x", "Y": "1", "Z": "1"},
            "ProblemSize": [1024],
            "GridDivX": ["block_size_x", "tile"],
            "SharedMemory": 0,
            "Arguments": [
                {"Name": "c", "Type": "float", "MemoryType": "Vector", "AccessType": "WriteOnly", "FillType": "Constant",
                 "Size": 1024, "FillValue": 0.0},
                {"Name": "a", "Type": "float", "MemoryType": "Vector", "AccessType": "ReadOnly", "FillType": "Random",
                 "Size": "ProblemSize[0] * max(tile)", "FillValue": 1.0},
                {"Name": "b", "Type": "float", "MemoryType": "Vector", "AccessType": "ReadOnly", "FillType": "Random",
                 "Size": 1024},
                {"Name": "n", "Type": "int32", "MemoryType": "Scalar", "FillType": "Constant", "FillValue": 1024},
            ],
        },
    }
).encode()  # fmt: skip
T1_SOURCE = b"__global__ void add(float* c, const float* a, const float* b, int n) { c[threadIdx.x] = a[0] + b[n - 1]; }\n"

REPLY = json.dumps(
    {
        "findings": [{"concern": "memory", "text": "loads are narrow", "weight": 0.7}],
        "passes": ["vector_access"],
        "reason": "wide loads",
        "source": "__global__ void k(float* x) { x[threadIdx.x] = VEC; }",
        "parameters": [{"name": "VEC", "values": [1, 2, 4], "default": 1, "meaning": "elements"}],
        "constraints": [{"expr": "n % VEC == 0", "reason": "no tail"}],
        "launch": {"grid": ["ceildiv(n, 64)"], "block": [64], "shared": "0"},
        "hypothesis": "fewer instructions",
        "workloads": [{"name": "odd", "sizes": {"n": 7}, "why": "tails"}],
    }
).encode()
REPLY_IN_WORDS = (
    b"<think>hm</think>Here it is:\n```json\n" + REPLY + b"\n```\nand the code\n```cuda\n__global__ void k() {}\n```\n"
)


def kernel_tuner_cache() -> bytes:
    """As Kernel Tuner leaves it."""
    times = [1.0, 2.5, "RuntimeFailedConfig", "CompilationFailedConfig", 1e20, {"__error__": "ErrorConfig"}]
    entries = {
        f"{block},{tile}": {
            "block": block, "tile": tile, "time": times[(block // 32 + tile) % 6], "times": [1.0, 1.1], "compile_time": 120.0,
            "verification_time": 0, "benchmark_time": 50.0, "strategy_time": 0, "framework_time": 1.0,
            "timestamp": "2024-01-01 00:00:00",
        }
        for block in (32, 64, 128)
        for tile in (1, 2, 4)
    }  # fmt: skip
    return json.dumps(
        {
            "device_name": "Some GPU",
            "kernel_name": "gemm",
            "problem_size": [4096],
            "tune_params_keys": ["block", "tile"],
            "tune_params": {"block": [32, 64, 128], "tile": [1, 2, 4]},
            "objective": "time",
            "cache": entries,
        }
    ).encode()


def t4_results() -> bytes:
    results = [
        {
            "timestamp": "2024-01-01",
            "configuration": {"block": block, "tile": tile},
            "times": {"compilation": 100.0, "benchmark": 50.0, "validation": 10.0, "framework": 7.0, "runtimes": [1.0, 1.2]},
            "invalidity": ("correct", "timeout", "compile", "runtime", "correctness", "constraints")[(block // 32 * tile) % 6],
            "correctness": 1,
            "measurements": [{"name": "time", "value": block / tile, "unit": "ms"}],
            "objectives": ["time"],
        }
        for block in (32, 64, 128)
        for tile in (1, 2)
    ]
    return json.dumps({"schema_version": "1.0.0", "metadata": {"timeunit": "milliseconds"}, "results": results}).encode()


def run_database(runs: int = 3) -> bytes:
    """A record with runs that are finished, failed and under way."""
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
        path = Path(folder) / "runs.sqlite"
        with Store(path) as store:
            for number in range(runs):
                header = RunHeader(
                    f"kernel{number}",
                    "/k/kernel.toml",
                    "f" * 32,
                    "cpu",
                    "rules",
                    "gp",
                    number,
                    {"budget": {"evaluations": 9}},
                    {},
                )
                run = store.begin(header, run=f"kernel{number}-20260101-000000-00{number}")
                for block in (32, 64, 128):
                    store.append(run, _evaluation(block))
                result = {"run": run, "general": {"speedup": 1.5, "config": {"BLOCK": 64}}, "evaluations": {"Measured": 1}}
                if number:
                    status = Status.FINISHED if number == 1 else Status.FAILED
                    store.finish(run, status, result, error={"message": "none", "exit_code": 1}, seconds=3.0)
        connection = sqlite3.connect(path)
        connection.execute("PRAGMA journal_mode = DELETE")
        connection.close()
        return path.read_bytes()


def _evaluation(block: int) -> Evaluation:
    configuration = Configuration.of({"BLOCK": block, "FAST": True})
    if block == 32:
        return Evaluation(configuration, CompileFailed("no such type", "line 3"), 0.5, 1.0)
    if block == 64:
        verdict = Verdict((ArgumentCheck("w", "out", True, 0.0),))
        return Evaluation(
            configuration, Measured(verdict, (WorkloadTime("w", 3.0, 0.5, (0.4, 0.6), 7),), 0.5, identity="i"), 1.0, 2.0
        )
    return Evaluation(configuration, Crashed("killed by SIGSEGV"), 0.1, 3.0)


CONVERSATION = rb"""{"warpsmith_conversation": 1, "agent": "openai:m", "kernel": "k", "device": "a CPU", "seed": 0, "rounds": 2}
{"role": "tester", "round": 0, "asked": "# Tester\n", "answers": [{"text": "{}", "input_tokens": 10, "usd": null}]}
{"role": "analyst", "round": 1, "asked": "# Analyst", "answers": [{"text": "{}", "output_tokens": 7, "usd": 0.5, "seconds": 1.5}]}
"""
