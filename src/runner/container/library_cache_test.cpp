#include "runner/container/library_cache.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>

#include "base/temporary_folder_test.hpp"
#include "runner/container/container_gifts.hpp"
#include "runner/driver_root_test.hpp"
#include "runner/system_file.hpp"

namespace cleave {
namespace {

struct Row {
  std::uint32_t kind;
  std::string name, path;
};

void put(std::string& to, std::uint32_t number) {
  to.append(reinterpret_cast<const char*>(&number), sizeof number);
}

#ifdef __aarch64__
constexpr std::uint32_t usual = 0x0a03;
#else
constexpr std::uint32_t usual = 0x0303;
#endif

/// As ldconfig of glibc 2.36 writes it.
std::string cache_of(const std::vector<Row>& rows) {
  std::string cache = "glibc-ld.so.cache1.1", texts;
  put(cache, static_cast<std::uint32_t>(rows.size()));
  cache.append(24, '\0');
  const auto begin = static_cast<std::uint32_t>(48 + 24 * rows.size());
  for (const Row& each : rows) {
    put(cache, each.kind);
    put(cache, begin + static_cast<std::uint32_t>(texts.size()));
    texts += each.name + '\0';
    put(cache, begin + static_cast<std::uint32_t>(texts.size()));
    texts += each.path + '\0';
    cache.append(12, '\0');
  }
  return cache + texts;
}

TEST(LibraryCache, HasTheLibrariesOfThisKindOfMachine) {
  const std::string cache = cache_of({{usual, "libcuda.so.1", "/usr/lib/a/libcuda.so.1"},
                                      {0x0803, "libcuda.so.1", "/usr/lib32/libcuda.so.1"},
                                      {usual, "libc.so.6", "/lib/libc.so.6"}});
  EXPECT_EQ(libraries_in_cache(cache),
            (std::vector<CachedLibrary>{{"libcuda.so.1", "/usr/lib/a/libcuda.so.1"},
                                        {"libc.so.6", "/lib/libc.so.6"}}));
  EXPECT_EQ(libraries_in_cache("an older part, of odd length" + cache).size(), 2U);
}

TEST(LibraryCache, WhatIsCutOffIsLeftOut) {
  const std::string cache = cache_of({{usual, "liba.so", "/liba.so"}, {usual, "libb.so", "/b"}});
  for (std::size_t length = 0; length < cache.size(); ++length)
    EXPECT_LT(libraries_in_cache(cache.substr(0, length)).size(), 2U) << length;
}

TEST(LibraryCache, OfThisMachineIsRead) {
  const auto all = libraries_in_cache(read_system_file("/etc/ld.so.cache"));
  if (all.empty()) GTEST_SKIP() << "this machine has no such cache";
  EXPECT_NE(std::ranges::find(all, "libc.so.6", &CachedLibrary::name), all.end());
}

class Gifts : public ::testing::Test {
 protected:
  void write(const std::string& file) {
    const auto path = folder_.path() / file;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << "x";
  }
  TemporaryFolder folder_;
};

TEST_F(Gifts, AreTheDriversLibrariesThatAreThere) {
  for (const char* each : {"usr/lib/libcuda.so.535", "usr/lib/libnvidia-ml.so.535",
                           "usr/lib/libcudart.so.12", "usr/bin/nvidia-smi"})
    write(each);
  std::filesystem::create_symlink("libcuda.so.535", folder_.path() / "usr/lib/libcuda.so.1");
  const std::vector<CachedLibrary> cached = {{"libcuda.so.1", "/usr/lib/libcuda.so.1"},
                                             {"libcuda.so.1", "/usr/other/libcuda.so.1"},
                                             {"libcudart.so.12", "/usr/lib/libcudart.so.12"},
                                             {"libnvidia-ml.so.1", "/usr/lib/libnvidia-ml.so.535"},
                                             {"libnvidia-gone.so.1", "/usr/lib/libnvidia-ml.so.1"},
                                             {"libnvidia-cfg.so.1", "/usr/lib/missing"}};
  const std::string root = std::filesystem::canonical(folder_.path()).string();
  EXPECT_EQ(driver_libraries(cached, folder_.path()),
            (std::vector<BindMount>{
                {root + "/usr/lib/libcuda.so.535", "/usr/local/nvidia/lib64/libcuda.so.1", true},
                {root + "/usr/lib/libnvidia-ml.so.535", "/usr/local/nvidia/lib64/libnvidia-ml.so.1",
                 true},
                {root + "/usr/bin/nvidia-smi", "/usr/bin/nvidia-smi", true}}));
}

TEST_F(Gifts, OfAnInstanceAreItsNodesOnly) {
  driver_root::make(folder_.path(), 2);
  write("dev/nvidia-uvm");
  const ContainerGifts gifts{DriverNodes::read(folder_.path()), {{"/a", "/b", true}}};
  const JobDevice device{1, JobDevice::Instance{2, 0}};
  const auto edits = edits_for(gifts, {&device, 1}, "MIG-1");
  ASSERT_TRUE(edits) << edits.error().text();
  std::vector<std::string> inside;
  for (const ContainerNode& each : edits->nodes) {
    inside.push_back(each.to);
    EXPECT_EQ(each.from, folder_.path().string() + each.to);
  }
  EXPECT_EQ(
      inside,
      (std::vector<std::string>{
          "/dev/nvidia1", "/dev/nvidiactl",
          fmt::format("/dev/nvidia-caps/nvidia-cap{}", driver_root::capability(1, 2).minor),
          fmt::format("/dev/nvidia-caps/nvidia-cap{}", driver_root::capability(1, 2, 0).minor),
          "/dev/nvidia-uvm"}));
  EXPECT_EQ(edits->mounts, gifts.mounts);
  EXPECT_EQ(edits->environment,
            (std::vector<std::string>{"CUDA_VISIBLE_DEVICES=MIG-1",
                                      "LD_LIBRARY_PATH=/usr/local/nvidia/lib64"}));
  const JobDevice unknown{7, JobDevice::Instance{1, 0}};
  EXPECT_FALSE(edits_for(gifts, {&unknown, 1}, "MIG-2"));
}

TEST_F(Gifts, OfSimulatedGpusAreTheNodeAndItsLibrary) {
  write("lib/libnvidia-ml.so.1");
  const auto mounts =
      simulated_driver({}, folder_.path() / "node", folder_.path() / "lib/libnvidia-ml.so.1");
  ASSERT_EQ(mounts.size(), 2U);
  EXPECT_EQ(mounts[0].to, (folder_.path() / "node").string());
  EXPECT_FALSE(mounts[0].read_only) << "programs register themselves there";
  EXPECT_EQ(mounts[1].to, "/usr/local/nvidia/lib64/libnvidia-ml.so.1");
}

}  // namespace
}  // namespace cleave
