// What NVIDIA's driver does when it starts, as far as confinement has to allow it, and what this machine pretends to be.
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "driver.h"

bool memory_stays;
static struct { char name[64], value[256]; int times; } settings[32];
static int known;

FILE* open_beside(const char* name) {
  Dl_info self;
  char path[512];
  if (!dladdr((void*)open_beside, &self)) return nullptr;
  const char* slash = strrchr(self.dli_fname, '/');
  snprintf(path, sizeof path, "%.*s%s", slash ? int(slash - self.dli_fname + 1) : 0, self.dli_fname, name);
  return fopen(path, "r");
}

void read_settings() {
  static bool done;
  if (done) return;
  done = true;
  char line[512];
  FILE* file = open_beside("standin.conf");
  while (file && known < 32 && fgets(line, sizeof line, file)) known += sscanf(line, "%63s %255s", settings[known].name, settings[known].value) == 2;
  if (file) fclose(file);
  memory_stays = number("memory_stays");
}

const char* setting(const char* name, const char* otherwise) {
  read_settings();
  for (int i = 0; i < known; i++) if (!strcmp(settings[i].name, name)) return settings[i].value;
  return otherwise;
}

int number(const char* name, int otherwise) {
  const char* text = setting(name, nullptr);
  return text ? atoi(text) : otherwise;
}

bool lists(const char* setting_name, const char* word) {
  size_t length = strlen(word);
  for (const char* at = setting(setting_name); (at = strstr(at, word)); at += length)
    if ((at == setting(setting_name) || at[-1] == ',') && (!at[length] || at[length] == ',')) return true;
  return false;
}

bool once_more(const char* name) {
  if (!number(name)) return false;
  for (int i = 0; i < known; i++) if (!strcmp(settings[i].name, name)) return settings[i].times++ < number(name);
  return false;
}

// Since release 570, by the file and not by prctl; a refusal ends cuInit.
Status name_thread(const char* name) {
  if (!number("names_threads", 1)) return SUCCESS;
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/task/%ld/comm", getpid(), syscall(SYS_gettid));
  int file = open(path, O_RDWR | O_CLOEXEC);
  if (file < 0) return OPERATING_SYSTEM;
  ssize_t written = write(file, name, strlen(name));
  close(file);
  return written > 0 ? SUCCESS : OPERATING_SYSTEM;
}

static void* wait_for_events(void* result) {
  *(Status*)result = name_thread("cuda-EvtHandlr");
  return nullptr;
}

// No server is as good as none; any other answer is taken for one that does not work.
static Status look_for_mps() {
  int connection = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  if (connection < 0) return OPERATING_SYSTEM;
  sockaddr_un address{AF_UNIX};
  snprintf(address.sun_path, sizeof address.sun_path, "%s", setting("mps", "/tmp/nvidia-mps/control"));
  int answer = connect(connection, (sockaddr*)&address, sizeof address), error = errno;
  close(connection);
  return answer == 0 || error == ENOENT ? SUCCESS : MPS_CONNECTION_FAILED;
}

// Without it the driver tries to load the module and to make the node, for which it has to start a program.
static Status open_uvm() {
  if (!*setting("uvm")) return SUCCESS;
  int node = open(setting("uvm"), O_RDWR | O_CLOEXEC);
  if (node < 0) return UNKNOWN;
  close(node);
  return SUCCESS;
}

static Status share_memory() {
  size_t bytes = size_t(number("shared_kib", 64)) << 10;
  int file = memfd_create("cuda", MFD_CLOEXEC);
  if (file < 0 || ftruncate(file, bytes)) return OPERATING_SYSTEM;
  void* at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  return at != MAP_FAILED ? SUCCESS : OPERATING_SYSTEM;
}

Status start_habits() {
  if (number("init_seconds")) sleep(number("init_seconds"));
  if (number("prints")) { printf("a driver that has something to say\n"); fflush(stdout); }
  if (number("forks")) {  // for nvidia-modprobe; a refusal is no reason to give up
    if (pid_t child = fork(); child == 0) _exit(0);
    else if (child > 0) waitpid(child, nullptr, 0);
  }
  if (once_more("init_failures")) return UNKNOWN;
  if (Status failed = open_uvm()) return failed;
  if (Status failed = look_for_mps()) return failed;
  if (Status failed = share_memory()) return failed;
  if (!reserve_addresses()) return OUT_OF_MEMORY;
  Status named = OPERATING_SYSTEM;
  pthread_t events;
  if (pthread_create(&events, nullptr, wait_for_events, &named)) return OPERATING_SYSTEM;
  pthread_join(events, nullptr);
  return named;
}
