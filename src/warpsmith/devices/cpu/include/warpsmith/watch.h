// What a watched kernel calls at every access of memory that threads share. Compiled by itself and linked in (`watch.hooks`).
//
// Each granule of shared memory and of the buffers has a cell that remembers who wrote it last, plainly and atomically, and the last two threads that read it. Two
// accesses of which one is a write race if nothing orders them: other threads of the block with no barrier between, or other blocks. It does
// not matter which of them comes first here. Cells are exchanged atomically, for lanes of a vector may come through side by side.
#pragma once

#define WATCH_FN extern "C" __attribute__((device, noinline))
#define WATCH_KERNEL extern "C" __attribute__((global)) void
#define WATCH_GLOBAL __attribute__((address_space(1)))

namespace __warpsmith_watch {
typedef unsigned long word;

// A tag, from the lowest bit: 13 of the site (the place in the source), 13 of the thread, 1 for atomic operations, 4 of the watched block, and
// from the 32nd the barriers passed. `steps` are the meetings of a warp: equal for lanes that came through the same ones.
struct stamp { word tag, steps; };
struct cell { stamp written, added, read, read_before; word value, unused; };
struct range { word begin, bytes, cells, is_shared; };
struct finding { word kind, earlier, later, range, offset; };

inline constexpr int max_ranges = 64, max_blocks = 15, max_findings = 32;
struct state {
  word granule, ranges, blocks, fenced;
  word block[max_blocks];
  range places[max_ranges];
};
inline constexpr word read_after_write = 0, write_after_read = 1, write_after_write = 2;
inline constexpr int thread_at = 13, block_at = 27, barriers_at = 32;
inline constexpr word atomic_bit = 1ul << 26;
}  // namespace __warpsmith_watch

__attribute__((device)) __warpsmith_watch::state __warpsmith_watch_state;
__attribute__((device)) __warpsmith_watch::word __warpsmith_watch_found;
__attribute__((device)) __warpsmith_watch::finding __warpsmith_watch_findings[__warpsmith_watch::max_findings];

