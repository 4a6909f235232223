// Arithmetic of every type: whole numbers, bits, floats of 16, 32 and 64 bits, two small ones in a register.
#include "lanes.h"

template <class T> static T saturated(T x) { return x > T(0) ? x < T(1) ? x : T(1) : T(0); }  // not a number gives 0

template <class T> static T least(T a, T b) {
  if constexpr (is_float<T>) return a != a ? b : b != b ? a : a < b || a == b && __builtin_signbit(a) ? a : b;
  else return a < b ? a : b;
}
template <class T> static T greatest(T a, T b) {
  if constexpr (is_float<T>) return a != a ? b : b != b ? a : a > b || a == b && !__builtin_signbit(a) ? a : b;
  else return a > b ? a : b;
}

// f16 and bf16 are computed in float, whose product is exact; their sum with a third needs double to be rounded once.
template <class T, u32 Per> static void fused(Warp& w, const Op& op) {
  const T *a = w.at<T>(op.a), *b = w.at<T>(op.b), *c = w.at<T>(op.c);
  w.put<T, Per>(op.d, [=](u32 i) {
    if constexpr (sizeof(T) == 8) return __builtin_fma(a[i], b[i], c[i]);
    else if constexpr (sizeof(T) == 4) return __builtin_fmaf(a[i], b[i], c[i]);
    else { double sum = double(float(a[i])) * float(b[i]) + float(c[i]); return T(float(sum)); }
  });
}

template <class T, class Wide> static void multiply_wide(Warp& w, const Op& op) {
  const T *a = w.at<T>(op.a), *b = w.at<T>(op.b);
  const Wide* c = op.c != kNone ? w.at<Wide>(op.c) : nullptr;
  w.put<Wide>(op.d, [=](u32 i) { return Wide(Wide(a[i]) * Wide(b[i]) + (c ? c[i] : Wide(0))); });
}
template <class T, class Wide> static void multiply_high(Warp& w, const Op& op) {
  const T *a = w.at<T>(op.a), *b = w.at<T>(op.b), *c = op.c != kNone ? w.at<T>(op.c) : nullptr;
  w.put<T>(op.d, [=](u32 i) { return T(T((Wide(a[i]) * Wide(b[i])) >> 8 * sizeof(T)) + (c ? c[i] : T(0))); });
}
template <class T, u32> static void multiply_add(Warp& w, const Op& op) {
  const T *a = w.at<T>(op.a), *b = w.at<T>(op.b), *c = w.at<T>(op.c);
  w.put<T>(op.d, [=](u32 i) { return T(u64(a[i]) * u64(b[i]) + u64(c[i])); });
}
// The low 24 bits of each, with their sign.
template <class T> static void multiply_24(Warp& w, const Op& op) {
  const T *a = w.at<T>(op.a), *b = w.at<T>(op.b), *c = op.c != kNone ? w.at<T>(op.c) : nullptr;
  w.put<T>(op.d, [=](u32 i) { return T((T(a[i] << 8) >> 8) * (T(b[i] << 8) >> 8) + (c ? c[i] : T(0))); });
}

template <class T> static void shift_left(Warp& w, const Op& op) {
  const T* a = w.at<T>(op.a);
  const u32* b = w.at<u32>(op.b);
  w.put<T>(op.d, [=](u32 i) { return b[i] < 8 * sizeof(T) ? T(a[i] << b[i]) : T(0); });
}
template <class T, u32> static void shift_right(Warp& w, const Op& op) {
  const T* a = w.at<T>(op.a);
  const u32* b = w.at<u32>(op.b);
  constexpr u32 most = 8 * sizeof(T) - 1;
  w.put<T>(op.d, [=](u32 i) { return b[i] <= most ? T(a[i] >> b[i]) : T(-1) < T(0) ? T(a[i] >> most) : T(0); });
}

static void permute(Warp& w, const Op& op) {
  const u32 *a = w.at<u32>(op.a), *b = w.at<u32>(op.b), *c = w.at<u32>(op.c);
  w.put<u32>(op.d, [=](u32 i) {
    u64 both = u64(b[i]) << 32 | a[i];
    u32 made = 0;
    for (u32 k = 0; k < 4; k++) {
      u32 which = c[i] >> 4 * k & 15, byte = both >> 8 * (which & 7) & 255;
      if (which & 8) byte = byte & 128 ? 255 : 0;
      made |= byte << 8 * k;
    }
    return made;
  });
}

