// Rules of devices, and that both forms in which the kernel takes them say the same.

#include "runner/device_rules.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "base/random.hpp"
#include "base/temporary_folder_test.hpp"
#include "base/text.hpp"
#include "runner/device_fence.hpp"
#include "runner/driver_root_test.hpp"

namespace cleave {
namespace {

constexpr std::uint32_t character = 2, block = 1;  // of BPF_DEVCG_DEV_*

/// What the kernel would do with the program, of the instructions that it has.
std::int64_t answer_of(const std::vector<bpf_insn>& program, std::uint32_t type,
                       const DeviceNumber& device) {
  const std::array<std::uint32_t, 3> context = {type | BPF_DEVCG_ACC_READ << 16, device.major,
                                                device.minor};
  std::array<std::int64_t, 11> registers{};
  for (std::size_t at = 0; at < program.size(); ++at) {
    const bpf_insn& now = program[at];
    std::int64_t& to = registers.at(now.dst_reg);
    switch (now.code) {
      case BPF_LDX | BPF_MEM | BPF_W:
        to = context.at(static_cast<std::size_t>(now.off) / 4);
        break;
      case BPF_ALU64 | BPF_AND | BPF_K:
        to &= now.imm;
        break;
      case BPF_ALU64 | BPF_MOV | BPF_K:
        to = now.imm;
        break;
      case BPF_JMP32 | BPF_JEQ | BPF_K:
        if (to == now.imm) at += static_cast<std::size_t>(now.off);
        break;
      case BPF_JMP32 | BPF_JNE | BPF_K:
        if (to != now.imm) at += static_cast<std::size_t>(now.off);
        break;
      case BPF_JMP | BPF_EXIT:
        return registers[0];
      default:
        throw std::runtime_error("an instruction that is not known");
    }
  }
  throw std::runtime_error("it does not end");
}

/// Whether a list admits reading it.
bool admits(const std::vector<std::string>& list, char type, const DeviceNumber& device) {
  return std::ranges::any_of(list, [&](const std::string& line) {
    const auto fits = [](std::string_view text, std::uint32_t number) {
      return text == "*" || parse_integer(text) == number;
    };
    const auto fields = split(line, ' ');
    const std::size_t colon = fields[1].find(':');
    return fields[0][0] == type && fits(fields[1].substr(0, colon), device.major) &&
           fits(fields[1].substr(colon + 1), device.minor) &&
           fields[2].find('r') != std::string::npos;
  });
}

std::vector<std::uint32_t> any_majors(Random& random) {
  std::vector<std::uint32_t> majors;
  for (std::uint64_t more = random.below(5); more > 0; --more)
    majors.push_back(static_cast<std::uint32_t>(random.below(8)));
  return majors;
}

DeviceNumber any_device(Random& random) {
  return {static_cast<std::uint32_t>(random.below(8)), static_cast<std::uint32_t>(random.below(5))};
}

DeviceRules any_rules(Random& random) {
  DeviceRules rules{any_majors(random), {}};
  rules.fenced.push_back(3);
  for (std::uint64_t more = random.below(9); more > 0; --more) {
    DeviceNumber device = any_device(random);
    device.major = rules.fenced[random.below(rules.fenced.size())];
    rules.admitted.push_back(device);
  }
  return rules;
}

constexpr std::uint64_t seeds = 2000;

TEST(DeviceRules, AreWhatTheProgramAnswers) {
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    Random random(seed);
    const DeviceRules rules = any_rules(random);
    const auto program = device_program(rules);
    const DeviceNumber device = any_device(random);
    ASSERT_EQ(answer_of(program, character, device), rules.admits(device) ? 1 : 0) << seed;
    ASSERT_EQ(answer_of(program, block, device), 1) << seed;
  }
}

TEST(DeviceRules, AreWhatTheListAdmits) {
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    Random random(seed);
    const DeviceRules rules = any_rules(random);
    const DeviceNumber device = any_device(random);
    const auto there = any_majors(random);
    const bool known = std::ranges::find(there, device.major) != there.end() ||
                       std::ranges::find(rules.fenced, device.major) != rules.fenced.end();
    for (const std::string_view above : {"a *:* rwm\n", "b *:* rwm\nc *:* rwm\n"}) {
      const auto list = device_list(above, there, rules);
      ASSERT_EQ(admits(list, 'c', device), known && rules.admits(device)) << seed;
      ASSERT_TRUE(admits(list, 'b', device)) << seed;
    }
  }
}

