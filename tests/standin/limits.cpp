// What the pretended GPU is: the attributes that are asked for, and NVIDIA's own calculator of occupancy, from its wheel.
#include <stdio.h>

#include "driver.h"

#if __has_include("cuda_occupancy.h")
#include "cuda_occupancy.h"
#define HAS_OCCUPANCY 1
#endif

struct Chip { int capability, threads, shared_kib, optin_kib, reserved, barriers; };
static const Chip chips[] = {
  {75, 1024, 64, 64, 0, 16}, {80, 2048, 164, 163, 1024, 16}, {86, 1536, 100, 99, 1024, 16}, {89, 1536, 100, 99, 1024, 16},
  {90, 2048, 228, 227, 1024, 64}, {100, 2048, 228, 227, 1024, 64}, {120, 1536, 100, 99, 1024, 24},
};

static const Chip& chip() {
  for (const Chip& known : chips) if (known.capability == capability()) return known;
  return chips[4];
}

int attribute(int which) {
  char name[16];
  snprintf(name, sizeof name, "%d", which);
  if (lists("not_told", name)) return -1;
  switch (which) {
    case 1: case 2: case 3: return 1024;         // threads in a block, along x, along y
    case 4: return 64;                           // along z
    case 5: return 2147483647;                   // blocks along x
    case 6: case 7: return 65535;                // along y and z
    case 8: return 49152;                        // shared memory that needs no opting in
    case 9: return 65536;                        // constant memory
    case 10: return 32;                          // lanes
    case 12: case 82: return 65536;              // registers of a block, of a multiprocessor
    case 13: return 1500000;                     // kHz
    case 16: return number("multiprocessors", kMultiprocessors);
    case 38: return 1 << 20;                     // bytes of the last-level cache
    case 39: return chip().threads;
    case 75: return capability() / 10;
    case 76: return capability() % 10;
    case 81: return chip().shared_kib << 10;
    case 97: return chip().optin_kib << 10;
    default: return -1;
  }
}

int occupancy(const Kernel& kernel, u32 threads, u64 dynamic_bytes) {
#ifdef HAS_OCCUPANCY
  cudaOccDeviceProp device = {};
  device.computeMajor = capability() / 10;
  device.computeMinor = capability() % 10;
  device.maxThreadsPerBlock = 1024;
  device.maxThreadsPerMultiprocessor = chip().threads;
  device.regsPerBlock = device.regsPerMultiprocessor = 65536;
  device.warpSize = 32;
  device.sharedMemPerBlock = 49152;
  device.sharedMemPerMultiprocessor = chip().shared_kib << 10;
  device.numSms = kMultiprocessors;
  device.sharedMemPerBlockOptin = chip().optin_kib << 10;
  device.reservedSharedMemPerBlock = chip().reserved;
  cudaOccFuncAttributes attributes = {};
  attributes.maxThreadsPerBlock = kernel.max_threads;
  attributes.numRegs = kernel.registers;
  attributes.sharedSizeBytes = kernel.static_shared;
  attributes.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN;
  attributes.maxDynamicSharedSizeBytes = dynamic_bytes;
  cudaOccDeviceState state = {};
  cudaOccResult result = {};
  auto status = cudaOccMaxActiveBlocksPerMultiprocessor(&result, &device, &attributes, &state, threads, dynamic_bytes);
  return status == CUDA_OCC_SUCCESS ? result.activeBlocksPerMultiprocessor : -1;
#else
  return -1;
#endif
}
