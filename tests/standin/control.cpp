// Where lanes go: branches, calls, returns, ends.
#include "parse.h"

// Sends the active lanes of the current group elsewhere; the rest go on behind the instruction.
static void send(Warp& w, u32 lanes, u32 to) {
  Group& g = w.group();
  if (lanes == g.mask) { g.pc = to; w.regroup |= w.group_count > 1; return; }
  g.mask &= ~lanes;
  w.groups[w.group_count++] = {lanes, to, RUNS, 0};
  w.regroup = true;
}

static void branch(Warp& w, const Op& op) { send(w, w.active, op.target); }

static void branch_by_index(Warp& w, const Op& op) {
  const u32* index = w.at<u32>(op.a);
  const auto& table = w.module->tables[op.target];
  Group& g = w.group();
  for (u32 left = w.active; left;) {
    u32 wanted = index[__builtin_ctz(left)], lanes = 0;
    for (u32 i = 0; i < kLanes; i++) lanes |= u32(left >> i & 1 && index[i] == wanted) << i;
    left &= ~lanes;
    if (wanted >= table.size()) return w.fail(LAUNCH_FAILED);
    if (!left && lanes == g.mask) g.pc = table[wanted]; else send(w, lanes, table[wanted]);
  }
  w.regroup = true;
}

static void leave(Warp& w, const Op&) {
  Group& g = w.group();
  w.alive &= ~w.active;
  g.mask &= ~w.active;
  if (!g.mask) g = w.groups[--w.group_count];
  // Who waits for lanes of this warp no longer waits for these.
  for (u32 i = 0; i < w.group_count; i++) {
    Group& other = w.groups[i];
    if (other.waiting == FOR_LANES) other.waiting = RUNS;
    if (other.waiting == AT_WARP_BARRIER) other.waiting = RUNS, other.pc--;
  }
  w.regroup = true;
}

static u8* own_memory(Warp& w, u32 lane) { return w.local + lane * ((u64(w.module->local_bytes) + 15) / 16 * 16); }

static void call(Warp& w, const Op& op) {
  const Call& c = w.module->calls[op.target];
  const Function& f = w.module->functions[c.function];
  for (u32 i = 0; i < kLanes; i++) {
    if (!(w.active >> i & 1)) continue;
    w.returns[c.function * kLanes + i] = w.group().pc;
    for (size_t k = 0; k < c.arguments.size() && k < f.parameters.size(); k++)
      memcpy(own_memory(w, i) + f.parameters[k].first, own_memory(w, i) + c.arguments[k].first, f.parameters[k].second);
  }
  send(w, w.active, f.begin);
}

static void come_back(Warp& w, const Op& op) {  // `target` is the function that is left
  const Function& f = w.module->functions[op.target];
  for (u32 left = w.active; left;) {
    u32 to = w.returns[op.target * kLanes + __builtin_ctz(left)], lanes = 0;
    for (u32 i = 0; i < kLanes; i++) lanes |= u32(left >> i & 1 && w.returns[op.target * kLanes + i] == to) << i;
    const Call& c = w.module->calls[w.module->code[to - 1].target];
    for (u32 i = 0; i < kLanes; i++)
      for (size_t k = 0; k < c.results.size() && lanes >> i & 1; k++)
        memcpy(own_memory(w, i) + c.results[k].first, own_memory(w, i) + f.results[k].first, f.results[k].second);
    left &= ~lanes;
    send(w, lanes, to);
  }
}

static void assertion_failed(Warp& w, const Op&) { w.fail(ASSERT); }
static void trap(Warp& w, const Op&) { w.fail(LAUNCH_FAILED); }
static void nothing(Warp&, const Op&) {}

static List<Pair<i64, u32>> places(Parser& p, const Operand& list) {
  List<Pair<i64, u32>> found;
  for (const Operand& part : list.parts) {
    Symbol* symbol = p.find(part.name);
    if (!symbol || symbol->kind != Kind::LOCAL) { p.fail("no parameter of a call:", part.name); break; }
    found.push_back({symbol->value, symbol->bytes});
  }
  return found;
}

static bool decode_call(Instruction& i) {
  Call made{kNone};
  View name;
  for (const Operand& operand : i.operands) {
    if (operand.form == Operand::NAME && name.empty()) name = operand.name;
    else if (operand.form == Operand::LIST) (name.empty() ? made.results : made.arguments) = places(i.p, operand);
  }
  Symbol* symbol = i.p.find(name);
  if (name == "vprintf") i.op.run = nothing;
  else if (name == "__assertfail") i.op.run = assertion_failed;
  else if (!symbol || symbol->kind != Kind::FUNCTION || i.p.module.functions[symbol->value].begin == kNone) {
    i.p.fail("no function to call:", name);
    return true;
  } else {
    made.function = symbol->value;
    i.op.run = call, i.op.target = i.p.module.calls.size();
    i.p.module.calls.push_back(made);
  }
  i.emit(i.op);
  return true;
}

bool decode_control(Instruction& i) {
  auto base = i.words[0];
  Op& op = i.op;
  if (base == "bra") {
    op.run = branch;
    i.p.jumps.push_back({u32(i.p.module.code.size()), i.operands.empty() ? View{} : i.operands[0].name});
  } else if (base == "brx") {
    Symbol* table = i.operands.size() > 1 ? i.p.find(i.operands[1].name) : nullptr;
    if (!table) return false;
    op.run = branch_by_index, op.a = i.read(0, 4), op.target = table->value;
  } else if (base == "call") return decode_call(i);
  else if (base == "ret" && !i.p.function->is_entry) op.run = come_back, op.target = i.p.function - i.p.module.functions.data();
  else if (base == "ret" || base == "exit") op.run = leave;
  else if (base == "trap") op.run = trap;
  else if (base == "brkpt" || base == "pmevent") op.run = nothing;
  else return false;
  i.emit(op);
  return true;
}