TEST(DeviceRules, OfAListAdmitNoMoreThanTheGroupAboveButTheJobsOwn) {
  const DeviceRules rules{{195}, {{195, 0}}};
  EXPECT_EQ(device_list("c 1:3 rwm\nc 195:* rwm\nc *:* m\nb 8:0 r\nrubbish\nc x:y r\n",
                        std::array{1U, 5U, 195U}, rules),
            (std::vector<std::string>{"c 1:3 rwm", "c 1:* m", "c 5:* m", "b 8:0 r", "c 195:0 rw"}));
}

TEST(DriverNodes, AreThoseOfAJobsInstanceOnly) {
  const TemporaryFolder folder;
  driver_root::make(folder.path(), 2);
  const auto nodes = DriverNodes::read(folder.path());
  ASSERT_TRUE(nodes);
  const auto rules = nodes->rules_for(std::array{JobDevice{1, JobDevice::Instance{9, 0}}});
  ASSERT_TRUE(rules) << rules.error().text();
  EXPECT_EQ(rules->fenced, (std::vector{driver_root::gpu_major, driver_root::capability_major}));
  EXPECT_EQ(
      rules->admitted,
      (std::vector<DeviceNumber>{
          {195, 1}, {195, 255}, driver_root::capability(1, 9), driver_root::capability(1, 9, 0)}));
  const auto whole = nodes->rules_for(std::array{JobDevice{0, std::nullopt}});
  ASSERT_TRUE(whole);
  EXPECT_EQ(whole->admitted, (std::vector<DeviceNumber>{{195, 0}, {195, 255}}));
}

TEST(DriverNodes, ThatAreNotDescribedAreNotGuessed) {
  const TemporaryFolder folder;
  EXPECT_FALSE(DriverNodes::read(folder.path()));
  driver_root::make(folder.path(), 1);
  const auto nodes = DriverNodes::read(folder.path());
  ASSERT_TRUE(nodes);
  EXPECT_FALSE(nodes->rules_for({}));
  const auto refused = nodes->rules_for(std::array{JobDevice{1, JobDevice::Instance{0, 0}}});
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().text().find("gpu1/mig/gi0/access"), std::string::npos);
  const auto file = folder.path() / "proc/driver/nvidia/capabilities/gpu0/mig/gi0/ci0/access";
  for (const char* text : {"", "DeviceFileMinor:", "DeviceFileMinor: -1\n", "DeviceFileMinor: 1x\n",
                           "DeviceFileMinor: 99999999999\n"}) {
    std::ofstream(file) << text;
    EXPECT_FALSE(nodes->rules_for(std::array{JobDevice{0, JobDevice::Instance{0, 0}}})) << text;
  }
}

TEST(DriverNodes, AreNoneWhereOnlyBlockDevicesHaveTheirName) {
  EXPECT_EQ(majors_of_character_devices("Character devices:\n  1 mem\n  5 tty\n  5 console\n\n"
                                        "Block devices:\n  8 sd\n"),
            (std::vector{1U, 5U}));
  const TemporaryFolder folder;
  std::filesystem::create_directories(folder.path() / "proc");
  std::ofstream(folder.path() / "proc/devices")
      << "Character devices:\n  1 mem\n\nBlock devices:\n195 nvidia\n";
  EXPECT_FALSE(DriverNodes::read(folder.path()));
}

}  // namespace
}  // namespace cleave
