// What a simulated job reads: speeds as people write them, and its checkpoint.

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

#include "base/temporary_folder_test.hpp"
#include "model/speed_table.hpp"
#include "runner/job_checkpoint.hpp"
#include "runner/job_speed_text.hpp"

namespace cleave {
namespace {

TEST(JobSpeed, IsReadAsWritten) {
  const auto table = parse_speeds("1g.5gb=0.36,7g.40gb=1,none=1.1");
  ASSERT_TRUE(table);
  EXPECT_EQ(table->table, (SpeedTable{{"1g.5gb", 0.36}, {"7g.40gb", 1}, {"none", 1.1}}));
  const auto phases = parse_phases("cpu=1,compute=8.5");
  ASSERT_TRUE(phases);
  EXPECT_EQ(phases->phases->compute, std::chrono::milliseconds(8500));
  EXPECT_EQ(whole(*phases->phases), std::chrono::milliseconds(9500));
  const auto like = speeds_like("miso:resnet:64");
  ASSERT_TRUE(like) << like.error().text();
  EXPECT_EQ(like->table->at("1g.5gb"), 0.5787);
  EXPECT_EQ(like->reference->key, "A100-40GB");
}

TEST(JobSpeed, ProfilesMayNameTheirModel) {
  const auto table = parse_by_profile("A100-40GB:7g.40gb=100,1g.5gb=300", "--times", {"time", ""});
  ASSERT_TRUE(table) << table.error().text();
  EXPECT_EQ(*table, (SpeedTable{{"A100-40GB:7g.40gb", 100}, {"1g.5gb", 300}}));
  const auto other = parse_by_profile("A30-24GB:7g.40gb=100", "--times", {"time", ""});
  ASSERT_FALSE(other) << "that model has no such profile";
  EXPECT_EQ(other.error().place, "--times");
  const auto model = parse_by_profile("A100-40G:7g.40gb=100", "--times", {"time", ""});
  ASSERT_FALSE(model);
  EXPECT_NE(model.error().remedy.find("A100-40GB"), std::string::npos) << model.error().text();
}

TEST(JobSpeed, NonsenseIsRefusedWithARemedy) {
  for (const char* text :
       {"", "1g.5gb", "1g.5gb=", "=1", "1g.5gb=x", "1g.5gb=-1", "1g.5gb=0", "a=1,a=2", "a=1,,b=2"})
    EXPECT_FALSE(parse_speeds(text)) << text;
  for (const char* text :
       {"", "gpu=1", "cpu=0", "cpu=-1", "cpu=1e300", "cpu=3e9,compute=3e9", "cpu=1,cpu=2"})
    EXPECT_FALSE(parse_phases(text)) << text;
  for (const char* text : {"", "miso", "miso:", "miso:resnet", "miso:resnet:65", "miso:resnet:64:1",
                           "mizo:resnet:64", "miso:resnet:99999999999999999999", "rodinia:"})
    EXPECT_FALSE(speeds_like(text)) << text;
  EXPECT_EQ(speeds_like("miso:resnet:63").error().remedy, "did you mean 'resnet:64'?");
  const auto slip = parse_speeds("1g.5b=1");
  ASSERT_FALSE(slip);
  EXPECT_NE(slip.error().remedy.find("1g.5gb"), std::string::npos) << slip.error().text();
}

class JobCheckpoint : public testing::Test {
 protected:
  [[nodiscard]] std::string path() const { return folder_ + "/at"; }
  void put(const std::string& text) const { std::ofstream(path()) << text; }

  TemporaryFolder made_;
  const std::string folder_ = made_.path().string();
};

TEST_F(JobCheckpoint, GoesThereAndBack) {
  EXPECT_EQ(*read_checkpoint(path(), 100), 0) << "none yet";
  ASSERT_TRUE(write_checkpoint(path(), 100, 42));
  EXPECT_EQ(*read_checkpoint(path(), 100), 42);
  ASSERT_TRUE(write_checkpoint(path(), 100, 43));
  EXPECT_EQ(*read_checkpoint(path(), 100), 43);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_), {}), 1)
      << "nothing is left beside";
}

TEST_F(JobCheckpoint, OfAnotherJobIsRefused) {
  ASSERT_TRUE(write_checkpoint(path(), 100, 42));
  EXPECT_FALSE(read_checkpoint(path(), 99));
  for (const char* text :
       {"", "{}", "torn {", R"({"iterations":100,"done":101})", R"({"iterations":100,"done":-1})",
        R"({"iterations":100,"done":1,"more":2})"}) {
    put(text);
    EXPECT_FALSE(read_checkpoint(path(), 100)) << text;
  }
  std::filesystem::remove(path());
  std::filesystem::create_directory(path());
  EXPECT_FALSE(read_checkpoint(path(), 100)) << "a folder";
  EXPECT_FALSE(write_checkpoint(folder_ + "/none/at", 100, 1));
}

}  // namespace
}  // namespace cleave
