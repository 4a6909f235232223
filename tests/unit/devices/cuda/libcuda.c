/* A driver in host memory, with one GPU and a kernel that adds to bytes, behind the ABI of NVIDIA's: so that the real bindings can be
   called. What the driver refuses, it refuses too: calls without a context, bad handles, launches beyond the limits. After a
   kernel that strays every call gives the same error. */

typedef int Status;
typedef unsigned long Size;
typedef unsigned long long Address;

enum { SUCCESS, INVALID_VALUE, OUT_OF_MEMORY, INVALID_CONTEXT = 201, INVALID_HANDLE = 400, NOT_FOUND = 500, ILLEGAL_ADDRESS = 700 };

static int current, lost, strays, opted_in, recorded[2], pool_used;
static int pool_limit = 1 << 16;
static char pool[1 << 16], constant[16], flush[1];
static int context_, stream_, module_, kernel_;

#define READY if (lost) return lost; if (!current) return INVALID_CONTEXT

static int equal(const char *a, const char *b) {
  while (*a && *a == *b) a++, b++;
  return *a == *b;
}

static void put(char *to, const char *from, int room) {
  while (--room > 0 && *from) *to++ = *from++;
  *to = 0; /* and nothing behind it: the rest of the caller's buffer stays as it was */
}

Status cuInit(unsigned flags) { return SUCCESS; }
Status cuDriverGetVersion(int *version) { *version = DRIVER_VERSION; return SUCCESS; }
Status cuDeviceGetCount(int *count) { *count = 1; return SUCCESS; }
Status cuDeviceGet(int *device, int number) { *device = number; return number ? INVALID_VALUE : SUCCESS; }
Status cuDeviceGetName(char *name, int room, int device) { put(name, "NVIDIA Host Memory", room); return SUCCESS; }
Status cuDeviceGetPCIBusId(char *name, int room, int device) { put(name, "0000:01:00.0", room); return SUCCESS; }
Status cuGetErrorString(Status status, const char **text) { *text = "as NVIDIA says it"; return SUCCESS; }

Status cuDeviceGetAttribute(int *value, int attribute, int device) {
  switch (attribute) {
    case 1: case 2: case 3: *value = 1024; break;
    case 4: *value = 64; break;
    case 5: *value = 2147483647; break;
    case 6: case 7: *value = 65535; break;
    case 8: *value = 49152; break;
    case 10: *value = 32; break;
    case 16: *value = 132; break;
    case 38: *value = 50 << 20; break;
    case 75: *value = CAPABILITY / 10; break;
    case 76: *value = CAPABILITY % 10; break;
    case 97: *value = 232448; break;
    default: return INVALID_VALUE;
  }
  return SUCCESS;
}

Status cuDevicePrimaryCtxRetain(void **context, int device) { *context = &context_; return SUCCESS; }
Status cuCtxSetCurrent(void *context) { current = context == &context_; return current ? SUCCESS : INVALID_CONTEXT; }
Status cuStreamCreate(void **stream, unsigned flags) { READY; *stream = &stream_; return SUCCESS; }
Status cuEventCreate(void **event, unsigned flags) { READY; static int given; *event = &recorded[given++ % 2]; return SUCCESS; }

Status cuMemAlloc_v2(Address *memory, Size size) {
  READY;
  if (size >= 256 << 20) { *memory = (Address)flush; return SUCCESS; }
  if (pool_used + size > pool_limit) return OUT_OF_MEMORY;
  *memory = (Address)(pool + pool_used);
  pool_used += (size + 255) / 256 * 256;
  return SUCCESS;
}

static Status copy(char *to, const char *from, Size size) { READY; while (size--) *to++ = *from++; return SUCCESS; }
Status cuMemcpyHtoD_v2(Address to, const void *from, Size size) { return copy((char *)to, from, size); }
Status cuMemcpyDtoH_v2(void *to, Address from, Size size) { return copy(to, (char *)from, size); }
Status cuMemsetD8Async(Address memory, unsigned char value, Size size, void *stream) { READY; return stream == &stream_ ? SUCCESS : INVALID_HANDLE; }

