// What control groups leave of the machine, by the texts of /proc and files like the kernel's.

#include "runner/host_capacity.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/format.hpp"
#include "base/temporary_folder_test.hpp"

namespace cleave {
namespace {

class Capacity : public testing::Test {
 protected:
  void put(const std::string& file, const std::string& text) {
    std::filesystem::create_directories((folder.path() / file).parent_path());
    std::ofstream(folder.path() / file) << text << "\n";
  }
  [[nodiscard]] std::string second() const {
    return fmt::format("30 23 0:26 / {} rw - cgroup2 cgroup2 rw\n", folder.path().string());
  }
  [[nodiscard]] std::string first() const {
    return fmt::format(
        "31 23 0:28 / {0}/cpu rw - cgroup cgroup rw,cpu,cpuacct\n"
        "35 31 0:32 / {0}/memory rw - cgroup cgroup rw,memory\n",
        folder.path().string());
  }
  TemporaryFolder folder;
};

TEST_F(Capacity, IsTheLeastOfAllGroupsAbove) {
  put("a/cpu.max", "400000 100000");
  put("a/memory.max", "1073741824");
  put("a/b/cpu.max", "max 100000");
  put("a/b/memory.max", "2147483648");
  put("a/b/c/cpu.max", "50000 20000");
  put("a/b/c/memory.max", "max");
  const HostAsk left = limits_of_groups(second(), "0::/a/b/c\n");
  EXPECT_EQ(left.millicpus, 2500);
  EXPECT_EQ(left.memory, MiB{1024});
}

TEST_F(Capacity, OfVersion1IsThatOfEachHierarchy) {
  put("cpu/a/cpu.cfs_quota_us", "-1");
  put("cpu/a/cpu.cfs_period_us", "100000");
  put("cpu/a/b/cpu.cfs_quota_us", "150000");
  put("cpu/a/b/cpu.cfs_period_us", "100000");
  put("memory/m/memory.limit_in_bytes", "536870912");
  const HostAsk left = limits_of_groups(first(), "4:cpu,cpuacct:/a/b\n5:memory:/m\n");
  EXPECT_EQ(left.millicpus, 1500);
  EXPECT_EQ(left.memory, MiB{512});
}

TEST_F(Capacity, IsNotLimitedWhereNothingSaysSo) {
  EXPECT_TRUE(limits_of_groups(second(), "0::/a\n").empty());
  EXPECT_TRUE(limits_of_groups("", "").empty());
  put("a/cpu.max", "much of it");
  put("a/memory.max", "-7");
  EXPECT_TRUE(limits_of_groups(second(), "0::/a\n").empty());
}

TEST(HostCapacity, OfThisMachineIsSomething) {
  const HostAsk all = host_capacity();
  ASSERT_TRUE(all.millicpus && all.memory);
  EXPECT_GT(*all.millicpus, 0);
  EXPECT_GT(*all.memory, MiB{16});
}

}  // namespace
}  // namespace cleave
