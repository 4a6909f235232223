// PTX as text: tokens, scopes of names, and the operands of one instruction, for those who decode it.
#pragma once
#include "machine.h"

// Stands for the address of dynamic shared memory until all of the module's own is placed.
constexpr u64 kDynamicShared = 0x7d000000;

enum class Kind : u8 { REGISTER, ABSOLUTE, SHARED, LOCAL, LABEL, FUNCTION };

struct Symbol {
  Kind kind;
  u32 place = 0, width = 0, count = 0;  // of registers %r<count>; `width` in bytes, 1 for predicates
  i64 value = 0;                        // an address, a label's place in the code, a function's number
  u32 bytes = 0;
};

struct Operand {
  enum Form : u8 { NAME, NUMBER, VECTOR, ADDRESS, SINK, LIST } form = SINK;
  View name, second;  // second: of `%p1|%p2`
  u64 bits = 0;                   // of a number
  bool is_float = false, negated = false;
  i64 offset = 0;
  List<Operand> parts;
};

struct Type {
  char kind = 'b';  // b u s f, h for bf16, p for predicates
  u8 bytes = 4;
  u8 per = 1;  // elements in a register: 2 for f16x2
  bool is(char k, u32 n) const { return kind == k && bytes == n; }
};

struct Parser {
  Module& module;
  const char *at, *end;
  View token;
  const char* problem = nullptr;
  List<Map<View, Symbol>> scopes;
  List<Pair<u32, View>> jumps;  // code, label: known at the function's end
  List<View> table_names;
  Function* function = nullptr;

  // What is wrong ends the text here, so every loop over it ends.
  void fail(View what, View about);
  void next();
  bool take(View wanted);
  void expect(View wanted);
  View name();
  i64 number();
  u64 literal(bool* is_float);
  Operand operand();

  Symbol* find(View name, u32* index = nullptr);
  u32 registers(u32 width, u32 count);
  u32 constant(u64 bits, u32 width);
  u32 place(const Operand& operand, u32 width);                  // of a value that is read
  u32 written(const Operand& operand, u32 width);                // of one that is written
  u32 width_of(const Operand& operand, u32 otherwise);
  u32 special(View name, u32 width);

  void file();
  void directive_of_module();
  void variable(View space);
  void function_header(bool is_entry);
  void parameters(bool is_entry, bool is_result);
  void body();
  void land_jumps();
  void statement();
  void declare_registers();
  void instruction();
};

struct Instruction {
  Parser& p;
  View opcode;
  List<View> words;  // the opcode's parts: ld, global, v4, f32
  List<Operand> operands;
  Op op;
  bool has(View word) const {
    for (auto w : words) if (w == word) return true;
    return false;
  }
  Type type(u32 from_end = 0) const;  // of the last type in the opcode, or an earlier one
  u32 read(u32 index, u32 width) { return index < operands.size() ? p.place(operands[index], width) : kNone; }
  u32 write(u32 index, u32 width) { return index < operands.size() ? p.written(operands[index], width) : kNone; }
  void emit(const Op& one) { p.module.code.push_back(one); }
};

Type type_of(View word);

// Each looks whether the instruction is of its kind, and emits it.
bool decode_arithmetic(Instruction& i);
bool decode_comparison(Instruction& i);
bool decode_conversion(Instruction& i);
bool decode_eighths(Instruction& i);
bool decode_access(Instruction& i);
bool decode_exchange(Instruction& i);
bool decode_control(Instruction& i);