Status cuModuleLoadData(void **module, const char *image) { READY; *module = &module_; return image[0] == 'c' ? SUCCESS : 200; }
Status cuModuleUnload(void *module) { READY; return module == &module_ ? SUCCESS : INVALID_HANDLE; }
Status cuModuleGetFunction(void **kernel, void *module, const char *name) {
  READY;
  *kernel = &kernel_;
  strays = equal(name, "strays");
  return module != &module_ ? INVALID_HANDLE : strays || equal(name, "adds") ? SUCCESS : NOT_FOUND;
}
Status cuModuleGetGlobal_v2(Address *memory, Size *size, void *module, const char *name) {
  READY;
  *memory = (Address)constant, *size = sizeof constant;
  return equal(name, "shift") ? SUCCESS : NOT_FOUND;
}
Status cuFuncSetAttribute(void *kernel, int attribute, int value) {
  READY;
  if (kernel != &kernel_ || attribute != 8 || value > 232448) return INVALID_VALUE;
  opted_in = value;
  return SUCCESS;
}

Status cuLaunchKernel(void *kernel, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned x, unsigned y, unsigned z,
                      unsigned shared, void *stream, void **parameters, void **extra) {
  READY;
  if (kernel != &kernel_ || stream != &stream_) return INVALID_HANDLE;
  if (!grid_x || grid_y > 65535 || grid_z > 65535 || x * y * z > 1024 || extra) return INVALID_VALUE;
  if (shared > (opted_in > 49152 ? opted_in : 49152)) return INVALID_VALUE;
  char *bytes = *(char **)parameters[0];
  int by = *(int *)parameters[1];
  for (int i = 0; bytes && i < 4; i++) bytes[i] += by + constant[0];
  return SUCCESS;
}
Status cuEventRecord(int *event, void *stream) { READY; *event = 1; return stream == &stream_ ? SUCCESS : INVALID_HANDLE; }
Status cuEventSynchronize(int *event) { READY; return lost = strays ? ILLEGAL_ADDRESS : SUCCESS; }
Status cuEventElapsedTime(float *ms, int *began, int *ended) {
  READY;
  *ms = 1.5f;
  return *began && *ended && began < ended ? SUCCESS : INVALID_HANDLE;
}

#define ENTRY(name) {#name, name}
#define SECOND(name) {#name, name##_v2}
static const struct { const char *name; void *function; } table[] = {
  ENTRY(cuInit), ENTRY(cuDriverGetVersion), ENTRY(cuDeviceGetCount), ENTRY(cuDeviceGet), ENTRY(cuDeviceGetName),
  ENTRY(cuDeviceGetPCIBusId), ENTRY(cuGetErrorString), ENTRY(cuDeviceGetAttribute), ENTRY(cuDevicePrimaryCtxRetain),
  ENTRY(cuCtxSetCurrent), ENTRY(cuStreamCreate), ENTRY(cuEventCreate), SECOND(cuMemAlloc), SECOND(cuMemcpyHtoD),
  SECOND(cuMemcpyDtoH), ENTRY(cuMemsetD8Async), ENTRY(cuModuleLoadData), ENTRY(cuModuleUnload), ENTRY(cuModuleGetFunction),
  SECOND(cuModuleGetGlobal), ENTRY(cuFuncSetAttribute), ENTRY(cuLaunchKernel), ENTRY(cuEventRecord),
  ENTRY(cuEventSynchronize), ENTRY(cuEventElapsedTime),
};

Status cuGetProcAddress_v2(const char *name, void **function, int version, unsigned long long flags, int *found) {
  *function = 0;
  for (unsigned i = 0; i < sizeof table / sizeof *table; i++)
    if (equal(table[i].name, name)) *function = table[i].function;
  if (found) *found = *function ? 0 : 1;
  return *function ? SUCCESS : NOT_FOUND;
}
