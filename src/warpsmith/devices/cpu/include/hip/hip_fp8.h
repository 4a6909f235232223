// HIP's names for fp8. Only the formats of the OCP standard, which are CUDA's; the older "fnuz" ones are another encoding.
#pragma once

#include "warpsmith/float8.h"

typedef __nv_fp8_storage_t __hip_fp8_storage_t;
typedef __nv_fp8x2_storage_t __hip_fp8x2_storage_t;
typedef __nv_fp8x4_storage_t __hip_fp8x4_storage_t;
typedef __nv_fp8_e4m3 __hip_fp8_e4m3;
typedef __nv_fp8_e5m2 __hip_fp8_e5m2;
typedef __nv_fp8x2_e4m3 __hip_fp8x2_e4m3;
typedef __nv_fp8x4_e4m3 __hip_fp8x4_e4m3;
