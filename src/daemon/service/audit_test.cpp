#include "daemon/service/audit.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <sstream>

#include "base/json.hpp"
#include "base/temporary_folder_test.hpp"
#include "base/text.hpp"
#include "daemon/service/user_book.hpp"

namespace cleave {
namespace {

std::string content_of(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

const AuditLine line{{1000, 1000, 7}, "POST", "/v1/jobs", 201, "job 3"};

TEST(Audit, IsAppendedForItsOwnerAloneAndBounded) {
  const TemporaryFolder folder;
  const std::string path = folder.path().string();
  {
    AuditFile audit(path, 1000);
    for (int i = 0; i < 20; ++i) audit.write(line, {});
    EXPECT_EQ(audit.lost(), 0);
  }
  AuditFile(path, 1000).write({{1, 1, 1}, "PUT", "/\x1b\n", 403, "\xff"}, {});
  struct stat facts {};
  ASSERT_EQ(::stat((path + "/audit.jsonl").c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777U, 0600U);
  EXPECT_LT(facts.st_size, 1300);
  const std::string old = content_of(path + "/audit.old.jsonl"),
                    now = content_of(path + "/audit.jsonl");
  EXPECT_FALSE(old.empty());
  Json last;
  for (const std::string_view each : split(trimmed(now), '\n')) last = Json::parse(each);
  EXPECT_EQ(last["decision"].get<std::string>(), "refused");
  EXPECT_EQ(last["path"].get<std::string>(), "/\x1b\n");
}

/// 5000 refusals a second flushed out both files in half a minute.
TEST(Audit, RefusalsOfOneUserFlushNothingOut) {
  using std::chrono::seconds;
  const TemporaryFolder folder;
  const std::string path = folder.path().string();
  const AuditLine refused{{1000, 1000, 7}, "PUT", "/v1/gpus/0/drain", 403, "not an operator"};
  AuditFile audit(path, 200'000);
  audit.write(line, Instant{});
  for (int i = 0; i < 100'000; ++i) audit.write(refused, Instant{seconds(i / 5000)});
  audit.write({{1001, 1001, 8}, "PUT", "/other", 403, "another user"}, Instant{seconds(20)});
  audit.write(line, Instant{seconds(20)});
  const std::string text = content_of(path + "/audit.jsonl");
  EXPECT_FALSE(std::ifstream(path + "/audit.old.jsonl")) << "none was flushed out";
  std::int64_t lines = 0, counted = 0, others = 0;
  for (const std::string_view each : split(trimmed(text), '\n')) {
    const Json document = Json::parse(each);
    if (document.contains("refusals_not_written"))
      counted += document["refusals_not_written"].get<std::int64_t>();
    else
      ++lines;
    others += document.value("path", "") == "/other" ? 1 : 0;
  }
  EXPECT_EQ(others, 1);
  EXPECT_EQ(lines + counted, 100'003) << "each is written or counted";
  EXPECT_LE(lines, RefusalBudget::at_once + 19 + 3);
}

TEST(Audit, AFullDiskLosesLinesAndSaysHowMany) {
  const TemporaryFolder folder;
  const std::string path = folder.path().string();
  std::signal(SIGXFSZ, SIG_IGN);
  AuditFile audit(path);
  audit.write(line, {});
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  rlimit small = before;
  small.rlim_cur = 200;
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  for (int i = 0; i < 3; ++i) audit.write(line, {});
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  EXPECT_EQ(audit.lost(), 3);
  audit.write(line, {});
  EXPECT_EQ(audit.lost(), 0);
  const std::string text = content_of(path + "/audit.jsonl");
  const auto lines = split(trimmed(text), '\n');
  ASSERT_EQ(lines.size(), 3U) << text;
  EXPECT_EQ(Json::parse(lines[1])["lost_lines"].get<int>(), 3);
}

TEST(Audit, AFileThatIsMovedAwayIsBegunAnew) {
  const TemporaryFolder folder;
  AuditFile audit(folder.path().string());
  audit.write({{1000, 1000, 7}, "POST", "/one", 201, ""}, Instant{});
  std::filesystem::rename(folder.path() / "audit.jsonl", folder.path() / "away");
  audit.write({{1000, 1000, 7}, "POST", "/two", 201, ""}, Instant{});
  EXPECT_NE(content_of((folder.path() / "audit.jsonl").string()).find("/two"), std::string::npos);
  EXPECT_EQ(content_of((folder.path() / "away").string()).find("/two"), std::string::npos);
}

TEST(Audit, AFileThatCannotBeOpenedStopsNothing) {
  AuditFile audit("/nowhere/at/all");
  audit.write(line, {});
  EXPECT_EQ(audit.lost(), 1);
}

TEST(UserBook, KnowsTheSystemsUsers) {
  UserBook book;
  const auto& root = book.user(0, {});
  ASSERT_TRUE(root);
  EXPECT_EQ(root->name, "root");
  EXPECT_FALSE(book.user(3'999'999, {}));
  EXPECT_EQ(UserBook::uid_of("root"), 0U);
  EXPECT_FALSE(UserBook::uid_of("nobody of this name"));
  EXPECT_FALSE(UserBook::gid_of("no group of this name"));
}

}  // namespace
}  // namespace cleave
