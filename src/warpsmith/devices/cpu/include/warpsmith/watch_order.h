// In what order a watched kernel's blocks pass each other results: by fences and atomic operations on the same location, as in
//
//     results[block] = …; __threadfence(); if (atomicAdd(&ticket, 1) == last) read(results);
//
// An atomic operation of thread X publishes what its block did before it: what X and its warp did before a fence of X, and what other threads did before a
// barrier, if one of theirs or of X's fences came after it. Who later comes to the location takes note of that, for itself and its warp at once, for its
// block from the next barrier on. Blocks run one after another here, so what is found there is what the ones before left. A fence on the side that reads is
// not asked for: programs leave it out where a barrier follows.
#pragma once

namespace __warpsmith_watch {
// What is published of a block: `barriers` its publisher had passed (plus 1; 0 if there is none), `fence` how many it had passed at its last fence (plus 1).
struct published { word barriers, fence, fences, warps; };
// What a block knows of another: `settled` in all threads, `fresh` in those that passed more barriers than `since`, and in these warps.
struct knowledge { published settled, fresh; word since, warps; };
struct location { word address; published by[max_blocks + 1]; };

inline constexpr int max_threads = 1024, max_logged = 8, max_locations = 1024, max_probes = 8;
}  // namespace __warpsmith_watch

// Of every watched block; number 0 is whichever other block runs.
__attribute__((device)) __warpsmith_watch::knowledge __warpsmith_watch_known[__warpsmith_watch::max_blocks + 1][__warpsmith_watch::max_blocks + 1];
__attribute__((device)) __warpsmith_watch::location __warpsmith_watch_locations[__warpsmith_watch::max_locations];
// How many barriers (plus 1) a thread had passed at its first fences; the last entry is of the last one.
__attribute__((device)) unsigned __warpsmith_watch_fences[__warpsmith_watch::max_blocks][__warpsmith_watch::max_threads][__warpsmith_watch::max_logged];
__attribute__((device)) __warpsmith_watch::word __warpsmith_watch_fenced[__warpsmith_watch::max_blocks + 1];  // whether a block has passed any
__attribute__((device)) __warpsmith_watch::word __warpsmith_watch_other;  // the block that number 0 is, from 1
__attribute__((device)) __warpsmith_watch::word __warpsmith_watch_is_lost;  // whether there were too many locations

namespace __warpsmith_watch {
WATCH_INLINE word warp_of(word tag) { return 1ul << (thread_of(tag) / 32 & 63); }
WATCH_INLINE word larger(word a, word b) { return a > b ? a : b; }

WATCH_INLINE void forget_order() {
  if (!__warpsmith_watch_state.is_ordering) return;
  for (unsigned i = 0; i < sizeof(__warpsmith_watch_known) / 8; ++i) ((word*)__warpsmith_watch_known)[i] = 0;
  for (unsigned i = 0; i < sizeof(__warpsmith_watch_locations) / 8; ++i) ((word*)__warpsmith_watch_locations)[i] = 0;
  for (unsigned i = 0; i < sizeof(__warpsmith_watch_fences) / 8; ++i) ((word*)__warpsmith_watch_fences)[i] = 0;
  for (int i = 0; i <= max_blocks; ++i) __warpsmith_watch_fenced[i] = 0;
  __warpsmith_watch_other = __warpsmith_watch_is_lost = 0;
}

WATCH_CALLED void begin_other_block(word number) {
  if (exchanged(&__warpsmith_watch_other, number + 1) == number + 1) return;
  __warpsmith_watch_fenced[0] = 0;
  for (unsigned i = 0; i < sizeof(__warpsmith_watch_known[0]) / 8; ++i) ((word*)__warpsmith_watch_known[0])[i] = 0;
}

WATCH_INLINE void note_fence(word tag) {
  const word block = block_of(tag), thread = thread_of(tag), number = fences_of(tag);
  __warpsmith_watch_fenced[block] = 1;
  if (block == 0 || thread >= max_threads) return;
  unsigned* log = __warpsmith_watch_fences[block - 1][thread];
  log[number < max_logged ? number : max_logged - 1] = (unsigned)barriers_of(tag) + 1;
}
WATCH_INLINE bool is_behind_fence(word tag) { return __warpsmith_watch_fenced[block_of(tag)] != 0; }

// Of the same block.
WATCH_INLINE published joined(published a, published b) {
  return {larger(a.barriers, b.barriers), larger(a.fence, b.fence), larger(a.fences, b.fences),
          a.barriers < b.barriers ? b.warps : a.barriers > b.barriers ? a.warps : a.warps | b.warps};
}

WATCH_INLINE bool is_published(word tag, published by) {
  const word passed = barriers_of(tag) + 1, fences = fences_of(tag), thread = thread_of(tag);
  if (passed > by.barriers) return false;
  if ((warp_of(tag) & by.warps) && fences < by.fences) return true;
  if (passed == by.barriers) return false;
  if (passed < by.fence || fences >= max_logged - 1 || thread >= max_threads) return true;
  const word own = __warpsmith_watch_fences[block_of(tag) - 1][thread][fences];
  return own != 0 && own < by.barriers;
}

// Whether the second, of another block, comes after the first.
WATCH_CALLED bool is_ordered(word earlier, word later) {
  if (!__warpsmith_watch_state.is_ordering) return false;
  const knowledge& known = __warpsmith_watch_known[block_of(later)][block_of(earlier)];
  const word passed = barriers_of(later);
  const bool is_fresh = passed > known.since || (passed == known.since && (known.warps & warp_of(later)));
  return __warpsmith_watch_is_lost || is_published(earlier, is_fresh ? known.fresh : known.settled);
}

WATCH_INLINE location* location_of(word address, bool is_new) {
  location* found = nullptr;
  for (word probe = 0; probe < max_probes; ++probe) {
    location* at = &__warpsmith_watch_locations[(address / 4 * 0x9E3779B97F4A7C15ul >> 32) + probe & (max_locations - 1)];
    word free = 0;
    if (is_new && !found) __scoped_atomic_compare_exchange_n(&at->address, &free, address, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
    found = !found && looked_at(&at->address) == address ? at : found;
  }
  return found;
}

// An atomic operation: notes what others have published at this location, and publishes.
WATCH_CALLED void meet_others(word address, word tag, bool is_write) {
  if (!__warpsmith_watch_state.is_ordering) return;
  const word block = block_of(tag), thread = thread_of(tag), passed = barriers_of(tag);
  const bool publishes = is_write && __warpsmith_watch_fenced[block];
  location* at = location_of(address, publishes);
  if (!at && publishes) __warpsmith_watch_is_lost = 1;
  if (!at) return;
  for (word other = 1; other <= max_blocks; ++other) {
    knowledge& known = __warpsmith_watch_known[block][other];
    const published theirs = at->by[other];
    if (other == block || theirs.barriers == 0) continue;
    if (passed > known.since) known.settled = known.fresh;
    known.warps = passed > known.since ? warp_of(tag) : known.warps | warp_of(tag);
    known.since = passed;
    known.fresh = joined(known.fresh, theirs);
  }
  if (!publishes) return;
  for (word other = 1; other <= max_blocks; ++other) at->by[other] = joined(at->by[other], __warpsmith_watch_known[block][other].fresh);
  if (block == 0) return;
  const word fences = fences_of(tag), last = fences < max_logged ? fences : max_logged;
  const word fence = fences && thread < max_threads ? __warpsmith_watch_fences[block - 1][thread][last - 1] : 0;
  at->by[block] = joined(at->by[block], {passed + 1, fence, fences, warp_of(tag)});
}
}  // namespace __warpsmith_watch
