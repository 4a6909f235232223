// libcuda.so.1 with one pretended GPU, as far as Warpsmith calls it: one context, one stream, whose work a thread of the driver's does.
//
// After a fault every call answers with it, from the first that waits for the stream on, as NVIDIA's driver does.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "driver.h"

struct Work {
  enum Kind : u8 { LAUNCH, FILL, COPY, RECORD } kind;
  Launch launch;
  char parameters[4096];
  u64 address, bytes;
  u8 value;
  struct Event* event;
  u64 from;
};
struct Event { u64 time_ns = 0; bool recorded = false, pending = false; };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static List<Work*> queue;
static bool busy, initialised, has_context, thread_failed;
static Status lost;
static u64 clock_ns, launches;
static const char* explanation;
static int context_token, stream_token;
static List<Image*> images;

constexpr double kIssuedPerNs = 4 * kMultiprocessors * 1.5, kNsPerStep = 4 / 1.5, kSectorsPerNs = 16;

// The time that a GPU of this size might take: launching, issuing, waiting for the longest warp, moving memory. No host clock is in it,
// so the same launch takes the same time, give or take one part in a hundred, on any machine.
static u64 duration_of(const Launch& launch) {
  double issuing = launch.issued / kIssuedPerNs, chain = launch.longest_chain * kNsPerStep, moving = launch.sectors / kSectorsPerNs;
  double longest = issuing > chain ? issuing > moving ? issuing : moving : chain > moving ? chain : moving;
  u64 noise = (launches++ * 2654435761u >> 7) % 2001;
  return u64((2000 + longest) * (0.99 + noise * 1e-5)) / 32 * 32;
}

static void fill(u64 address, u8 value, u64 bytes) {
  constexpr u64 page = 2 << 20;
  u64 first = (address + page - 1) / page * page, last = (address + bytes) / page * page;
  if (value || last <= first) { memset((void*)address, value, bytes); return; }
  memset((void*)address, 0, first - address);
  madvise((void*)first, last - first, MADV_DONTNEED);  // zeros, which cost nothing until somebody looks
  memset((void*)last, 0, address + bytes - last);
}

static void work_on(Work& work) {
  if (lost) return;
  if (work.kind == Work::FILL) { fill(work.address, work.value, work.bytes); clock_ns += work.bytes / 1024; }
  if (work.kind == Work::COPY) { memmove((void*)work.address, (void*)work.from, work.bytes); clock_ns += work.bytes / 512; }
  static const u64 tick_ns = number("tick_ns", 1);
  if (work.kind == Work::RECORD) work.event->time_ns = clock_ns / tick_ns * tick_ns, work.event->recorded = true;
  if (work.kind != Work::LAUNCH) return;
  memcpy((void*)parameter_memory, work.parameters, sizeof work.parameters);
  execute(work.launch);
  lost = once_more("launch_failures") ? LAUNCH_FAILED : work.launch.fault.status;
  clock_ns += duration_of(work.launch);
}

static void* work_through(void*) {
  thread_failed = name_thread("cuda00001400006") != SUCCESS;
  pthread_mutex_lock(&mutex);
  for (;;) {
    while (queue.empty()) { busy = false; pthread_cond_broadcast(&changed); pthread_cond_wait(&changed, &mutex); }
    busy = true;
    Work* work = queue[0];
    queue.erase(0);
    pthread_mutex_unlock(&mutex);
    work_on(*work);
    pthread_mutex_lock(&mutex);
    if (work->event) work->event->pending = false;
    delete work;
  }
}

static void submit(Work* work) {
  pthread_mutex_lock(&mutex);
  queue.push_back(work), busy = true;
  pthread_cond_broadcast(&changed);
  pthread_mutex_unlock(&mutex);
}

static Status drain() {
  pthread_mutex_lock(&mutex);
  while (busy) pthread_cond_wait(&changed, &mutex);
  pthread_mutex_unlock(&mutex);
  return lost;
}

// For tests: calls of the driver so far, and the bytes that went each way over the bus.
extern "C" u64 standin_counts[3];
u64 standin_counts[3];

#define READY do { standin_counts[0]++; if (!initialised) return NOT_INITIALIZED; if (lost && !busy) return lost; if (!has_context) return INVALID_CONTEXT; } while (0)

