// The pretended GPU's parts: modules of decoded instructions, and the grid, blocks and warps that execute them.
//
// A warp executes one instruction for all lanes of a group at once; lanes whose program counters differ are in different groups.
// Registers lie lane by lane, 32 of each, so that the host's vector units do the work of a warp.
#pragma once
#include "base.h"

using u8 = uint8_t;
using u16 = uint16_t;
using u32 = uint32_t;
using u64 = uint64_t;
using i8 = int8_t;
using i16 = int16_t;
using i32 = int32_t;
using i64 = int64_t;
using f16 = _Float16;

constexpr u32 kMultiprocessors = 8, kLanes = 32, kAllLanes = ~0u, kNone = ~0u, kBarriers = 16;

enum Status {  // the driver's numbers
  SUCCESS = 0, INVALID_VALUE = 1, OUT_OF_MEMORY = 2, NOT_INITIALIZED = 3, INVALID_IMAGE = 200, INVALID_CONTEXT = 201,
  NO_BINARY_FOR_GPU = 209, INVALID_PTX = 218, OPERATING_SYSTEM = 304, INVALID_HANDLE = 400, NOT_FOUND = 500, NOT_READY = 600,
  ILLEGAL_ADDRESS = 700, LAUNCH_OUT_OF_RESOURCES = 701, ASSERT = 710, MISALIGNED_ADDRESS = 716, LAUNCH_FAILED = 719,
  MPS_CONNECTION_FAILED = 805, UNKNOWN = 999,
};

// ── instructions ──

struct Warp;
struct Op;
using Run = void (*)(Warp&, const Op&);

struct Op {
  Run run = nullptr;
  u32 d = kNone, a = kNone, b = kNone, c = kNone, e = kNone;  // places in the register file; handlers say if something else
  u32 guard = kNone;
  bool negated = false;   // the guard
  u8 bytes = 0;           // of one element that is moved, or of a register, see `width`
  u8 width = 0;           // of the registers it is moved to or from
  u8 count = 1;           // of elements
  u32 mxcsr = 0;          // how the host rounds meanwhile, if not as usual
  u32 modifier = 0;
  u32 v[8] = {};          // the registers of a vector
  i64 offset = 0;         // added to an address
  u32 target = 0;         // of a branch; number of a function
};

struct Function {
  View name;
  bool is_entry = false;
  u32 begin = kNone;                          // kNone: declared only
  List<Pair<i64, u32>> parameters;  // place and size: in the launch's parameters, or in a lane's own memory
  List<Pair<i64, u32>> results;
  u32 parameter_bytes = 0;
  u32 max_threads = 0, registers = 0;         // what ptxas made of it; 0: not said
};

struct Call {
  u32 function;
  List<Pair<i64, u32>> arguments, results;  // in the caller's own memory
};

struct Variable {
  u64 address;
  u64 bytes;
};

struct Special {  // a register that a warp finds filled: %tid.x
  enum Kind : u8 {
    TID, NTID, CTAID, NCTAID, LANEID, WARPID, NWARPID, MASK_EQ, MASK_LT, MASK_LE, MASK_GT, MASK_GE, DYNAMIC_SHARED, TOTAL_SHARED,
    SMID, NSMID, CLOCK, UNKNOWN_KIND,
  } kind;
  u32 axis, place, width;
};

struct Module {
  List<Op> code;
  List<Function> functions;
  List<Call> calls;
  List<List<u32>> tables;  // of branch targets
  Map<View, Variable> variables;
  List<Special> specials;
  List<Pair<u32, Pair<u64, u32>>> constants;  // place, value, width
  u32 register_bytes = 0, local_bytes = 0, shared_bytes = 0;
  u64 memory = 0;  // of its variables
  char* text = nullptr;
};

// Fills the module from PTX; what is wrong with it, or not known here, or nullptr.
const char* parse(Module& module, char* text, u64 length);

// ── execution ──

struct Fault {
  Status status = SUCCESS;
  u64 address = 0;
};

struct Launch {
  const Module* module;
  const Function* function;
  u32 grid[3], block[3];
  u32 dynamic_bytes;
  u64 parameters;  // address of the copy on the device
  Fault fault;
  u64 issued = 0, longest_chain = 0, sectors = 0;  // warp instructions in all, in the longest warp; 32-byte pieces of memory touched
};

enum Waiting : u8 { RUNS, FOR_LANES, AT_BARRIER, AT_WARP_BARRIER };

struct Group {
  u32 mask, pc;
  Waiting waiting;
  u32 barrier;
};

struct Barrier {
  u32 arrived = 0, expected = 0, votes = 0, yes = 0;
};

struct Block {
  Launch* launch;
  u32 index[3], threads;
  u8* shared;
  u32 shared_bytes;
  Barrier barriers[kBarriers];
  List<Warp> warps;
};

struct Copy {  // asynchronous, into shared memory
  u8* to;
  const u8* from;
  u32 bytes, zeros, batch;
};

struct Warp {
  Block* block;
  const Module* module;
  u32 number, alive;
  u32 active;             // lanes that the instruction under way is for
  Group groups[kLanes];
  u32 group_count, current;
  bool regroup;           // the groups changed
  u8* registers;
  u8* local;              // of lane 0; the other lanes' follow
  List<u32> returns;  // by function and lane
  List<Copy> copies;
  u32 batch;
  u64 issued, carry;

  template <class T> T* at(u32 place) { return reinterpret_cast<T*>(registers + place); }
  u32& predicate(u32 place) { return *reinterpret_cast<u32*>(registers + place); }
  Group& group() { return groups[current]; }

  // Writes f(lane) for the active lanes; `Per` elements of T make up a lane's register.
  template <class T, u32 Per = 1, class F> void put(u32 place, F f) {
    constexpr u32 n = kLanes * Per;
    T* d = at<T>(place);
    T value[n];
    for (u32 i = 0; i < n; i++) value[i] = f(i);
    if (active == kAllLanes) memcpy(d, value, sizeof value);
    else for (u32 i = 0; i < n; i++) if (active >> i / Per & 1) d[i] = value[i];
  }
  template <class F> void put_predicate(u32 place, F f) {
    u32 bits = 0;
    for (u32 i = 0; i < kLanes; i++) bits |= u32(bool(f(i))) << i;
    predicate(place) = (predicate(place) & ~active) | (bits & active);
  }
  void fail(Status status, u64 address = 0) {
    if (!block->launch->fault.status) block->launch->fault = {status, address};
    regroup = true;
  }
};

extern bool memory_stays;  // shared and local: otherwise every block finds it as if nobody had written to it
void execute(Launch& launch);

// ── memory ──

// Where generic addresses of a block's and of a lane's own memory begin; nothing of the device's memory is there.
extern u64 shared_window, local_window, window_bytes;
extern u64 parameter_memory;  // where the parameters of the launch under way lie
bool reserve_addresses();
u64 allocate(u64 bytes);  // 0: there is no room
bool release(u64 address);
u64 bytes_left(u64 address);  // from there to the end of what was allocated
bool is_mapped(u64 address, u64 bytes);  // as a GPU's page tables have it, in whole pages
