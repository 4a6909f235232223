// Predicates: comparisons, logic, choices; and moving values, whole or in parts.
#include "lanes.h"

enum Test : u8 { EQ, NE, LT, LE, GT, GE, EQU, NEU, LTU, LEU, GTU, GEU, NUM, NAN_, NO_TEST };

static Test test_of(View word) {
  static const Pair<View, Test> known[] = {
    {"eq", EQ}, {"ne", NE}, {"lt", LT}, {"le", LE}, {"gt", GT}, {"ge", GE}, {"lo", LT}, {"ls", LE}, {"hi", GT}, {"hs", GE},
    {"equ", EQU}, {"neu", NEU}, {"ltu", LTU}, {"leu", LEU}, {"gtu", GTU}, {"geu", GEU}, {"num", NUM}, {"nan", NAN_},
  };
  for (auto [name, test] : known) if (name == word) return test;
  return NO_TEST;
}

template <class T> static bool holds(Test test, T a, T b) {
  bool unordered = a != a || b != b;
  switch (test) {
    case EQ: return a == b;
    case NE: return !unordered && a != b;
    case LT: return a < b;
    case LE: return a <= b;
    case GT: return a > b;
    case GE: return a >= b;
    case NUM: return !unordered;
    case NAN_: return unordered;
    default: return unordered || holds(Test(test - EQU), a, b);
  }
}

template <class T, u32 Per> static u32 bits_of(Warp& w, const Op& op, u32 half = 0) {
  const T *a = w.at<T>(op.a), *b = w.at<T>(op.b);
  u32 bits = 0;
  for (u32 i = 0; i < kLanes; i++) bits |= u32(holds<as<T>>(Test(op.count), a[i * Per + half], b[i * Per + half])) << i;
  return bits;
}

// p = (a test b) with c, q = (not (a test b)) with c; `with` is and, or, xor in the modifier.
template <class T, u32 Per> static void set_predicate(Warp& w, const Op& op) {
  u32 bits = bits_of<T, Per>(w, op), other = Per == 2 ? bits_of<T, Per>(w, op, Per - 1) : ~bits;
  if (op.c != kNone) {
    u32 c = op.bytes ? ~w.predicate(op.c) : w.predicate(op.c);
    auto joined = [&](u32 x) { return op.modifier == 'a' ? x & c : op.modifier == 'o' ? x | c : x ^ c; };
    bits = joined(bits), other = joined(other);
  }
  w.put_predicate(op.d, [=](u32 i) { return bits >> i & 1; });
  if (op.e != kNone) w.put_predicate(op.e, [=](u32 i) { return other >> i & 1; });
}

template <class T, u32 Per> static void set_number(Warp& w, const Op& op) {
  u32 bits = bits_of<T, Per>(w, op);
  u32 yes = op.modifier ? 0x3f800000 : ~0u;
  w.put<u32>(op.d, [=](u32 i) { return bits >> i & 1 ? yes : 0; });
}

template <class T> static void select(Warp& w, const Op& op) {
  const T *a = w.at<T>(op.a), *b = w.at<T>(op.b);
  u32 bits = op.modifier ? ~w.predicate(op.c) : w.predicate(op.c);
  w.put<T>(op.d, [=](u32 i) { return bits >> i & 1 ? a[i] : b[i]; });
}

template <class F> static void logic(Warp& w, const Op& op) {
  u32 bits = F{}(w.predicate(op.a), op.b != kNone ? w.predicate(op.b) : 0);
  w.put_predicate(op.d, [=](u32 i) { return bits >> i & 1; });
}

template <class T> static void move(Warp& w, const Op& op) {
  const T* a = w.at<T>(op.a);
  w.put<T>(op.d, [=](u32 i) { return a[i]; });
}

static void pack(Warp& w, const Op& op) {
  for (u32 i = 0; i < kLanes; i++)
    for (u32 k = 0; k < op.count; k++)
      if (w.active >> i & 1) memcpy(w.registers + op.d + i * op.width + k * op.bytes, w.registers + op.v[k] + i * op.bytes, op.bytes);
}
static void unpack(Warp& w, const Op& op) {
  for (u32 i = 0; i < kLanes; i++)
    for (u32 k = 0; k < op.count; k++)
      if (w.active >> i & 1) memcpy(w.registers + op.v[k] + i * op.bytes, w.registers + op.a + i * op.width + k * op.bytes, op.bytes);
}

