// Memory: loads, stores, atomics and asynchronous copies, in every space, each access checked for bounds and alignment.
#include "lanes.h"

struct Lanes {  // where each active lane's access lies on the host
  u8* at[kLanes];
};

// An access to device memory: the pages are looked at once where all lanes are near each other, and pieces of 32 bytes counted.
static bool find_global(Warp& w, const u64* address, u32 bytes, Lanes& found) {
  u64 near[kLanes], low = ~0ull, high = 0, any = address[__builtin_ctz(w.active)];
  for (u32 i = 0; i < kLanes; i++) near[i] = w.active >> i & 1 ? address[i] : any;
  u32 changes = 1;
  for (u32 i = 0; i < kLanes; i++) low = near[i] < low ? near[i] : low, high = near[i] > high ? near[i] : high;
  for (u32 i = 1; i < kLanes; i++) changes += near[i] >> 5 != near[i - 1] >> 5;
  w.block->launch->sectors += changes;
  for (u32 i = 0; i < kLanes; i++) found.at[i] = (u8*)near[i];
  if (high - low < 1 << 20 && is_mapped(low, bytes) && is_mapped(high, bytes)) return true;
  for (u32 i = 0; i < kLanes; i++)
    if (!is_mapped(near[i], bytes)) return w.fail(ILLEGAL_ADDRESS, near[i]), false;
  return true;
}

static bool find(Warp& w, const Op& op, char space, u32 place, u32 place_width, u32 bytes, Lanes& found) {
  u64 address[kLanes];
  if (place_width == 8) for (u32 i = 0; i < kLanes; i++) address[i] = w.at<u64>(place)[i] + op.offset;
  else for (u32 i = 0; i < kLanes; i++) address[i] = u32(w.at<u32>(place)[i] + op.offset);
  for (u32 i = 0; i < kLanes; i++)
    if (w.active >> i & 1 && address[i] & (bytes - 1)) return w.fail(MISALIGNED_ADDRESS, address[i]), false;
  if (space == 'g') return find_global(w, address, bytes, found);
  if (space == 0) {  // generic: as a rule all lanes mean the same space
    u32 first = __builtin_ctz(w.active);
    bool in_window = false;
    for (u32 i = 0; i < kLanes; i++) in_window |= w.active >> i & 1 && address[i] - shared_window < (2ull << 32);
    if (!in_window) return find_global(w, address, bytes, found);
    (void)first;
  }
  for (u32 i = 0; i < kLanes; i++) {
    if (!(w.active >> i & 1)) continue;
    u64 a = address[i];
    char where = space ? space : a - shared_window < window_bytes ? 's' : a - local_window < window_bytes ? 'l' : 'g';
    if (!space && where != 'g') a -= where == 's' ? shared_window : local_window;
    u64 limit = where == 's' ? w.block->shared_bytes : w.module->local_bytes;
    if (where == 'g' ? !is_mapped(a, bytes) : a + bytes > limit) return w.fail(ILLEGAL_ADDRESS, address[i]), false;
    u64 stride = (u64(w.module->local_bytes) + 15) / 16 * 16;
    found.at[i] = where == 's' ? w.block->shared + a : where == 'l' ? w.local + i * stride + a : (u8*)a;
  }
  return true;
}

static bool find(Warp& w, const Op& op, u32 bytes, Lanes& found) { return find(w, op, char(op.modifier), op.a, op.e, bytes, found); }

template <class T, class R> static void load(Warp& w, const Op& op) {
  Lanes from;
  if (!find(w, op, sizeof(T) * op.count, from)) return;
  bool in_a_row = w.active == kAllLanes && op.count == 1 && sizeof(T) == sizeof(R);
  for (u32 i = 1; i < kLanes; i++) in_a_row &= from.at[i] == from.at[0] + i * sizeof(T);
  if (in_a_row) { memcpy(w.registers + op.v[0], from.at[0], kLanes * sizeof(T)); return; }
  for (u32 k = 0; k < op.count; k++) {
    R* to = w.at<R>(op.v[k]);
    for (u32 i = 0; i < kLanes; i++) {
      if (!(w.active >> i & 1)) continue;
      T value;
      memcpy(&value, from.at[i] + k * sizeof(T), sizeof(T));
      to[i] = R(value);
    }
  }
}

template <class T, class R> static void store(Warp& w, const Op& op) {
  Lanes to;
  if (!find(w, op, sizeof(T) * op.count, to)) return;
  for (u32 k = 0; k < op.count; k++) {
    const R* from = w.at<R>(op.v[k]);
    for (u32 i = 0; i < kLanes; i++) {
      if (!(w.active >> i & 1)) continue;
      T value = T(from[i]);
      memcpy(to.at[i] + k * sizeof(T), &value, sizeof(T));
    }
  }
}

