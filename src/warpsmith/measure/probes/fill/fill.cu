// Gives a buffer what it begins a timed launch with, on the device: the same bytes as `devices/memory.py` says (Contents).
typedef unsigned long long u64;

__device__ u64 mixed(u64 bits) {
  bits += 0x9E3779B97F4A7C15ull;
  bits = (bits ^ bits >> 30) * 0xBF58476D1CE4E5B9ull;
  bits = (bits ^ bits >> 27) * 0x94D049BB133111EBull;
  return bits ^ bits >> 31;
}

// A block fills a piece. Pieces, and where they come from, are aligned to STEP bytes.
extern "C" __global__ void fill(unsigned char* __restrict__ to, const unsigned char* __restrict__ from, u64 nbytes, u64 begin,
                                u64 places, u64 seed, u64 mask, u64 mask_places, u64 mask_seed) {
  const u64 start = (u64)blockIdx.x * PIECE_BYTES;
  const unsigned size = nbytes - start < PIECE_BYTES ? (unsigned)(nbytes - start) : PIECE_BYTES, whole = size / 16;
  const unsigned char* values = from + begin + (places ? mixed(seed + start) % places * STEP : start);
  const unsigned char* flips = from + mask + (mask_places ? mixed(mask_seed + start) % mask_places * STEP : 0);
  for (unsigned i = threadIdx.x; i < whole; i += blockDim.x) {
    uint4 value = reinterpret_cast<const uint4*>(values)[i];
    if (mask_places) {
      const uint4 flip = reinterpret_cast<const uint4*>(flips)[i];
      value = make_uint4(value.x ^ flip.x, value.y ^ flip.y, value.z ^ flip.z, value.w ^ flip.w);
    }
    reinterpret_cast<uint4*>(to + start)[i] = value;
  }
  for (unsigned i = whole * 16 + threadIdx.x; i < size; i += blockDim.x) to[start + i] = values[i] ^ (mask_places ? flips[i] : 0);
}
