// Conversions between types and sizes; of addresses between spaces.
#include "lanes.h"

enum Rounding : u8 { NEAREST, ZERO, DOWN, UP };

// Registers may be wider than the type: values travel as 64 bits, extended by their own sign.
static u64 value_at(Warp& w, u32 place, u32 width, u32 lane) {
  u64 bits = 0;
  memcpy(&bits, w.registers + place + lane * width, width);
  return bits;
}

template <class From> static double number_of(u64 bits) {
  From value;
  memcpy(&value, &bits, sizeof value);
  return double(value);
}

template <class To> static u64 bits_of_float(double x) {
  To value = sizeof(To) == 8 ? To(x) : To(float(x));
  u64 bits = 0;
  memcpy(&bits, &value, sizeof value);
  return bits;
}

static double rounded(double x, Rounding how) {
  return how == ZERO ? trunc(x) : how == DOWN ? floor(x) : how == UP ? ceil(x) : nearbyint(x);
}

// What does not fit becomes the nearest that does, and what is no number 0: the rule of PTX, not of C.
template <class To> static u64 bits_of_integer(double x, Rounding how) {
  if (x != x) return 0;
  x = rounded(x, how);
  constexpr bool is_signed = To(-1) < To(0);
  constexpr u32 bits = 8 * sizeof(To) - is_signed;
  double most = __builtin_ldexp(1.0, bits);
  if (x >= most) return is_signed ? u64((1ull << bits) - 1) : u64(To(-1));
  if (x < (is_signed ? -most : 0.0)) return is_signed ? u64(i64(To(1ull << bits))) : 0;
  return is_signed ? u64(i64(x)) : u64(x);
}

struct Converter {
  double (*number)(u64);
  u64 (*real)(double);
  u64 (*whole)(double, Rounding);
  u8 from_bytes, to_bytes;
  bool from_signed, from_real, to_real, to_signed, saturates, integral;
  Rounding rounding;
};

static List<Converter>& converters() { static List<Converter> all; return all; }

static u64 extended(u64 bits, u32 bytes, bool is_signed) {
  u32 spare = 64 - 8 * bytes;
  return is_signed ? u64(i64(bits << spare) >> spare) : bits << spare >> spare;
}

static u64 clamped(u64 bits, bool from_signed, u32 bytes, bool to_signed) {
  __int128 value = from_signed ? __int128(i64(bits)) : __int128(bits);
  __int128 most = (__int128(1) << (8 * bytes - to_signed)) - 1, least = to_signed ? -most - 1 : 0;
  return u64(value > most ? most : value < least ? least : value);
}

static u64 converted(const Converter& c, u64 bits) {
  bits = extended(bits, c.from_bytes, c.from_signed);
  if (!c.from_real && !c.to_real) return c.saturates ? clamped(bits, c.from_signed, c.to_bytes, c.to_signed) : bits;
  if (!c.to_real) return c.whole(c.number(bits), c.rounding);
  if (!c.from_real && c.to_bytes == 4)  // once rounded, from all 64 bits
    return __builtin_bit_cast(u32, c.from_signed ? float(i64(bits)) : float(bits));
  double x = c.from_real ? c.number(bits) : c.from_signed ? double(i64(bits)) : double(bits);
  if (c.integral) x = rounded(x, c.rounding);
  if (c.saturates) x = x > 0 ? x < 1 ? x : 1 : 0;
  return c.real(x);
}

static void convert(Warp& w, const Op& op) {
  const Converter& c = converters()[op.modifier];
  for (u32 i = 0; i < kLanes; i++) {
    if (!(w.active >> i & 1)) continue;
    u64 made = converted(c, value_at(w, op.a, op.width, i));
    if (op.b != kNone) made = made << 16 | (converted(c, value_at(w, op.b, op.width, i)) & 0xffff);  // two into one register
    else if (!c.to_real && op.bytes > c.to_bytes) made = extended(made, c.to_bytes, c.to_signed);
    memcpy(w.registers + op.d + i * op.bytes, &made, op.bytes);
  }
}

template <class To, class From> static void convert_plainly(Warp& w, const Op& op) {
  const From* a = w.at<From>(op.a);
  w.put<To>(op.d, [=](u32 i) { return To(a[i]); });
}