static void read_clock(Warp& w, const Op& op) {
  u64 now = w.block->launch->issued + w.issued;
  if (op.width == 8) w.put<u64>(op.d, [=](u32) { return now; });
  else w.put<u32>(op.d, [=](u32) { return u32(now); });
}

static bool decode_move(Instruction& i, Type t) {
  Op& op = i.op;
  if (i.operands.size() != 2) return false;
  Operand &to = i.operands[0], &from = i.operands[1];
  op.width = t.bytes * t.per;
  if (to.form == Operand::VECTOR || from.form == Operand::VECTOR) {
    bool packs = from.form == Operand::VECTOR;
    auto& parts = packs ? from.parts : to.parts;
    op.count = parts.size(), op.bytes = op.width / op.count;
    for (u32 k = 0; k < op.count; k++) op.v[k] = packs ? i.p.place(parts[k], op.bytes) : i.p.written(parts[k], op.bytes);
    if (packs) op.d = i.write(0, op.width); else op.a = i.read(1, op.width);
    op.run = packs ? pack : unpack;
  } else {
    op.d = i.write(0, op.width);
    if (from.name.starts_with("%clock") || from.name.starts_with("%globaltimer")) op.run = read_clock;
    else {
      op.a = i.read(1, op.width);
      op.run = op.width == 8 ? move<u64> : op.width == 4 ? move<u32> : move<u16>;
    }
  }
  i.emit(op);
  return true;
}

static bool decode_logic(Instruction& i) {
  Op& op = i.op;
  auto base = i.words[0];
  if (base == "and") op.run = logic<decltype([](u32 a, u32 b) { return a & b; })>;
  else if (base == "or") op.run = logic<decltype([](u32 a, u32 b) { return a | b; })>;
  else if (base == "xor") op.run = logic<decltype([](u32 a, u32 b) { return a ^ b; })>;
  else if (base == "not") op.run = logic<decltype([](u32 a, u32) { return ~a; })>;
  else if (base == "mov") op.run = logic<decltype([](u32 a, u32) { return a; })>;
  else return false;
  op.d = i.write(0, 1), op.a = i.read(1, 1), op.b = i.read(2, 1);
  i.emit(op);
  return true;
}

bool decode_comparison(Instruction& i) {
  auto base = i.words[0];
  Type t = i.type();
  Op& op = i.op;
  if (base == "mov" && t.kind && t.kind != 'p') return decode_move(i, t);
  if (t.kind == 'p') return decode_logic(i);
  u32 width = t.bytes * t.per;
  if (base == "selp") {
    op.run = width == 8 ? select<u64> : width == 4 ? select<u32> : select<u16>;
    op.d = i.write(0, width), op.a = i.read(1, width), op.b = i.read(2, width), op.c = i.read(3, 1);
    op.modifier = i.operands.size() > 3 && i.operands[3].negated;
  } else if (base == "setp" || base == "set") {
    for (size_t k = 1; k < i.words.size() && op.count == 1; k++)
      if (Test found = test_of(i.words[k]); found != NO_TEST) { op.count = found; op.modifier = 1; break; }
    bool real = t.kind == 'f' || t.kind == 'h';
    if (base == "set") {
      op.modifier = i.type(1).kind == 'f';
      op.run = of_numbers(t, []<class T, u32 Per> -> Run { return set_number<T, Per>; });
      op.d = i.write(0, 4);
    } else {
      op.modifier = i.has("and") ? 'a' : i.has("or") ? 'o' : 'x';
      op.run = of_numbers(t, []<class T, u32 Per> -> Run { return set_predicate<T, Per>; });
      op.d = i.write(0, 1);
      if (!i.operands.empty() && !i.operands[0].second.empty()) {
        Operand second;
        second.form = Operand::NAME, second.name = i.operands[0].second;
        op.e = i.p.place(second, 1);
      }
      op.c = i.read(3, 1);
      op.bytes = i.operands.size() > 3 && i.operands[3].negated;
    }
    (void)real;
    op.a = i.read(1, width), op.b = i.read(2, width);
  } else return false;
  i.emit(op);
  return op.run;
}
