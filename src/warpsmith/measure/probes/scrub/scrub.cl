// Overwrites what a launch may find of the launches before it: shared memory, and the stacks of the threads that run blocks.
// As many blocks run as there are compute units, each waiting a little for all to have begun, so that none is left out.
// `arrived` goes on from launch to launch: nothing has to be made ready for it.
// Only what is a thread's own is volatile, or the CPU device would keep warps in step for it, which takes twenty times as long.

kernel void scrub(global uint16* restrict out, global uint* restrict arrived, const uint noise, const uint blocks) {
  local uint16 shared_words[SHARED_BYTES / 64];
  volatile uint16 stack[STACK_BYTES / 64];  // lives across the barrier, where the runtime keeps private memory of whole blocks
  const uint thread = get_local_id(0);
  for (uint i = 0; i < STACK_BYTES / 64; ++i) stack[i] = (uint16)(noise * (thread + i + 1));
  for (uint i = thread; i < SHARED_BYTES / 64; i += get_local_size(0)) {
    shared_words[i] = (uint16)(noise * (i + 1));
  }
  if (thread == 0) {
    const uint before = atomic_inc((volatile global uint*)arrived), all = before - before % blocks + blocks;
    for (int turn = 0; turn < TURNS && (int)(atomic_or((volatile global uint*)arrived, 0) - all) < 0; ++turn) {}
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  out[get_global_id(0)] = shared_words[noise % (SHARED_BYTES / 64)] ^ stack[noise % (STACK_BYTES / 64)];
}
