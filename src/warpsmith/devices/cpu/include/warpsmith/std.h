// The part of namespace std that every CUDA source can use without including it, because nvcc's own headers pull it in.
//
// Parsing libc++'s traits costs about 40 ms; the device passes -DWARPSMITH_STD=0 for a source that never says `std`.
#pragma once

#if !defined(WARPSMITH_STD) || WARPSMITH_STD
#include <__algorithm/max.h>
#include <__algorithm/min.h>
#include <__utility/forward.h>
#include <__utility/move.h>
#include <__utility/swap.h>
#include <limits>
#include <type_traits>

#include "warpsmith/std_math.h"
#endif