static void put(char* to, const char* from, int room) {
  while (--room > 0 && *from) *to++ = *from++;
  *to = 0;  // and nothing behind it: the rest of the caller's buffer stays as it was
}

template <class T> static bool holds(const List<T*>& all, const void* one) {
  for (T* known : all) if (known == one) return true;
  return false;
}

static Kernel* kernel_of(const void* handle) {
  for (Image* image : images) for (Kernel* kernel : image->kernels) if (kernel == handle) return kernel;
  return nullptr;
}

extern "C" {

Status cuInit(unsigned flags) {
  if (initialised) return SUCCESS;
  if (flags) return INVALID_VALUE;
  read_settings();
  if (Status failed = start_habits()) return failed;
  pthread_t thread;
  if (pthread_create(&thread, nullptr, work_through, nullptr)) return OPERATING_SYSTEM;
  pthread_detach(thread);
  initialised = true;
  return SUCCESS;
}
Status cuGetExportTable(const void** found, const void*) { *found = nullptr; return NOT_FOUND; }  // NVRTC asks, and goes on without
Status cuDriverGetVersion(int* version) { *version = number("driver", 13040); return SUCCESS; }
Status cuDeviceGetCount(int* count) { if (!initialised) return NOT_INITIALIZED; *count = 1; return SUCCESS; }
Status cuDeviceGet(int* device, int number) { *device = number; return number ? INVALID_VALUE : SUCCESS; }
Status cuDeviceGetName(char* name, int room, int) { put(name, "Warpsmith Stand-In", room); return SUCCESS; }
Status cuDeviceGetPCIBusId(char* name, int room, int) { put(name, "0000:01:00.0", room); return SUCCESS; }
Status cuDeviceGetAttribute(int* value, int number, int) { *value = attribute(number); return *value < 0 ? INVALID_VALUE : SUCCESS; }

Status cuGetErrorName(Status, const char** text) { *text = "an error"; return SUCCESS; }
Status cuGetErrorString(Status status, const char** text) {
  *text = explanation ? explanation : status == ILLEGAL_ADDRESS ? "an illegal memory access was encountered" : "as the stand-in says it";
  explanation = nullptr;
  return SUCCESS;
}

Status cuDevicePrimaryCtxRetain(void** context, int) {
  if (!initialised) return NOT_INITIALIZED;
  if (once_more("context_failures")) return OUT_OF_MEMORY;
  *context = &context_token;
  return SUCCESS;
}
Status cuCtxSetCurrent(void* context) { has_context = context == &context_token; return has_context ? SUCCESS : INVALID_CONTEXT; }
Status cuStreamCreate(void** stream, unsigned) { READY; *stream = &stream_token; return SUCCESS; }
Status cuEventCreate(Event** event, unsigned) { READY; *event = new Event; return SUCCESS; }

Status cuMemAlloc_v2(u64* memory, u64 bytes) { READY; return (*memory = allocate(bytes)) ? SUCCESS : OUT_OF_MEMORY; }
Status cuMemFree_v2(u64 memory) { READY; drain(); return release(memory) ? SUCCESS : INVALID_VALUE; }
Status cuMemGetInfo_v2(u64* left, u64* all) { READY; *left = *all = 6ull << 30; return SUCCESS; }
Status cuMemHostRegister_v2(void* memory, u64 bytes, unsigned) { READY; return bytes && !(u64(memory) & 4095) ? SUCCESS : INVALID_VALUE; }
Status cuMemHostUnregister(void*) { READY; return SUCCESS; }
Status cuMemcpyHtoD_v2(u64 to, const void* from, u64 bytes) {
  READY;
  standin_counts[1] += bytes;
  if (Status failed = drain()) return failed;
  if (bytes_left(to) < bytes) return INVALID_VALUE;
  memcpy((void*)to, from, bytes);
  return SUCCESS;
}
Status cuMemcpyDtoH_v2(void* to, u64 from, u64 bytes) {
  READY;
  standin_counts[2] += bytes;
  if (Status failed = drain()) return failed;
  if (bytes_left(from) < bytes) return INVALID_VALUE;
  memcpy(to, (void*)from, bytes);
  return SUCCESS;
}
Status cuMemcpyDtoDAsync_v2(u64 to, u64 from, u64 bytes, void* stream) {
  READY;
  if (stream && stream != &stream_token) return INVALID_HANDLE;
  if (bytes_left(from) < bytes || bytes_left(to) < bytes) return INVALID_VALUE;
  submit(new Work{Work::COPY, {}, {}, to, bytes, 0, nullptr, from});
  return SUCCESS;
}
Status cuMemcpyDtoD_v2(u64 to, u64 from, u64 bytes) { return cuMemcpyDtoDAsync_v2(to, from, bytes, nullptr); }
Status cuMemcpyHtoDAsync_v2(u64 to, const void* from, u64 bytes, void*) { return cuMemcpyHtoD_v2(to, from, bytes); }
Status cuMemcpyDtoHAsync_v2(void* to, u64 from, u64 bytes, void*) { return cuMemcpyDtoH_v2(to, from, bytes); }
Status cuMemsetD8Async(u64 memory, u8 value, u64 bytes, void* stream) {
  READY;
  if (stream != &stream_token) return INVALID_HANDLE;
  if (bytes_left(memory) < bytes) return INVALID_VALUE;
  submit(new Work{Work::FILL, {}, {}, memory, bytes, value, nullptr});
  return SUCCESS;
}

Status cuModuleLoadData(void** module, const char* bytes) {
  READY;
  auto* image = new Image;
  if (Status failed = read_image(bytes, *image, &explanation)) return failed;
  explanation = nullptr;
  images.push_back(image);
  *module = image;
  return SUCCESS;
}
Status cuModuleUnload(void* module) {
  READY;
  drain();
  for (size_t i = 0; i < images.size(); i++) {
    if (images[i] != module) continue;
    for (auto [name, variable] : images[i]->module.variables.entries) release(variable.address);
    free(images[i]->module.text);
    delete images[i];
    images.erase(i);
    return SUCCESS;
  }
  return INVALID_HANDLE;
}
Status cuModuleGetFunction(void** kernel, void* module, const char* name) {
  READY;
  if (!holds(images, module)) return INVALID_HANDLE;
  auto* image = (Image*)module;
  for (Kernel* known : image->kernels) if (image->module.functions[known->function].name == name) { *kernel = known; return SUCCESS; }
  return NOT_FOUND;
}
Status cuModuleGetGlobal_v2(u64* memory, u64* bytes, void* module, const char* name) {
  READY;
  if (!holds(images, module)) return INVALID_HANDLE;
  auto& variables = ((Image*)module)->module.variables;
  Variable* found = variables.find(name);
  if (!found || !strcmp(setting("hidden"), name)) return NOT_FOUND;
  if (memory) *memory = found->address;
  if (bytes) *bytes = found->bytes;
  return SUCCESS;
}
Status cuFuncSetAttribute(void* function, int which, int value) {
  READY;
  Kernel* kernel = kernel_of(function);
  if (!kernel) return INVALID_HANDLE;
  if (which != 8 || value < 0 || value + int(kernel->static_shared) > attribute(97)) return INVALID_VALUE;
  kernel->allowed_dynamic = value;
  return SUCCESS;
}
Status cuFuncGetAttribute(int* value, int which, void* function) {
  READY;
  Kernel* kernel = kernel_of(function);
  if (!kernel) return INVALID_HANDLE;
  *value = which == 0 ? kernel->max_threads : which == 1 ? kernel->static_shared : which == 4 ? kernel->registers : 0;
  return SUCCESS;
}
Status cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, void* function, int threads, u64 dynamic_bytes) {
  READY;
  Kernel* kernel = kernel_of(function);
  if (!kernel) return INVALID_HANDLE;
  *blocks = occupancy(*kernel, threads, dynamic_bytes);
  return *blocks < 0 ? INVALID_VALUE : SUCCESS;
}

