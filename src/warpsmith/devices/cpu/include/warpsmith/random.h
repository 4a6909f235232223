// cuRAND inside kernels: the XORWOW and Philox generators, number for number, and the distributions over them.
//
// The states have cuRAND's sizes (48 and 64 bytes), for a kernel's buffer of states is declared by its bytes. What is not here
// (MRG32k3a, MTGP32, Sobol, Poisson) stays undeclared, so that clang names it.
#pragma once

#include "warpsmith/push_macros.h"

struct curandStateXORWOW {
  unsigned int d, v[5];
  int spare_kind, spare_double_kind;  // Box and Muller's method makes two numbers at a time
  float spare;
  double spare_double;
};
struct curandStatePhilox4_32_10 {
  uint4 ctr, output;
  uint2 key;
  unsigned int STATE;  // the member of `output` that comes next
  int spare_kind, spare_double_kind;
  float spare;
  double spare_double;
};
typedef struct curandStateXORWOW curandStateXORWOW_t, curandState_t, curandState;
typedef struct curandStatePhilox4_32_10 curandStatePhilox4_32_10_t;

namespace __warpsmith::random {
constexpr unsigned int WEYL_STEP = 362437;

WARPSMITH_FN void xorshift(unsigned int (&v)[5]) {
  const unsigned int t = v[0] ^ (v[0] >> 2), last = v[4];
  for (int i = 0; i < 4; ++i) v[i] = v[i + 1];
  v[4] = last ^ (last << 4) ^ t ^ (t << 1);
}

// One step is a 160 x 160 matrix of bits, so n steps are x^n modulo its characteristic polynomial, applied to the state. Polynomials
// over bits, lowest coefficient first; the characteristic one is x^160 + MODULUS.
struct polynomial {
  unsigned int word[5];
};
constexpr polynomial MODULUS = {{0x60001, 0x8610030, 0x62121, 0xf3c0035, 0xf0e}};
constexpr polynomial ONE_STEP = {{2}};

WARPSMITH_FN polynomial product(const polynomial& a, const polynomial& b) {
  polynomial sum = {};
  for (int bit = 159; bit >= 0; --bit) {
    const unsigned int carry = -(sum.word[4] >> 31), add = -((b.word[bit / 32] >> bit % 32) & 1);
    for (int i = 4; i >= 0; --i) {
      const unsigned int low = i > 0 ? sum.word[i > 0 ? i - 1 : 0] >> 31 : 0;
      sum.word[i] = ((sum.word[i] << 1) | low) ^ (carry & MODULUS.word[i]) ^ (add & a.word[i]);
    }
  }
  return sum;
}
constexpr polynomial ONE_SEQUENCE = {{0x26294934, 0x77bbc248, 0x1a87dad0, 0x930052d4, 0x947e6dd2}};  // sequences lie 2^67 numbers apart

WARPSMITH_FN void jump(unsigned int (&v)[5], polynomial unit, unsigned long long count) {
  for (; count != 0; count >>= 1, unit = product(unit, unit)) {
    if ((count & 1) == 0) continue;
    unsigned int sum[5] = {};
    for (int bit = 0; bit < 160; ++bit) {
      const unsigned int take = -((unit.word[bit / 32] >> bit % 32) & 1);
      for (int i = 0; i < 5; ++i) sum[i] ^= take & v[i];
      xorshift(v);
    }
    for (int i = 0; i < 5; ++i) v[i] = sum[i];
  }
}

WARPSMITH_FN uint4 philox(uint4 c, uint2 key) {
  for (int round = 0; round < 10; ++round, key.x += 0x9E3779B9u, key.y += 0xBB67AE85u) {
    const unsigned long long a = 0xD2511F53ull * c.x, b = 0xCD9E8D57ull * c.z;
    c = make_uint4((unsigned int)(b >> 32) ^ c.y ^ key.x, (unsigned int)b, (unsigned int)(a >> 32) ^ c.w ^ key.y, (unsigned int)a);
  }
  return c;
}
// The counter has 128 bits: numbers in the lower half, sequences in the upper.
WARPSMITH_FN void advance(curandStatePhilox4_32_10* s, unsigned long long blocks, unsigned long long sequences) {
  const unsigned long long low = ((unsigned long long)s->ctr.y << 32 | s->ctr.x) + blocks;
  const unsigned long long high = ((unsigned long long)s->ctr.w << 32 | s->ctr.z) + sequences + (low < blocks);
  s->ctr = make_uint4((unsigned int)low, (unsigned int)(low >> 32), (unsigned int)high, (unsigned int)(high >> 32));
  s->output = philox(s->ctr, s->key);
}

WARPSMITH_FN float uniform(unsigned int x) { return x * 0x1p-32f + 0x1p-33f; }
WARPSMITH_FN double uniform(unsigned int x, unsigned int y) { return (x ^ (unsigned long long)y << 21) * 0x1p-53 + 0x1p-54; }
WARPSMITH_FN float2 normal(unsigned int x, unsigned int y) {
  const float two_pi = 6.2831855f * 0x1p-32f, angle = y * two_pi + two_pi / 2, size = sqrtf(-2.0f * logf(uniform(x)));
  return {sinf(angle) * size, cosf(angle) * size};
}
WARPSMITH_FN double2 normal(unsigned int x0, unsigned int x1, unsigned int y0, unsigned int y1) {
  const double angle = 2 * uniform(y0, y1), size = sqrt(-2.0 * log(uniform(x0, x1)));
  return {sinpi(angle) * size, cospi(angle) * size};
}
// The second of two numbers is kept for the next call of the same kind.
enum spare_kind { NONE, NORMAL, LOG_NORMAL };
template <class T, class Pair> WARPSMITH_FN T one_of_two(int& kind, T& spare, spare_kind wanted, Pair pair) {
  if (kind == wanted) {
    kind = NONE;
    return spare;
  }
  const auto both = pair();
  spare = both.y;
  kind = wanted;
  return both.x;
}
}  // namespace __warpsmith::random