template <class T> static Run load_or_store(bool stores, u32 width) {
  if (width == 8) return stores ? store<T, u64> : load<T, u64>;
  if constexpr (sizeof(T) <= 4) if (width == 4) return stores ? store<T, u32> : load<T, u32>;
  if constexpr (sizeof(T) <= 2) if (width == 2) return stores ? store<T, u16> : load<T, u16>;
  return nullptr;
}

static Run load_or_store(Type t, bool stores, u32 width) {
  bool s = t.kind == 's';
  switch (t.bytes * t.per) {
    case 1: return s ? load_or_store<i8>(stores, width) : load_or_store<u8>(stores, width);
    case 2: return s ? load_or_store<i16>(stores, width) : load_or_store<u16>(stores, width);
    case 4: return s ? load_or_store<i32>(stores, width) : load_or_store<u32>(stores, width);
    default: return load_or_store<u64>(stores, width);
  }
}

// ── atomics ──

template <class T, u32 Per, class F> static void atomic(Warp& w, const Op& op) {
  Lanes to;
  if (!find(w, op, sizeof(T) * Per, to)) return;
  const T* b = w.at<T>(op.b);
  T* d = op.d != kNone ? w.at<T>(op.d) : nullptr;
  for (u32 i = 0; i < kLanes; i++) {  // one lane after another
    if (!(w.active >> i & 1)) continue;
    for (u32 k = 0; k < Per; k++) {
      T old, given = b[i * Per + k];
      memcpy(&old, to.at[i] + k * sizeof(T), sizeof(T));
      T made = T(F{}(as<T>(old), as<T>(given)));
      memcpy(to.at[i] + k * sizeof(T), &made, sizeof(T));
      if (d) d[i * Per + k] = old;
    }
  }
}

template <class T> static void compare_and_swap(Warp& w, const Op& op) {
  Lanes to;
  if (!find(w, op, sizeof(T), to)) return;
  const T *b = w.at<T>(op.b), *c = w.at<T>(op.c);
  for (u32 i = 0; i < kLanes; i++) {
    if (!(w.active >> i & 1)) continue;
    T old, wanted = b[i], made = c[i];
    memcpy(&old, to.at[i], sizeof(T));
    if (old == wanted) memcpy(to.at[i], &made, sizeof(T));
    if (op.d != kNone) w.at<T>(op.d)[i] = old;
  }
}

template <class F> static Run atomic_of(Type t, F) { return of_numbers(t, []<class T, u32 Per> -> Run { return atomic<T, Per, F>; }); }
template <class F> static Run atomic_of_bits(Type t, F) { return of_integers(t, []<class T, u32 Per> -> Run { return atomic<T, Per, F>; }); }

static Run atomic_run(Instruction& i, Type t) {
  Type bits{'u', t.bytes};
  if (i.has("add")) return atomic_of(t, [](auto a, auto b) { return a + b; });
  if (i.has("min")) return atomic_of(t, [](auto a, auto b) { return b < a ? b : a; });
  if (i.has("max")) return atomic_of(t, [](auto a, auto b) { return b > a ? b : a; });
  if (i.has("and")) return atomic_of_bits(bits, [](auto a, auto b) { return a & b; });
  if (i.has("or")) return atomic_of_bits(bits, [](auto a, auto b) { return a | b; });
  if (i.has("xor")) return atomic_of_bits(bits, [](auto a, auto b) { return a ^ b; });
  if (i.has("exch")) return atomic_of_bits(bits, [](auto, auto b) { return b; });
  if (i.has("inc")) return atomic_of_bits(bits, [](auto a, auto b) { return a >= b ? decltype(a)(0) : decltype(a)(a + 1); });
  if (i.has("dec")) return atomic_of_bits(bits, [](auto a, auto b) { return a == 0 || a > b ? b : decltype(a)(a - 1); });
  if (i.has("cas")) return t.bytes == 8 ? compare_and_swap<u64> : t.bytes == 4 ? compare_and_swap<u32> : compare_and_swap<u16>;
  return nullptr;
}

// ── asynchronous copies ──

// They arrive as late as they may: who does not wait for them reads what was there before.
static void copy_asynchronously(Warp& w, const Op& op) {
  Lanes to, from;
  Op source = op;
  source.offset = i64(op.v[0]) | i64(op.v[1]) << 32;
  if (!find(w, op, 's', op.a, op.e, op.bytes, to) || !find(w, source, 'g', op.b, 8, op.bytes, from)) return;
  for (u32 i = 0; i < kLanes; i++) {
    if (!(w.active >> i & 1)) continue;
    u32 given = op.c != kNone ? w.at<u32>(op.c)[i] : op.bytes;
    given = given < op.bytes ? given : op.bytes;
    w.copies.push_back({to.at[i], from.at[i], given, op.bytes - given, w.batch});
  }
}
static void end_batch(Warp& w, const Op&) { w.batch++; }
static void wait_for_copies(Warp& w, const Op& op) {  // all but the last `count` batches
  size_t kept = 0;
  for (Copy& copy : w.copies) {
    if (op.count && copy.batch + op.count >= w.batch) { w.copies[kept++] = copy; continue; }
    memcpy(copy.to, copy.from, copy.bytes);
    memset(copy.to + copy.bytes, 0, copy.zeros);
  }
  w.copies.resize(kept);
}

