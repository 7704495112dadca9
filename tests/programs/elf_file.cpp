#include "elf_file.hpp"

#include <elf.h>

#include <cstring>
#include <fstream>
#include <iterator>

namespace cleave {

namespace {

/// The structure at this offset; empty if the file ends before.
template <class Structure>
std::optional<Structure> structure_at(const std::string& content, std::uint64_t offset) {
  Structure found;
  if (offset > content.size() || content.size() - offset < sizeof found) return std::nullopt;
  std::memcpy(&found, content.data() + offset, sizeof found);
  return found;
}

bool read_dynamic_part(const Elf64_Phdr& segment, ElfFile& file) {
  for (std::uint64_t at = 0; at < segment.p_filesz; at += sizeof(Elf64_Dyn)) {
    const auto entry = structure_at<Elf64_Dyn>(file.content, segment.p_offset + at);
    if (!entry) return false;
    const std::uint64_t value = entry->d_un.d_val;
    if (entry->d_tag == DT_NULL) return true;
    if (entry->d_tag == DT_TEXTREL) file.writable_text_relocations = true;
    if (entry->d_tag == DT_BIND_NOW) file.bound_at_start = true;
    if (entry->d_tag == DT_FLAGS && (value & DF_BIND_NOW) != 0) file.bound_at_start = true;
    if (entry->d_tag == DT_FLAGS && (value & DF_TEXTREL) != 0)
      file.writable_text_relocations = true;
    if (entry->d_tag != DT_FLAGS_1) continue;
    if ((value & DF_1_NOW) != 0) file.bound_at_start = true;
    if ((value & DF_1_PIE) != 0) file.program = true;
  }
  return true;
}

bool read_segment(const Elf64_Phdr& segment, ElfFile& file) {
  const bool executable = (segment.p_flags & PF_X) != 0, writable = (segment.p_flags & PF_W) != 0;
  if (segment.p_type == PT_GNU_STACK) file.executable_stack = executable;
  if (segment.p_type == PT_GNU_RELRO) file.read_only_relocations = true;
  if (segment.p_type == PT_LOAD && executable && writable) file.writable_code = true;
  return segment.p_type != PT_DYNAMIC || read_dynamic_part(segment, file);
}

}  // namespace

bool ElfFile::names(const std::string& symbol) const {
  return content.find('\0' + symbol + '\0') != std::string::npos;
}

std::optional<ElfFile> read_elf(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  ElfFile file;
  file.content.assign(std::istreambuf_iterator<char>(in), {});
  const auto header = structure_at<Elf64_Ehdr>(file.content, 0);
  if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
      header->e_ident[EI_CLASS] != ELFCLASS64)
    return std::nullopt;
  file.position_independent = header->e_type == ET_DYN;
  for (std::uint64_t i = 0; i < header->e_phnum; ++i) {
    const auto segment =
        structure_at<Elf64_Phdr>(file.content, header->e_phoff + i * sizeof(Elf64_Phdr));
    if (!segment || !read_segment(*segment, file)) return std::nullopt;
  }
  return file;
}

}  // namespace cleave
