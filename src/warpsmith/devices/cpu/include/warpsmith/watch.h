// What a watched kernel calls at every access of memory that threads share. Compiled by itself and linked in (`watch.hooks`).
//
// Three things are looked for. *Strays*: an access outside of the buffer or variable that it is meant for is told, and led to memory of nobody's, so that
// it does no harm; a store to an input, which others may be reading, and an access that is not aligned as its type asks are told too. *Uninitialised values*: shared memory begins with what the host says, so
// that what depends on it shows. *Races*: each granule of shared memory and of the buffers has a cell that remembers who wrote it last, plainly and
// atomically, and the last two threads that read it. Two accesses of which one is a write race if nothing orders them: other threads of the block with no
// barrier between, or other blocks (`watch_order.h`). It does not matter which of them comes first here. Cells are exchanged atomically, for lanes of a
// vector may come through side by side.
#pragma once

#define WATCH_FN extern "C" __attribute__((device, noinline))
#define WATCH_KERNEL extern "C" __attribute__((global)) void
#define WATCH_GLOBAL __attribute__((address_space(1)))
// The block's among those of the launch. A macro: a function that every thread of every block calls must not call others, or the runtime goes through it
// lane by lane.
#define WATCH_BLOCK_NUMBER                                        \
  (__builtin_spirv_workgroup_id(0) + __builtin_spirv_num_workgroups(0) * \
                                         (__builtin_spirv_workgroup_id(1) + __builtin_spirv_num_workgroups(1) * __builtin_spirv_workgroup_id(2)))
#define WATCH_INLINE static __attribute__((device, always_inline))
#define WATCH_CALLED static __attribute__((device, noinline))  // what is compiled once: the runtime makes a vector variant of each copy

