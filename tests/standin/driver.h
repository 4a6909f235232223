// What the driver's calls share: the loaded images, and what this machine pretends (`standin.conf` beside the library).
#pragma once
#include "machine.h"

// By name; every driver has habits of its own, and these are some of them. What is not set is as other drivers have it.
void read_settings();
const char* setting(const char* name, const char* otherwise = "");
int number(const char* name, int otherwise = 0);
bool lists(const char* setting_name, const char* word);  // `a,b,c`
bool once_more(const char* name);                        // so many times as the setting says, and then no more
struct _IO_FILE* open_beside(const char* name);  // a file in the folder that this library lies in

// The driver's habits that a confined worker must allow. What is refused gives the driver's own answer to that.
Status start_habits();
Status name_thread(const char* name);

struct Kernel {
  struct Image* image;
  u32 function;
  u32 registers = 0, static_shared = 0, max_threads = 1024, allowed_dynamic = 0;
};
struct Image {
  Module module;
  List<Kernel*> kernels;
  u32 magic = 0;
};
// From a cubin with its PTX in it, or PTX. `problem` says what the driver's error would not.
Status read_image(const char* bytes, Image& image, const char** problem);

int occupancy(const Kernel& kernel, u32 threads, u64 dynamic_bytes);
inline int capability() { return number("capability", 90); }
int attribute(int which);  // -1: unknown
