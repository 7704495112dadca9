// What only the daemon's store has: files, their modes and their damage, kills, full disks.

#include "daemon/store/sqlite_store.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <thread>

#include "base/format.hpp"
#include "base/temporary_folder_test.hpp"
#include "daemon/store/store_check.hpp"
#include "daemon/store/store_columns.hpp"
#include "daemon/store/store_contents_test.hpp"
#include "daemon/store/store_schema.hpp"

namespace cleave {
namespace {

namespace fs = std::filesystem;

class SqliteFile : public testing::Test {
 protected:
  [[nodiscard]] fs::path file(const char* suffix = "") const {
    return folder_.path() / fmt::format("cleave.db{}", suffix);
  }
  [[nodiscard]] std::unique_ptr<SqliteStore> open() const {
    auto store = SqliteStore::open(folder_.path());
    EXPECT_TRUE(store) << store.error().text();
    return store ? std::move(*store) : nullptr;
  }
  [[nodiscard]] std::string refusal() const {
    const auto store = SqliteStore::open(folder_.path());
    if (store) return "";
    EXPECT_FALSE(store.error().remedy.empty()) << store.error().text();
    return store.error().text();
  }
  void expect_refused(const std::string& words) const {
    const std::string told = refusal();
    EXPECT_NE(told.find(words), std::string::npos) << told;
    EXPECT_NE(told.find("cleave.db"), std::string::npos) << told;
  }
  void sql(const std::string& text) const {
    const auto path = fs::canonical(file());
    auto connection = SqliteConnection::open(path);
    ASSERT_TRUE(connection) << connection.error().text();
    const auto done = connection->run(text);
    ASSERT_TRUE(done) << done.error().text();
  }

