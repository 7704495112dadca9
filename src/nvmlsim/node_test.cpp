// Creating, opening and destroying nodes, and what the library says about their GPUs.

#include <fstream>
#include <set>

#include "nvmlsim/board.hpp"
#include "nvmlsim/child_test.hpp"
#include "nvmlsim/library_test.hpp"

namespace cleave::sim {
namespace {

using enum nvml::Return;

TEST(Boards, OfEveryModelHaveProcessorsAndMemory) {
  for (const GpuModel& model : gpu_models()) {
    const Board& board = board_of(model);
    EXPECT_GT(board.sms, 0U) << model.key << ": give its board assumed_sms";
    EXPECT_GT(board.memory_mib, 0U) << model.key;
    EXPECT_GE(board.memory_mib, board.usable_mib) << model.key;
    for (const ProfileFacts& profile : board.profiles) {
      EXPECT_GT(profile.sms, 0U) << model.key << " " << profile.profile->name;
      EXPECT_GT(profile.memory_mib, 0U) << model.key << " " << profile.profile->name;
    }
  }
}

TEST(SimNode, IsMadeOnceAndDestroyed) {
  const TemporaryFolder directory;
  ASSERT_TRUE(create_sim_node(directory.path(), node_spec("A100-40GB,A100-40GB,A30-24GB")));
  EXPECT_TRUE(std::filesystem::exists(directory.path() / "node.json"));
  EXPECT_FALSE(create_sim_node(directory.path(), node_spec("A30-24GB")));
  const auto view = look_at_sim_node(directory.path());
  ASSERT_TRUE(view);
  ASSERT_EQ(view->gpus.size(), 3U);
  EXPECT_EQ(view->gpus[2].model->key, "A30-24GB");
  EXPECT_TRUE(view->gpus[0].mig_enabled);
  EXPECT_NE(view->gpus[0].uuid, view->gpus[1].uuid);
  EXPECT_EQ(sim_node_flaw(directory.path()).value(), "");
  ASSERT_TRUE(destroy_sim_node(directory.path()));
  EXPECT_FALSE(std::filesystem::exists(directory.path()));
  EXPECT_FALSE(destroy_sim_node(directory.path()));
  EXPECT_FALSE(look_at_sim_node(directory.path()));
}

TEST(SimNode, LeavesAloneWhatIsNotItsOwn) {
  const TemporaryFolder directory;
  std::filesystem::create_directories(directory.path());
  const auto other = directory.path() / "precious";
  std::ofstream(other) << "text";
  EXPECT_FALSE(create_sim_node(directory.path(), node_spec("A30-24GB")));
  std::filesystem::remove(other);
  ASSERT_TRUE(create_sim_node(directory.path(), node_spec("A30-24GB")));
  std::ofstream(other) << "text";
  ASSERT_TRUE(destroy_sim_node(directory.path()));
  EXPECT_TRUE(std::filesystem::exists(other));
}

// A program killed while it creates a node leaves its unfinished file.
TEST(SimNode, IsMadeAndDestroyedOverUnfinishedOnes) {
  const TemporaryFolder directory;
  const auto leave_unfinished = [&] {
    std::filesystem::create_directories(directory.path());
    std::ofstream(directory.path() / "state.new.1.0") << "text";
    std::ofstream(directory.path() / fmt::format("state.new.{}.0", ::getpid())) << "text";
  };
  leave_unfinished();
  ASSERT_TRUE(create_sim_node(directory.path(), node_spec("A30-24GB")));
  EXPECT_EQ(sim_node_flaw(directory.path()).value(), "");
  ASSERT_TRUE(destroy_sim_node(directory.path()));
  EXPECT_FALSE(std::filesystem::exists(directory.path()));
  leave_unfinished();
  ASSERT_TRUE(destroy_sim_node(directory.path()));
  EXPECT_FALSE(std::filesystem::exists(directory.path()));
}

TEST(SimNode, IsMadeByOneOfManyWhoTry) {
  for (int round = 0; round < 50; ++round) {
    const TemporaryFolder directory;
    const auto make = [&] {
      return create_sim_node(directory.path(), node_spec("A30-24GB")) ? 0 : 1;
    };
    Child a(make), b(make);
    const int failed = make() + a.wait() + b.wait();
    ASSERT_EQ(failed, 2);
    ASSERT_EQ(sim_node_flaw(directory.path()).value(), "");
  }
}

TEST(SimNode, HasOneTo64Gpus) {
  const TemporaryFolder directory;
  EXPECT_FALSE(create_sim_node(directory.path(), SimNodeSpec{}));
  EXPECT_FALSE(parse_sim_gpus("65xA30-24GB"));
  SimNodeSpec spec = node_spec("A30-24GB");
  spec.gpus = parse_sim_gpus("64xA30-24GB").value();
  const OpenNode node(spec);
  std::uint32_t count = 0;
  EXPECT_EQ(library().nvmlDeviceGetCount_v2(&count), success);
  EXPECT_EQ(count, 64U);
  std::set<std::string> uuids;
  for (std::uint32_t i = 0; i < count; ++i) {
    std::array<char, nvml::uuid_size> uuid{};
    EXPECT_EQ(library().nvmlDeviceGetUUID(node.gpu(i), uuid.data(), nvml::uuid_size), success);
    uuids.insert(uuid.data());
  }
  EXPECT_EQ(uuids.size(), 64U);
}

TEST(Library, WithoutANodeHasNoGpus) {
  ::unsetenv(sim_node_variable);
  const Functions& nvml = library();
  std::uint32_t count = 7;
  EXPECT_EQ(nvml.nvmlDeviceGetCount_v2(&count), uninitialized);
  ASSERT_EQ(nvml.nvmlInit_v2(), success);
  ASSERT_EQ(nvml.nvmlInit(), success);
  EXPECT_EQ(nvml.nvmlDeviceGetCount_v2(&count), success);
  EXPECT_EQ(count, 0U);
  nvml::Device device = nullptr;
  EXPECT_EQ(nvml.nvmlDeviceGetHandleByIndex_v2(0, &device), invalid_argument);
  nvml::EventSet set = nullptr;
  nvml::EventData data{};
  EXPECT_EQ(nvml.nvmlEventSetCreate(&set), success);
  EXPECT_EQ(nvml.nvmlEventSetWait_v2(set, &data, 1), timeout);
  EXPECT_EQ(nvml.nvmlEventSetFree(set), success);
  EXPECT_EQ(nvml.nvmlEventSetFree(set), invalid_argument);
  EXPECT_EQ(nvml.nvmlShutdown(), success);
  EXPECT_EQ(nvml.nvmlDeviceGetCount_v2(&count), success);
  EXPECT_EQ(nvml.nvmlShutdown(), success);
  EXPECT_EQ(nvml.nvmlShutdown(), uninitialized);
  ::setenv(sim_node_variable, "/there/is/no/such/node", 1);
  EXPECT_EQ(nvml.nvmlInit_v2(), driver_not_loaded);
  ::unsetenv(sim_node_variable);
}

constexpr const char* at_exit_variable = "CLEAVE_TEST_CALLS_AT_EXIT";

/// Called by exit(), after destructors of what the library made later.
void call_at_exit() {
  nvml::Device gpu = nullptr;
  std::array<char, nvml::name_size> name{};
  const bool fine = library().nvmlDeviceGetHandleByIndex_v2(0, &gpu) == success &&
                    library().nvmlDeviceGetName(gpu, name.data(), nvml::name_size) == success &&
                    std::string_view(name.data()) == "NVIDIA A100-SXM4-40GB";
  ::_exit(fine ? 0 : 3);
}

TEST(Library, AnswersUntilTheVeryEndOfAProgram) {
  if (::getenv(at_exit_variable) != nullptr) {  // the program that the test below this line starts
    ASSERT_EQ(std::atexit(call_at_exit), 0);
    ASSERT_EQ(library().nvmlInit_v2(), success);
    return;
  }
  const OpenNode node("A100-40GB");
  Child child([] {
    ::setenv(at_exit_variable, "1", 1);
    // glibc overwrites freed memory at once.
    ::setenv("GLIBC_TUNABLES", "glibc.malloc.tcache_count=0:glibc.malloc.perturb=90", 1);
    ::execl("/proc/self/exe", "nvmlsim_test",
            "--gtest_filter=Library.AnswersUntilTheVeryEndOfAProgram", nullptr);
    return 4;
  });
  EXPECT_EQ(child.wait(), 0);
}

TEST(Library, DescribesGpus) {
  const OpenNode node("A100-40GB,RTX-PRO-6000-BW-96GB");
  const Functions& nvml = library();
  std::array<char, nvml::name_size> name{};
  EXPECT_EQ(nvml.nvmlDeviceGetName(node.gpu(0), name.data(), nvml::name_size), success);
  EXPECT_STREQ(name.data(), "NVIDIA A100-SXM4-40GB");
  EXPECT_EQ(nvml.nvmlDeviceGetName(node.gpu(0), name.data(), 5), insufficient_size);
  std::uint32_t architecture = 0;
  EXPECT_EQ(nvml.nvmlDeviceGetArchitecture(node.gpu(1), &architecture), success);
  EXPECT_EQ(architecture, 10U);
  nvml::PciInfo pci{};
  EXPECT_EQ(nvml.nvmlDeviceGetPciInfo_v3(node.gpu(1), &pci), success);
  nvml::Device found = nullptr;
  EXPECT_EQ(nvml.nvmlDeviceGetHandleByPciBusId_v2(pci.bus_id.data(), &found), success);
  EXPECT_EQ(found, node.gpu(1));
  EXPECT_EQ(nvml.nvmlDeviceGetHandleByPciBusId_v2(pci.bus_id_legacy.data(), &found), success);
  EXPECT_EQ(nvml.nvmlDeviceGetHandleByPciBusId_v2("00000000:77:00.0", &found), not_found);
  nvml::Memory2 memory{nvml::version_word<nvml::Memory2>(2), 0, 0, 0, 0};
  EXPECT_EQ(nvml.nvmlDeviceGetMemoryInfo_v2(node.gpu(0), &memory), success);
  EXPECT_EQ(memory.total, 40960ULL << 20);
  EXPECT_EQ(memory.used, 0U);
  EXPECT_EQ(memory.total, memory.free + memory.used + memory.reserved);
  memory.version = 1;
  EXPECT_EQ(nvml.nvmlDeviceGetMemoryInfo_v2(node.gpu(0), &memory), argument_version_mismatch);
  EXPECT_STREQ(nvml.nvmlErrorString(in_use), "In use by another client");
}

TEST(Library, HasEveryModel) {
  for (const GpuModel& model : gpu_models()) {
    SCOPED_TRACE(model.key);
    const OpenNode node(model.key);
    const Functions& nvml = library();
    std::uint32_t seen = 0;
    for (std::uint32_t number = 0; number < nvml::gpu_instance_profiles; ++number) {
      nvml::GpuInstanceProfileInfo info{};
      if (nvml.nvmlDeviceGetGpuInstanceProfileInfo(node.gpu(), number, &info) != success) continue;
      ++seen;
      EXPECT_GT(info.memory_size_mb, 0U);
      EXPECT_GT(info.multiprocessor_count, 0U);
      nvml::GpuInstanceProfileInfo2 same{};
      same.version = nvml::version_word<nvml::GpuInstanceProfileInfo2>(2);
      EXPECT_EQ(nvml.nvmlDeviceGetGpuInstanceProfileInfoByIdV(node.gpu(), info.id, &same), success);
      EXPECT_EQ(same.memory_size_mb, info.memory_size_mb);
      EXPECT_TRUE(std::string_view(same.name.data()).starts_with("MIG ")) << same.name.data();
      same.version = nvml::version_word<nvml::GpuInstanceProfileInfo3>(3);
      EXPECT_EQ(nvml.nvmlDeviceGetGpuInstanceProfileInfoV(node.gpu(), number, &same), success);
      nvml::Memory memory{};
      EXPECT_EQ(nvml.nvmlDeviceGetMemoryInfo(node.gpu(), &memory), success);
      EXPECT_LE(info.memory_size_mb << 20, memory.total);
    }
    EXPECT_EQ(seen, model.profiles.size());
    nvml::GpuInstanceProfileInfo info{};
    EXPECT_EQ(
        nvml.nvmlDeviceGetGpuInstanceProfileInfo(node.gpu(), nvml::gpu_instance_profiles, &info),
        invalid_argument);
    EXPECT_EQ(nvml.nvmlDeviceGetGpuInstanceProfileInfo(node.gpu(), 6, &info), not_supported);
  }
}

}  // namespace
}  // namespace cleave::sim
