// Device memory: a range of reserved addresses, of which whole pages of 2 MiB become usable, as on a GPU: a stray access within such a
// page is not noticed.
#include <sys/mman.h>

#include "driver.h"

constexpr u64 kReserved = 1ull << 38, kPage = 2 << 20, kGrain = 512, kMemory = 6ull << 30;
constexpr u64 kPages = kMemory / kPage;

u64 shared_window, local_window, window_bytes = 1 << 24, parameter_memory;
static u64 base, used;
static u8 mapped[kPages];
static List<Pair<u64, u64>>& pieces() { static List<Pair<u64, u64>> all; return all; }  // address and bytes, in order

bool reserve_addresses() {
  void* at = mmap(nullptr, kReserved, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (at == MAP_FAILED) return false;
  base = (u64(at) + kPage - 1) / kPage * kPage;
  shared_window = base + kMemory + (1ull << 32);
  local_window = shared_window + (1ull << 32);
  parameter_memory = allocate(1 << 15);
  return parameter_memory;
}

u64 allocate(u64 bytes) {
  bytes = (bytes + kGrain - 1) / kGrain * kGrain;
  u64 place = base;
  size_t before = 0;
  for (; before < pieces().size(); before++) {  // the first gap that is large enough
    if (pieces()[before].first - place >= bytes) break;
    place = pieces()[before].first + pieces()[before].second;
  }
  static const u64 all = u64(number("memory_mib", kMemory >> 20)) << 20;
  if (!bytes || place + bytes > base + all) return 0;
  u64 first = (place - base) / kPage, last = (place + bytes - 1 - base) / kPage;
  for (u64 page = first; page <= last; page++) {
    if (!mapped[page] && mprotect((void*)(base + page * kPage), kPage, PROT_READ | PROT_WRITE)) return 0;
    mapped[page] = 1;
  }
  pieces().push_back({place, bytes});
  for (size_t i = pieces().size() - 1; i > before; i--) pieces()[i] = pieces()[i - 1];
  pieces()[before] = {place, bytes};
  return place;
}

bool release(u64 address) {
  size_t at = 0;
  while (at < pieces().size() && pieces()[at].first != address) at++;
  if (at == pieces().size()) return false;
  u64 end = address + pieces()[at].second;
  pieces().erase(at);
  for (u64 page = (address - base) / kPage; page * kPage + base < end; page++) {
    u64 begin = base + page * kPage;
    bool shared = false;
    for (auto [other, size] : pieces()) shared |= other < begin + kPage && other + size > begin;
    if (shared) continue;
    madvise((void*)begin, kPage, MADV_DONTNEED);
    mprotect((void*)begin, kPage, PROT_NONE);
    mapped[page] = 0;
  }
  return true;
}

u64 bytes_left(u64 address) {
  for (auto [begin, size] : pieces()) if (address >= begin && address < begin + size) return begin + size - address;
  return 0;
}

bool is_mapped(u64 address, u64 bytes) {
  if (address < base || address + bytes > base + kMemory || address + bytes < address) return false;
  return mapped[(address - base) / kPage] && mapped[(address + bytes - 1 - base) / kPage];
}