Status cuLaunchKernel(void* function, u32 grid_x, u32 grid_y, u32 grid_z, u32 x, u32 y, u32 z, u32 shared, void* stream, void** parameters, void** extra) {
  READY;
  Kernel* kernel = kernel_of(function);
  if (!kernel || stream != &stream_token) return INVALID_HANDLE;
  if (once_more("launch_refusals")) return LAUNCH_OUT_OF_RESOURCES;
  if (once_more("odd_answers")) return Status(12345);  // of a release that nobody here knows
  u64 threads = u64(x) * y * z;
  if (!grid_x || !grid_y || !grid_z || grid_x > 2147483647u || grid_y > 65535 || grid_z > 65535 || extra) return INVALID_VALUE;
  if (!threads || threads > 1024 || x > 1024 || y > 1024 || z > 64) return INVALID_VALUE;
  u32 most = kernel->allowed_dynamic > 49152 - kernel->static_shared ? kernel->allowed_dynamic : 49152 - kernel->static_shared;
  if (shared > most) return INVALID_VALUE;
  if (threads > kernel->max_threads) return LAUNCH_OUT_OF_RESOURCES;
  u32 warps = (threads + 127) / 128 * 4, registers = (kernel->registers * 32 + 255) / 256 * 256;
  if (u64(warps) * registers > 65536) return LAUNCH_OUT_OF_RESOURCES;
  const Module& module = kernel->image->module;
  const Function& f = module.functions[kernel->function];
  auto* work = new Work{Work::LAUNCH, {&module, &f, {grid_x, grid_y, grid_z}, {x, y, z}, shared, parameter_memory}};
  for (u32 i = 0; i < f.parameters.size(); i++) memcpy(work->parameters + f.parameters[i].first, parameters[i], f.parameters[i].second);
  submit(work);
  return SUCCESS;
}