namespace __warpsmith_watch {
#define WATCH_INLINE static __attribute__((device, always_inline))

WATCH_INLINE word thread_of(word tag) { return tag >> thread_at & 0x1fff; }
WATCH_INLINE word block_of(word tag) { return tag >> block_at & 0xf; }
WATCH_INLINE word barriers_of(word tag) { return tag >> barriers_at; }

WATCH_INLINE word exchanged(word* place, word value) {
  return __scoped_atomic_exchange_n(place, value, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
}
WATCH_INLINE word looked_at(word* place) { return __scoped_atomic_load_n(place, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE); }
WATCH_INLINE stamp exchanged(stamp* place, stamp value) { return {exchanged(&place->tag, value.tag), exchanged(&place->steps, value.steps)}; }
WATCH_INLINE stamp looked_at(stamp* place) { return {looked_at(&place->tag), looked_at(&place->steps)}; }

// Whether nothing orders the two.
WATCH_INLINE bool race(stamp earlier, stamp later, bool is_shared) {
  const word a = earlier.tag, b = later.tag;
  if (a == 0 || (a & b & atomic_bit)) return false;
  if (block_of(a) != block_of(b)) return !is_shared && !__warpsmith_watch_state.fenced;
  if (thread_of(a) == thread_of(b) || barriers_of(a) != barriers_of(b)) return false;
  return thread_of(a) / 32 != thread_of(b) / 32 || earlier.steps == later.steps;
}

// Loops go on to their end: where lanes would leave one at different times, the runtime takes what is left of it for the same in all of them.
WATCH_INLINE int place_of(word address) {
  const state& all = __warpsmith_watch_state;
  int found = -1;
  for (int i = 0; i < (int)all.ranges; ++i) found = address - all.places[i].begin < all.places[i].bytes ? i : found;
  return found;
}

// The granules that an access reaches, counted from address 0, as far as they are in one place; -1 where it is nobody's place.
struct span {
  int place;
  word begin, cells, granule, first, end;
  bool is_shared;
  __attribute__((device, always_inline)) cell* at(word i) const { return (cell*)cells + (i - begin / granule); }
};
WATCH_INLINE span reached(word address, word bytes) {
  const int place = place_of(address);
  const range& in = __warpsmith_watch_state.places[place < 0 ? 0 : place];
  const word granule = __warpsmith_watch_state.granule, last = in.begin + in.bytes;
  return {place, in.begin, in.cells, granule, address / granule, address + bytes < last ? address + bytes : last, in.is_shared != 0};
}

WATCH_INLINE void report(word kind, stamp earlier, stamp later, const span& to, word i) {
  const word number = __scoped_atomic_fetch_add(&__warpsmith_watch_found, 1ul, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
  const word offset = i * to.granule < to.begin ? 0 : i * to.granule - to.begin;
  if (number < max_findings) __warpsmith_watch_findings[number] = {kind, earlier.tag, later.tag, (word)to.place, offset};
}

WATCH_INLINE stamp stamped(word who, unsigned barriers, word steps, unsigned site) { return {who | site | (word)barriers << barriers_at, steps}; }

WATCH_INLINE void meet(word kind, stamp* earlier, stamp now, const span& to, word i) {
  const stamp before = looked_at(earlier);
  if (race(before, now, to.is_shared)) report(kind, before, now, to, i);
}

WATCH_INLINE void note_read(cell* at, stamp now, const span& to, word i) {
  meet(read_after_write, &at->written, now, to, i);
  meet(read_after_write, &at->added, now, to, i);
  const stamp before = exchanged(&at->read, now);
  if (thread_of(before.tag) != thread_of(now.tag) || block_of(before.tag) != block_of(now.tag)) exchanged(&at->read_before, before);
}

WATCH_INLINE void note_add(cell* at, stamp now, const span& to, word i) {
  meet(write_after_write, &at->written, now, to, i);
  meet(write_after_read, &at->read, now, to, i);
  meet(write_after_read, &at->read_before, now, to, i);
  exchanged(&at->added, now);
}

// Threads that write the same value do not mind who is last.
WATCH_INLINE void note_write(cell* at, stamp now, word value, const span& to, word i) {
  const stamp writer = exchanged(&at->written, now);
  const word before = exchanged(&at->value, value);
  if (race(writer, now, to.is_shared) && before != value) report(write_after_write, writer, now, to, i);
  meet(write_after_write, &at->added, now, to, i);
  meet(write_after_read, &at->read, now, to, i);
  meet(write_after_read, &at->read_before, now, to, i);
}
}  // namespace __warpsmith_watch

// The number of the block among the watched ones, from 1; 0 for others.
WATCH_FN unsigned long __warpsmith_watch_block() {
  using namespace __warpsmith_watch;
  const word block = __builtin_spirv_workgroup_id(0) +
                     __builtin_spirv_num_workgroups(0) *
                         (__builtin_spirv_workgroup_id(1) + __builtin_spirv_num_workgroups(1) * __builtin_spirv_workgroup_id(2));
  word watched = 0;
  for (word i = 0; i < __warpsmith_watch_state.blocks; ++i) watched = __warpsmith_watch_state.block[i] == block ? i + 1 : watched;
  return watched;
}

// The thread and its block, as tags have them.
WATCH_FN unsigned long __warpsmith_watch_who(unsigned long block) {
  using namespace __warpsmith_watch;
  const word thread = __builtin_spirv_local_invocation_id(0) +
                      __builtin_spirv_workgroup_size(0) * (__builtin_spirv_local_invocation_id(1) +
                                                           __builtin_spirv_workgroup_size(1) * __builtin_spirv_local_invocation_id(2));
  return block << block_at | thread << thread_at;
}

// Where a variable in shared memory is, of which there are cells for no more than `bytes`. Blocks run one after another, each in the same place.
WATCH_FN void __warpsmith_watch_shared(int place, void* begin, void* end) {
  __warpsmith_watch::range& in = __warpsmith_watch_state.places[place];
  const unsigned long size = (unsigned long)end - (unsigned long)begin;
  in.begin = (unsigned long)begin;
  in.bytes = size < in.bytes ? size : in.bytes;
}

WATCH_FN void __warpsmith_watch_read(unsigned long who, unsigned barriers, unsigned long steps, unsigned site, void* address, unsigned bytes) {
  using namespace __warpsmith_watch;
  const span to = reached((word)address, bytes);
  if (block_of(who) == 0 || to.place < 0) return;
  for (word i = to.first; i * to.granule < to.end; ++i) note_read(to.at(i), stamped(who, barriers, steps, site), to, i);
}

// `value` has the bytes to be written; null for an atomic operation.
WATCH_FN void __warpsmith_watch_write(unsigned long who, unsigned barriers, unsigned long steps, unsigned site, void* address, unsigned bytes,
                                      const unsigned char* value) {
  using namespace __warpsmith_watch;
  const span to = reached((word)address, bytes);
  if (block_of(who) == 0 || to.place < 0) return;
  const stamp now = stamped(who, barriers, steps, site);
  for (word i = to.first; i * to.granule < to.end; ++i) {
    word known = 0;
    const word begin = i * to.granule < (word)address ? (word)address : i * to.granule;
    for (word b = begin; value && b < to.end && b < (i + 1) * to.granule; ++b) known = known * 257 + value[b - (word)address];
    if (value) note_write(to.at(i), now, known, to, i);
    else note_add(to.at(i), now, to, i);
  }
}

WATCH_KERNEL __warpsmith_watch_begin(WATCH_GLOBAL const unsigned long* setup) {
  for (unsigned i = 0; i < sizeof(__warpsmith_watch_state) / 8; ++i) ((unsigned long*)&__warpsmith_watch_state)[i] = setup[i];
  __warpsmith_watch_found = 0;
}

WATCH_KERNEL __warpsmith_watch_end(WATCH_GLOBAL unsigned long* out) {
  out[0] = __warpsmith_watch_found;
  for (unsigned i = 0; i < sizeof(__warpsmith_watch_findings) / 8; ++i) out[1 + i] = ((unsigned long*)__warpsmith_watch_findings)[i];
}
