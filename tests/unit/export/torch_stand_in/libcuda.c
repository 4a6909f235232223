/* A stand-in for the driver of a GPU that is not here, with its C interface: it writes down what it is asked to launch. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char names[64][512];
static int count = 0;

static _Thread_local void* current = NULL;

int cuDeviceGet(int* device, int ordinal) {
  *device = ordinal;
  return 0;
}

int cuCtxGetDevice(int* device) {
  *device = 0;
  return current == NULL ? 201 : 0; /* CUDA_ERROR_INVALID_CONTEXT */
}

int cuDevicePrimaryCtxRetain(void** context, int device) {
  *context = (void*)(0x2000L + device);
  return 0;
}

int cuCtxSetCurrent(void* context) {
  current = context;
  return 0;
}

int cuModuleLoadData(void** module, const void* image) {
  if (current == NULL) return 201;
  if (memcmp(image, "\177ELF", 4) != 0) return 200; /* CUDA_ERROR_INVALID_IMAGE */
  *module = (void*)0x1000;
  return 0;
}

int cuModuleGetFunction(void** function, void* module, const char* name) {
  if (module != (void*)0x1000) return 400; /* CUDA_ERROR_INVALID_HANDLE */
  snprintf(names[count], sizeof names[count], "%s", name);
  *function = names[count++];
  return 0;
}

int cuFuncSetAttribute(void* function, int attribute, int value) {
  FILE* log = fopen(getenv("LAUNCHES"), "a");
  fprintf(log, "{\"attribute\": [%d, %d]}\n", attribute, value);
  return fclose(log);
}

int cuGetErrorName(int status, const char** name) {
  *name = status == 1 ? "CUDA_ERROR_INVALID_VALUE" : "CUDA_ERROR_INVALID_IMAGE";
  return 0;
}

/* PARAMETERS has the size of each parameter: "8 8 4". */
int cuLaunchKernel(void* function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared,
                   void* stream, void** parameters, void** extra) {
  if (current == NULL) return 201;
  if (bx * by * bz > 1024 || extra != NULL) return 1; /* CUDA_ERROR_INVALID_VALUE */
  FILE* log = fopen(getenv("LAUNCHES"), "a");
  fprintf(log, "{\"kernel\": \"%s\", \"grid\": [%u, %u, %u], \"block\": [%u, %u, %u], \"shared\": %u, \"stream\": %llu, \"values\": [",
          (char*)function, gx, gy, gz, bx, by, bz, shared, (unsigned long long)stream);
  char* sizes = strdup(getenv("PARAMETERS"));
  int index = 0;
  for (char* size = strtok(sizes, " "); size != NULL; size = strtok(NULL, " "), ++index) {
    fprintf(log, "%s\"", index ? ", " : "");
    for (int byte = 0; byte < atoi(size); ++byte) fprintf(log, "%02x", ((unsigned char*)parameters[index])[byte]);
    fprintf(log, "\"");
  }
  fprintf(log, "]}\n");
  free(sizes);
  return fclose(log);
}