  const TemporaryFolder folder_{quick_folder()};
};

TEST_F(SqliteFile, IsForItsOwnerOnlyWhateverTheUmask) {
  for (const mode_t mask : {0000, 0022, 0777, 0277}) {
    const mode_t before = ::umask(mask);
    {
      const auto store = open();
      ASSERT_TRUE(store);
      ASSERT_TRUE(store->write(batch_of(store->load()->last_event + 1), Durability::synced));
      for (const char* suffix : {"", "-wal", ".lock"})
        EXPECT_EQ(mode_of(file(suffix)), 0600U) << suffix;
      EXPECT_FALSE(fs::exists(file("-shm")));
    }
    ::umask(before);
    ASSERT_EQ(::chmod(file().c_str(), 0666), 0) << "somebody opened it to all; it is closed again";
  }
  EXPECT_TRUE(open());
  EXPECT_EQ(mode_of(file()), 0600U);
}

TEST_F(SqliteFile, IsOneDaemons) {
  const auto store = open();
  const std::string told = refusal();
  EXPECT_NE(told.find(fmt::format("it is used by another cleaved (pid {})", ::getpid())),
            std::string::npos)
      << told;
  EXPECT_EQ(in_child([&] { return refusal().empty() ? 1 : 0; }), 0);
  EXPECT_TRUE(store->write(batch_of(1), Durability::synced))
      << "the one that has it did not notice";
}

TEST_F(SqliteFile, WaitsForNoOtherProgramThatHasItOpen) {
  { const auto store = open(); }
  auto other = SqliteConnection::open(fs::canonical(file()));
  ASSERT_TRUE(other);
  ASSERT_TRUE(other->run("PRAGMA locking_mode = EXCLUSIVE; BEGIN IMMEDIATE"));
  expect_refused("another program has it open");
}

TEST_F(SqliteFile, OfANewerSchemaIsRefused) {
  ASSERT_TRUE(open()->write(batch_of(1), Durability::synced));
  const std::int64_t version = schema_version();
  sql(fmt::format("PRAGMA user_version = {}", version + 1));
  expect_refused(
      fmt::format("newer Cleave: its schema is {}, this program knows {}", version + 1, version));
  sql(fmt::format("PRAGMA user_version = {}", version));
  EXPECT_EQ(whole_batches(*open()), 1) << "and nothing happened to it";
}

/// Makes a database of schema 7 of it, whose rows must be summed.
std::string without_keys() {
  return "DROP TABLE usage; ALTER TABLE jobs DROP COLUMN checkpoint; "
         "ALTER TABLE jobs DROP COLUMN energy_mj; ALTER TABLE jobs DROP COLUMN unmetered_ns; "
         "ALTER TABLE instances DROP COLUMN energy_mj; "
         "ALTER TABLE attempts DROP COLUMN told_to_save; "
         "DROP TABLE plans; DROP INDEX attempts_open; DROP INDEX jobs_by_key; "
         "ALTER TABLE jobs DROP COLUMN submission_key; "
         "ALTER TABLE jobs DROP COLUMN submission_content; "
         "ALTER TABLE jobs DROP COLUMN used_ns; PRAGMA user_version = 7;";
}

/// Of schema 6.
std::string without_sums() {
  std::string text =
      without_keys() + "ALTER TABLE jobs DROP COLUMN fixed_sum; PRAGMA user_version = 6;";
  static_cast<void>(for_each_table([&](const auto& table) -> Result<void> {
    if (table.since <= 6) text += fmt::format("ALTER TABLE {} DROP COLUMN sum;", table.name);
    return {};
  }));
  return text;
}

TEST_F(SqliteFile, OfASchemaWithoutSumsGetsThem) {
  for (std::int64_t turn = 1; turn <= 3; ++turn)
    ASSERT_TRUE(open()->write(batch_of(turn), Durability::synced));
  sql(without_sums());
  {
    const auto store = open();
    ASSERT_TRUE(store);
    EXPECT_EQ(whole_batches(*store), 3);
    ASSERT_TRUE(store->write(batch_of(4), Durability::synced));
  }
  EXPECT_EQ(whole_batches(*open()), 4);
  sql("UPDATE jobs SET uid = 1 WHERE number = 2");
  expect_refused("in the table jobs the row of number 2 is not what was written");
}

template <typename Record>
std::string sums_of_schema_7(std::string_view table, std::span<const StoreColumn<Record>> columns) {
  std::vector<StoreColumn<Record>> then;
  for (const auto& each : columns)
    if (each.since <= 7) then.push_back(each);
  return sum_statement(table, std::span<const StoreColumn<Record>>(then));
}

/// The sums of the rows as schema 7 had them.
std::string sums_of_schema_7() {
  return sums_of_schema_7("jobs", job_columns()) + ";" +
         sums_of_schema_7("attempts", attempt_columns());
}

TEST_F(SqliteFile, OfTheSeventhSchemaTakesKeys) {
  ASSERT_TRUE(open()->write(batch_of(1), Durability::synced));
  sql(without_keys() + sums_of_schema_7());
  StoreBatch batch;
  JobRecord& job = batch.jobs.emplace_back();
  job.number = 100;
  job.owner.uid = 1000;
  job.key = SubmissionKey{"one", 7};
  job.used = std::chrono::seconds(5);
  {
    const auto store = open();
    ASSERT_TRUE(store);
    EXPECT_EQ(whole_batches(*store), 1) << "what was there is there";
    ASSERT_TRUE(store->write(batch, Durability::synced));
    const auto read = store->job_with_key(1000, "one");
    ASSERT_TRUE(read && *read);
    EXPECT_EQ(**read, job);
    batch.jobs[0].number = 101;
    EXPECT_FALSE(store->write(batch, Durability::synced)) << "the key is taken";
    batch.jobs[0].owner.uid = 1001;
    EXPECT_TRUE(store->write(batch, Durability::synced)) << "not of another user";
  }
  sql("UPDATE jobs SET submission_key = 'two' WHERE number = 100");
  expect_refused("in the table jobs the row of number 100 is not what was written");
}

/// The whole vocabulary, so that a store of today is read tomorrow.
TEST(StoreColumns, AreThese) {
  EXPECT_EQ(column_definitions(job_columns()),
            "number INTEGER PRIMARY KEY, uid INTEGER NOT NULL, submitted_ns INTEGER NOT NULL, "
            "state TEXT NOT NULL, final INTEGER NOT NULL, ended_ns INTEGER, exit_code INTEGER, "
            "reason TEXT NOT NULL, attempts INTEGER NOT NULL, failures INTEGER NOT NULL, "
            "cancelled INTEGER NOT NULL, owner TEXT NOT NULL, wish TEXT NOT NULL, request TEXT, "
            "early_restarts TEXT, leader INTEGER NOT NULL DEFAULT 0, "
            "kind TEXT NOT NULL DEFAULT 'batch', restarts INTEGER NOT NULL DEFAULT 0, "
            "promised_ns INTEGER, submission_key TEXT, submission_content INTEGER, "
            "used_ns INTEGER NOT NULL DEFAULT 0, checkpoint INTEGER NOT NULL DEFAULT 0, "
            "energy_mj INTEGER, unmetered_ns INTEGER NOT NULL DEFAULT 0, "
            "sum INTEGER NOT NULL DEFAULT 0, fixed_sum INTEGER NOT NULL DEFAULT 0");
  EXPECT_EQ(column_definitions(attempt_columns()),
            "job INTEGER NOT NULL REFERENCES jobs (number) ON DELETE CASCADE, "
            "attempt INTEGER NOT NULL, gpu TEXT NOT NULL, device TEXT NOT NULL, "
            "profile TEXT NOT NULL, start INTEGER NOT NULL, started_ns INTEGER NOT NULL, "
            "began_ns INTEGER, ended_ns INTEGER, \"end\" TEXT, why TEXT NOT NULL, "
            "exit_code INTEGER, peak_mib INTEGER, predicted_ns INTEGER, predicted_by TEXT, "
            "lasted_ns INTEGER, too_large_mib INTEGER, told_to_save INTEGER NOT NULL DEFAULT 0, "
            "sum INTEGER NOT NULL DEFAULT 0");
  EXPECT_EQ(column_definitions(learnt_columns()),
            "uid INTEGER NOT NULL, application TEXT NOT NULL, batch INTEGER NOT NULL, "
            "gpu_model TEXT NOT NULL, profile TEXT NOT NULL, record TEXT NOT NULL, "
            "sum INTEGER NOT NULL DEFAULT 0");
  EXPECT_EQ(column_definitions(instance_columns()),
            "device TEXT PRIMARY KEY, gpu TEXT NOT NULL, profile TEXT NOT NULL, "
            "start INTEGER NOT NULL, made_ns INTEGER NOT NULL, gone_ns INTEGER, "
            "energy_mj INTEGER, sum INTEGER NOT NULL DEFAULT 0");
  EXPECT_EQ(column_definitions(event_columns()),
            "number INTEGER PRIMARY KEY, at_ns INTEGER NOT NULL, kind TEXT NOT NULL, job INTEGER, "
            "uid INTEGER, gpu TEXT NOT NULL, text TEXT NOT NULL, "
            "sum INTEGER NOT NULL DEFAULT 0");
  EXPECT_EQ(column_definitions(command_columns()),
            "job INTEGER PRIMARY KEY REFERENCES jobs (number) ON DELETE CASCADE, "
            "command TEXT NOT NULL, sum INTEGER NOT NULL DEFAULT 0");
  EXPECT_EQ(column_definitions(setting_columns()),
            "key TEXT PRIMARY KEY, value TEXT NOT NULL, sum INTEGER NOT NULL DEFAULT 0");
  EXPECT_EQ(column_definitions(number_columns()),
            "name TEXT PRIMARY KEY, highest INTEGER NOT NULL, sum INTEGER NOT NULL DEFAULT 0");
  EXPECT_EQ(insert_statement("instances", instance_columns().first(2)),
            "INSERT INTO instances (device, gpu, sum) VALUES (?1, ?2, row_sum('instances', ?1, "
            "?2))");
  EXPECT_EQ(update_statement("jobs", job_columns().first(4)),
            "UPDATE jobs SET state = ?2, sum = row_sum('jobs', ?1, ?2) WHERE number = ?1")
      << "the user and the time of submission stay";
}

TEST_F(SqliteFile, OfTheFirstSchemaLearnsFromNowOn) {
  ASSERT_TRUE(open()->write(batch_of(1), Durability::synced));
  sql(without_sums());
  sql("ALTER TABLE attempts DROP COLUMN predicted_ns; ALTER TABLE attempts DROP COLUMN "
      "predicted_by; ALTER TABLE attempts DROP COLUMN lasted_ns; ALTER TABLE attempts DROP COLUMN "
      "too_large_mib; ALTER TABLE jobs DROP COLUMN leader; DROP TABLE learnt; "
      "ALTER TABLE jobs DROP COLUMN kind; ALTER TABLE jobs DROP COLUMN restarts; "
      "ALTER TABLE jobs DROP COLUMN promised_ns; "
      "PRAGMA user_version = 1");
  StoreBatch batch;
  LearntProfile learnt;
  learnt.uid = 1000;
  learnt.record.key = {"resnet", "A100-40GB", 64, "2g.10gb", false};
  learnt.record.time_s = 0.1;
  batch.learnt.push_back(learnt);
  {
    const auto store = open();
    EXPECT_EQ(whole_batches(*store), 1) << "what was there is there";
    ASSERT_TRUE(store->write(batch, Durability::synced));
  }
  const auto contents = open()->load();
  ASSERT_TRUE(contents);
  EXPECT_TRUE(contents->learnt == batch.learnt);
  sql("UPDATE learnt SET record = '{'");
  const auto damaged = open()->load();
  ASSERT_TRUE(damaged) << "a daemon begins without what it cannot read of this";
  EXPECT_TRUE(damaged->learnt.empty());
}

TEST_F(SqliteFile, OfTheFourthSchemaTakesServicesAndLeases) {
  ASSERT_TRUE(open()->write(batch_of(1), Durability::synced));
  sql(without_sums());
  sql("ALTER TABLE jobs DROP COLUMN kind; ALTER TABLE jobs DROP COLUMN restarts; "
      "ALTER TABLE jobs DROP COLUMN promised_ns; PRAGMA user_version = 4");
  EXPECT_EQ(whole_batches(*open()), 1) << "what was there is there";
  StoreBatch batch;
  JobRecord& service = batch.jobs.emplace_back();
  service.number = 100;
  service.spec.service.emplace().replicas = 3;
  service.restarts = 7;
  JobRecord& lease = batch.jobs.emplace_back();
  lease.number = 103;
  lease.spec.lease.emplace().idle_after = std::chrono::minutes(15);
  lease.promised = Instant{} + std::chrono::hours(1);
  ASSERT_TRUE(open()->write(batch, Durability::synced));
  for (const JobRecord& written : batch.jobs) {
    const auto read = open()->job(written.number);
    ASSERT_TRUE(read && *read);
    EXPECT_EQ(**read, written);
  }
  sql("DELETE FROM jobs WHERE number = 100 AND kind = 'service'");
  EXPECT_FALSE(*open()->job(100)) << "the kind can be searched by";
}

TEST_F(SqliteFile, OfAnEarlierSchemaGetsTheColumnsThatCameLater) {
  ASSERT_TRUE(open()->write(batch_of(1), Durability::synced));
  std::vector<StoreColumn<EventRecord>> later(event_columns().begin(), event_columns().end());
  later.push_back({.name = "node",
                   .type = "TEXT NOT NULL DEFAULT 'here'",
                   .put = [](SqliteRun& run, const EventRecord&) { run.with("there"); },
                   .since = sums_since + 1});
  const std::span<const StoreColumn<EventRecord>> columns(later);
  EXPECT_EQ(upgrade_statements("events", columns, sums_since + 1), "");
  sql(upgrade_statements("events", columns, sums_since));
  EXPECT_EQ(whole_batches(*open()), 1);
  sql("UPDATE events SET node = 'there' WHERE node = 'here'");
}

TEST_F(SqliteFile, OfAnotherUserIsRefused) {
  std::ofstream(file()).close();
  sql("CREATE TABLE other (a)");
  expect_refused("not one of Cleave's");
  sql("INSERT INTO other VALUES (1)");
}

TEST_F(SqliteFile, ThatIsNoneIsRefused) {
  std::ofstream(file()) << "these are not the pages you are looking for" << large_text(5000);
  expect_refused("not an SQLite database");
  std::ofstream(file(), std::ios::trunc) << "SQLite format 3";
  expect_refused("not an SQLite database");
  EXPECT_EQ(fs::file_size(file()), 15U) << "and left alone";
  fs::remove(file());
  EXPECT_TRUE(open());
}

TEST_F(SqliteFile, ThatIsTornIsRefusedAndLeftAlone) {
  {
    const auto store = open();
    for (std::int64_t turn = 1; turn <= 20; ++turn)
      ASSERT_TRUE(store->write(batch_of(turn), Durability::written));
  }
  const auto whole = fs::file_size(file());
  fs::copy_file(file(), file(".good"));
  for (const std::uintmax_t size : {std::uintmax_t{50}, whole / 2, whole - 4096, whole - 1}) {
    fs::copy_file(file(".good"), file(), fs::copy_options::overwrite_existing);
    fs::resize_file(file(), size);
    EXPECT_FALSE(refusal().empty()) << size;
    EXPECT_EQ(fs::file_size(file()), size);
  }
}

/// Whatever byte is damaged: an error or the right answer, never a crash.
TEST_F(SqliteFile, WithDamageAnywhereDoesNotCrash) {
  {
    const auto store = open();
    for (std::int64_t turn = 1; turn <= 5; ++turn)
      ASSERT_TRUE(store->write(batch_of(turn), Durability::written));
  }
  fs::copy_file(file(), file(".good"));
  const auto whole = fs::file_size(file());
  Random random(4);
  int refused = 0;
  for (int round = 0; round < 150; ++round) {
    fs::copy_file(file(".good"), file(), fs::copy_options::overwrite_existing);
    {
      std::fstream damaged(file(), std::ios::in | std::ios::out | std::ios::binary);
      damaged.seekp(static_cast<std::streamoff>(random.below(whole)));
      for (std::uint64_t left = 1 + random.below(40); left > 0; --left)
        damaged.put(static_cast<char>(random.below(256)));
    }
    const auto store = SqliteStore::open(folder_.path());
    if (!store) {
      ++refused;
      continue;
    }
    static_cast<void>((*store)->load());
    static_cast<void>((*store)->jobs({}));
    static_cast<void>((*store)->command(1));
    static_cast<void>((*store)->events(0, 0, 100));
    static_cast<void>((*store)->write(batch_of(6), Durability::written));
  }
  EXPECT_GT(refused, 0);  // most bytes are those of texts, which nobody can check
}

/// A database, log and witness as they are after this many batches when the writer is killed.
class KilledWriter : public SqliteFile {
 protected:
  static constexpr std::int64_t batches = 40;
  void SetUp() override {
    ASSERT_EQ(in_child([&] {
                Store* store = open().release();  // never closed
                for (std::int64_t turn = 1; turn <= batches; ++turn) {
                  if (!store->write(batch_of(turn), Durability::synced)) return 1;
                  if (turn == batches / 2) store->settle();
                }
                return 0;
              }),
              0);
    for (const char* each : files) fs::copy_file(file(each), kept(each));
  }
  [[nodiscard]] fs::path kept(const std::string& name) const {
    return folder_.path() / fmt::format("kept{}", name);
  }
  void restore() const {
    for (const char* each : files)
      fs::copy_file(kept(each), file(each), fs::copy_options::overwrite_existing);
  }
  static constexpr const char* files[] = {"", "-wal", ".witness"};
};

void flip_a_bit(const fs::path& path, Random& random) {
  std::fstream damaged(path, std::ios::in | std::ios::out | std::ios::binary);
  const auto at = static_cast<std::streamoff>(random.below(fs::file_size(path)));
  damaged.seekg(at);
  const auto byte = static_cast<unsigned char>(damaged.get());
  damaged.seekp(at);
  damaged.put(static_cast<char>(byte ^ (1U << random.below(8))));
}

/// What is wrong with database, log or witness: nothing is missing that is not told, and no number
/// is given twice. CLEAVE_LONG has ten times as many.
TEST_F(KilledWriter, LosesNothingSilentlyWhateverIsWrongWithItsFiles) {
  Random random(7);
  const int rounds = std::getenv("CLEAVE_LONG") == nullptr ? 150 : 1500;
  int refused = 0, whole = 0;
  for (int round = 0; round < rounds && !HasFailure(); ++round) {
    restore();
    const fs::path damaged = file(files[random.below(std::size(files))]);
    if (random.uniform() < 0.3) {
      fs::resize_file(damaged, random.below(fs::file_size(damaged)));
    } else {
      flip_a_bit(damaged, random);
    }
    SCOPED_TRACE(fmt::format("round {}, {}", round, damaged.string()));
    const auto found = check_store(folder_.path());
    std::string refusal;
    {
      const auto store = SqliteStore::open(folder_.path());
      if (store) {
        EXPECT_EQ(whole_batches(**store), batches);
        EXPECT_TRUE((*store)->remarks().empty() || !found || !found->faults.empty());
        ++whole;
        continue;
      }
      refusal = store.error().text();
      EXPECT_FALSE(store.error().remedy.empty()) << refusal;
      EXPECT_TRUE(!found || !found->faults.empty()) << refusal;
      ++refused;
    }
    if (refusal.find("--accept-loss") == std::string::npos) {
      EXPECT_NE(refusal.find("is damaged"), std::string::npos) << refusal;
      EXPECT_EQ(damaged, file()) << refusal;
      EXPECT_FALSE(SqliteStore::open(folder_.path(), true)) << "a loss is not damage";
      continue;
    }
    EXPECT_NE(refusal.find("missing"), std::string::npos) << refusal;
    const auto accepted = SqliteStore::open(folder_.path(), true);
    ASSERT_TRUE(accepted) << accepted.error().text();
    EXPECT_FALSE((*accepted)->remarks().empty());
    const auto contents = (*accepted)->load();
    ASSERT_TRUE(contents);
    EXPECT_EQ(contents->last_job, 2 * batches) << "no number is given twice";
    EXPECT_EQ(contents->last_event, batches);
    EXPECT_LT(contents->jobs.size(), 2U * batches);
  }
  EXPECT_GT(refused, rounds / 10);
  EXPECT_GT(whole, rounds / 10);
}

TEST_F(KilledWriter, HasWhatWasSettledInItsDatabase) {
  fs::resize_file(file("-wal"), 0);
  EXPECT_NE(refusal().find(fmt::format("jobs {} to {} were accepted", batches + 1, 2 * batches)),
            std::string::npos)
      << refusal();
  const auto store = SqliteStore::open(folder_.path(), true);
  ASSERT_TRUE(store);
  EXPECT_EQ((*store)->load()->jobs.size(), static_cast<std::size_t>(batches));
  StoreBatch next = batch_of(batches + 1);
  EXPECT_TRUE((*store)->write(next, Durability::synced)) << "and it goes on";
}

/// SQLite deletes a log when it closes, also the part of it that it cannot read.
TEST_F(KilledWriter, IsWholeAgainWhenARefusedLogIsMended) {
  Random random(8);
  int refused = 0;
  for (int round = 0; round < 20; ++round) {
    restore();
    flip_a_bit(file("-wal"), random);
    const auto store = SqliteStore::open(folder_.path());
    if (store) continue;
    ++refused;
    ASSERT_TRUE(fs::exists(file("-wal")));
    EXPECT_EQ(fs::file_size(file("-wal")), fs::file_size(kept("-wal")));
    EXPECT_FALSE(refusal().empty()) << "nor is it another store at the second start";
    fs::copy_file(kept("-wal"), file("-wal"), fs::copy_options::overwrite_existing);
    EXPECT_EQ(whole_batches(*open()), batches);
  }
  EXPECT_GT(refused, 2);
}

/// A number that was written lower than it was would be given twice.
TEST_F(KilledWriter, WhoseNumbersAreWrongIsRefused) {
  ASSERT_TRUE(open());
  for (const char* wrong : {"job", "event"})
    for (const int by : {-1, 1, -64, 64}) {
      const std::string change =
          fmt::format("UPDATE numbers SET highest = highest {} {} WHERE name", by < 0 ? '-' : '+',
                      std::abs(by));
      sql(fmt::format("{} = '{}'; {}", change, wrong, sum_statement("numbers", number_columns())));
      expect_refused("the highest numbers that were given are not what was written");
      sql(fmt::format("UPDATE numbers SET highest = highest {} {} WHERE name = '{}'; {}",
                      by < 0 ? '+' : '-', std::abs(by), wrong,
                      sum_statement("numbers", number_columns())));
    }
  fs::remove(file(".witness"));
  sql("UPDATE numbers SET highest = 79 WHERE name = 'job'");
  expect_refused("in the table numbers the row of name job is not what was written");
  sql(sum_statement("numbers", number_columns()));
  expect_refused("the highest numbers that were given are not what was written");
  sql("UPDATE numbers SET highest = 80 WHERE name = 'job';" +
      sum_statement("numbers", number_columns()));
  EXPECT_EQ(whole_batches(*open()), batches);
}

TEST_F(KilledWriter, SaysThatItsWitnessIsGoneOrDamaged) {
  fs::remove(file(".witness"));
  EXPECT_EQ(open()->remarks().size(), 1U);
  EXPECT_TRUE(open()->remarks().empty()) << "it is there again";
  std::ofstream(file(".witness")) << "something else";
  EXPECT_EQ(open()->remarks().size(), 1U);
}

TEST_F(KilledWriter, IsRefusedWithoutItsDatabase) {
  for (const char* each : {"", "-wal"}) fs::remove(file(each));
  EXPECT_NE(refusal().find("jobs 1 to 80 were accepted"), std::string::npos) << refusal();
}

TEST_F(SqliteFile, WithoutATableThatIsNeededIsRefusedAndDoesNotCrash) {
  ASSERT_TRUE(open()->write(batch_of(1), Durability::synced));
  sql("DROP TABLE events");
  expect_refused("no such table: events");
  auto connection = SqliteConnection::open(fs::canonical(file()));
  ASSERT_TRUE(connection);
  SqliteRun run = connection->use("INSERT INTO events VALUES (?1, ?2)");
  EXPECT_FALSE(run.with(1, std::string("two")).row());
  EXPECT_FALSE(run.done());
  EXPECT_FALSE(run.done()) << "nor later";
}

TEST_F(SqliteFile, ThatLostItsDatabaseButNotItsLogIsRefused) {
  EXPECT_EQ(in_child([&] {
              Store* store = open().release();  // as if killed: never closed
              return store->write(batch_of(1), Durability::synced) ? 0 : 1;
            }),
            0);
  ASSERT_GT(fs::file_size(file("-wal")), 0U);
  fs::rename(file(), file(".away"));
  expect_refused("is gone, but not its log");
  std::ofstream(file()).close();
  expect_refused("is gone, but not its log");
  fs::rename(file(".away"), file());
  EXPECT_EQ(whole_batches(*open()), 1);
}

TEST_F(SqliteFile, ThatIsNotAPlainFileIsRefused) {
  for (const char* suffix : {"", "-wal", "-shm", "-journal", ".lock"}) {
    SCOPED_TRACE(suffix);
    fs::remove(file(suffix));
    fs::create_directory(file(suffix));
    expect_refused("not a plain file");
    fs::remove(file(suffix));
    ASSERT_EQ(::mkfifo(file(suffix).c_str(), 0600), 0);
    expect_refused("not a plain file");
    fs::remove(file(suffix));
    std::ofstream(folder_.path() / "target") << "untouched";
    fs::create_symlink(folder_.path() / "target", file(suffix));
    expect_refused("not a plain file");
    fs::remove(file(suffix));
    fs::create_symlink(folder_.path() / "nowhere", file(suffix));
    expect_refused("not a plain file");
    fs::remove(file(suffix));
    EXPECT_FALSE(fs::exists(folder_.path() / "nowhere"));
    EXPECT_EQ(fs::file_size(folder_.path() / "target"), 9U);
  }
  EXPECT_TRUE(open());
}

TEST_F(SqliteFile, LiesInADirectoryThatIsReachedByALinkAsWell) {
  fs::create_directory(folder_.path() / "state");
  fs::create_directory_symlink(folder_.path() / "state", folder_.path() / "link");
  EXPECT_TRUE(SqliteStore::open(folder_.path() / "link"));
  EXPECT_TRUE(fs::exists(folder_.path() / "state" / "cleave.db"));
  const auto none = SqliteStore::open(folder_.path() / "none");
  ASSERT_FALSE(none);
  EXPECT_NE(none.error().text().find("No such file"), std::string::npos) << none.error().text();
}

TEST_F(SqliteFile, OfAnotherUserOrWithoutPermissionIsRefused) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can become another user";
  constexpr uid_t nobody = 65534;
  { const auto store = open(); }
  const auto as_nobody = [&](const std::string& words) {
    return in_child([&] {
      if (::setgid(nobody) != 0 || ::setuid(nobody) != 0) return 2;
      return refusal().find(words) != std::string::npos ? 0 : 1;
    });
  };
  EXPECT_EQ(as_nobody("Permission denied"), 0) << "the directory is closed";
  ASSERT_EQ(::chmod(folder_.path().c_str(), 0755), 0);
  EXPECT_EQ(as_nobody("belongs to another user (uid 0)"), 0);
  fs::remove(file());
  fs::remove(file(".lock"));
  fs::remove(file(".witness"));
  EXPECT_EQ(as_nobody("Permission denied"), 0) << "nothing can be made there";
  ASSERT_EQ(::chown(folder_.path().c_str(), nobody, nobody), 0);
  EXPECT_EQ(as_nobody("no refusal says this"), 1) << "and now it can";
  EXPECT_NE(refusal().find("belongs to another user (uid 65534)"), std::string::npos) << "nor root";
}

/// Writes batches for ever, each told by a byte on `told` when it was acknowledged.
[[noreturn]] void write_until_killed(const fs::path& folder, int told) {
  auto store = SqliteStore::open(folder);
  if (!store) ::_exit(3);
  for (std::int64_t turn = (*store)->load()->last_event + 1;; ++turn) {
    const auto durability = turn % 2 == 0 ? Durability::synced : Durability::written;
    if (!(*store)->write(batch_of(turn), durability)) ::_exit(4);
    if (::write(told, "x", 1) != 1) ::_exit(5);
  }
}

TEST_F(SqliteFile, KeepsEveryBatchThatWasAcknowledgedWhenItsWriterIsKilled) {
  Random random(50);
  std::int64_t there = 0;
  for (int round = 0; round < 50 && !HasFailure(); ++round) {
    SCOPED_TRACE(round);
    int ends[2];
    ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) write_until_killed(folder_.path(), ends[1]);
    ::close(ends[1]);
    char acknowledged = 0;
    // However slow the machine is, each round writes.
    ASSERT_EQ(::read(ends[0], &acknowledged, 1), 1);
    std::this_thread::sleep_for(std::chrono::microseconds(random.below(8'000)));
    ASSERT_EQ(::kill(child, SIGKILL), 0);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status)) << "it ended by itself: " << WEXITSTATUS(status);
    std::int64_t told = 1;
    while (::read(ends[0], &acknowledged, 1) == 1) ++told;
    ::close(ends[0]);
    const auto store = open();
    ASSERT_TRUE(store);
    const std::int64_t now = whole_batches(*store);
    ASSERT_GE(now, there + told) << "-1: one is there in part";
    ASSERT_LE(now, there + told + 1) << "one may have been written and not been told any more";
    there = now;
  }
  EXPECT_GT(there, 50);
}

TEST_F(SqliteFile, WritesAgainWhenAFullDiskHasRoomAgain) {
  const auto store = open();
  ASSERT_TRUE(store->write(batch_of(1), Durability::synced));
  ASSERT_TRUE(store->limit_pages(40));
  std::int64_t turn = 2;
  while (turn < 1000 &&
         store->write(batch_of(turn), turn % 2 == 0 ? Durability::synced : Durability::written))
    ++turn;
  ASSERT_LT(turn, 40);
  for (int again = 0; again < 5; ++again) {
    const auto full = store->write(batch_of(turn), Durability::synced);
    ASSERT_FALSE(full);
    EXPECT_EQ(full.error().kind, ErrorKind::infeasible);
    EXPECT_NE(full.error().text().find("the disk is full"), std::string::npos)
        << full.error().text();
    EXPECT_EQ(whole_batches(*store), turn - 1)
        << "it can be read, and nothing of the failed one is there";
  }
  ASSERT_TRUE(store->limit_pages(1'000'000));
  const auto later = store->write(batch_of(turn), Durability::synced);
  EXPECT_TRUE(later) << later.error().text();
  EXPECT_EQ(whole_batches(*store), turn);
}

/// In a child: write(2) itself fails, in the middle of the log.
int fill_up(const fs::path& folder, rlim_t most_bytes) {
  ::signal(SIGXFSZ, SIG_IGN);
  auto opened = SqliteStore::open(folder);
  if (!opened) return 10;
  Store& store = **opened;
  const rlimit small{most_bytes, RLIM_INFINITY}, none{RLIM_INFINITY, RLIM_INFINITY};
  if (::setrlimit(RLIMIT_FSIZE, &small) != 0) return 11;
  std::int64_t turn = store.load()->last_event + 1;
  while (turn < 10'000 &&
         store.write(batch_of(turn), turn % 2 == 0 ? Durability::synced : Durability::written))
    ++turn;
  if (turn == 10'000) return 12;
  for (int again = 0; again < 3; ++again) {
    const auto full = store.write(batch_of(turn), Durability::synced);
    if (full || full.error().kind != ErrorKind::infeasible) return 13;
    if (whole_batches(store) != turn - 1) return 14;
  }
  if (::setrlimit(RLIMIT_FSIZE, &none) != 0) return 15;
  for (int more = 0; more < 5; ++more, ++turn)
    if (!store.write(batch_of(turn), Durability::synced)) return 16;
  if (whole_batches(store) != turn - 1) return 17;
  opened->reset();
  auto again = SqliteStore::open(folder);
  if (!again || whole_batches(**again) != turn - 1) return 18;
  return 0;
}

TEST_F(SqliteFile, WritesAgainWhenTheSystemTakesItsWritesAgain) {
  for (const rlim_t most : {200'000, 950'001, 3'000'000})
    EXPECT_EQ(in_child([&] { return fill_up(folder_.path(), most); }), 0) << most;
}

TEST_F(SqliteFile, GivesBackTheRoomOfDeletedRows) {
  auto store = open();
  StoreBatch over;
  for (std::int64_t turn = 1; turn <= 300; ++turn) {
    StoreBatch batch = batch_of(turn);
    for (JobRecord& job : batch.jobs) {
      job.state = JobState::finished;
      job.ended = Instant(Duration(turn));
      over.forgotten.push_back(job.number);
    }
    ASSERT_TRUE(store->write(batch, Durability::written));
  }
  store.reset();
  const auto full = fs::file_size(file());
  store = open();
  ASSERT_TRUE(store->write(over, Durability::written));
  EXPECT_FALSE(*store->command(1));
  EXPECT_TRUE(store->attempts(1)->empty());
  EXPECT_EQ(store->events(0, {}, SIZE_MAX)->size(), 300U) << "its events stay";
  ASSERT_TRUE(store->forget_events(10));
  store.reset();
  EXPECT_LT(fs::file_size(file()), full / 4);
}

}  // namespace
}  // namespace cleave
