// `cleave sim-node enter` and `root`, from outside: what a command finds on the host around
// simulated GPUs, and that nothing of it is left.

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <thread>

#include "nvmlsim/sim_host.hpp"
#include "runner/device_rules.hpp"
#include "sim_node.hpp"

namespace cleave::testing_program {
namespace {

/// Why this machine gives no namespaces; empty if it does.
std::string cannot_enter() {
  static const std::string why = [] {
    const SimNode node("1xA30-24GB");
    const Outcome tried = shell(fmt::format("cleave sim-node enter {} -- true", node.directory));
    return tried.exit_code == 1 ? tried.err : std::string();
  }();
  return why;
}

class Enter : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why = cannot_enter(); !why.empty()) GTEST_SKIP() << why;
  }
  [[nodiscard]] static std::string command(const SimNode& node, const std::string& words) {
    return fmt::format("cleave sim-node enter {} -- {}", node.directory, words);
  }
  /// What the command prints; it must end well.
  [[nodiscard]] static std::string said(const SimNode& node, const std::string& words) {
    const Outcome outcome = shell(command(node, words));
    EXPECT_EQ(outcome.exit_code, 0) << words << "\n" << outcome.out << outcome.err;
    return outcome.out;
  }
};

/// Mounts, programs and files that would tell of it.
std::string traces() {
  return shell(
             "grep cleave-sim-node /proc/self/mountinfo; ls -d /dev/cleave /dev/nvidia-caps "
             "/proc/driver/nvidia/capabilities/mig 2>&1 | grep -v 'No such'")
      .out;
}

/// Whether a program keeps this node's host up to date.
bool is_kept(const SimNode& node) {
  return shell(fmt::format("grep -l cleave-sim-host /proc/[0-9]*/comm 2>/dev/null | while read f; "
                           "do ls -l ${{f%comm}}fd 2>/dev/null; done | grep -F '{}/'",
                           node.directory))
             .exit_code == 0;
}
void expect_not_kept(const SimNode& node) {
  for (int tries = 0; tries < 200 && is_kept(node); ++tries)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_FALSE(is_kept(node));
}

TEST_F(Enter, ShowsTheFilesOfADriver) {
  const SimNode node("1xA100-40GB,1xH100-80GB-SXM5");
  const std::string uuid = node.foreign("3g.20gb", 4);
  const std::string list = said(node, "nvidia-smi -L");
  EXPECT_NE(list.find("GPU 1: NVIDIA H100 80GB HBM3"), std::string::npos) << list;
  EXPECT_NE(list.find(uuid), std::string::npos) << list;
  const std::string seen = said(
      node,
      "sh -c 'cat /proc/driver/nvidia/version; cd /sys/bus/pci/devices; cat 0000:02:00.0/class "
      "0000:02:00.0/vendor; basename $(readlink 0000:01:00.0/driver); "
      "grep -h Minor /proc/driver/nvidia/gpus/0000:02:00.0/information "
      "/proc/driver/nvidia/capabilities/gpu0/mig/gi1/access "
      "/proc/driver/nvidia/capabilities/gpu0/mig/gi1/ci0/access; "
      "grep -E \"gpu0/gi1/(ci0/)?access\" /proc/driver/nvidia-caps/mig-minors; "
      "for f in nvidiactl nvidia0 nvidia1 nvidia-uvm nvidia-caps/nvidia-cap12 null; do "
      "test -c /dev/$f && : <>/dev/$f && echo $f; done; cat /sys/module/nvidia/initstate; "
      "ls /dev/nvidia-caps | wc -l'");
  EXPECT_EQ(seen,
            "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.65.06  (simulated)\n"
            "0x030200\n0x10de\nnvidia\nDevice Minor:    1\nDeviceFileMinor: 12\n"
            "DeviceFileMinor: 13\ngpu0/gi1/access 12\ngpu0/gi1/ci0/access 13\nnvidiactl\nnvidia0\n"
            "nvidia1\nnvidia-uvm\nnvidia-caps/nvidia-cap12\nnull\nlive\n4\n")
      << seen;
  const std::string devices = said(node, "cat /proc/devices");
  for (const char* each : {"195 nvidia\n", "195 nvidiactl\n", " nvidia-caps\n", "1 mem\n"})
    EXPECT_NE(devices.find(each), std::string::npos) << devices;
}