namespace __warpsmith_watch {
typedef unsigned long word;

// A tag, from the lowest bit: 13 of the site (the place in the source), 13 of the thread, 1 for atomic operations, 4 of the watched block, 1 for volatile
// ones, and from the 32nd the thread's progress: 20 bits of the barriers and 12 of the fences that it has passed. `steps` are the meetings of a warp: equal
// for lanes that came through the same ones.
struct stamp { word tag, steps; };
struct cell { stamp written, added, read, read_before; word value, unused; };
struct range { word begin, bytes, cells, cell_bytes; };
struct finding { word kind, earlier, later, range, offset; };

inline constexpr int max_shared = 16, max_ranges = 64, max_blocks = 15, max_findings = 32;
struct state {
  word granule, ranges, blocks, is_ordering;  // whether the order of blocks is followed
  word inputs;  // bit by bit: places that are only to be read
  word fill, other_fill, fill_from, fill_end;  // what uninitialised variables begin with: those of these numbers with `fill`
  word block[max_blocks];
  range places[max_ranges];  // variables in shared memory first, then the arguments
};
inline constexpr word read_after_write = 0, write_after_read = 1, write_after_write = 2;
inline constexpr word stray_read = 3, stray_write = 4, stray_own = 5, input_write = 6, misaligned = 7;
inline constexpr int alignment_at = 26;  // of an access: its bytes, and the logarithm of the alignment of its type
inline constexpr int thread_at = 13, block_at = 27, progress_at = 32, barrier_bits = 20, any_place = -1, unknown_place = -2;
inline constexpr word atomic_bit = 1ul << 26, volatile_bit = 1ul << 31, max_fences = (1 << 12) - 1;

WATCH_INLINE word thread_of(word tag) { return tag >> thread_at & 0x1fff; }
WATCH_INLINE word block_of(word tag) { return tag >> block_at & 0xf; }
WATCH_INLINE word bytes_of(unsigned access) { return access & ((1u << alignment_at) - 1); }
WATCH_INLINE word barriers_of(word tag) { return tag >> progress_at & ((1ul << barrier_bits) - 1); }
WATCH_INLINE word fences_of(word tag) { return tag >> (progress_at + barrier_bits); }

WATCH_INLINE word exchanged(word* place, word value) {
  return __scoped_atomic_exchange_n(place, value, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
}
WATCH_INLINE word looked_at(word* place) { return __scoped_atomic_load_n(place, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE); }
WATCH_INLINE stamp exchanged(stamp* place, stamp value) { return {exchanged(&place->tag, value.tag), exchanged(&place->steps, value.steps)}; }
WATCH_INLINE stamp looked_at(stamp* place) { return {looked_at(&place->tag), looked_at(&place->steps)}; }
}  // namespace __warpsmith_watch

__attribute__((device)) __warpsmith_watch::state __warpsmith_watch_state;
__attribute__((device)) __warpsmith_watch::word __warpsmith_watch_found[2];  // races, strays
__attribute__((device)) __warpsmith_watch::finding __warpsmith_watch_findings[2][__warpsmith_watch::max_findings];
__attribute__((device)) __warpsmith_watch::word __warpsmith_watch_filled[__warpsmith_watch::max_shared];  // the block, from 1
__attribute__((device)) __warpsmith_watch::word __warpsmith_watch_nowhere[512];  // where strays are led

#include "warpsmith/watch_order.h"

namespace __warpsmith_watch {
// Whether nothing orders the two.
WATCH_CALLED bool race(word a, word a_steps, word b, word b_steps, bool is_shared) {
  if (a == 0 || (a & b & atomic_bit)) return false;
  if (block_of(a) != block_of(b)) return !is_shared && !is_ordered(a, b);
  if (thread_of(a) == thread_of(b) || barriers_of(a) != barriers_of(b)) return false;
  return thread_of(a) / 32 != thread_of(b) / 32 || a_steps == b_steps;
}

// Loops go on to their end: where lanes would leave one at different times, the runtime takes what is left of it for the same in all of them.
WATCH_INLINE int place_of(word address) {
  const state& all = __warpsmith_watch_state;
  int found = -1;
  for (int i = 0; i < (int)all.ranges; ++i) found = address - all.places[i].begin < all.places[i].bytes ? i : found;
  return found;
}

WATCH_INLINE word distance(const range& to, word address) {
  if (to.begin == 0) return ~0ul;
  return address < to.begin ? to.begin - address : address - to.begin - to.bytes;
}
WATCH_INLINE int nearest(word address) {
  const state& all = __warpsmith_watch_state;
  int found = 0;
  for (int i = 0; i < (int)all.ranges; ++i) found = distance(all.places[i], address) < distance(all.places[found], address) ? i : found;
  return found;
}

WATCH_CALLED void tell(int list, word kind, word earlier, word later, word place, word offset) {
  const word number = __scoped_atomic_fetch_add(&__warpsmith_watch_found[list], 1ul, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
  if (number < max_findings) __warpsmith_watch_findings[list][number] = {kind, earlier, later, place, offset};
}

// Where an access goes that is meant for `place`: the place, or -1 where that is nobody's. `address` is led elsewhere if it strays.
WATCH_INLINE int reached_place(word kind, word tag, word& address, unsigned access, int place) {
  const state& all = __warpsmith_watch_state;
  const word bytes = bytes_of(access), alignment = 1ul << (access >> alignment_at);
  const int found = place < 0 ? place_of(address) : place;
  if (place == unknown_place) return found;
  const int meant = found < 0 ? nearest(address) : found;
  const word offset = address - all.places[meant].begin, size = all.places[meant].bytes;
  const bool strays = all.places[meant].begin != 0 && !(offset < size && bytes <= size - offset);
  if (strays && block_of(tag) != 0) tell(1, kind, tag, bytes, (word)meant, offset);
  if (kind == stray_write && !strays && found >= 0 && (all.inputs >> found & 1) && block_of(tag) != 0) tell(1, input_write, tag, bytes, (word)meant, offset);
  // Every place begins aligned, so what matters is how far in it is: also where shared memory lies otherwise on a GPU.
  if (!strays && found >= 0 && (offset & (alignment - 1)) && block_of(tag) != 0) tell(1, misaligned, tag, bytes | alignment << 32, (word)meant, offset);
  address = strays && bytes <= sizeof(__warpsmith_watch_nowhere) ? (word)&__warpsmith_watch_nowhere : address;
  return strays || all.places[meant].begin == 0 ? -1 : found;
}

// The granules that an access reaches, counted from address 0.
struct span {
  int place;
  word begin, cells, granule, first, end;
  __attribute__((device, always_inline)) cell* at(word i) const { return (cell*)cells + (i - begin / granule); }
  __attribute__((device, always_inline)) word offset(word i) const { return i * granule < begin ? 0 : i * granule - begin; }
};
WATCH_INLINE span reached(word address, word bytes, int place) {
  const range& in = __warpsmith_watch_state.places[place < 0 ? 0 : place];
  const word granule = __warpsmith_watch_state.granule, last = in.begin + in.bytes;
  return {place, in.begin, in.cells, granule, address / granule, address + bytes < last ? address + bytes : last};
}

WATCH_CALLED void meet(word kind, stamp* earlier, word tag, word steps, word place, word offset) {
  const stamp before = looked_at(earlier);
  if (before.tag != 0 && race(before.tag, before.steps, tag, steps, place < max_shared)) tell(0, kind, before.tag, tag, place, offset);
}

enum how { reading, adding, writing };

WATCH_CALLED void note(how does, cell* at, word tag, word steps, word value, word place, word offset) {
  const word kind = does == reading ? read_after_write : write_after_write;
  if (does == writing) {
    const stamp writer = exchanged(&at->written, {tag, steps});
    const word before = exchanged(&at->value, value);
    // Threads that write the same value do not mind who is last.
    if (before != value && writer.tag != 0 && race(writer.tag, writer.steps, tag, steps, place < max_shared))
      tell(0, kind, writer.tag, tag, place, offset);
  } else {
    meet(kind, &at->written, tag, steps, place, offset);
  }
  if (does != adding) meet(kind, &at->added, tag, steps, place, offset);
  if (does != reading) {
    meet(write_after_read, &at->read, tag, steps, place, offset);
    meet(write_after_read, &at->read_before, tag, steps, place, offset);
  }
  if (does == writing) return;
  const stamp before = exchanged(does == reading ? &at->read : &at->added, {tag, steps});
  const bool is_other = thread_of(before.tag) != thread_of(tag) || block_of(before.tag) != block_of(tag);
  if (does == reading && is_other) exchanged(&at->read_before, before);
}
}  // namespace __warpsmith_watch

// The number of the block among the watched ones, from 1; 0 for others.
WATCH_FN unsigned long __warpsmith_watch_block() {
  using namespace __warpsmith_watch;
  const word block = WATCH_BLOCK_NUMBER;
  word watched = 0;
  for (word i = 0; i < __warpsmith_watch_state.blocks; ++i) watched = __warpsmith_watch_state.block[i] == block ? i + 1 : watched;
  return watched;
}
// For kernels whose blocks may pass each other results.
WATCH_FN void __warpsmith_watch_enter(unsigned long block) {
  using namespace __warpsmith_watch;
  if (__warpsmith_watch_state.is_ordering && block == 0) begin_other_block(WATCH_BLOCK_NUMBER);
}

// The thread and its block, as tags have them.
WATCH_FN unsigned long __warpsmith_watch_who(unsigned long block) {
  using namespace __warpsmith_watch;
  const word thread = __builtin_spirv_local_invocation_id(0) +
                      __builtin_spirv_workgroup_size(0) * (__builtin_spirv_local_invocation_id(1) +
                                                           __builtin_spirv_workgroup_size(1) * __builtin_spirv_local_invocation_id(2));
  return block << block_at | thread << thread_at;
}

// With what variables begin that nobody initialised: the fill, the other one, and the numbers of the variables that the first is for.
WATCH_FN unsigned long __warpsmith_watch_fill(unsigned which) { return (&__warpsmith_watch_state.fill)[which]; }

// Where a variable in shared memory is. Blocks run one after another, each in the same place: the first of its threads fills it.
WATCH_FN void __warpsmith_watch_shared(int place, void* begin, void* end) {
  using namespace __warpsmith_watch;
  range& in = __warpsmith_watch_state.places[place];
  const word size = (word)end - (word)begin, block = WATCH_BLOCK_NUMBER + 1;
  in.begin = (word)begin;
  in.bytes = size < in.bytes ? size : in.bytes;
  if (in.bytes > in.cell_bytes) in.cells = 0;
  if (exchanged(&__warpsmith_watch_filled[place], block) == block) return;
  const state& all = __warpsmith_watch_state;
  const word fill = (word)place >= all.fill_from && (word)place < all.fill_end ? all.fill : all.other_fill;
  for (word i = 0; i < size; ++i) ((unsigned char*)begin)[i] = (unsigned char)fill;
}

// The progress of a thread that has passed one more fence for the whole device.
WATCH_FN unsigned __warpsmith_watch_fence(unsigned long who, unsigned progress) {
  using namespace __warpsmith_watch;
  note_fence(who | (word)progress << progress_at);
  return progress >> barrier_bits < max_fences ? progress + (1u << barrier_bits) : progress;
}

// Of an index into an array of the thread's own, at its end: `site` is that of the last one outside, or 0.
WATCH_FN void __warpsmith_watch_own(unsigned long who, unsigned site) {
  using namespace __warpsmith_watch;
  if (site != 0 && block_of(who) != 0) tell(1, stray_own, who | site, 0, 0, 0);
}

// Both answer where to go.
WATCH_FN unsigned long __warpsmith_watch_read(unsigned long who, unsigned progress, unsigned long steps, unsigned site, unsigned long address,
                                              unsigned access, int place) {
  using namespace __warpsmith_watch;
  stamp now = {who | site | (word)progress << progress_at, steps};
  const int found = reached_place(stray_read, now.tag, address, access, place);
  const bool is_shared = found >= 0 && found < max_shared;
  if ((now.tag & volatile_bit) && !is_shared) now.tag |= atomic_bit;  // whoever reads a flag
  if (now.tag & atomic_bit) meet_others(address, now.tag, false);
  if (block_of(who) == 0 || found < 0 || __warpsmith_watch_state.places[found].cells == 0) return address;
  const span to = reached(address, bytes_of(access), found);
  for (word i = to.first; i * to.granule < to.end; ++i) note(reading, to.at(i), now.tag, now.steps, 0, (word)to.place, to.offset(i));
  return address;
}

// `value` has the bytes to be written; null for an atomic operation.
WATCH_FN unsigned long __warpsmith_watch_write(unsigned long who, unsigned progress, unsigned long steps, unsigned site, unsigned long address,
                                               unsigned access, int place, const unsigned char* value) {
  using namespace __warpsmith_watch;
  stamp now = {who | site | (word)progress << progress_at, steps};
  const int found = reached_place(stray_write, now.tag, address, access, place);
  const bool is_shared = found >= 0 && found < max_shared;
  // A flag that is set behind a fence orders as an atomic operation does.
  const bool is_flag = (now.tag & volatile_bit) && !is_shared && is_behind_fence(now.tag);
  if (is_flag) now.tag |= atomic_bit;
  if (now.tag & atomic_bit) meet_others(address, now.tag, true);
  if (block_of(who) == 0 || found < 0 || __warpsmith_watch_state.places[found].cells == 0) return address;
  const span to = reached(address, bytes_of(access), found);
  for (word i = to.first; i * to.granule < to.end; ++i) {
    word known = 0;
    const word begin = i * to.granule < address ? address : i * to.granule;
    for (word b = begin; value && b < to.end && b < (i + 1) * to.granule; ++b) known = known * 257 + value[b - address];
    note(value && !is_flag ? writing : adding, to.at(i), now.tag, now.steps, known, (word)to.place, to.offset(i));
  }
  return address;
}

WATCH_KERNEL __warpsmith_watch_begin(WATCH_GLOBAL const unsigned long* setup) {
  for (unsigned i = 0; i < sizeof(__warpsmith_watch_state) / 8; ++i) ((unsigned long*)&__warpsmith_watch_state)[i] = setup[i];
  for (int i = 0; i < __warpsmith_watch::max_shared; ++i) __warpsmith_watch_filled[i] = 0;
  __warpsmith_watch_found[0] = __warpsmith_watch_found[1] = 0;
  __warpsmith_watch::forget_order();
}

WATCH_KERNEL __warpsmith_watch_end(WATCH_GLOBAL unsigned long* out) {
  for (int list = 0; list < 2; ++list) *out++ = __warpsmith_watch_found[list];
  for (unsigned i = 0; i < sizeof(__warpsmith_watch_findings) / 8; ++i) out[i] = ((unsigned long*)__warpsmith_watch_findings)[i];
}
