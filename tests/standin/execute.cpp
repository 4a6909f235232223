// Execution: blocks one after another, the warps of a block in turns, and in a warp the group of lanes that is furthest behind.
#include <sys/mman.h>

#include "machine.h"

constexpr u32 kTurn = 20000, kUsualMxcsr = 0x1f80;

// Groups at the same place go on together; the one whose lanes are furthest behind goes first, so that they meet again.
static bool choose(Warp& w, bool rotate, u32* limit) {
  for (u32 i = 0; i < w.group_count; i++)
    for (u32 j = i + 1; j < w.group_count;) {
      Group &a = w.groups[i], &b = w.groups[j];
      if (a.pc != b.pc || a.waiting >= AT_BARRIER || b.waiting >= AT_BARRIER) { j++; continue; }
      a.mask |= b.mask;
      if (a.waiting == FOR_LANES || b.waiting == FOR_LANES) a.waiting = RUNS;
      b = w.groups[--w.group_count];
    }
  u32 best = kNone;
  for (u32 i = 0; i < w.group_count; i++) {
    const Group& g = w.groups[i];
    if (g.waiting != RUNS) continue;
    bool sooner = best == kNone || (rotate ? g.pc > w.groups[best].pc : g.pc < w.groups[best].pc);
    if (sooner) best = i;
  }
  if (best == kNone) return false;
  w.current = best;
  *limit = kNone;
  for (u32 i = 0; i < w.group_count; i++)
    if (i != best && w.groups[i].pc > w.groups[best].pc && w.groups[i].pc < *limit) *limit = w.groups[i].pc;
  return true;
}

// Until every lane waits or is done, or for so many instructions. False: nothing could be done.
static bool run_warp(Warp& w) {
  const Op* code = w.module->code.data();
  const Fault& fault = w.block->launch->fault;
  u32 limit, turns = kTurn;
  bool went = false;
  // Lanes that wait for what others do (a lock) must not keep them from doing it: now and then the foremost go first.
  for (bool rotate = w.issued / kTurn % 4 == 3; turns && !fault.status && choose(w, rotate, &limit);) {
    went = true;
    w.regroup = false;
    Group& g = w.group();
    do {
      const Op& op = code[g.pc++];
      w.active = g.mask;
      if (op.guard != kNone) w.active &= op.negated ? ~w.predicate(op.guard) : w.predicate(op.guard);
      w.issued++;
      if (!w.active) continue;
      if (op.mxcsr) __builtin_ia32_ldmxcsr(op.mxcsr);
      op.run(w, op);
      if (op.mxcsr) __builtin_ia32_ldmxcsr(kUsualMxcsr);
    } while (!w.regroup && g.pc < limit && --turns);
  }
  return went;
}

static u32 living(const Block& block) {
  u32 count = 0;
  for (const Warp& w : block.warps) count += __builtin_popcount(w.alive);
  return count;
}

static void release_barriers(Block& block) {
  u32 threads = living(block);
  for (u32 id = 0; id < kBarriers; id++) {
    Barrier& barrier = block.barriers[id];
    if (!barrier.arrived || barrier.arrived < (barrier.expected ? barrier.expected : threads)) continue;
    for (Warp& w : block.warps)
      for (u32 i = 0; i < w.group_count; i++) {
        Group& g = w.groups[i];
        if (g.waiting != AT_BARRIER || g.barrier != id) continue;
        const Op& op = w.module->code[g.pc++];
        g.waiting = RUNS;
        w.active = g.mask;
        if (op.modifier == 'p') w.put<u32>(op.d, [&](u32) { return barrier.yes; });
        if (op.modifier == 'a') w.put_predicate(op.d, [&](u32) { return barrier.yes == barrier.votes; });
        if (op.modifier == 'o') w.put_predicate(op.d, [&](u32) { return barrier.yes > 0; });
      }
    barrier = {};
  }
}

static u64 special(const Warp& w, const Special& s, u32 lane) {
  const Launch& launch = *w.block->launch;
  u32 thread = w.number * kLanes + lane;
  switch (s.kind) {
    case Special::TID:
      return s.axis == 0 ? thread % launch.block[0]
                         : s.axis == 1 ? thread / launch.block[0] % launch.block[1] : thread / launch.block[0] / launch.block[1];
    case Special::NTID: return launch.block[s.axis];
    case Special::CTAID: return w.block->index[s.axis];
    case Special::NCTAID: return launch.grid[s.axis];
    case Special::LANEID: return lane;
    case Special::WARPID: return w.number;
    case Special::NWARPID: return w.block->warps.size();
    case Special::MASK_EQ: return 1u << lane;
    case Special::MASK_LT: return (1u << lane) - 1;
    case Special::MASK_LE: return u32((2ull << lane) - 1);
    case Special::MASK_GT: return u32(~((2ull << lane) - 1));
    case Special::MASK_GE: return u32(~((1u << lane) - 1));
    case Special::DYNAMIC_SHARED: return launch.dynamic_bytes;
    case Special::TOTAL_SHARED: return w.block->shared_bytes;
    case Special::SMID: return (w.block->index[0] + w.block->index[1] + w.block->index[2]) % kMultiprocessors;
    case Special::NSMID: return kMultiprocessors;
    default: return 0;
  }
}

