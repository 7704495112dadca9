// Whatever bit of the database is another one than was written: the store is refused, or an answer
// is, or all is as it was. Nothing is missing or altered without a word, and nothing crashes.

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>

#include "base/format.hpp"
#include "base/temporary_folder_test.hpp"
#include "daemon/store/row_sum.hpp"
#include "daemon/store/sqlite_faults_test.hpp"
#include "daemon/store/sqlite_store.hpp"
#include "daemon/store/store_check.hpp"
#include "daemon/store/store_contents_test.hpp"
#include "runner/job_directory.hpp"

namespace cleave {
namespace {

namespace fs = std::filesystem;

TEST(RowSum, IsAnotherForEachChangeOfOneValue) {
  Random random(1);
  for (int round = 0; round < 1000; ++round) {
    const auto number = static_cast<std::int64_t>(random.bits());
    std::string text(random.below(40), 'x');
    const auto sum = [&](std::int64_t first, std::string_view second) {
      return RowSum().add(first).add(second).add_nothing().value();
    };
    const std::int64_t before = sum(number, text);
    EXPECT_EQ(sum(number, text), before);
    EXPECT_NE(sum(number ^ (std::int64_t{1} << random.below(63)), text), before);
    EXPECT_NE(sum(number, text + '\0'), before);
    if (text.empty()) continue;
    text[random.below(text.size())] ^= static_cast<char>(1 << random.below(8));
    EXPECT_NE(sum(number, text), before);
  }
}

TEST(RowSum, TellsTypesAndBoundsApart) {
  EXPECT_NE(RowSum().add(0).value(), RowSum().add_nothing().value());
  EXPECT_NE(RowSum().add("").value(), RowSum().add_nothing().value());
  EXPECT_NE(RowSum().add("0").value(), RowSum().add(0).value());
  EXPECT_NE(RowSum().add("ab").add("c").value(), RowSum().add("a").add("bc").value());
  EXPECT_NE(RowSum().add("a").add("b").value(), RowSum().add("b").add("a").value());
}

class DamagedStore : public testing::Test {
 protected:
  static constexpr JobNumber jobs = 120;
  static constexpr std::size_t page_bytes = 4096;

