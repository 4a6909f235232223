// What PTX declares: functions with their parameters, variables in each space, registers, labels.

#include "parse.h"

static u64 aligned(u64 value, u64 to) { return (value + to - 1) / to * to; }

void Parser::file() {
  next();
  while (at < end && !problem) directive_of_module();
}

void Parser::directive_of_module() {
  if (take(".version") || take(".target")) { do next(); while (take(",")); }
  else if (take(".address_size")) next();
  else if (take(".visible") || take(".weak") || take(".extern") || take(".common")) return;
  else if (token == ".entry" || token == ".func") function_header(name() == ".entry");
  else if (token == ".global" || token == ".const" || token == ".shared") variable(name());
  else if (take(".file")) { next(); next(); while (take(",")) next(); }
  else if (take(".section")) { next(); while (!take("}") && at < end) next(); }
  else if (take(".pragma")) { next(); expect(";"); }
  else if (take(";") || take("}")) return;
  else fail("no directive", token);
}

// `.align 4 .b8 name[12] = {…}`, several with commas between them. Of a function's own or the module's.
void Parser::variable(View space) {
  u32 alignment = 1;
  while (token == ".align" || token == ".attribute") {
    if (name() == ".align") alignment = number();
    else { expect("("); while (!take(")") && at < end) next(); }
  }
  u32 count_in_vector = take(".v4") ? 4 : take(".v2") ? 2 : 1;
  Type type = type_of(name().substr(1));
  if (!type.kind) return fail("no type of a variable before", token);
  do {
    auto called = name();
    u64 count = count_in_vector;
    bool open = false;
    while (take("[")) {
      if (token == "]") open = true; else count *= number();
      expect("]");
    }
    Symbol symbol{Kind::ABSOLUTE};
    symbol.bytes = open ? 0 : count * type.bytes;
    alignment = alignment < type.bytes ? type.bytes : alignment;
    if (space == ".shared") {
      symbol.kind = Kind::SHARED;
      if (open) symbol.value = kDynamicShared;
      else { symbol.value = aligned(module.shared_bytes, alignment); module.shared_bytes = symbol.value + symbol.bytes; }
    } else if (space == ".local" || space == ".param") {
      symbol.kind = Kind::LOCAL;
      symbol.value = aligned(module.local_bytes, alignment < 8 ? 8 : alignment);
      module.local_bytes = symbol.value + symbol.bytes;
    } else {
      symbol.value = allocate(symbol.bytes + 16);
      if (!symbol.value) return fail("no memory for", called);
      memset((void*)symbol.value, 0, symbol.bytes);
      module.variables[called] = {u64(symbol.value), symbol.bytes};
    }
    scopes.back()[called] = symbol;
    if (take("=")) {
      u8* to = (u8*)symbol.value;
      bool ignored, braces = take("{");
      while (at < end && token != "}" && token != ";") {
        bool is_name = token != "-" && (token[0] < '0' || token[0] > '9');
        Symbol* other = is_name ? find(token) : nullptr;
        u64 value = other ? other->value : literal(&ignored);
        if (is_name) next();
        memcpy(to, &value, type.bytes);
        to += type.bytes;
        if (!take(",")) break;
      }
      if (braces) expect("}");
    }
  } while (take(","));
  expect(";");
}

// One list of parameters. An entry's lie in the launch's memory, a function's in the memory of each lane.
void Parser::parameters(bool is_entry, bool is_result) {
  while (!take(")") && at < end) {
    if (!take(".param")) return fail("no parameter:", token);
    u32 alignment = 1;
    if (take(".align")) alignment = number();
    Type type = type_of(name().substr(1));
    while (take(".ptr") || take(".global") || take(".const") || take(".shared") || take(".local") || take(".generic"))
      ;
    if (take(".align")) number();
    auto called = name();
    u64 bytes = type.bytes;
    while (take("[")) { bytes *= number(); expect("]"); }
    if (alignment < type.bytes) alignment = type.bytes;
    Symbol symbol{is_entry ? Kind::ABSOLUTE : Kind::LOCAL};
    u32& room = is_entry ? function->parameter_bytes : module.local_bytes;
    u64 offset = aligned(room, alignment);
    room = offset + bytes;
    symbol.value = offset + (is_entry ? parameter_memory : 0);
    symbol.bytes = bytes;
    (is_result ? function->results : function->parameters).push_back({i64(offset), u32(bytes)});
    scopes.back()[called] = symbol;
    take(",");
  }
}