WARPSMITH_FN unsigned int curand(curandStateXORWOW* state) {
  __warpsmith::random::xorshift(state->v);
  return state->v[4] + (state->d += __warpsmith::random::WEYL_STEP);
}
WARPSMITH_FN void skipahead(unsigned long long n, curandStateXORWOW* state) {
  __warpsmith::random::jump(state->v, __warpsmith::random::ONE_STEP, n);
  state->d += __warpsmith::random::WEYL_STEP * (unsigned int)n;
}
WARPSMITH_FN void skipahead_sequence(unsigned long long n, curandStateXORWOW* state) {
  __warpsmith::random::jump(state->v, __warpsmith::random::ONE_SEQUENCE, n);
}
WARPSMITH_FN void curand_init(unsigned long long seed, unsigned long long sequence, unsigned long long offset, curandStateXORWOW* state) {
  const unsigned int low = 1099087573u * ((unsigned int)seed ^ 0xaad26b49u);
  const unsigned int high = 2591861531u * ((unsigned int)(seed >> 32) ^ 0xf7dcefddu);
  *state = {6615241 + high + low,
            {123456789 + low, 362436069 ^ low, 521288629 + high, 88675123 ^ high, 5783321 + low}};
  skipahead_sequence(sequence, state);
  skipahead(offset, state);
}

WARPSMITH_FN unsigned int curand(curandStatePhilox4_32_10* state) {
  const uint4 o = state->output;
  const unsigned int at = state->STATE, next = at == 0 ? o.x : at == 1 ? o.y : at == 2 ? o.z : o.w;
  if (at == 3) __warpsmith::random::advance(state, 1, 0);
  state->STATE = (at + 1) & 3;
  return next;
}
WARPSMITH_FN uint4 curand4(curandStatePhilox4_32_10* state) {
  const uint4 a = state->output;
  __warpsmith::random::advance(state, 1, 0);
  const uint4 b = state->output;
  switch (state->STATE) {
    case 1: return make_uint4(a.y, a.z, a.w, b.x);
    case 2: return make_uint4(a.z, a.w, b.x, b.y);
    case 3: return make_uint4(a.w, b.x, b.y, b.z);
    default: return a;
  }
}
WARPSMITH_FN void skipahead(unsigned long long n, curandStatePhilox4_32_10* state) {
  const unsigned int at = state->STATE + (n & 3);
  state->STATE = at & 3;
  __warpsmith::random::advance(state, n / 4 + at / 4, 0);
}
WARPSMITH_FN void skipahead_sequence(unsigned long long n, curandStatePhilox4_32_10* state) {
  __warpsmith::random::advance(state, 0, n);
}
WARPSMITH_FN void curand_init(unsigned long long seed, unsigned long long sequence, unsigned long long offset, curandStatePhilox4_32_10* state) {
  *state = {};
  state->key = {(unsigned int)seed, (unsigned int)(seed >> 32)};
  skipahead_sequence(sequence, state);
  skipahead(offset, state);
}

