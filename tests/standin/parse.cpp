// PTX to a module: declarations are placed, instructions handed to those who know them.
#include "parse.h"

#include <stdio.h>

static char message[200];

void Parser::fail(View what, View about) {
  if (!problem) {
    snprintf(message, sizeof message, "the stand-in's PTX: %.*s %.*s", int(what.size()), what.data(), int(about.size()), about.data());
    problem = message;
  }
  at = end, token = {};
}

static bool is_word(char c) { return (c | 32) >= 'a' && (c | 32) <= 'z' || c >= '0' && c <= '9' || c == '_' || c == '$' || c == '%' || c == '.'; }

void Parser::next() {
  for (; at < end; at++) {
    if (at + 1 < end && at[0] == '/' && at[1] == '/') while (at < end && *at != '\n') at++;
    else if (at + 1 < end && at[0] == '/' && at[1] == '*') { while (at + 2 < end && (at[0] != '*' || at[1] != '/')) at++; at++; }
    else if (*at != ' ' && *at != '\t' && *at != '\n' && *at != '\r' && *at) break;
  }
  const char* begin = at;
  if (at < end && *at == '"') { at++; while (at < end && *at != '"') at++; at++; }
  else if (at < end && is_word(*at)) while (at < end && is_word(*at)) at++;
  else if (at + 1 < end && at[0] == ':' && at[1] == ':') at += 2;
  else if (at < end) at++;
  if (at > end) at = end;
  token = {begin, size_t(at - begin)};
}

bool Parser::take(View wanted) {
  if (token != wanted) return false;
  next();
  return true;
}

void Parser::expect(View wanted) {
  if (!take(wanted)) fail(wanted, "is missing");
}

View Parser::name() {
  auto found = token;
  next();
  return found;
}

u64 Parser::literal(bool* is_float) {
  bool negative = take("-");
  auto text = name();
  *is_float = false;
  char copy[40] = {};
  if (text.size() < sizeof copy) memcpy(copy, text.data(), text.size());
  u64 value;
  if (text.starts_with("0f") || text.starts_with("0F") || text.starts_with("0d") || text.starts_with("0D")) {
    *is_float = true;
    value = strtoull(copy + 2, nullptr, 16);
    if (negative) value ^= copy[1] == 'f' || copy[1] == 'F' ? 1ull << 31 : 1ull << 63;
    return value;
  }
  value = strtoull(copy, nullptr, text.size() > 1 && text[0] == '0' && (text[1] | 32) != 'x' ? 8 : 0);
  return negative ? -value : value;
}

i64 Parser::number() {
  bool ignored;
  return i64(literal(&ignored));
}

Operand Parser::operand() {
  Operand found;
  if (take("!")) found.negated = true;
  if (take("{")) {
    found.form = Operand::VECTOR;
    while (!take("}") && at < end) { found.parts.push_back(operand()); take(","); }
  } else if (take("(")) {
    found.form = Operand::LIST;
    while (!take(")") && at < end) { found.parts.push_back(operand()); take(","); }
  } else if (take("[")) {
    found.form = Operand::ADDRESS;
    if (token.empty() || token[0] >= '0' && token[0] <= '9') found.bits = number(); else found.name = name();
    if (take("+")) found.offset = number();
    else if (token == "-") found.offset = number();
    expect("]");
  } else if (token == "-" || !token.empty() && token[0] >= '0' && token[0] <= '9') {
    found.form = Operand::NUMBER;
    found.bits = literal(&found.is_float);
  } else if (token == "_") {
    next();
  } else {
    found.form = Operand::NAME;
    found.name = name();
    if (take("|")) found.second = name();
    if (take("+")) found.offset = number();
  }
  return found;
}

Symbol* Parser::find(View name, u32* index) {
  u32 digits = 0;
  while (digits < name.size() && name[name.size() - 1 - digits] >= '0' && name[name.size() - 1 - digits] <= '9') digits++;
  auto prefix = name.substr(0, name.size() - digits);
  u32 number = 0;
  for (u32 i = prefix.size(); i < name.size(); i++) number = 10 * number + (name[i] - '0');
  for (size_t scope = scopes.size(); scope--;)
    for (auto& [known, symbol] : scopes[scope].entries) {
      if (!symbol.count && known == name) return &symbol;
      if (!digits || number >= symbol.count || known != prefix) continue;
      if (index) *index = number;
      return &symbol;
    }
  return nullptr;
}

u32 Parser::registers(u32 width, u32 count) {
  u32 begin = module.register_bytes, one = width == 1 ? 4 : width * kLanes;
  module.register_bytes = (begin + one * count + 63) / 64 * 64;
  return begin;
}

u32 Parser::constant(u64 bits, u32 width) {
  if (width < 8 && width > 1) bits &= (1ull << 8 * width) - 1;
  for (auto& [place, constant] : module.constants) if (constant.first == bits && constant.second == width) return place;
  u32 place = registers(width, 1);
  module.constants.push_back({place, {bits, width}});
  return place;
}

