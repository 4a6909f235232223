// What lanes and warps do together: shuffles, votes, barriers; and where they go: branches, calls, ends.
#include "parse.h"

// Whether the lanes that take part are all here; otherwise the group waits for the others to come to this place.
static bool together(Warp& w, u32 members) {
  members &= w.alive;
  u32 elsewhere = members & ~w.group().mask;
  if (!elsewhere) return true;
  Group& g = w.group();
  g.pc--, g.waiting = FOR_LANES;
  w.regroup = true;
  return false;
}

static u32 members(Warp& w, u32 place) { return w.at<u32>(place)[__builtin_ctz(w.active)]; }

static void shuffle(Warp& w, const Op& op) {
  if (op.e != kNone && !together(w, members(w, op.e))) return;
  const u32 *a = w.at<u32>(op.a), *b = w.at<u32>(op.b), *c = w.at<u32>(op.c);
  u32 made[kLanes], inside = 0;
  for (u32 lane = 0; lane < kLanes; lane++) {
    u32 by = b[lane] & 31, clamp = c[lane] & 31, segment = c[lane] >> 8 & 31;
    u32 last = (lane & segment) | (clamp & ~segment), first = lane & segment;
    i32 from = op.modifier == 'u' ? i32(lane - by) : op.modifier == 'd' ? lane + by : op.modifier == 'b' ? lane ^ by : first | (by & ~segment);
    bool valid = op.modifier == 'u' ? from >= i32(last) : from <= i32(last);
    made[lane] = a[valid ? from : lane];
    inside |= u32(valid) << lane;
  }
  w.put<u32>(op.d, [&](u32 i) { return made[i]; });
  if (op.v[0] != kNone) w.put_predicate(op.v[0], [=](u32 i) { return inside >> i & 1; });
}

static void vote(Warp& w, const Op& op) {
  if (op.e != kNone && !together(w, members(w, op.e))) return;
  u32 asked = op.e != kNone ? members(w, op.e) & w.active : w.active;
  u32 bits = (op.bytes ? ~w.predicate(op.a) : w.predicate(op.a)) & asked;
  switch (op.modifier) {
    case 'b': return w.put<u32>(op.d, [=](u32) { return bits; });
    case 'a': return w.put_predicate(op.d, [=](u32) { return bits == asked; });
    case 'o': return w.put_predicate(op.d, [=](u32) { return bits != 0; });
    default: return w.put_predicate(op.d, [=](u32) { return bits == asked || !bits; });
  }
}

template <class T> static void match(Warp& w, const Op& op) {
  if (!together(w, members(w, op.e))) return;
  const T* a = w.at<T>(op.a);
  u32 asked = members(w, op.e) & w.active, made[kLanes], same = 0;
  for (u32 i = 0; i < kLanes; i++) {
    made[i] = 0;
    for (u32 j = 0; j < kLanes; j++) made[i] |= u32(asked >> j & 1 && a[i] == a[j]) << j;
    same |= u32(made[i] == asked) << i;
  }
  bool all = op.modifier == 'a';
  w.put<u32>(op.d, [&](u32 i) { return !all ? made[i] : same >> i & 1 ? asked : 0; });
  if (op.v[0] != kNone) w.put_predicate(op.v[0], [=](u32 i) { return same >> i & 1; });
}

static void reduce(Warp& w, const Op& op) {
  if (!together(w, members(w, op.e))) return;
  const u32* a = w.at<u32>(op.a);
  u32 asked = members(w, op.e) & w.active, made = a[__builtin_ctz(asked)];
  for (u32 i = __builtin_ctz(asked) + 1; i < kLanes; i++) {
    if (!(asked >> i & 1)) continue;
    u32 x = a[i];
    bool is_signed = op.bytes;
    switch (op.modifier) {
      case '+': made += x; break;
      case '&': made &= x; break;
      case '|': made |= x; break;
      case '^': made ^= x; break;
      case '<': made = (is_signed ? i32(x) < i32(made) : x < made) ? x : made; break;
      default: made = (is_signed ? i32(x) > i32(made) : x > made) ? x : made;
    }
  }
  w.put<u32>(op.d, [=](u32) { return made; });
}

static void active_mask(Warp& w, const Op& op) {
  u32 mask = w.active;
  w.put<u32>(op.d, [=](u32) { return mask; });
}

// The lanes that the instruction is for become a group; the others, whom its guard keeps out, go on.
static void part(Warp& w) {
  Group& g = w.group();
  u32 others = g.mask & ~w.active;
  if (others) w.groups[w.group_count++] = {others, g.pc, RUNS, 0};
  g.mask = w.active;
  w.regroup = true;
}