static void nothing(Warp&, const Op&) {}
static void zero(Warp& w, const Op& op) { w.put<u64>(op.d, [](u32) { return 0; }); }

static char space_of(Instruction& i) {
  for (auto word : i.words) {
    if (word == "global" || word == "const") return 'g';
    if (word.starts_with("shared")) return 's';
    if (word == "local") return 'l';
    if (word == "param") return 'p';
  }
  return 0;
}

// The address's register, its width and offset; a name stands for where it lies.
static void take_address(Instruction& i, const Operand& operand, char* space, u32* place, u32* width, i64* offset) {
  Operand base = operand;
  base.form = operand.name.empty() ? Operand::NUMBER : Operand::NAME, base.offset = 0;
  Symbol* symbol = operand.name.empty() ? nullptr : i.p.find(operand.name);
  *width = symbol && symbol->kind == Kind::REGISTER ? symbol->width : 8;
  if (*space == 'p') *space = symbol && symbol->kind == Kind::LOCAL ? 'l' : symbol && symbol->kind == Kind::ABSOLUTE ? 'g' : 0;
  *place = i.p.place(base, *width);
  *offset = operand.offset;
}

static bool decode_copy(Instruction& i) {
  Op& op = i.op;
  if (i.has("commit_group")) op.run = end_batch;
  else if (i.has("wait_all") || i.has("wait_group")) {
    op.run = wait_for_copies;
    op.count = i.operands.empty() ? 0 : i.operands[0].bits;
    if (i.has("wait_all")) { Op first = op; first.run = end_batch; i.emit(first); }
  } else if (i.words[1] == "async" && i.operands.size() >= 3 && !i.has("bulk")) {
    char shared = 's', global = 'g';
    i64 offset;
    u32 width;
    take_address(i, i.operands[0], &shared, &op.a, &op.e, &op.offset);
    take_address(i, i.operands[1], &global, &op.b, &width, &offset);
    op.v[0] = u32(offset), op.v[1] = u32(offset >> 32);
    op.bytes = i.operands[2].bits;
    op.c = i.operands.size() > 3 ? i.read(3, 4) : kNone;
    op.run = copy_asynchronously;
  } else return false;
  i.emit(op);
  return true;
}

bool decode_access(Instruction& i) {
  auto base = i.words[0];
  Op& op = i.op;
  Type t = i.type();
  if (base == "cp") return decode_copy(i);
  if (base == "membar" || base == "fence" || base == "prefetch" || base == "prefetchu" || base == "discard" || base == "applypriority" || base == "nanosleep" || base == "griddepcontrol") {
    op.run = nothing;
    i.emit(op);
    return true;
  }
  if (base == "createpolicy") { op.run = zero, op.d = i.write(0, 8); i.emit(op); return true; }
  bool atomic = base == "atom" || base == "red", stores = base == "st";
  if (!atomic && !stores && base != "ld" && base != "ldu" || !t.kind) return false;
  u32 address_at = stores || base == "red" ? 0 : 1;
  if (i.operands.size() <= address_at || i.operands[address_at].form != Operand::ADDRESS) return false;
  char space = space_of(i);
  take_address(i, i.operands[address_at], &space, &op.a, &op.e, &op.offset);
  op.modifier = u8(space);
  if (atomic) {
    u32 width = t.bytes * t.per;
    if (i.has("v2") || i.has("v4") || i.has("v8")) return false;
    op.run = atomic_run(i, t);
    if (base == "atom") op.d = i.write(0, width);
    op.b = i.read(address_at + 1, width), op.c = i.has("cas") ? i.read(address_at + 2, width) : kNone;
  } else {
    const Operand& data = i.operands[1 - address_at];
    u32 own = t.bytes * t.per < 2 ? 2 : t.bytes * t.per;
    List<Operand> moved = data.parts;
    if (data.form != Operand::VECTOR) moved.push_back(data);
    op.count = moved.size();
    if (op.count > 8) return false;
    op.width = own;
    for (const Operand& part : moved) if (u32 found = i.p.width_of(part, own); found > op.width) op.width = found;
    for (u32 k = 0; k < op.count; k++) op.v[k] = stores ? i.p.place(moved[k], op.width) : i.p.written(moved[k], op.width);
    op.run = load_or_store(t, stores, op.width);
  }
  i.emit(op);
  return op.run;
}
