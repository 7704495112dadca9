#include "runner/device_fence.hpp"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <optional>

#include "base/format.hpp"
#include "base/text.hpp"
#include "runner/descriptor.hpp"
#include "runner/system_file.hpp"

namespace cleave {

namespace {

// The kernel's registers: the result, the context, and what is loaded of it.
constexpr std::uint8_t result = BPF_REG_0, context = BPF_REG_1, type = BPF_REG_2, major = BPF_REG_3,
                       minor = BPF_REG_4;

constexpr bpf_insn instruction(std::uint8_t code, std::uint8_t to, std::size_t offset,
                               std::uint32_t value, std::uint8_t from = 0) {
  bpf_insn made{};
  made.code = code;
  made.dst_reg = to & 0xf;
  made.src_reg = from & 0xf;
  made.off = static_cast<std::int16_t>(offset);
  made.imm = static_cast<std::int32_t>(value);
  return made;
}
constexpr bpf_insn load(std::uint8_t to, std::size_t field) {
  return instruction(BPF_LDX | BPF_MEM | BPF_W, to, field, 0, context);
}
constexpr bpf_insn skip_unless(std::uint8_t what, std::uint32_t is, std::size_t skipped) {
  return instruction(BPF_JMP32 | BPF_JNE | BPF_K, what, skipped, is);
}
constexpr bpf_insn set(std::uint8_t to, std::uint32_t value) {
  return instruction(BPF_ALU64 | BPF_MOV | BPF_K, to, 0, value);
}
constexpr bpf_insn exit_program() {
  return instruction(BPF_JMP | BPF_EXIT, 0, 0, 0);
}

/// glibc has no function for it.
int bpf(int command, const bpf_attr& what) {
  return static_cast<int>(::syscall(SYS_bpf, command, &what, sizeof what));
}

/// A line of devices.list: "c 195:* rwm".
struct ListLine {
  std::string_view type, major, minor, access;
};

std::optional<ListLine> parse_line(std::string_view line) {
  const auto fields = split(line, ' ');
  if (fields.size() != 3) return std::nullopt;
  const std::size_t colon = std::min(fields[1].find(':'), fields[1].size() - 1);
  return ListLine{fields[0], fields[1].substr(0, colon), fields[1].substr(colon + 1), fields[2]};
}

}  // namespace

std::vector<bpf_insn> device_program(const DeviceRules& rules) {
  std::vector<bpf_insn> all;
  const auto give = [&](std::uint32_t answer) {
    all.push_back(set(result, answer));
    all.push_back(exit_program());
  };
  constexpr std::size_t answer = 2;  // instructions of an answer
  all.push_back(load(type, offsetof(bpf_cgroup_dev_ctx, access_type)));
  all.push_back(instruction(BPF_ALU64 | BPF_AND | BPF_K, type, 0, 0xffff));
  all.push_back(load(major, offsetof(bpf_cgroup_dev_ctx, major)));
  all.push_back(load(minor, offsetof(bpf_cgroup_dev_ctx, minor)));
  all.push_back(instruction(BPF_JMP32 | BPF_JEQ | BPF_K, type, answer, BPF_DEVCG_DEV_CHAR));
  give(1);
  for (const DeviceNumber& each : rules.admitted) {
    all.push_back(skip_unless(major, each.major, 1 + answer));
    all.push_back(skip_unless(minor, each.minor, answer));
    give(1);
  }
  for (const std::uint32_t each : rules.fenced) {
    all.push_back(skip_unless(major, each, answer));
    give(0);
  }
  give(1);
  return all;
}

Result<void> attach_device_program(const std::string& group, const DeviceRules& rules) {
  const std::vector<bpf_insn> program = device_program(rules);
  bpf_attr load{};
  load.prog_type = BPF_PROG_TYPE_CGROUP_DEVICE;
  load.expected_attach_type = BPF_CGROUP_DEVICE;
  load.insns = reinterpret_cast<std::uint64_t>(program.data());
  load.insn_cnt = static_cast<std::uint32_t>(program.size());
  load.license = reinterpret_cast<std::uint64_t>("");  // it calls nothing of the kernel
  const Descriptor loaded(bpf(BPF_PROG_LOAD, load));
  if (!loaded) return system_error_at(group, "the kernel takes no device program");
  const Descriptor folder(::open(group.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder) return system_error_at(group, "cannot be opened");
  bpf_attr attach{};
  attach.target_fd = static_cast<std::uint32_t>(folder.number());
  attach.attach_bpf_fd = static_cast<std::uint32_t>(loaded.number());
  attach.attach_type = BPF_CGROUP_DEVICE;
  attach.attach_flags = BPF_F_ALLOW_MULTI;
  if (bpf(BPF_PROG_ATTACH, attach) != 0)
    return system_error_at(group, "the device program cannot be attached");
  return {};
}

std::vector<std::string> device_list(std::string_view above, std::span<const std::uint32_t> majors,
                                     const DeviceRules& rules) {
  std::vector<std::string> list;
  const auto is_fenced = [&](std::uint32_t major) {
    return std::ranges::find(rules.fenced, major) != rules.fenced.end();
  };
  for (const std::string_view line : split(above, '\n')) {
    const auto parsed = parse_line(line);
    if (!parsed) continue;
    const auto& [type, major, minor, access] = *parsed;
    if (type == "a") list.emplace_back("b *:* rwm");
    if (type == "b") list.emplace_back(line);
    if (type == "b") continue;
    if (type == "a" || major == "*") {
      for (const std::uint32_t each : majors)
        if (!is_fenced(each)) list.push_back(fmt::format("c {}:{} {}", each, minor, access));
    } else if (const auto number = parse_integer(major);
               number && !is_fenced(static_cast<std::uint32_t>(*number))) {
      list.emplace_back(line);
    }
  }
  for (const DeviceNumber& each : rules.admitted)
    list.push_back(fmt::format("c {}:{} rw", each.major, each.minor));
  return list;
}

Result<void> set_device_list(const std::string& group, const DeviceRules& rules) {
  const std::string above = read_system_file(fmt::format("{}/devices.list", group));
  const auto list =
      device_list(above, majors_of_character_devices(read_system_file("/proc/devices")), rules);
  if (!write_system_file(fmt::format("{}/devices.deny", group), "a"))
    return system_error_at(group, "does not forbid devices");
  const std::string allow = fmt::format("{}/devices.allow", group);
  for (const std::string& line : list)
    if (!write_system_file(allow, line))
      return system_error_at(group, fmt::format("does not admit the devices {}", line));
  return {};
}

}  // namespace cleave
