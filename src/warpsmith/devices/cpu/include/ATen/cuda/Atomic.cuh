// The atomic helpers of PyTorch's device headers.
#pragma once

#include "warpsmith/push_macros.h"

template <class T> WARPSMITH_FN T gpuAtomicAdd(T* address, T value) { return atomicAdd(address, value); }
template <class T> WARPSMITH_FN void gpuAtomicAddNoReturn(T* address, T value) { atomicAdd(address, value); }

#include "warpsmith/pop_macros.h"
