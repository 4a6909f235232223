// Copyright of nobody: a made-up library. SPDX-License-Identifier: Apache-2.0
#pragma once

#ifdef ACME_ROCM
  #include <hip/hip_runtime.h>
#else
  #include <cuda_fp16.h>
  #include <cuda_runtime.h>
#endif
#include <torch/extension.h>

#include <string>
#include <vector>

#ifndef ACME_ARCH
#error "ACME_ARCH is not defined; the build system gives it"
#endif

#define ACME_DEVICE __forceinline__ __device__
#define ACME_HOST_DEVICE __host__ __device__ __forceinline__

// How many lanes work together.
#if ACME_ARCH >= 900
#define ACME_WIDE 1
#elif ACME_ARCH >= 800
#define ACME_WIDE (ACME_ARCH / 800)
#else
#define ACME_WIDE 0
#endif

#define ACME_CHECK(condition)                     \
  do {                                            \
    if (!(condition)) throw std::runtime_error(   \
        "check failed: " #condition);             \
  } while (false)
