// Conversions to and from floats of eight bits (e4m3, e5m2), of which a register holds two.
#include "lanes.h"

struct Format { int mantissa, bias; float most; bool has_infinity; };
static const Format e4m3 = {3, 7, 448, false}, e5m2 = {2, 15, 57344, true};

// To the nearest, even in a tie; what is larger than the largest becomes that (`satfinite`, the only way that PTX has).
static u8 packed(float x, const Format& f) {
  u8 sign = __builtin_signbit(x) ? 0x80 : 0;
  if (x != x) return 0x7f;
  double size = fabs(double(x));
  if (size == 0) return sign;
  int exponent = size < f.most ? ilogb(size) : ilogb(f.most);
  if (exponent < 1 - f.bias) exponent = 1 - f.bias;
  int least = 1 << f.mantissa, steps = int(nearbyint(ldexp(fmin(size, f.most), f.mantissa - exponent)));
  if (steps == 2 * least) steps = least, exponent++;
  return sign | (steps < least ? steps : (exponent + f.bias) << f.mantissa | (steps - least));
}

static float unpacked(u8 bits, const Format& f) {
  int least = 1 << f.mantissa, steps = bits & (least - 1), exponent = (bits & 0x7f) >> f.mantissa;
  float size = exponent ? ldexpf(least + steps, exponent - f.bias - f.mantissa) : ldexpf(steps, 1 - f.bias - f.mantissa);
  if (f.has_infinity ? exponent == 31 : (bits & 0x7f) == 0x7f) size = f.has_infinity && !steps ? INFINITY : NAN;
  return bits & 0x80 ? -size : size;
}

template <const Format& F, bool Relu> static u8 of_float(float x) { return packed(Relu && x < 0 ? 0 : x, F); }
template <const Format& F, bool Relu> static void from_floats(Warp& w, const Op& op) {
  const float *high = w.at<float>(op.a), *low = w.at<float>(op.b);
  w.put<u16>(op.d, [=](u32 i) { return u16(of_float<F, Relu>(high[i]) << 8 | of_float<F, Relu>(low[i])); });
}
template <const Format& F, bool Relu> static void from_halves(Warp& w, const Op& op) {
  const f16* both = w.at<f16>(op.a);
  w.put<u16>(op.d, [=](u32 i) { return u16(of_float<F, Relu>(both[2 * i + 1]) << 8 | of_float<F, Relu>(both[2 * i])); });
}
template <const Format& F> static void to_halves(Warp& w, const Op& op) {
  const u16* both = w.at<u16>(op.a);
  w.put<f16, 2>(op.d, [=](u32 i) { return f16(unpacked(u8(both[i / 2] >> 8 * (i % 2)), F)); });
}

bool decode_eighths(Instruction& i) {
  bool is_e4m3 = i.has("e4m3x2"), relu = i.has("relu");
  if (!(i.words[0] == "cvt") || !(is_e4m3 || i.has("e5m2x2"))) return false;
  Op& op = i.op;
  if (i.words.back() == "f32" && i.operands.size() == 3) {
    op.run = is_e4m3 ? relu ? from_floats<e4m3, true> : from_floats<e4m3, false> : relu ? from_floats<e5m2, true> : from_floats<e5m2, false>;
    op.d = i.write(0, 2), op.a = i.read(1, 4), op.b = i.read(2, 4);
  } else if (i.words.back() == "f16x2") {
    op.run = is_e4m3 ? relu ? from_halves<e4m3, true> : from_halves<e4m3, false> : relu ? from_halves<e5m2, true> : from_halves<e5m2, false>;
    op.d = i.write(0, 2), op.a = i.read(1, 4);
  } else if (i.has("f16x2") && !relu) {
    op.run = is_e4m3 ? to_halves<e4m3> : to_halves<e5m2>;
    op.d = i.write(0, 4), op.a = i.read(1, 2);
  } else return false;
  i.emit(op);
  return true;
}
