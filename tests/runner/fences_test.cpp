// Attempts that try the device nodes of others' instances, by both kinds of fences. Needs root and
// a system that lets it make control groups and device nodes; stand-ins take the place of the
// driver's nodes, with its numbers.

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "base/format.hpp"
#include "runner/driver_root_test.hpp"
#include "runner/system_file.hpp"
#include "stand.hpp"

namespace cleave::supervised {
namespace {

enum class Form : std::uint8_t { programs, list };

/// The same places with a fence of this form only; without one where the system has none.
GroupPlaces fencing_by(Form form, GroupPlaces places) {
  const bool programs = places.device_programs;
  places.device_programs = form == Form::programs && programs;
  places.devices.clear();
  if (form == Form::programs) return places;
  const GroupPlaces own = groups_of_process(read_system_file("/proc/self/mountinfo"),
                                            read_system_file("/proc/self/cgroup"));
  if (own.devices.empty()) return places;
  const std::string folder = fmt::format("{}/cleave-jobs", own.devices);
  std::error_code failed;
  std::filesystem::create_directory(folder, failed);
  if (!failed) places.devices = folder;
  return places;
}

class Fenced : public ::testing::TestWithParam<Form> {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "only root can make fences";
    places_ = fencing_by(GetParam(), make_group_places());
    if (!places_.fence()) GTEST_SKIP() << "this system has no fences of this form";
    std::filesystem::create_directory(nodes());
    ::chmod(folder_.path().c_str(), 0755);
    for (const DeviceNumber& each : all_)
      if (!driver_root::make_node(nodes(), each))
        GTEST_SKIP() << "device nodes cannot be made in " << nodes();
    driver_root::make(root(), 2);
    stand_.emplace(places_, DriverNodes::read(root()));
  }
  [[nodiscard]] std::filesystem::path nodes() const { return folder_.path() / "dev"; }
  [[nodiscard]] std::filesystem::path root() const { return folder_.path() / "root"; }
  Stand& stand() { return *stand_; }
  Launch launch(const JobDevice& device, const std::string& before = {},
                const std::string& after = {}) {
    Launch made = stand().launch(before + driver_root::tries(nodes()) + after);
    constexpr uid_t nobody = 65534;
    made.uid = made.gid = nobody;
    made.devices = {device};
    return made;
  }
  /// What such a job says when just these nodes are open to it.
  [[nodiscard]] std::string saying(const std::vector<DeviceNumber>& open) const {
    std::vector<std::string> lines;
    for (const DeviceNumber& each : all_)
      lines.push_back(
          fmt::format("{} {}\n", driver_root::name(each),
                      std::ranges::find(open, each) == open.end() ? "refused" : "open"));
    std::ranges::sort(lines);
    return fmt::format("{}", fmt::join(lines, ""));
  }

  const DeviceNumber control_{driver_root::gpu_major, driver_root::control_minor};
  const DeviceNumber gpu_0_{driver_root::gpu_major, 0}, gpu_1_{driver_root::gpu_major, 1};
  const DeviceNumber first_ = driver_root::capability(0, 1),
                     first_compute_ = driver_root::capability(0, 1, 0),
                     second_ = driver_root::capability(0, 2),
                     second_compute_ = driver_root::capability(0, 2, 0), null_{1, 3};
  const std::vector<DeviceNumber> all_ = {control_,       gpu_0_,  gpu_1_,          first_,
                                          first_compute_, second_, second_compute_, null_};
  GroupPlaces places_;
  TemporaryFolder folder_;
  std::optional<Stand> stand_;
};

constexpr JobDevice on_first{0, JobDevice::Instance{1, 0}}, on_second{0, JobDevice::Instance{2, 0}};

TEST_P(Fenced, OpensTheNodesOfItsInstanceOnly) {
  const JobKey key = stand().start(launch(on_first)), other = stand().start(launch(on_second)),
               whole = stand().start(launch({1, std::nullopt}));
  for (const JobKey& each : {key, other, whole}) ASSERT_NE(stand().wait_for_end(each), nullptr);
  EXPECT_EQ(stand().text(key, "stdout.log"),
            saying({control_, gpu_0_, first_, first_compute_, null_}));
  EXPECT_EQ(stand().text(other, "stdout.log"),
            saying({control_, gpu_0_, second_, second_compute_, null_}));
  EXPECT_EQ(stand().text(whole, "stdout.log"), saying({control_, gpu_1_, null_}));
}

/// It leaves its session, its parents and its environment, and its supervisor is killed meanwhile.
TEST_P(Fenced, StaysSoWhereverItsProcessesGo) {
  const std::string file = stand().path("said");
  Launch escaping = stand().launch(fmt::format(
      "cat > {0}.sh <<'END'\nsleep 0.3; {1}\nEND\n"
      "(setsid env -i PATH=/usr/bin:/bin CUDA_VISIBLE_DEVICES=0 sh {0}.sh > {0} 2>&1 &); sleep 1",
      file, driver_root::tries(nodes())));
  escaping.devices = {on_first};  // as root, whom file modes stop nowhere
  const JobKey key = stand().start(escaping);
  ASSERT_NE(stand().wait_for_end(key), nullptr);
  EXPECT_EQ(read_system_file(file), saying({control_, gpu_0_, first_, first_compute_, null_}));
}

TEST_P(Fenced, IsNotStartedWhereItsNodesAreUnknown) {
  for (const JobDevice& device : {JobDevice{7, JobDevice::Instance{1, 0}}}) {
    const auto started = stand().runner().start(launch(device));
    ASSERT_FALSE(started);
    EXPECT_NE(shortage_of(started.error().code), nullptr) << "it waits, and nothing of it ran";
  }
  Launch none = launch(on_first);
  none.devices.clear();
  EXPECT_FALSE(stand().runner().start(none));
  EXPECT_TRUE(std::filesystem::is_empty(stand().path("jobs")));
}

/// A daemon that begins anew knows of those that an earlier one started.
TEST_P(Fenced, TellsWhetherAllAre) {
  EXPECT_TRUE(stand().runner().fences());
  const JobKey key = stand().start(launch(on_first, "", "sleep 30"));
  ASSERT_TRUE(stand().wait_until([&] { return stand().pid(key) > 0; }));
  EXPECT_TRUE(stand().runner().fences());
  (void)stand().begin_again();
  EXPECT_TRUE(stand().runner().fences());
  ASSERT_TRUE(stand().runner().stop(key, Duration::zero()));
  ASSERT_NE(stand().wait_for_end(key), nullptr);
  // One of a daemon without fences.
  stand().fence_from_now_on(std::nullopt);
  const JobKey open = stand().start(launch(on_first, "", "sleep 30"));
  ASSERT_TRUE(stand().wait_until([&] { return stand().pid(open) > 0; }));
  stand().fence_from_now_on(DriverNodes::read(root()));
  EXPECT_FALSE(stand().runner().fences());
  ASSERT_TRUE(stand().runner().stop(open, Duration::zero()));
  ASSERT_NE(stand().wait_for_end(open), nullptr);
  EXPECT_TRUE(stand().runner().fences());
}

INSTANTIATE_TEST_SUITE_P(Forms, Fenced, ::testing::Values(Form::programs, Form::list),
                         [](const auto& form) {
                           return form.param == Form::programs ? "programs" : "list";
                         });

}  // namespace
}  // namespace cleave::supervised
