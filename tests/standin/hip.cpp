// libamdhip64.so with the same pretended GPU: the HIP runtime's calls, as far as Warpsmith makes them, by the driver's.
//
// The machine code of AMD's GPUs is not executed. A module is a code object with NVRTC's cubin of the same source behind it
// (`plugin/standin_device.py`), whose PTX is; kernels are looked up in both.
#include <stdio.h>
#include <stdlib.h>

#include "driver.h"

extern "C" {
Status cuInit(unsigned);
Status cuDeviceGetCount(int*);
Status cuDevicePrimaryCtxRetain(void**, int);
Status cuCtxSetCurrent(void*);
Status cuStreamCreate(void**, unsigned);
Status cuStreamSynchronize(void*);
Status cuEventCreate(struct Event**, unsigned);
Status cuEventRecord(struct Event*, void*);
Status cuEventSynchronize(struct Event*);
Status cuEventElapsedTime_v2(float*, struct Event*, struct Event*);
Status cuMemAlloc_v2(u64*, u64);
Status cuMemFree_v2(u64);
Status cuMemHostRegister_v2(void*, u64, unsigned);
Status cuMemHostUnregister(void*);
Status cuMemcpyHtoD_v2(u64, const void*, u64);
Status cuMemcpyDtoH_v2(void*, u64, u64);
Status cuMemcpyDtoDAsync_v2(u64, u64, u64, void*);
Status cuMemsetD8Async(u64, u8, u64, void*);
Status cuModuleLoadData(void**, const char*);
Status cuModuleUnload(void*);
Status cuModuleGetFunction(void**, void*, const char*);
Status cuModuleGetGlobal_v2(u64*, u64*, void*, const char*);
Status cuLaunchKernel(void*, u32, u32, u32, u32, u32, u32, u32, void*, void**, void**);

constexpr u32 kLocalDataShare = 65536;
enum { TO_DEVICE = 1, TO_HOST = 2 };

// A page fault ends the process: AMD's runtime does not come back from it.
static Status faults(Status status) {
  if (status != ILLEGAL_ADDRESS && status != MISALIGNED_ADDRESS) return status;
  fputs("Memory access fault by GPU node-1. Reason: Page not present or supervisor privilege.\n", stderr);
  abort();
}

Status hipInit(unsigned flags) { return cuInit(flags); }
Status hipRuntimeGetVersion(int* version) { *version = 70100000; return SUCCESS; }
Status hipGetDeviceCount(int* count) { return cuDeviceGetCount(count); }
// What the bindings' own structure looks like when it is filled lies beside the library: its layout is theirs.
Status hipGetDevicePropertiesR0600(void* properties, int device) {
  if (device) return INVALID_VALUE;
  FILE* file = open_beside("properties");
  if (!file) return UNKNOWN;
  for (int c; (c = fgetc(file)) != EOF;) *((char*&)properties)++ = char(c);
  fclose(file);
  return SUCCESS;
}
Status hipSetDevice(int device) {
  void* context;
  Status failed = cuDevicePrimaryCtxRetain(&context, device);
  return failed ? failed : cuCtxSetCurrent(context);
}
Status hipStreamCreate(void** stream) { return cuStreamCreate(stream, 0); }
Status hipEventCreateWithFlags(struct Event** event, unsigned flags) {
  return flags & ~0x20000000u ? INVALID_VALUE : cuEventCreate(event, 0);
}
Status hipEventRecord(struct Event* event, void* stream) { return cuEventRecord(event, stream); }
Status hipEventSynchronize(struct Event* event) { return faults(cuEventSynchronize(event)); }
Status hipEventElapsedTime(float* ms, struct Event* began, struct Event* ended) { return cuEventElapsedTime_v2(ms, began, ended); }

Status hipMalloc(u64* memory, u64 bytes) { return cuMemAlloc_v2(memory, bytes); }
Status hipFree(u64 memory) { return cuMemFree_v2(memory); }
Status hipHostRegister(void* memory, u64 bytes, unsigned flags) { return cuMemHostRegister_v2(memory, bytes, flags); }
Status hipHostUnregister(void* memory) { return cuMemHostUnregister(memory); }
Status hipMemcpy(u64 to, u64 from, u64 bytes, int kind) {
  if (kind == TO_DEVICE) return faults(cuMemcpyHtoD_v2(to, (void*)from, bytes));
  return kind == TO_HOST ? faults(cuMemcpyDtoH_v2((void*)to, from, bytes)) : INVALID_VALUE;
}
Status hipMemcpyDtoDAsync(u64 to, u64 from, u64 bytes, void* stream) { return cuMemcpyDtoDAsync_v2(to, from, bytes, stream); }
Status hipMemsetAsync(u64 memory, int value, u64 bytes, void* stream) { return cuMemsetD8Async(memory, u8(value), bytes, stream); }

struct CodeObject { char magic[16]; u16 kind, machine; u32 version; u64 entry, programs, sections; u32 flags; u16 sizes[6]; };

Status hipModuleLoadData(void** module, const char* bytes) {
  auto* header = (const CodeObject*)bytes;
  if (memcmp(bytes, "\177ELF\2\1", 6) || header->machine != 224) return INVALID_IMAGE;
  if ((header->flags & 255) != 0x41) return NO_BINARY_FOR_GPU;  // gfx1100
  u64 end = header->sections + u64(header->sizes[3]) * header->sizes[4];
  return cuModuleLoadData(module, bytes + (end + 15) / 16 * 16);
}
Status hipModuleUnload(void* module) { return cuModuleUnload(module); }
Status hipModuleGetFunction(void** kernel, void* module, const char* name) { return cuModuleGetFunction(kernel, module, name); }
Status hipModuleGetGlobal(u64* memory, u64* bytes, void* module, const char* name) { return cuModuleGetGlobal_v2(memory, bytes, module, name); }
Status hipModuleLaunchKernel(
    Kernel* kernel, u32 grid_x, u32 grid_y, u32 grid_z, u32 x, u32 y, u32 z, u32 shared, void* stream, void** parameters, void** extra) {
  if (kernel->static_shared + shared > kLocalDataShare) return INVALID_VALUE;
  kernel->allowed_dynamic = kLocalDataShare - kernel->static_shared;  // nobody has to ask
  return cuLaunchKernel(kernel, grid_x, grid_y, grid_z, x, y, z, shared, stream, parameters, extra);
}
}