u32 Parser::special(View name, u32 width) {
  static const struct { View name; Special::Kind kind; } known[] = {
    {"%tid.", Special::TID}, {"%ntid.", Special::NTID}, {"%ctaid.", Special::CTAID}, {"%nctaid.", Special::NCTAID},
    {"%laneid", Special::LANEID}, {"%warpid", Special::WARPID}, {"%nwarpid", Special::NWARPID}, {"%lanemask_eq", Special::MASK_EQ},
    {"%lanemask_lt", Special::MASK_LT}, {"%lanemask_le", Special::MASK_LE}, {"%lanemask_gt", Special::MASK_GT},
    {"%lanemask_ge", Special::MASK_GE}, {"%dynamic_smem_size", Special::DYNAMIC_SHARED}, {"%total_smem_size", Special::TOTAL_SHARED},
    {"%smid", Special::SMID}, {"%nsmid", Special::NSMID},
  };
  for (auto [wanted, kind] : known) {
    bool has_axis = wanted.back() == '.';
    if (has_axis ? !name.starts_with(wanted) : name != wanted) continue;
    u32 axis = has_axis ? name.back() - 'x' : 0;
    for (const Special& s : module.specials) if (s.kind == kind && s.axis == axis && s.width == width) return s.place;
    module.specials.push_back({kind, axis, registers(width, 1), width});
    return module.specials.back().place;
  }
  fail("no register", name);
  return 0;
}

u32 Parser::place(const Operand& operand, u32 width) {
  if (operand.form == Operand::NUMBER) return constant(operand.bits, width);
  if (operand.form != Operand::NAME) { fail("a register is expected, not", token); return 0; }
  u32 index = 0;
  Symbol* symbol = find(operand.name, &index);
  if (!symbol) return operand.name[0] == '%' ? special(operand.name, width) : (fail("no name", operand.name), 0);
  if (symbol->kind != Kind::REGISTER) return constant(symbol->value + operand.offset, width);
  if (symbol->width == width || width == 0) return symbol->place + index * (symbol->width == 1 ? 4 : symbol->width * kLanes);
  fail("a register of another size:", operand.name);
  return 0;
}

u32 Parser::written(const Operand& operand, u32 width) {
  if (operand.form == Operand::SINK) return registers(width, 1);
  return place(operand, width);
}

u32 Parser::width_of(const Operand& operand, u32 otherwise) {
  Symbol* symbol = operand.form == Operand::NAME ? find(operand.name) : nullptr;
  return symbol && symbol->kind == Kind::REGISTER ? symbol->width : otherwise;
}

Type type_of(View word) {
  if (word == "pred") return {'p', 1};
  if (word == "f16x2") return {'f', 2, 2};
  if (word == "bf16x2") return {'h', 2, 2};
  if (word == "bf16") return {'h', 2};
  if (word.size() < 2 || word.size() > 4 || !strchr("busf", word[0])) return {0, 0};
  u32 bits = 0;
  for (u32 k = 1; k < word.size(); k++) { if (word[k] < '0' || word[k] > '9') return {0, 0}; bits = 10 * bits + (word[k] - '0'); }
  return bits == 8 || bits == 16 || bits == 32 || bits == 64 ? Type{word[0], u8(bits / 8)} : Type{0, 0};
}

Type Instruction::type(u32 from_end) const {
  for (size_t k = words.size(); k--;)
    if (Type found = type_of(words[k]); found.kind && !from_end--) return found;
  return {0, 0};
}

void Parser::instruction() {
  Instruction i{*this};
  if (take("@")) {
    i.op.negated = take("!");
    Operand guard;
    guard.form = Operand::NAME, guard.name = name();
    i.op.guard = place(guard, 1);
  }
  i.opcode = name();
  while (token == "::") {  // ld.global.L2::128B, fence.proxy.async.shared::cta
    next();
    i.opcode = {i.opcode.data(), size_t(token.data() + token.size() - i.opcode.data())};
    next();
  }
  for (size_t begin = 0; begin <= i.opcode.size();) {
    size_t dot = i.opcode.find('.', begin);
    i.words.push_back(i.opcode.substr(begin, dot - begin));
    begin = dot + 1;
  }
  while (token != ";" && at < end) { i.operands.push_back(operand()); take(","); }
  expect(";");
  if (problem) return;
  if (i.has("ftz")) i.op.mxcsr = 0x9fc0;
  static const Pair<View, u32> modes[] = {{"rm", 0x2000}, {"rp", 0x4000}, {"rz", 0x6000}};
  for (auto [word, bits] : modes)
    if (i.has(word)) i.op.mxcsr = (i.op.mxcsr ? i.op.mxcsr : 0x1f80) | bits;
  bool known = decode_arithmetic(i) || decode_comparison(i) || decode_eighths(i) || decode_conversion(i) || decode_access(i) || decode_exchange(i) || decode_control(i);
  if (!known) fail("no instruction", i.opcode);
}
