// Where a process's control groups are, by the texts of /proc.

#include "runner/control_groups.hpp"

#include <gtest/gtest.h>
#include <sys/xattr.h>

#include "base/temporary_folder_test.hpp"

namespace cleave {
namespace {

constexpr std::string_view first_mounts =
    "31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755\n"
    "35 31 0:32 / /sys/fs/cgroup/memory rw,relatime shared:9 - cgroup cgroup rw,memory\n"
    "37 31 0:34 / /sys/fs/cgroup/freezer rw,relatime - cgroup cgroup rw,freezer\n"
    "39 31 0:36 / /sys/fs/cgroup/cpu,pids rw,relatime - cgroup cgroup rw,cpu,pids\n";
constexpr std::string_view first_groups =
    "8:cpu,pids:/\n6:freezer:/a\n4:memory:/system.slice/cleaved.service\n1:name=systemd:/x\n";

TEST(ControlGroups, OfVersion1AreOnePerController) {
  const GroupPlaces places = groups_of_process(first_mounts, first_groups);
  EXPECT_EQ(places.unified, "");
  EXPECT_EQ(places.pids, "/sys/fs/cgroup/cpu,pids");
  EXPECT_EQ(places.memory, "/sys/fs/cgroup/memory/system.slice/cleaved.service");
  EXPECT_EQ(places.freezer, "/sys/fs/cgroup/freezer/a");
  EXPECT_EQ(in_words(places),
            "stopped and killed (version 1), number of processes (version 1), memory (version 1), "
            "CPUs (version 1)");
}

TEST(ControlGroups, OfVersion2AreOne) {
  const GroupPlaces places =
      groups_of_process("30 23 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n",
                        "0::/system.slice/cleaved.service\n");
  EXPECT_EQ(places.folders(),
            (std::vector<std::string>{"/sys/fs/cgroup/system.slice/cleaved.service"}));
  EXPECT_EQ(in_words(places),
            "killed as a whole (version 2), number of processes (version 2), memory (version 2), "
            "CPUs (version 2)");
}

TEST(ControlGroups, OfBothVersionsAreUsedTogether) {
  const std::string mounts =
      std::string(first_mounts) + "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";
  const std::string groups = std::string(first_groups) + "0::/b\n";
  const GroupPlaces places = groups_of_process(mounts, groups);
  EXPECT_EQ(places.unified, "/sys/fs/cgroup/unified/b");
  EXPECT_EQ(places.pids, "/sys/fs/cgroup/cpu,pids");
}

TEST(ControlGroups, InAContainerBeginBelowItsOwn) {
  const GroupPlaces places = groups_of_process(
      "30 23 0:26 /docker/1a /sys/fs/cgroup ro - cgroup2 cgroup rw\n", "0::/docker/1a/inner\n");
  EXPECT_EQ(places.unified, "/sys/fs/cgroup/inner");
}

TEST(ControlGroups, OfAUnitForJobsComeBeforeItsOwn) {
  const TemporaryFolder slice;
  const std::string own = slice.path() / "cleaved.service",
                    unit = slice.path() / "cleave-jobs.service";
  const GroupPlaces second = {own, own, own, ""},
                    mixed = {own, "/sys/fs/cgroup/pids/a", own, "/sys/fs/cgroup/freezer/a"};
  EXPECT_EQ(with_jobs_unit(second), second) << "there is no such unit";
  std::filesystem::create_directory(unit);
  EXPECT_EQ(with_jobs_unit(second), second) << "its group is the service manager's own";
  if (::setxattr(unit.c_str(), "trusted.delegate", "1", 1, 0) != 0 &&
      ::setxattr(unit.c_str(), "user.delegate", "1", 1, 0) != 0)
    GTEST_SKIP() << "files here take no extended attributes";
  EXPECT_EQ(with_jobs_unit(second), (GroupPlaces{unit, unit, unit, ""}));
  EXPECT_EQ(with_jobs_unit(mixed), (GroupPlaces{unit, mixed.pids, unit, mixed.freezer}));
  EXPECT_EQ(with_jobs_unit({}), GroupPlaces{});
}

TEST(ControlGroups, OfTextsThatAreNoneAreNone) {
  for (const std::string_view text : {"", "\n", "a b c", "1 2 3 4 5 6 - cgroup", "::::\n:"})
    EXPECT_TRUE(groups_of_process(text, text).none()) << text;
  EXPECT_EQ(in_words(GroupPlaces{}), "");
}

}  // namespace
}  // namespace cleave
