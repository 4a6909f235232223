// What every CUDA and HIP kernel finds declared without including anything. Force-included before the user's source.
//
// Order matters only where a header builds on another. Headers that are heavy and asked for by name (fp16, bf16, fp8, cooperative
// groups, cub) stay out: a kernel that does not include them must not pay for parsing them.
#pragma once

// Their constants (M_PI, INFINITY, FLT_MAX, INT_MAX) are everywhere used without the include.
#include <float.h>
#include <limits.h>
#include <math.h>

#include "warpsmith/config.h"
#include "warpsmith/spirv.h"
#include "warpsmith/vector_types.h"
#include "warpsmith/launch.h"
#include "warpsmith/trap.h"
#include "warpsmith/entry.h"
#include "warpsmith/memory.h"
#include "warpsmith/math.h"
#include "warpsmith/math_special.h"
#include "warpsmith/fast_math.h"
#include "warpsmith/convert.h"
#include "warpsmith/bits.h"
#include "warpsmith/simd_video.h"
#include "warpsmith/dpx.h"
#include "warpsmith/warp.h"
#include "warpsmith/atomics.h"
#include "warpsmith/nv_atomics.h"
#include "warpsmith/host_api.h"
#ifdef WARPSMITH_HIP
#include "warpsmith/hip.h"
#endif
#include "warpsmith/std.h"