static void logic_of_three(Warp& w, const Op& op) {
  const u32 *a = w.at<u32>(op.a), *b = w.at<u32>(op.b), *c = w.at<u32>(op.c);
  u32 table = *w.at<u32>(op.e);
  w.put<u32>(op.d, [=](u32 i) {
    u32 made = 0;
    for (u32 row = 0; row < 8; row++)
      if (table >> row & 1) made |= (row & 4 ? a[i] : ~a[i]) & (row & 2 ? b[i] : ~b[i]) & (row & 1 ? c[i] : ~c[i]);
    return made;
  });
}

template <bool left> static void funnel_shift(Warp& w, const Op& op) {
  const u32 *a = w.at<u32>(op.a), *b = w.at<u32>(op.b), *c = w.at<u32>(op.c);
  w.put<u32>(op.d, [=](u32 i) {
    u32 n = op.modifier ? c[i] & 31 : c[i] < 32 ? c[i] : 32;
    u64 both = u64(b[i]) << 32 | a[i];
    return left ? u32(both << n >> 32) : u32(both >> n);
  });
}

template <class T> static void extract_bits(Warp& w, const Op& op) {
  const T* a = w.at<T>(op.a);
  const u32 *b = w.at<u32>(op.b), *c = w.at<u32>(op.c);
  constexpr u32 bits = 8 * sizeof(T);
  w.put<T>(op.d, [=](u32 i) {
    u32 from = b[i] & 255, length = c[i] & 255;
    if (!length) return T(0);
    T moved = from < bits ? T(a[i] >> from) : T(-1) < T(0) ? T(a[i] >> (bits - 1)) : T(0);
    if (length >= bits) return moved;
    return T(T(u64(moved) << (bits - length)) >> (bits - length));
  });
}
template <class T> static void insert_bits(Warp& w, const Op& op) {
  const T *a = w.at<T>(op.a), *b = w.at<T>(op.b);
  const u32 *c = w.at<u32>(op.c), *e = w.at<u32>(op.e);
  constexpr u32 bits = 8 * sizeof(T);
  w.put<T>(op.d, [=](u32 i) {
    u32 to = c[i] & 255, length = e[i] & 255;
    if (to >= bits || !length) return b[i];
    T mask = (length >= bits ? T(-1) : T((T(1) << length) - 1)) << to;
    return T((b[i] & ~mask) | (a[i] << to & mask));
  });
}

template <class T, class F> static void count_bits(Warp& w, const Op& op) {
  const T* a = w.at<T>(op.a);
  w.put<u32>(op.d, [=](u32 i) { return u32(F{}(a[i])); });
}
struct Ones { u32 operator()(u64 x) const { return __builtin_popcountll(x); } };
template <class T> struct Zeros { u32 operator()(T x) const { return x ? __builtin_clzll(x) - (64 - 8 * sizeof(T)) : 8 * sizeof(T); } };
template <class T, bool counts_from_above> struct Highest {
  u32 operator()(T x) const {
    if (x < T(0)) x = ~x;
    u32 found = x ? 63 - __builtin_clzll(u64(x)) : ~0u;
    return counts_from_above && x ? 8 * sizeof(T) - 1 - found : found;
  }
};
template <bool counts_from_above> static Run highest_bit(Type t) {
  if (t.kind == 's') return t.bytes == 8 ? count_bits<i64, Highest<i64, counts_from_above>> : count_bits<i32, Highest<i32, counts_from_above>>;
  return t.bytes == 8 ? count_bits<u64, Highest<u64, counts_from_above>> : count_bits<u32, Highest<u32, counts_from_above>>;
}

template <class T, bool subtracts> static void with_carry(Warp& w, const Op& op) {  // modifier: 1 takes the carry, 2 leaves one
  const T *a = w.at<T>(op.a), *b = w.at<T>(op.b);
  u64 out = 0;
  T made[kLanes];
  for (u32 i = 0; i < kLanes; i++) {
    T in = op.modifier & 1 ? w.carry >> i & 1 : 0, half, whole;
    bool over = subtracts ? __builtin_sub_overflow(a[i], b[i], &half) : __builtin_add_overflow(a[i], b[i], &half);
    over |= subtracts ? __builtin_sub_overflow(half, in, &whole) : __builtin_add_overflow(half, in, &whole);
    made[i] = whole;
    out |= u64(over) << i;
  }
  w.put<T>(op.d, [&](u32 i) { return made[i]; });
  if (op.modifier & 2) w.carry = (w.carry & ~u64(w.active)) | (out & w.active);
}