TEST_F(Enter, LeavesTheHostVisibleAndUnchanged) {
  const SimNode node("1xA100-40GB");
  const std::string before = traces();
  const std::string look =
      "id -u; ls /dev | grep -v -e nvidia -e '^cleave$'; ls /sys/module | grep -v '^nvidia$'; "
      "for d in /sys/bus/pci/devices/*; do if test -h $d; then readlink $d; cat $d/vendor; fi; "
      "done";
  const std::string outside = shell(look).out;
  EXPECT_EQ(said(node, "sh -c \"" + look.substr(0, look.find("; for")) + "\""),
            shell(look.substr(0, look.find("; for"))).out);
  const std::string inside = said(node, "sh -c '" + look.substr(look.find("for")) + "'");
  EXPECT_TRUE(outside.ends_with(inside)) << inside;
  EXPECT_EQ(traces(), before);
  expect_not_kept(node);
}

TEST_F(Enter, EndsAsTheCommandDoes) {
  const SimNode node("1xA100-40GB");
  EXPECT_EQ(shell(command(node, "sh -c 'exit 7'")).exit_code, 7);
  EXPECT_EQ(shell(command(node, "sh -c 'kill -TERM $$'")).exit_code, 128 + SIGTERM);
  const Outcome none = shell(command(node, "no-such-program"));
  EXPECT_EQ(none.exit_code, 127);
  EXPECT_NE(none.err.find("no-such-program: it cannot be started"), std::string::npos) << none.err;
  EXPECT_EQ(shell("cleave sim-node enter " + node.directory).exit_code, 2);
  EXPECT_EQ(shell("cleave sim-node enter /nonexistent -- true").exit_code, 2);
  EXPECT_EQ(shell("echo in | " + command(node, "cat")).out, "in\n");
  // An interrupt is the command's own affair.
  EXPECT_EQ(shell("timeout -s INT 1 " +
                  command(node,
                          "sh -c 'trap \"echo told; exit 3\" INT; while :; do sleep 0.05; "
                          "done'"))
                .out,
            "told\n");
  expect_not_kept(node);
}

TEST_F(Enter, ShowsInstancesThatAreMadeMeanwhile) {
  const SimNode node("1xA100-40GB");
  const std::string there = "/proc/driver/nvidia/capabilities/gpu0/mig";
  const Outcome seen = shell(command(
      node, fmt::format("sh -c 'set -e; nvidia-smi mig -cgi 9:4 -C >/dev/null; "
                        "for i in $(seq 500); do test -e {0}/gi1/ci0/access && break; sleep 0.01; "
                        "done; test -c /dev/nvidia-caps/nvidia-cap13; "
                        "nvidia-smi mig -dci >/dev/null; nvidia-smi mig -dgi >/dev/null; "
                        "for i in $(seq 500); do test ! -e {0}/gi1 && break; sleep 0.01; done; "
                        "find /proc/driver/nvidia/capabilities; ls /dev/nvidia-caps'",
                        there)));
  EXPECT_EQ(seen.exit_code, 0) << seen.err;
  EXPECT_EQ(seen.out.find("gi1"), std::string::npos) << seen.out;
  EXPECT_NE(seen.out.find("nvidia-cap1\nnvidia-cap2\n"), std::string::npos) << seen.out;
}

TEST_F(Enter, NothingIsLeftWhenItIsKilled) {
  const SimNode node("1xA100-40GB");
  const std::string before = traces();
  const Outcome killed = shell("timeout -s KILL 0.5 " + command(node, "sleep 60"));
  EXPECT_EQ(killed.exit_code, 128 + SIGKILL);
  expect_not_kept(node);
  EXPECT_EQ(traces(), before);
}