Status cuEventRecord(Event* event, void* stream) {
  READY;
  if (stream != &stream_token) return INVALID_HANDLE;
  event->pending = true;
  submit(new Work{Work::RECORD, {}, {}, 0, 0, 0, event});
  return SUCCESS;
}
Status cuEventSynchronize(Event*) { READY; return drain(); }
Status cuStreamSynchronize(void*) { READY; return drain(); }
Status cuCtxSynchronize() { READY; return drain(); }
Status cuEventElapsedTime_v2(float* ms, Event* began, Event* ended) {
  READY;
  if (began->pending || ended->pending) return NOT_READY;
  if (!began->recorded || !ended->recorded) return INVALID_HANDLE;
  *ms = float(ended->time_ns - began->time_ns) * 1e-6f;
  return SUCCESS;
}

#define ENTRY(name) {#name, (void*)name}
#define SECOND(name) {#name, (void*)name##_v2}
static const struct { const char* name; void* function; } table[] = {
  ENTRY(cuInit), ENTRY(cuDriverGetVersion), ENTRY(cuDeviceGetCount), ENTRY(cuDeviceGet), ENTRY(cuDeviceGetName),
  ENTRY(cuDeviceGetPCIBusId), ENTRY(cuDeviceGetAttribute), ENTRY(cuGetErrorName), ENTRY(cuGetErrorString),
  ENTRY(cuDevicePrimaryCtxRetain), ENTRY(cuCtxSetCurrent), ENTRY(cuStreamCreate), ENTRY(cuEventCreate), SECOND(cuMemAlloc),
  SECOND(cuMemFree), SECOND(cuMemGetInfo), SECOND(cuMemHostRegister), ENTRY(cuMemHostUnregister), SECOND(cuMemcpyHtoD), SECOND(cuMemcpyDtoH), SECOND(cuMemcpyDtoD),
  SECOND(cuMemcpyDtoDAsync), SECOND(cuMemcpyHtoDAsync), SECOND(cuMemcpyDtoHAsync), ENTRY(cuMemsetD8Async), ENTRY(cuModuleLoadData),
  ENTRY(cuModuleUnload), ENTRY(cuModuleGetFunction), SECOND(cuModuleGetGlobal), ENTRY(cuFuncSetAttribute), ENTRY(cuFuncGetAttribute),
  ENTRY(cuOccupancyMaxActiveBlocksPerMultiprocessor), ENTRY(cuLaunchKernel), ENTRY(cuEventRecord), ENTRY(cuEventSynchronize),
  ENTRY(cuStreamSynchronize), ENTRY(cuCtxSynchronize), SECOND(cuEventElapsedTime),
};

Status cuGetProcAddress_v2(const char* name, void** function, int, u64, int* found) {
  *function = nullptr;
  for (auto [known, address] : table) if (!strcmp(known, name) && !lists("lacks", name)) *function = address;
  if (found) *found = *function ? 0 : 1;
  return *function ? SUCCESS : NOT_FOUND;
}

}  // extern "C"

// The language's own library is not linked: what is needed of it is this.
void* operator new(size_t bytes) { return malloc(bytes); }
void operator delete(void* memory) noexcept { free(memory); }
void operator delete(void* memory, size_t) noexcept { free(memory); }