template <int signs> static void dot_of_bytes(Warp& w, const Op& op) {
  const u32 *a = w.at<u32>(op.a), *b = w.at<u32>(op.b), *c = w.at<u32>(op.c);
  w.put<u32>(op.d, [=](u32 i) {
    u32 sum = c[i];
    for (u32 k = 0; k < 32; k += 8)
      sum += (signs & 1 ? i32(i8(a[i] >> k)) : i32(u8(a[i] >> k))) * (signs & 2 ? i32(i8(b[i] >> k)) : i32(u8(b[i] >> k)));
    return sum;
  });
}

static void choose_logic(Instruction& i, View base, Type t) {
  if (t.kind == 'p') return;
  t.kind = 'u';
  if (base == "and") i.op.run = binary_of_integers(t, [](auto a, auto b) { return a & b; });
  else if (base == "or") i.op.run = binary_of_integers(t, [](auto a, auto b) { return a | b; });
  else if (base == "xor") i.op.run = binary_of_integers(t, [](auto a, auto b) { return a ^ b; });
  else if (base == "not") i.op.run = unary_of_integers(t, [](auto a) { return ~a; });
  else if (base == "cnot") i.op.run = unary_of_integers(t, [](auto a) { return a == 0; });
  else if (base == "brev") i.op.run = t.bytes == 8 ? unary<u64, 1, decltype([](u64 x) { return __builtin_bitreverse64(x); })>
                                                   : unary<u32, 1, decltype([](u32 x) { return __builtin_bitreverse32(x); })>;
}

static void choose_float(Instruction& i, View base, Type t) {
  if (base == "rcp") i.op.run = unary_of_floats(t, [](auto a) { return 1 / a; });
  else if (base == "sqrt") i.op.run = unary_of_floats(t, [](auto a) { return decltype(a)(__builtin_sqrt(double(a))); });
  else if (base == "rsqrt") i.op.run = unary_of_floats(t, [](auto a) { return decltype(a)(1 / __builtin_sqrt(double(a))); });
  else if (base == "ex2") i.op.run = unary_of_floats(t, [](auto a) { return decltype(a)(exp2(double(a))); });
  else if (base == "lg2") i.op.run = unary_of_floats(t, [](auto a) { return decltype(a)(log2(double(a))); });
  else if (base == "sin") i.op.run = unary_of_floats(t, [](auto a) { return decltype(a)(sin(double(a))); });
  else if (base == "cos") i.op.run = unary_of_floats(t, [](auto a) { return decltype(a)(cos(double(a))); });
  else if (base == "tanh") i.op.run = unary_of_floats(t, [](auto a) { return decltype(a)(tanh(double(a))); });
  else if (base == "div") i.op.run = binary_of_floats(t, [](auto a, auto b) { return a / b; });
  else if (base == "copysign") i.op.run = binary_of_floats(t, [](auto a, auto b) { return decltype(a)(__builtin_copysign(b, a)); });
  else if (base == "fma" || base == "mad") i.op.run = of_floats(t, []<class T, u32 Per> -> Run { return fused<T, Per>; });
  else if (base == "neg") i.op.run = unary_of_floats(t, [](auto a) { return -a; });
  else if (base == "abs") i.op.run = unary_of_floats(t, [](auto a) { return decltype(a)(__builtin_fabs(a)); });
}