TEST(SimHostRoot, IsADriverRoot) {
  const SimNode node("1xA100-40GB");
  (void)node.foreign("3g.20gb", 4);
  const std::string folder = node.scratch.path("root");
  const std::string write = fmt::format("cleave sim-node root {} --to {}", node.directory, folder);
  ASSERT_EQ(shell(write).exit_code, 0);
  // What fences read of the driver's files.
  const auto nodes = DriverNodes::read(folder);
  ASSERT_TRUE(nodes);
  const JobDevice devices[] = {{0, JobDevice::Instance{1, 0}}};
  const auto rules = nodes->rules_for(devices);
  ASSERT_TRUE(rules) << rules.error().text();
  EXPECT_EQ(rules->admitted.size(), 4U);  // nvidiactl, nvidia0, and two capabilities
  const auto files = nodes->nodes_for(devices);
  ASSERT_TRUE(files);
  for (const DriverNode& each : *files)
    EXPECT_TRUE(std::filesystem::exists(each.file)) << each.file;
  const Outcome list =
      shell(fmt::format("CLEAVE_SIM_NODE={} LD_LIBRARY_PATH={}/{} {}/{}/nvidia-smi "
                        "-L",
                        node.directory, folder, driver_libraries, folder, driver_programs));
  EXPECT_NE(list.out.find("MIG 3g.20gb"), std::string::npos) << list.err;
  EXPECT_EQ(shell(write).exit_code, 0) << "again";
  node.scratch.write("root2", "");
  std::filesystem::create_directory(node.scratch.path("other"));
  node.scratch.write("other/file", "mine");
  const Outcome other = shell(
      fmt::format("cleave sim-node root {} --to {}", node.directory, node.scratch.path("other")));
  EXPECT_EQ(other.exit_code, 2);
  EXPECT_NE(other.err.find("not empty"), std::string::npos) << other.err;
}

TEST(SimHostRoot, FollowsTheNode) {
  const SimNode node("1xA100-40GB");
  const std::string folder = node.scratch.path("root");
  const std::string gi = folder + "/proc/driver/nvidia/capabilities/gpu0/mig/gi1";
  const Outcome outcome = shell(fmt::format(
      "cleave sim-node root {0} --to {1} --follow & keeper=$!\n"
      "export CLEAVE_SIM_NODE={0} LD_LIBRARY_PATH={1}/{2}\n"
      "for i in $(seq 500); do test -e {1}/dev/nvidia0 -a -e {1}/usr/bin/nvidia-smi && break; "
      "sleep 0.01; done\n"
      "sleep 0.2; {1}/usr/bin/nvidia-smi mig -cgi 9:4 -C >/dev/null || echo bad\n"
      "for i in $(seq 500); do test -e {3}/ci0/access && break; sleep 0.01; done\n"
      "ls {3}/ci0; {1}/usr/bin/nvidia-smi mig -dci >/dev/null; {1}/usr/bin/nvidia-smi mig -dgi "
      ">/dev/null\n"
      "for i in $(seq 500); do test ! -e {3} && break; sleep 0.01; done\n"
      "test ! -e {3} && echo gone; kill -TERM $keeper; wait $keeper; echo $?",
      node.directory, folder, driver_libraries, gi));
  EXPECT_EQ(outcome.out, "access\ngone\n0\n") << outcome.err;
}

// Real drivers' majors give way; new ones are free, and those that the kernel would give.
TEST(SimHostRoot, AddsItsMajors) {
  EXPECT_EQ(with_driver_majors("Character devices:\n  1 mem\n195 nvidia-frontend\n254 drm\n510 "
                               "nvidia-uvm\n\nBlock devices:\n  7 loop\n"),
            "Character devices:\n  1 mem\n195 nvidia\n195 nvidiactl\n252 nvidia-uvm\n253 "
            "nvidia-caps\n254 drm\n\nBlock devices:\n  7 loop\n");
  std::string full = "Character devices:\n";
  for (int major = 235; major <= 254; ++major) full += fmt::format("{} m{}\n", major, major);
  const std::string added = with_driver_majors(full + "511 drm\n\nBlock devices:\n");
  EXPECT_NE(added.find("\n234 nvidia-caps\n235 m235\n"), std::string::npos) << added;
  EXPECT_NE(added.find("\n510 nvidia-uvm\n511 drm\n"), std::string::npos) << added;
}

}  // namespace
}  // namespace cleave::testing_program
