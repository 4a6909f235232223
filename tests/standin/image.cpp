// Modules as the driver is given them: ELF files whose `.nv_debug_ptx_txt` has the PTX (`--generate-line-info`), or PTX alone.

#include "driver.h"

struct Header { char magic[8]; u8 abi; char rest[7]; u16 kind, machine; u32 version; u64 entry, programs, sections; u32 flags; u16 sizes[6]; };
struct Section { u32 name, kind; u64 flags, address, offset, size; u32 link, info; u64 alignment, entry_size; };
struct ElfSymbol { u32 name; u8 info, other; u16 section; u64 value, size; };

struct Elf {
  const char* bytes;
  const Header& header() const { return *(const Header*)bytes; }
  const Section& section(u32 i) const { return ((const Section*)(bytes + header().sections))[i]; }
  View name(u32 i) const { return bytes + section(header().sizes[5]).offset + section(i).name; }
  const Section* find(View prefix, View rest = {}) const {
    for (u32 i = 0; i < header().sizes[4]; i++) {
      auto found = name(i);
      if (found.size() == prefix.size() + rest.size() && found.starts_with(prefix) && found.ends_with(rest)) return &section(i);
    }
    return nullptr;
  }
};

static u32 registers_of(const Elf& elf, View kernel) {
  const Section *info = elf.find(".nv.info"), *symbols = elf.find(".symtab"), *names = elf.find(".strtab");
  if (!info || !symbols || !names) return 0;
  for (u64 at = 0; at + 4 <= info->size;) {
    const u8* entry = (const u8*)elf.bytes + info->offset + at;
    u16 size = entry[2] | entry[3] << 8;
    const u32* value = (const u32*)(entry + 4);
    if (entry[0] == 4 && entry[1] == 0x2f) {
      const ElfSymbol& symbol = ((const ElfSymbol*)(elf.bytes + symbols->offset))[value[0]];
      if (kernel == elf.bytes + names->offset + symbol.name) return value[1];
    }
    at += 4 + (entry[0] == 4 ? size : 0);
  }
  return 0;
}

Status read_image(const char* bytes, Image& image, const char** problem) {
  const char* text = bytes;
  u64 length = 0;
  Elf elf{bytes};
  bool is_elf = !memcmp(bytes, "\177ELF\2\1", 6);
  if (is_elf) {
    const Header& header = elf.header();
    u32 architecture = header.abi >= 8 ? header.flags >> 8 & 255 : header.flags & 255;
    if (header.machine != 190) return INVALID_IMAGE;
    if (int(architecture) != capability()) return NO_BINARY_FOR_GPU;
    const Section* ptx = elf.find(".nv_debug_ptx_txt");
    *problem = "the stand-in executes PTX, and this cubin has none: compile it with --generate-line-info";
    if (!ptx) return NO_BINARY_FOR_GPU;
    text = bytes + ptx->offset, length = ptx->size;
  } else if (bytes[0] == '/' || bytes[0] == '.' || bytes[0] == '\n') length = strlen(bytes);
  else return INVALID_IMAGE;
  char* own = (char*)malloc(length + 1);
  for (u64 i = 0; i < length; i++) own[i] = text[i] ? text[i] : '\n';
  own[length] = 0;
  if ((*problem = parse(image.module, own, length))) return INVALID_PTX;
  for (u32 i = 0; i < image.module.functions.size(); i++) {
    const Function& f = image.module.functions[i];
    if (!f.is_entry) continue;
    auto* kernel = new Kernel{&image, i};
    const Section* shared = is_elf ? elf.find(".nv.shared.", f.name) : nullptr;
    u32 reserved = capability() >= 90 ? 1024 : 0;
    kernel->registers = is_elf ? registers_of(elf, f.name) : 0;
    kernel->static_shared = shared && shared->size > reserved ? shared->size - reserved : 0;
    if (f.max_threads) kernel->max_threads = f.max_threads;
    image.kernels.push_back(kernel);
  }
  return SUCCESS;
}