static void choose_integer(Instruction& i, View base, Type t) {
  Op& op = i.op;
  bool narrow = t.bytes == 4, is_signed = t.kind == 's';
  if (base == "neg") op.run = unary_of_integers(t, [](auto a) { return -a; });
  else if (base == "abs") op.run = unary_of_integers(t, [](auto a) { return a < 0 ? -a : a; });
  else if (base == "div") op.run = binary_of_integers(t, [](auto a, auto b) { return b == 0 ? decltype(a)(-1) : decltype(a)(-1) < 0 && b == decltype(a)(-1) ? decltype(a)(-a) : decltype(a)(a / b); });
  else if (base == "rem") op.run = binary_of_integers(t, [](auto a, auto b) { return b == 0 ? a : decltype(a)(-1) < 0 && b == decltype(a)(-1) ? decltype(a)(0) : decltype(a)(a % b); });
  else if (base == "shl") op.run = t.bytes == 8 ? shift_left<u64> : narrow ? shift_left<u32> : shift_left<u16>;
  else if (base == "shr") op.run = of_integers(t, []<class T, u32 Per> -> Run { return shift_right<T, Per>; });
  else if (base == "popc") op.run = t.bytes == 8 ? count_bits<u64, Ones> : count_bits<u32, Ones>;
  else if (base == "clz") op.run = t.bytes == 8 ? count_bits<u64, Zeros<u64>> : count_bits<u32, Zeros<u32>>;
  else if (base == "bfind") op.run = i.has("shiftamt") ? highest_bit<true>(t) : highest_bit<false>(t);
  else if (base == "bfe") op.run = t.bytes == 8 ? (is_signed ? extract_bits<i64> : extract_bits<u64>) : is_signed ? extract_bits<i32> : extract_bits<u32>;
  else if (base == "bfi") op.run = t.bytes == 8 ? insert_bits<u64> : insert_bits<u32>;
  else if (base == "prmt" && i.words.size() == 2) op.run = permute;
  else if (base == "lop3") op.run = logic_of_three;
  else if (base == "shf") op.run = i.has("l") ? funnel_shift<true> : funnel_shift<false>, op.modifier = i.has("wrap");
  else if (base == "mul24" || base == "mad24") op.run = is_signed ? multiply_24<i32> : multiply_24<u32>;
  else if (base == "sad") op.run = of_integers(t, []<class T, u32 Per> -> Run { return ternary<T, Per, decltype([](auto a, auto b, auto c) { return c + (a > b ? a - b : b - a); })>; });
  else if (base == "dp4a") {
    Run by_signs[] = {dot_of_bytes<0>, dot_of_bytes<1>, dot_of_bytes<2>, dot_of_bytes<3>};
    op.run = by_signs[(i.type(1).kind == 's') + 2 * (i.type(0).kind == 's')];
  } else if (i.has("cc") || base == "addc" || base == "subc") {
    op.modifier = (base.size() == 4) + 2 * i.has("cc");
    bool subtracts = base.starts_with("sub");
    if (base.starts_with("add") || subtracts)
      op.run = t.bytes == 8 ? (subtracts ? with_carry<u64, true> : with_carry<u64, false>) : subtracts ? with_carry<u32, true> : with_carry<u32, false>;
  } else if (base == "mul" || base == "mad") {
    if (i.has("wide")) op.run = t.bytes == 2 ? (is_signed ? multiply_wide<i16, i32> : multiply_wide<u16, u32>) : is_signed ? multiply_wide<i32, i64> : multiply_wide<u32, u64>;
    else if (i.has("hi")) op.run = t.bytes == 8 ? (is_signed ? multiply_high<i64, __int128> : multiply_high<u64, unsigned __int128>)
                                                : is_signed ? multiply_high<i32, i64> : multiply_high<u32, u64>;
    else if (base == "mad") op.run = of_integers(t, []<class T, u32 Per> -> Run { return multiply_add<T, Per>; });
    else op.run = binary_of_integers(t, [](auto a, auto b) { return decltype(a)(u64(a) * u64(b)); });
  }
}

bool decode_arithmetic(Instruction& i) {
  auto base = i.words[0];
  Type t = i.type();
  if (!t.kind || t.kind == 'p') return false;
  Op& op = i.op;
  bool is_real = t.kind == 'f' || t.kind == 'h';
  if (base == "add" && !i.has("cc")) op.run = binary_of(t, [](auto a, auto b) { return a + b; });
  else if (base == "sub" && !i.has("cc")) op.run = binary_of(t, [](auto a, auto b) { return a - b; });
  else if (base == "mul" && is_real) op.run = binary_of(t, [](auto a, auto b) { return a * b; });
  else if (base == "min") op.run = binary_of(t, [](auto a, auto b) { return least(a, b); });
  else if (base == "max") op.run = binary_of(t, [](auto a, auto b) { return greatest(a, b); });
  else if (is_real) choose_float(i, base, t);
  else { choose_logic(i, base, t); if (!op.run) choose_integer(i, base, t); }
  if (!op.run) return false;
  u32 width = t.bytes * t.per, result = i.has("wide") ? 2 * width : width;
  bool counts = base == "popc" || base == "clz" || base == "bfind", shifts = base == "shl" || base == "shr";
  op.d = i.write(0, counts ? 4 : result);
  op.a = i.read(1, width);
  op.b = i.read(2, shifts || base == "bfe" ? 4 : width);
  op.c = i.read(3, base == "bfe" || base == "bfi" ? 4 : result);
  op.e = i.read(4, 4);
  i.emit(op);
  if (i.has("sat") && is_real) {
    Op after = op;
    after.a = op.d;
    after.run = unary_of_floats(t, [](auto a) { return saturated(a); });
    i.emit(after);
  }
  return true;
}
