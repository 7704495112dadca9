// Logs of bounded size: the newest bytes are kept, and every byte is either in a file or counted.

#include "runner/job_log.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/format.hpp"
#include "base/random.hpp"
#include "base/temporary_folder_test.hpp"
#include "base/text.hpp"

namespace cleave {
namespace {

class JobLogs : public testing::Test {
 protected:
  [[nodiscard]] std::string file(const std::string& name) const {
    std::stringstream text;
    text << std::ifstream(folder.path() / name).rdbuf();
    return text.str();
  }
  [[nodiscard]] bool has(const std::string& name) const {
    return std::filesystem::exists(folder.path() / name);
  }
  /// The older file and then the current one, without the lines that Cleave wrote.
  [[nodiscard]] std::string kept() const {
    std::string all;
    for (const char* name : {"stdout.old.log", "stdout.log"}) {
      const std::string text = file(name);
      for (const std::string_view line : split(text, '\n'))
        if (!line.empty() && !line.starts_with("[cleave:")) all += std::string(line) + "\n";
    }
    return all;
  }

  TemporaryFolder folder;
  Descriptor directory = *open_folder(folder.path().string());
};

TEST_F(JobLogs, KeepAShortOutputWhole) {
  JobLog log(directory.number(), "stdout", 1000);
  log.append("one\n");
  log.append("two\n");
  EXPECT_EQ(file("stdout.log"), "one\ntwo\n");
  EXPECT_FALSE(has("stdout.old.log"));
  EXPECT_EQ(log.dropped(), 0);
}

TEST_F(JobLogs, SayHowMuchIsMissingBeforeTheNextFile) {
  JobLog log(directory.number(), "stdout", 400);
  const std::string line = std::string(49, 'a') + "\n";
  for (int i = 0; i < 4; ++i) log.append(line);
  EXPECT_EQ(log.dropped(), 0);
  log.append(line);
  EXPECT_TRUE(file("stdout.log").starts_with("[cleave: " + std::string(19, ' ') + "0 bytes"));
  EXPECT_EQ(file("stdout.old.log").size(), 200U);
  EXPECT_EQ(log.dropped(), 0) << "the older file has what came before";
}

TEST_F(JobLogs, KeepTheNewestBytesAndCountTheOthers) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    std::filesystem::remove(folder.path() / "stdout.log");
    std::filesystem::remove(folder.path() / "stdout.old.log");
    Random random(seed);
    const auto limit = static_cast<std::int64_t>(400 + random.below(2000));
    JobLog log(directory.number(), "stdout", limit);
    std::string written;
    for (int i = 0; i < 300; ++i) {
      const std::string line = fmt::format("{} {}\n", i, std::string(random.below(40), 'x'));
      log.append(line);
      written += line;
      ASSERT_LE(file("stdout.log").size() + file("stdout.old.log").size(),
                static_cast<std::size_t>(limit));
    }
    const std::string left = kept();
    EXPECT_TRUE(written.ends_with(left)) << "seed " << seed;
    EXPECT_EQ(log.dropped() + static_cast<std::int64_t>(left.size()),
              static_cast<std::int64_t>(written.size()));
  }
}

TEST_F(JobLogs, GoOnWithoutAFileAndCountWhatWasRefused) {
  std::filesystem::create_directory(folder.path() / "stdout.log");
  JobLog log(directory.number(), "stdout", 1000);
  log.append("lost\n");
  EXPECT_EQ(log.dropped(), 5);
  std::filesystem::remove(folder.path() / "stdout.log");
  log.append("kept\n");
  EXPECT_NE(file("stdout.log").find("[cleave: 5 bytes could not be written here: "),
            std::string::npos);
  EXPECT_TRUE(file("stdout.log").ends_with("kept\n"));
  EXPECT_EQ(log.dropped(), 5);
}

TEST_F(JobLogs, FollowNoLink) {
  std::filesystem::create_symlink("elsewhere", folder.path() / "stdout.log");
  JobLog log(directory.number(), "stdout", 1000);
  log.append("lost\n");
  EXPECT_FALSE(has("elsewhere"));
  EXPECT_EQ(log.dropped(), 5);
}

}  // namespace
}  // namespace cleave
