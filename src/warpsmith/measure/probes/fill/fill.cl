// Gives a buffer in the host's memory what it begins a timed launch with: the same bytes as `devices/memory.py` says (Contents).
// Past the caches: lines that were written and lie there are written back while the launch that follows is timed.

ulong mixed(ulong bits) {
  bits += 0x9E3779B97F4A7C15ul;
  bits = (bits ^ bits >> 30) * 0xBF58476D1CE4E5B9ul;
  bits = (bits ^ bits >> 27) * 0x94D049BB133111EBul;
  return bits ^ bits >> 31;
}

// A work-item fills a piece. Pieces, and where they come from, are aligned to STEP bytes.
kernel void fill(global uchar* restrict to, global const uchar* restrict from, const ulong nbytes, const ulong begin,
                 const ulong places, const ulong seed, const ulong mask, const ulong mask_places, const ulong mask_seed) {
  const ulong start = get_global_id(0) * PIECE_BYTES, size = min(nbytes - start, (ulong)PIECE_BYTES), whole = size / 64;
  global const uchar* values = from + begin + (places ? mixed(seed + start) % places * STEP : start);
  global const uchar* flips = from + mask + (mask_places ? mixed(mask_seed + start) % mask_places * STEP : 0);
  for (ulong i = 0; i < whole; ++i) {
    ulong8 value = ((global const ulong8*)values)[i];
    if (mask_places) value ^= ((global const ulong8*)flips)[i];
    __builtin_nontemporal_store(value, (global ulong8*)(to + start) + i);
  }
  for (ulong i = whole * 64; i < size; ++i) to[start + i] = values[i] ^ (mask_places ? flips[i] : 0);
}