  [[nodiscard]] fs::path file(const char* suffix = "") const {
    return folder_.path() / fmt::format("cleave.db{}", suffix);
  }
  void SetUp() override {
    RandomRecords any(3);
    auto store = SqliteStore::open(folder_.path());
    ASSERT_TRUE(store) << store.error().text();
    StoreBatch gone;
    for (JobNumber number = 1; number <= jobs; ++number) {
      const StoreBatch batch = batch_of(number, any);
      ASSERT_TRUE((*store)->write(batch, Durability::synced));
      if (is_final(batch.jobs[0].state) && number % 5 == 0) gone.forgotten.push_back(number);
    }
    ASSERT_TRUE((*store)->write(gone, Durability::synced));
    auto everything = read_everything(**store, jobs);
    ASSERT_TRUE(everything);
    whole_ = std::move(*everything);
    for (const AttemptRecord& each : whole_.attempts)
      fs::create_directories(folder_.path() / "jobs" / directory_name(each.key));
    store->reset();
    for (const char* each : {"", ".witness"}) fs::copy_file(file(each), kept(each));
    good_ = bytes();
    for (std::size_t page = 0; page < good_.size() / page_bytes; ++page) {
      const std::size_t begins = page * page_bytes + (page == 0 ? 100 : 0);
      const char kind = good_[begins];
      const bool tree = kind == 2 || kind == 5 || kind == 10 || kind == 13;
      pages_[tree ? kind : 0].push_back(page);
    }
  }
  [[nodiscard]] fs::path kept(const char* suffix) const {
    return folder_.path() / fmt::format("kept{}", suffix);
  }
  [[nodiscard]] std::string bytes() const {
    std::ifstream in(file(), std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  void restore() const {
    for (const char* each : {"", ".witness"})
      fs::copy_file(kept(each), file(each), fs::copy_options::overwrite_existing);
    fs::remove(file("-wal"));
  }
  /// A bit of a page of any kind: each kind is as likely, and of the first page its header.
  std::size_t flip_a_bit(Random& random) const {
    auto kind = pages_.begin();
    std::advance(kind, static_cast<std::ptrdiff_t>(random.below(pages_.size())));
    const std::size_t page = kind->second[random.below(kind->second.size())];
    const std::size_t within = random.uniform() < 0.3 ? 112 : page_bytes;
    const std::size_t at = page * page_bytes + random.below(within);
    std::fstream damaged(file(), std::ios::in | std::ios::out | std::ios::binary);
    damaged.seekp(static_cast<std::streamoff>(at));
    damaged.put(static_cast<char>(static_cast<unsigned char>(good_[at]) ^ (1U << random.below(8))));
    return at;
  }

  /// A bit that is another, or an end that is missing, of the database or of the witness.
  std::string damage(Random& random) const {
    const double kind = random.uniform();
    if (kind < 0.7) return fmt::format("byte {}", flip_a_bit(random));
    const fs::path damaged = kind < 0.9 ? file() : file(".witness");
    std::uint64_t size = random.below(fs::file_size(damaged));
    if (kind < 0.8) size -= size % page_bytes;
    fs::resize_file(damaged, size);
    return fmt::format("{} ends at {}", damaged.string(), size);
  }

  const TemporaryFolder folder_{quick_folder()};
  Everything whole_;
  std::string good_;
  std::map<char, std::vector<std::size_t>> pages_;
};

/// A store that check_store() finds nothing wrong with is opened, without a remark.
void expect_agreement(const Result<StoreFindings>& found,
                      const Result<std::unique_ptr<SqliteStore>>& store) {
  if (!found || !found->faults.empty()) return;
  ASSERT_TRUE(store) << store.error().text();
  EXPECT_TRUE((*store)->remarks().empty()) << (*store)->remarks().front();
}

TEST_F(DamagedStore, SaysSoOrIsAsItWas) {
  EXPECT_EQ(pages_.size(), 5U) << "pages of all kinds are there";
  const int rounds = std::getenv("CLEAVE_LONG") == nullptr ? 150 : 1000;
  Random random(11);
  RandomRecords any(12);
  int refused = 0, whole = 0, sound = 0;
  for (int round = 0; round < rounds && !HasFailure(); ++round) {
    restore();
    SCOPED_TRACE(fmt::format("round {}, {}", round, damage(random)));
    const std::string damaged = bytes();
    const auto found = check_store(folder_.path());
    EXPECT_EQ(bytes(), damaged);
    const auto store = SqliteStore::open(folder_.path());
    expect_agreement(found, store);
    sound += found && found->faults.empty() ? 1 : 0;
    if (!store) {
      ++refused;
      EXPECT_FALSE(store.error().remedy.empty()) << store.error().text();
      EXPECT_EQ(bytes(), damaged) << "it is left alone";
      continue;
    }
    const auto read = read_everything(**store, jobs);
    EXPECT_TRUE(read || !found || !found->faults.empty()) << "what cannot be read is not sound";
    if (!read) continue;
    ++whole;
    EXPECT_TRUE(*read == whole_);
    EXPECT_EQ(read->last_job, jobs) << "no number is given twice";
    if (!(*store)->write(batch_of(jobs + 1, any), Durability::synced)) continue;
    const auto after = read_everything(**store, jobs);
    EXPECT_TRUE(!after || (after->jobs == whole_.jobs && after->commands == whole_.commands));
  }
  EXPECT_GT(refused, rounds / 4);
  EXPECT_GT(whole, rounds / 20);
  EXPECT_GT(sound, rounds / 50);
}

TEST_F(DamagedStore, WithBaredCommandsIsWhole) {
  StoreBatch batch;
  for (const JobRecord& each : whole_.ended) batch.bared.push_back(each.number);
  ASSERT_GT(batch.bared.size(), 5U);
  {
    const auto store = SqliteStore::open(folder_.path());
    ASSERT_TRUE(store) << store.error().text();
    ASSERT_TRUE((*store)->write(batch, Durability::synced));
  }
  const auto again = SqliteStore::open(folder_.path());
  ASSERT_TRUE(again) << again.error().text();
  for (const JobNumber number : batch.bared) {
    const auto command = (*again)->command(number);
    ASSERT_TRUE(command && *command) << number;
    EXPECT_TRUE((*command)->environment.empty());
    EXPECT_EQ((*command)->argv, whole_.commands[static_cast<std::size_t>(number - 1)]->argv);
  }
}

TEST_F(DamagedStore, IsRefusedForARowThatIsNotWhatWasWritten) {
  for (const auto& [change, words] :
       {std::pair("UPDATE jobs SET final = 1 WHERE number = 3", "table jobs the row of number 3"),
        std::pair("UPDATE jobs SET uid = uid + 1 WHERE number = 3",
                  "table jobs the row of number 3"),
        std::pair("UPDATE commands SET command = command || ' ' WHERE job = 3",
                  "table commands the row of job 3"),
        std::pair("UPDATE attempts SET device = 'x' WHERE job = 3 AND attempt = 2",
                  "table attempts the row of job 3, attempt 2"),
        std::pair("UPDATE instances SET start = 9 WHERE device = 'MIG-7'",
                  "table instances the row of device MIG-7"),
        std::pair("UPDATE settings SET value = '' WHERE key = 'key 9'",
                  "table settings the row of key key 9"),
        std::pair("UPDATE events SET uid = 0 WHERE number = 5", "table events the row of number 5"),
        std::pair("UPDATE numbers SET highest = 200 WHERE name = 'job'",
                  "table numbers the row of name job")}) {
    restore();
    {
      auto connection = SqliteConnection::open(fs::canonical(file()));
      ASSERT_TRUE(connection && connection->run(change));
    }
    const auto store = SqliteStore::open(folder_.path());
    ASSERT_FALSE(store) << change;
    EXPECT_NE(store.error().text().find(words), std::string::npos) << store.error().text();
    EXPECT_EQ(store.error().kind, ErrorKind::bad_input);
  }
}

/// A large one is not read whole when it is opened.
class LargeStore : public DamagedStore {
 protected:
  static constexpr JobNumber last = jobs + 70;
  void SetUp() override {
    DamagedStore::SetUp();
    auto store = SqliteStore::open(folder_.path());
    ASSERT_TRUE(store);
    StoreBatch batch;
    for (JobNumber number = jobs + 1; number <= last; ++number) {
      JobRecord& job = batch.jobs.emplace_back();
      job.number = number;
      JobCommand command{{"true"}, {}, "/"};
      const std::string long_text(std::size_t{1} << 20, 'x');
      if (number % 2 == 0) {
        command.environment = {"A=" + long_text};
      } else {
        job.state = JobState::finished;
        job.ended = Instant(Duration(number));
        job.reason = long_text;
      }
      batch.commands.emplace_back(number, std::move(command));
    }
    ASSERT_TRUE((*store)->write(batch, Durability::written));
  }
  void sql(const std::string& text) const {
    auto connection = SqliteConnection::open(fs::canonical(file()));
    ASSERT_TRUE(connection);
    const auto done = connection->run(text);
    ASSERT_TRUE(done) << done.error().text();
  }
};

TEST_F(LargeStore, AnswersNoRowThatIsNotWhatWasWritten) {
  sql("UPDATE commands SET command = replace(command, 'true', 'evil') WHERE job = 130;"
      "UPDATE jobs SET exit_code = 0 WHERE number = 131");
  const auto store = SqliteStore::open(folder_.path());
  ASSERT_TRUE(store) << store.error().text();
  EXPECT_TRUE((*store)->load());
  EXPECT_TRUE((*store)->command(132));
  const auto command = (*store)->command(130);
  ASSERT_FALSE(command);
  EXPECT_NE(command.error().text().find("command of job 130"), std::string::npos);
  EXPECT_FALSE((*store)->job(131));
  const auto found = check_store(folder_.path());
  ASSERT_TRUE(found);
  EXPECT_EQ(found->faults.size(), 2U) << found->faults.back().text();
}

TEST_F(LargeStore, WithAnUnfinishedJobThatIsNotWhatWasWrittenIsNotBegunFrom) {
  sql("UPDATE jobs SET uid = 7 WHERE number = 132");
  const auto store = SqliteStore::open(folder_.path());
  ASSERT_TRUE(store) << store.error().text();
  const auto contents = (*store)->load();
  ASSERT_FALSE(contents);
  EXPECT_NE(contents.error().text().find("job 132"), std::string::npos);
}

/// An index is made to lack a job: its text in the schema is another one while it is written.
TEST_F(LargeStore, WhoseIndexLacksAnUnfinishedJobIsNotBegunFrom) {
  for (const auto& [index, columns] : {std::pair("jobs_open", "jobs (number) WHERE final = 0"),
                                       std::pair("jobs_in_state", "jobs (state, number)")}) {
    SCOPED_TRACE(index);
    const auto say = [&](const std::string& what) {
      sql(
          fmt::format("PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = 'CREATE INDEX "
                      "{} ON {}' WHERE name = '{}'",
                      index, what, index));
    };
    const std::string_view whole = columns;
    say(fmt::format("{} {} number <> 132", whole, whole.contains("WHERE") ? "AND" : "WHERE"));
    sql(fmt::format("REINDEX {}", index));
    say(columns);
    {
      const auto store = SqliteStore::open(folder_.path());
      ASSERT_TRUE(store) << store.error().text();
      const auto contents = (*store)->load();
      ASSERT_FALSE(contents);
      EXPECT_NE(contents.error().text().find("indexes do not have the same unfinished jobs"),
                std::string::npos)
          << contents.error().text();
      EXPECT_EQ(contents.error().kind, ErrorKind::bad_input);
    }
    sql(fmt::format("REINDEX {}", index));
    EXPECT_TRUE((*SqliteStore::open(folder_.path()))->load());
  }
}

TEST_F(LargeStore, IsBegunFromWithoutReadingWhatIsOver) {
  const FaultySqlite counted;
  FaultySqlite::files().begin(-1, false);
  const auto store = SqliteStore::open(folder_.path());
  ASSERT_TRUE(store) << store.error().text();
  ASSERT_TRUE((*store)->load());
  constexpr std::int64_t pages = 70 * 256;
  EXPECT_LT(FaultySqlite::files().calls, pages / 20);
}

}  // namespace
}  // namespace cleave