static void fill_specials(Warp& w, bool all) {
  for (const Special& s : w.module->specials)
    if (all || s.kind == Special::CTAID || s.kind == Special::SMID)
      for (u32 i = 0; i < kLanes; i++) {
        u64 value = special(w, s, i);
        memcpy(w.registers + s.place + i * s.width, &value, s.width);
      }
}

// What no instruction writes: constants, and which thread each lane is.
static void fill_registers(Warp& w) {
  for (auto [place, constant] : w.module->constants) {
    auto [value, width] = constant;
    if (width == 1) w.predicate(place) = value ? kAllLanes : 0;
    else for (u32 i = 0; i < kLanes; i++) memcpy(w.registers + place + i * width, &value, width);
  }
  fill_specials(w, true);
}

// Shared memory and stacks of a multiprocessor, where they stay what the blocks before made of them, in this launch or an earlier one.
static u8* staying(u32 multiprocessor) {
  constexpr u64 bytes = 16 << 20;
  static u8* all = (u8*)mmap(nullptr, bytes * kMultiprocessors, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return all + bytes * multiprocessor;
}

static void begin_block(Block& block, const Launch& launch) {
  if (memory_stays) {
    u64 local = (u64(launch.module->local_bytes) + 15) / 16 * 16 * kLanes;
    block.shared = staying((block.index[0] + block.index[1] + block.index[2]) % kMultiprocessors);
    for (u32 i = 0; i < block.warps.size(); i++) block.warps[i].local = block.shared + (256 << 10) + i * local;
  } else memset(block.shared, 0xff, block.shared_bytes);  // nothing has put anything there: not numbers, if read as floats
  for (Barrier& barrier : block.barriers) barrier = {};
  for (u32 i = 0; i < block.warps.size(); i++) {
    Warp& w = block.warps[i];
    u32 lanes = block.threads - i * kLanes;
    w.alive = lanes >= kLanes ? kAllLanes : (1u << lanes) - 1;
    w.groups[0] = {w.alive, launch.function->begin, RUNS, 0};
    w.group_count = 1, w.issued = w.carry = 0, w.batch = 0;
    w.copies.clear();
    fill_specials(w, false);
  }
}

static void run_block(Block& block) {
  Launch& launch = *block.launch;
  while (living(block) && !launch.fault.status) {
    bool went = false;
    for (Warp& w : block.warps) {
      went |= run_warp(w);
      if (launch.fault.status) return;
    }
    u32 before = 0, after = 0;
    for (const Warp& w : block.warps) for (u32 i = 0; i < w.group_count; i++) before += w.groups[i].waiting == AT_BARRIER;
    release_barriers(block);
    for (const Warp& w : block.warps) for (u32 i = 0; i < w.group_count; i++) after += w.groups[i].waiting == AT_BARRIER;
    if (!went && before == after) for (;;) __builtin_ia32_pause();  // threads wait for threads that never come: so does a GPU
  }
  for (const Warp& w : block.warps) {
    launch.issued += w.issued;
    if (w.issued > launch.longest_chain) launch.longest_chain = w.issued;
  }
}

void execute(Launch& launch) {
  Block block{&launch, {}, launch.block[0] * launch.block[1] * launch.block[2]};
  const Module& module = *launch.module;
  u32 warps = (block.threads + kLanes - 1) / kLanes;
  block.shared_bytes = (module.shared_bytes + 15) / 16 * 16 + launch.dynamic_bytes;
  u64 registers = module.register_bytes, local = (u64(module.local_bytes) + 15) / 16 * 16 * kLanes;
  u64 bytes = block.shared_bytes + 64 + warps * (registers + local);
  u8* room = (u8*)mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (room == MAP_FAILED) { launch.fault.status = OUT_OF_MEMORY; return; }
  block.shared = room + warps * (registers + local);
  block.warps.resize(warps);
  for (u32 i = 0; i < warps; i++) {
    Warp& w = block.warps[i];
    w.block = &block, w.module = &module, w.number = i;
    w.registers = room + i * registers;
    w.local = room + warps * registers + i * local;
    w.returns.resize(module.functions.size() * kLanes);
    fill_registers(w);
  }
  for (block.index[2] = 0; block.index[2] < launch.grid[2]; block.index[2]++)
    for (block.index[1] = 0; block.index[1] < launch.grid[1]; block.index[1]++)
      for (block.index[0] = 0; block.index[0] < launch.grid[0] && !launch.fault.status; block.index[0]++) {
        begin_block(block, launch);
        run_block(block);
      }
  munmap(room, bytes);
}