static Run plain(Type to, Type from, u32 to_width, u32 from_width) {
  if (to_width != to.bytes || from_width != from.bytes) return nullptr;
  if (from.is('s', 4) && to.bytes == 8 && to.kind != 'f') return convert_plainly<i64, i32>;
  if (from.is('u', 4) && to.bytes == 8 && to.kind != 'f') return convert_plainly<u64, u32>;
  if (from.bytes == 8 && from.kind != 'f' && to.bytes == 4 && to.kind != 'f') return convert_plainly<u32, u64>;
  if (from.is('f', 2) && to.is('f', 4)) return convert_plainly<float, f16>;
  if (from.is('h', 2) && to.is('f', 4)) return convert_plainly<float, bf16>;
  if (from.is('f', 4) && to.is('f', 2)) return convert_plainly<f16, float>;
  if (from.is('f', 4) && to.is('h', 2)) return convert_plainly<bf16, float>;
  if (from.is('s', 4) && to.is('f', 4)) return convert_plainly<float, i32>;
  if (from.is('u', 4) && to.is('f', 4)) return convert_plainly<float, u32>;
  return nullptr;
}

static Converter converter(Instruction& i, Type to, Type from) {
  Converter c{};
  c.from_bytes = from.bytes, c.to_bytes = to.bytes;
  c.from_real = from.kind == 'f' || from.kind == 'h', c.to_real = to.kind == 'f' || to.kind == 'h';
  c.from_signed = from.kind == 's', c.to_signed = to.kind == 's';
  c.saturates = i.has("sat");
  c.integral = i.has("rni") || i.has("rzi") || i.has("rmi") || i.has("rpi");
  c.rounding = i.has("rzi") ? ZERO : i.has("rmi") ? DOWN : i.has("rpi") ? UP : NEAREST;
  c.number = from.kind == 'h' ? number_of<bf16> : from.bytes == 2 ? number_of<f16> : from.bytes == 4 ? number_of<float> : number_of<double>;
  c.real = to.kind == 'h' ? bits_of_float<bf16> : to.bytes == 2 ? bits_of_float<f16> : to.bytes == 4 ? bits_of_float<float> : bits_of_float<double>;
  bool s = c.to_signed;
  c.whole = to.bytes == 8 ? (s ? bits_of_integer<i64> : bits_of_integer<u64>) : to.bytes == 4 ? (s ? bits_of_integer<i32> : bits_of_integer<u32>)
          : to.bytes == 2 ? (s ? bits_of_integer<i16> : bits_of_integer<u16>) : s ? bits_of_integer<i8> : bits_of_integer<u8>;
  return c;
}

template <class T> static void add_window(Warp& w, const Op& op) {
  const T* a = w.at<T>(op.a);
  w.put<T>(op.d, [=](u32 i) { return T(a[i] + op.offset); });
}
static void in_space(Warp& w, const Op& op) {
  const u64* a = w.at<u64>(op.a);
  w.put_predicate(op.d, [=](u32 i) {
    bool shared = a[i] - shared_window < window_bytes, local = a[i] - local_window < window_bytes;
    return op.modifier == 's' ? shared : op.modifier == 'l' ? local : !shared && !local;
  });
}

bool decode_conversion(Instruction& i) {
  Op& op = i.op;
  auto base = i.words[0];
  if (base == "cvta" || base == "isspacep") {
    i64 window = i.has("shared") ? shared_window : i.has("local") ? local_window : 0;
    op.width = i.type().bytes;
    if (base == "cvta" && op.width != 8) return false;
    op.offset = i.has("to") ? -window : window;
    op.run = base == "cvta" ? add_window<u64> : in_space;
    op.modifier = i.has("shared") ? 's' : i.has("local") ? 'l' : 'g';
    op.d = i.write(0, base == "cvta" ? 8 : 1), op.a = i.read(1, 8);
    i.emit(op);
    return true;
  }
  if (base != "cvt" || i.operands.size() < 2) return false;
  Type from = i.type(0), to = i.type(1);
  if (!from.kind || !to.kind) return false;
  op.bytes = i.p.width_of(i.operands[0], to.bytes * to.per), op.width = i.p.width_of(i.operands[1], from.bytes);
  op.d = i.write(0, op.bytes), op.a = i.read(1, op.width);
  if (to.per == 2) op.b = i.read(2, op.width);
  bool simple = !i.has("sat") && !op.mxcsr && to.per == 1 && !i.has("rzi") && !i.has("rmi") && !i.has("rpi") && !i.has("rni");
  op.run = simple ? plain(to, from, op.bytes, op.width) : nullptr;
  if (!op.run) {
    op.run = convert;
    op.modifier = converters().size();
    converters().push_back(converter(i, to, from));
  }
  i.emit(op);
  return true;
}