// The lanes need not be at the same place, only each at a barrier of its warp.
static void warp_barrier(Warp& w, const Op& op) {
  u32 wanted = members(w, op.a) & w.alive, here = 0;
  part(w);
  w.group().waiting = AT_WARP_BARRIER;
  for (u32 i = 0; i < w.group_count; i++) if (w.groups[i].waiting == AT_WARP_BARRIER) here |= w.groups[i].mask;
  if (wanted & ~here) return;
  for (u32 i = 0; i < w.group_count; i++) if (w.groups[i].waiting == AT_WARP_BARRIER) w.groups[i].waiting = RUNS;
}

static void block_barrier(Warp& w, const Op& op) {
  u32 lane = __builtin_ctz(w.active), id = op.a != kNone ? w.at<u32>(op.a)[lane] : 0;
  if (id >= kBarriers) return w.fail(LAUNCH_FAILED);
  Barrier& barrier = w.block->barriers[id];
  barrier.arrived += __builtin_popcount(w.active);
  if (op.b != kNone) barrier.expected = w.at<u32>(op.b)[lane];
  if (op.c != kNone) {
    u32 bits = op.bytes ? ~w.predicate(op.c) : w.predicate(op.c);
    barrier.votes += __builtin_popcount(w.active), barrier.yes += __builtin_popcount(bits & w.active);
  }
  if (op.count == 0) return;  // arrives, and does not wait
  part(w);
  w.group().pc--, w.group().waiting = AT_BARRIER, w.group().barrier = id;
}

bool decode_exchange(Instruction& i) {
  auto base = i.words[0];
  Op& op = i.op;
  op.v[0] = kNone;
  if (!i.operands.empty() && !i.operands[0].second.empty()) {
    Operand second;
    second.form = Operand::NAME, second.name = i.operands[0].second;
    op.v[0] = i.p.place(second, 1);
  }
  bool is_synchronous = i.has("sync");
  if (base == "shfl") {
    op.run = shuffle, op.modifier = u8(i.has("up") ? 'u' : i.has("down") ? 'd' : i.has("bfly") ? 'b' : 'i');
    op.d = i.write(0, 4), op.a = i.read(1, 4), op.b = i.read(2, 4), op.c = i.read(3, 4), op.e = i.read(4, 4);
  } else if (base == "vote") {
    bool ballot = i.has("ballot");
    op.run = vote, op.modifier = u8(ballot ? 'b' : i.has("all") ? 'a' : i.has("any") ? 'o' : 'u');
    op.d = i.write(0, ballot ? 4 : 1), op.a = i.read(1, 1), op.e = is_synchronous ? i.read(2, 4) : kNone;
    op.bytes = i.operands.size() > 1 && i.operands[1].negated;
  } else if (base == "match") {
    bool wide = i.type().bytes == 8;
    op.run = wide ? match<u64> : match<u32>, op.modifier = u8(i.has("all") ? 'a' : 'o');
    op.d = i.write(0, 4), op.a = i.read(1, wide ? 8 : 4), op.e = i.read(2, 4);
  } else if (base == "redux") {
    op.run = reduce;
    op.modifier = u8(i.has("add") ? '+' : i.has("and") ? '&' : i.has("or") ? '|' : i.has("xor") ? '^' : i.has("min") ? '<' : '>');
    op.bytes = i.type().kind == 's';
    op.d = i.write(0, 4), op.a = i.read(1, 4), op.e = i.read(2, 4);
  } else if (base == "activemask") {
    op.run = active_mask, op.d = i.write(0, 4);
  } else if (base == "bar" && i.has("warp")) {
    op.run = warp_barrier, op.a = i.read(0, 4);
  } else if (base == "bar" || base == "barrier") {
    op.run = block_barrier;
    u32 first = 0;
    if (i.has("red")) {
      op.modifier = u8(i.has("popc") ? 'p' : i.has("and") ? 'a' : 'o');
      op.d = i.write(0, i.has("popc") ? 4 : 1), first = 1;
      op.c = i.p.place(i.operands.back(), 1), op.bytes = i.operands.back().negated;
      if (i.operands.size() == 4) op.b = i.read(2, 4);
    } else if (i.operands.size() > 1) op.b = i.read(1, 4);
    op.a = i.read(first, 4), op.count = !i.has("arrive");
  } else return false;
  i.emit(op);
  return true;
}