void Parser::function_header(bool is_entry) {
  scopes.emplace_back();
  Function made;
  made.is_entry = is_entry;
  function = &made;
  if (take("(")) parameters(false, true);
  made.name = name();
  if (take("(")) parameters(is_entry, false);
  while (token != "{" && token != ";" && at < end) {
    if (take(".maxntid") || take(".reqntid")) {
      made.max_threads = number();
      while (take(",")) made.max_threads *= number();
    } else next();
  }
  Symbol* declared = find(made.name);  // perhaps before, without its body
  u32 number = declared ? declared->value : module.functions.size();
  if (!declared) {
    Symbol symbol{Kind::FUNCTION};
    symbol.value = number;
    scopes[0][made.name] = symbol;
    module.functions.emplace_back();
  }
  if (token == "{") made.begin = module.code.size();
  if (!declared || token == "{") module.functions[number] = made;
  function = &module.functions[number];
  if (!take(";")) body();
  scopes.pop_back();
}

void Parser::body() {
  expect("{");
  u32 depth = 1;
  while (depth && at < end) {
    if (take("{")) { depth++; scopes.emplace_back(); }
    else if (token == "}") {
      land_jumps();
      if (--depth) scopes.pop_back();
      next();
    } else statement();
  }
  if (!jumps.empty()) fail("no label", jumps[0].second);
  for (size_t i = 0; i < module.tables.size(); i++)
    for (u32& entry : module.tables[i])
      if (entry & 1u << 31) {
        Symbol* symbol = find(table_names[entry & ~(1u << 31)]);
        if (!symbol) return fail("no label", "of a table");
        entry = symbol->value;
      }
}

// Those to labels of the innermost scope: each block of inline assembly may have labels of its own.
void Parser::land_jumps() {
  for (size_t i = 0; i < jumps.size();) {
    auto [code, label] = jumps[i];
    Symbol* found = scopes.back().find(label);
    if (!found) { i++; continue; }
    module.code[code].target = found->value;
    jumps[i] = jumps.back();
    jumps.pop_back();
  }
}

void Parser::declare_registers() {
  Type type = type_of(name().substr(1));
  if (!type.kind) return fail("no type of registers before", token);
  u32 width = type.kind == 'p' ? 1 : type.bytes * type.per;
  do {
    auto called = name();
    u32 count = 0;
    if (take("<")) { count = number(); expect(">"); }
    Symbol symbol{Kind::REGISTER};
    symbol.place = registers(width, count ? count : 1), symbol.width = width, symbol.count = count;
    scopes.back()[called] = symbol;
  } while (take(","));
  expect(";");
}

void Parser::statement() {
  if (take(".reg")) return declare_registers();
  if (token == ".local" || token == ".shared" || token == ".param" || token == ".global" || token == ".const") return variable(name());
  if (take(".pragma")) { next(); return expect(";"); }
  if (take(".loc")) { while (token != ";" && at < end && token[0] >= '0' && token[0] <= '9' || token == ",") next(); return; }
  if (take(";")) return;
  const char* before = at;
  auto was = token;
  auto label = token == "@" ? View{} : name();
  if (label.empty() || !take(":")) {
    at = before, token = was;
    return instruction();
  }
  if (take(".branchtargets")) {
    module.tables.emplace_back();
    Symbol symbol{Kind::LABEL};
    symbol.value = module.tables.size() - 1;
    do { table_names.push_back(name()); module.tables.back().push_back(u32(table_names.size() - 1) | 1u << 31); } while (take(","));
    expect(";");
    scopes.back()[label] = symbol;
    return;
  }
  Symbol symbol{Kind::LABEL};
  symbol.value = module.code.size();
  scopes.back()[label] = symbol;
}

const char* parse(Module& module, char* text, u64 length) {
  module.text = text;
  Parser parser{module, text, text + length};
  parser.scopes.emplace_back();
  parser.file();
  // What a launch adds to shared memory lies behind all that is declared.
  u64 dynamic = aligned(module.shared_bytes, 16);
  for (auto& [place, constant] : module.constants)
    if (constant.first >= kDynamicShared && constant.first < kDynamicShared + window_bytes) constant.first += dynamic - kDynamicShared;
  return parser.problem;
}
