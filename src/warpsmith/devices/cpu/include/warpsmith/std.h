// The part of namespace std that every CUDA source can use without including it, because nvcc's own headers pull it in.
#pragma once

#include <__algorithm/max.h>
#include <__algorithm/min.h>
#include <__functional/operations.h>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>

#include "warpsmith/std_math.h"