// The two generators differ in how they draw for doubles: XORWOW one number after the other, Philox four at once or a single one.
WARPSMITH_FN double curand_uniform_double(curandStateXORWOW* state) {
  const unsigned int x = curand(state), y = curand(state);
  return __warpsmith::random::uniform(x, y);
}
WARPSMITH_FN double curand_uniform_double(curandStatePhilox4_32_10* state) { return curand(state) * 0x1p-32 + 0x1p-32; }
WARPSMITH_FN double2 curand_normal2_double(curandStateXORWOW* state) {
  const unsigned int a = curand(state), b = curand(state), c = curand(state), d = curand(state);
  return __warpsmith::random::normal(a, b, c, d);
}
WARPSMITH_FN double2 curand_normal2_double(curandStatePhilox4_32_10* state) {
  const uint4 x = curand4(state);
  return __warpsmith::random::normal(x.x, x.y, x.z, x.w);
}

#define WARPSMITH_DISTRIBUTIONS(State)                                                                                             \
  WARPSMITH_FN float curand_uniform(State* state) { return __warpsmith::random::uniform(curand(state)); }                          \
  WARPSMITH_FN float2 curand_normal2(State* state) {                                                                               \
    const unsigned int x = curand(state), y = curand(state);                                                                       \
    return __warpsmith::random::normal(x, y);                                                                                      \
  }                                                                                                                                \
  WARPSMITH_FN float2 curand_log_normal2(State* state, float mean, float stddev) {                                                 \
    const float2 n = curand_normal2(state);                                                                                        \
    return {expf(mean + stddev * n.x), expf(mean + stddev * n.y)};                                                                 \
  }                                                                                                                                \
  WARPSMITH_FN double2 curand_log_normal2_double(State* state, double mean, double stddev) {                                       \
    const double2 n = curand_normal2_double(state);                                                                                \
    return {exp(mean + stddev * n.x), exp(mean + stddev * n.y)};                                                                   \
  }                                                                                                                                \
  WARPSMITH_FN float curand_normal(State* s) {                                                                                     \
    return __warpsmith::random::one_of_two(s->spare_kind, s->spare, __warpsmith::random::NORMAL, [=] { return curand_normal2(s); });   \
  }                                                                                                                                \
  WARPSMITH_FN double curand_normal_double(State* s) {                                                                             \
    return __warpsmith::random::one_of_two(s->spare_double_kind, s->spare_double, __warpsmith::random::NORMAL,                     \
                                           [=] { return curand_normal2_double(s); });                                              \
  }                                                                                                                                \
  WARPSMITH_FN float curand_log_normal(State* s, float mean, float stddev) {                                                       \
    return __warpsmith::random::one_of_two(s->spare_kind, s->spare, __warpsmith::random::LOG_NORMAL,                               \
                                           [=] { return curand_log_normal2(s, mean, stddev); });                                   \
  }                                                                                                                                \
  WARPSMITH_FN double curand_log_normal_double(State* s, double mean, double stddev) {                                             \
    return __warpsmith::random::one_of_two(s->spare_double_kind, s->spare_double, __warpsmith::random::LOG_NORMAL,                 \
                                           [=] { return curand_log_normal2_double(s, mean, stddev); });                            \
  }
WARPSMITH_DISTRIBUTIONS(curandStateXORWOW)
WARPSMITH_DISTRIBUTIONS(curandStatePhilox4_32_10)
#undef WARPSMITH_DISTRIBUTIONS

WARPSMITH_FN float4 curand_uniform4(curandStatePhilox4_32_10* state) {
  const uint4 x = curand4(state);
  return {__warpsmith::random::uniform(x.x), __warpsmith::random::uniform(x.y), __warpsmith::random::uniform(x.z),
          __warpsmith::random::uniform(x.w)};
}
WARPSMITH_FN double2 curand_uniform2_double(curandStatePhilox4_32_10* state) {
  const uint4 x = curand4(state);
  return {__warpsmith::random::uniform(x.x, x.y), __warpsmith::random::uniform(x.z, x.w)};
}
WARPSMITH_FN float4 curand_normal4(curandStatePhilox4_32_10* state) {
  const uint4 x = curand4(state);
  const float2 a = __warpsmith::random::normal(x.x, x.y), b = __warpsmith::random::normal(x.z, x.w);
  return {a.x, a.y, b.x, b.y};
}
WARPSMITH_FN float4 curand_log_normal4(curandStatePhilox4_32_10* state, float mean, float stddev) {
  const float4 n = curand_normal4(state);
  return {expf(mean + stddev * n.x), expf(mean + stddev * n.y), expf(mean + stddev * n.z), expf(mean + stddev * n.w)};
}

#include "warpsmith/pop_macros.h"
