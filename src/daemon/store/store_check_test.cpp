// What `cleaved check` and `cleaved backup` read and write, also beside a store that is in use.

#include "daemon/store/store_check.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <iterator>

#include "base/temporary_folder_test.hpp"
#include "daemon/store/sqlite_store.hpp"
#include "daemon/store/store_backup.hpp"
#include "daemon/store/store_contents_test.hpp"

namespace cleave {
namespace {

namespace fs = std::filesystem;

std::string bytes_of(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

class CheckedStore : public testing::Test {
 protected:
  CheckedStore() { fs::create_directory(state()); }
  [[nodiscard]] fs::path state() const { return folder_.path() / "state"; }
  [[nodiscard]] fs::path file(const char* suffix = "") const {
    return state() / fmt::format("cleave.db{}", suffix);
  }
  [[nodiscard]] std::unique_ptr<SqliteStore> open(bool accepts_loss = false) const {
    auto store = SqliteStore::open(state(), accepts_loss);
    EXPECT_TRUE(store) << store.error().text();
    return store ? std::move(*store) : nullptr;
  }
  void write(SqliteStore& store, std::int64_t from, std::int64_t to) const {
    for (std::int64_t turn = from; turn <= to; ++turn)
      ASSERT_TRUE(store.write(batch_of(turn), Durability::synced));
  }
  void sql(const std::string& text) const {
    auto connection = SqliteConnection::open(fs::canonical(file()));
    ASSERT_TRUE(connection) << connection.error().text();
    const auto done = connection->run(text);
    ASSERT_TRUE(done) << done.error().text();
  }
  /// Every file with its contents, mode and times.
  [[nodiscard]] std::string everything() const {
    std::string all;
    for (const auto& each : fs::recursive_directory_iterator(state())) {
      struct stat facts = {};
      EXPECT_EQ(::lstat(each.path().c_str(), &facts), 0);
      all += fmt::format("{} {:o} {}.{} ", each.path().string(), facts.st_mode,
                         facts.st_mtim.tv_sec, facts.st_mtim.tv_nsec);
      if (each.is_regular_file()) all += bytes_of(each.path());
    }
    return all;
  }
  void expect_sound() const {
    const auto found = check_store(state());
    ASSERT_TRUE(found) << found.error().text();
    EXPECT_TRUE(found->faults.empty()) << found->faults.front().text();
  }
  /// Exactly these faults, in order.
  void expect_faults(const std::vector<std::string>& words) const {
    const auto found = check_store(state());
    ASSERT_TRUE(found) << found.error().text();
    for (std::size_t each = 0; each < std::max(words.size(), found->faults.size()); ++each) {
      const std::string said = each < found->faults.size() ? found->faults[each].text() : "nothing";
      EXPECT_NE(said.find(each < words.size() ? words[each] : "nothing"), std::string::npos)
          << said;
      EXPECT_TRUE(each >= found->faults.size() || !found->faults[each].remedy.empty()) << said;
    }
  }

  const TemporaryFolder folder_{quick_folder()};
};

TEST_F(CheckedStore, IsSoundAndUnchangedAlsoWhileItIsInUse) {
  auto store = open();
  write(*store, 1, 3);
  for (const char* stage : {"with a log", "with a log that is in the database", "closed"}) {
    SCOPED_TRACE(stage);
    const std::string before = everything();
    const auto found = check_store(state());
    ASSERT_TRUE(found) << found.error().text();
    EXPECT_TRUE(found->faults.empty()) << found->faults.front().text();
    EXPECT_EQ(found->jobs, 6);
    EXPECT_EQ(found->progress, (StoreProgress{3, 6, 3}));
    EXPECT_TRUE(everything() == before);
    if (store) store->settle();
    if (std::string_view(stage).ends_with("database")) store.reset();
  }
  EXPECT_FALSE(fs::exists(file("-wal")));
}

TEST_F(CheckedStore, HasEachThingThatIsWrongNamed) {
  write(*open(), 1, 3);
  fs::copy(state(), folder_.path() / "good");
  for (const auto& [change, words] : std::vector<std::pair<const char*, std::vector<std::string>>>{
           {"UPDATE jobs SET uid = 7 WHERE number = 3",
            {"in the table jobs the row of number 3 is not what was written"}},
           {"UPDATE commands SET command = replace(command, 'true', 'evil') WHERE job > 4",
            {"in the table commands the row of job 5 is not", "row of job 6 is not"}},
           {"UPDATE attempts SET why = 'x' WHERE job = 2; UPDATE events SET uid = 9 WHERE number=1",
            {"table attempts the row of job 2, attempt 1", "table events the row of number 1"}},
           {"PRAGMA foreign_keys = OFF; DELETE FROM jobs WHERE number = 2",
            {"an attempt of job 2 is there, and the job is not",
             "the command of job 2 is there, and the job is not"}},
           {"DELETE FROM commands WHERE job = 4", {"job 4 has no command"}},
           {"DELETE FROM numbers WHERE name = 'job'",
            {"highest numbers that were given are not what was written"}},
           {"UPDATE numbers SET highest = 5 WHERE name = 'job'",
            {"in the table numbers the row of name job is not what was written",
             "highest numbers that were given are not what was written"}},
           {"DROP TABLE events", {"the table events cannot be read to its end: "}}}) {
    SCOPED_TRACE(change);
    fs::remove_all(state());
    fs::copy(folder_.path() / "good", state());
    sql(change);
    expect_faults(words);
  }
}

TEST_F(CheckedStore, NamesTwentyRowsAndCountsTheOthers) {
  write(*open(), 1, 15);
  sql("UPDATE jobs SET uid = 7");
  const auto found = check_store(state());
  ASSERT_TRUE(found && found->faults.size() == 21U);
  EXPECT_NE(found->faults.back().text().find("in the table jobs 10 more rows are wrong"),
            std::string::npos);
}

TEST_F(CheckedStore, LacksWhatItsWitnessHasSeen) {
  {
    auto store = open();
    write(*store, 1, 2);
  }
  fs::copy_file(file(), folder_.path() / "older");
  {
    auto store = open();
    write(*store, 3, 5);
  }
  fs::copy_file(folder_.path() / "older", file(), fs::copy_options::overwrite_existing);
  expect_faults(
      {"its latest 3 batches are missing, which had been on the disk: jobs 5 to 10 were "
       "accepted and are not there"});
  fs::resize_file(file(".witness"), 100);
  expect_faults({"cleave.db.witness, is damaged"});
  fs::remove(file(".witness"));
  expect_faults({"cleave.db.witness, is gone or empty"});
  EXPECT_FALSE(fs::exists(file(".witness")));
}

TEST_F(CheckedStore, IsComparedWithTheFoldersOfAttempts) {
  write(*open(), 1, 2);
  const fs::path jobs = state() / "jobs";
  for (const char* each : {"1.1", "2.1", "3.1", "4.1", ".gone-9.1.1", ".new-9.1", "other"})
    fs::create_directories(jobs / each);
  expect_sound();
  for (const char* each : {"3.2", "70.1"}) fs::create_directory(jobs / each);
  expect_faults({"jobs/3.2: the store does not know attempt 2 of job 3",
                 "jobs/70.1: the store does not know job 70; the highest number that it has given "
                 "is 4"});
  for (const char* each : {"3.2", "70.1", "4.1"}) fs::remove(jobs / each);
  expect_sound();  // an attempt that has not begun
  {
    auto store = open();
    StoreBatch batch = batch_of(3);
    batch.attempts[1].began = Instant(Duration(1));
    ASSERT_TRUE(store->write(batch, Durability::synced));
  }
  expect_faults({"jobs/6.1: an attempt began and has not ended, and its folder is gone"});
}

TEST_F(CheckedStore, ThatCannotBeReadIsNotCalledSound) {
  const auto none = check_store(state());
  ASSERT_FALSE(none);
  EXPECT_NE(none.error().text().find("there is no store; name the state directory"),
            std::string::npos)
      << none.error().text();
  EXPECT_EQ(none.error().kind, ErrorKind::infeasible);
  EXPECT_TRUE(fs::is_empty(state()));
  EXPECT_FALSE(check_store(folder_.path() / "nowhere"));
  std::ofstream(file()) << std::string(5000, 'x');
  expect_faults({"is not an SQLite database"});
  fs::remove(file());
  std::ofstream(file()).close();
  expect_sound();  // a daemon that was killed at its very beginning
  std::ofstream(file("-wal")) << "log";
  const auto gone = check_store(state());
  ASSERT_FALSE(gone);
  EXPECT_EQ(gone.error().kind, ErrorKind::bad_input) << gone.error().text();
  fs::remove(file("-wal"));
  sql("CREATE TABLE other (a)");
  expect_faults({"not one of Cleave's"});
}

TEST_F(CheckedStore, LiesAtAnyPath) {
  const fs::path odd = folder_.path() / "a?b#c%41 d";
  fs::create_directory(odd);
  ASSERT_TRUE(SqliteStore::open(odd));
  auto store = SqliteStore::open(odd);
  ASSERT_TRUE(store);
  for (const bool with_log : {false, true}) {
    ASSERT_TRUE(!with_log || (*store)->write(batch_of(1), Durability::synced));
    const auto found = check_store(odd);
    ASSERT_TRUE(found) << found.error().text();
    EXPECT_EQ(found->jobs, with_log ? 2 : 0);
    EXPECT_TRUE(found->faults.empty());
  }
}

/// Backups.

class BackedUpStore : public CheckedStore {
 protected:
  [[nodiscard]] fs::path backup(const char* suffix = "") const {
    return folder_.path() / fmt::format("monday{}", suffix);
  }
  /// What is in the folder of the backup, beside the store.
  [[nodiscard]] std::size_t files() const {
    return static_cast<std::size_t>(
        std::distance(fs::directory_iterator(folder_.path()), fs::directory_iterator()));
  }
  /// As the documentation says: the database and, where the store's own witness is gone, its own.
  void restore(bool with_witness) const {
    fs::remove(file("-wal"));
    fs::copy_file(backup(), file(), fs::copy_options::overwrite_existing);
    if (with_witness)
      fs::copy_file(backup(".witness"), file(".witness"), fs::copy_options::overwrite_existing);
  }
};

TEST_F(BackedUpStore, IsCopiedWhileItIsInUse) {
  auto store = open();
  write(*store, 1, 5);
  const mode_t before = ::umask(0);
  const auto made = back_up_store(state(), backup());
  ::umask(before);
  ASSERT_TRUE(made) << made.error().text();
  EXPECT_EQ(made->progress, (StoreProgress{5, 10, 5}));
  EXPECT_EQ(mode_of(backup()), 0600U);
  EXPECT_EQ(mode_of(backup(".witness")), 0600U);
  EXPECT_EQ(files(), 3U) << "the state, the copy and its witness";
  write(*store, 6, 7);
  store.reset();
  // Elsewhere, as after the loss of the disk.
  fs::remove_all(state());
  fs::create_directory(state());
  restore(true);
  expect_sound();
  store = open();
  EXPECT_TRUE(store->remarks().empty());
  EXPECT_EQ(whole_batches(*store), 5);
  write(*store, 6, 6);
  EXPECT_EQ(whole_batches(*store), 6);
}

TEST_F(BackedUpStore, IsRestoredWithoutGivingANumberTwice) {
  auto store = open();
  write(*store, 1, 5);
  ASSERT_TRUE(back_up_store(state(), backup()));
  write(*store, 6, 8);
  store.reset();
  restore(false);
  const auto refused = SqliteStore::open(state());
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().text().find("jobs 11 to 16 were accepted and are not there"),
            std::string::npos)
      << refused.error().text();
  store = open(true);
  EXPECT_EQ(store->remarks().size(), 1U);
  EXPECT_EQ(store->load()->last_job, 16);
  EXPECT_EQ(store->load()->jobs.size(), 10U);
  write(*store, 9, 9);
  store.reset();
  expect_sound();
  EXPECT_EQ(open()->load()->last_job, 18);
}

TEST_F(BackedUpStore, IsNeverWrittenOverAnother) {
  write(*open(), 1, 1);
  for (const char* there : {"", ".witness"}) {
    std::ofstream(backup(there)) << "mine";
    const auto refused = back_up_store(state(), backup());
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind, ErrorKind::bad_usage);
    EXPECT_NE(refused.error().text().find("it is there already"), std::string::npos);
    EXPECT_EQ(bytes_of(backup(there)), "mine");
    fs::remove(backup(there));
    fs::create_symlink(folder_.path() / "nowhere", backup(there));
    EXPECT_FALSE(back_up_store(state(), backup()));
    fs::remove(backup(there));
    EXPECT_EQ(files(), 1U) << "nothing is left";
  }
  const auto nowhere = back_up_store(state(), folder_.path() / "no" / "folder");
  ASSERT_FALSE(nowhere);
  EXPECT_NE(nowhere.error().text().find("No such file"), std::string::npos)
      << nowhere.error().text();
}

TEST_F(BackedUpStore, IsNotMadeOfADamagedStore) {
  {
    auto store = open();
    write(*store, 1, 4);
  }
  fs::copy_file(file(), folder_.path() / "older");
  write(*open(), 5, 5);
  fs::copy_file(file(), folder_.path() / "good");
  sql("UPDATE commands SET command = 'x' WHERE job = 2");
  const auto altered = back_up_store(state(), backup());
  ASSERT_FALSE(altered);
  EXPECT_NE(altered.error().text().find("in the table commands the row of job 2 is not what was "
                                        "written; no backup was made; 'cleaved check'"),
            std::string::npos)
      << altered.error().text();
  fs::copy_file(folder_.path() / "older", file(), fs::copy_options::overwrite_existing);
  const auto lacking = back_up_store(state(), backup());
  ASSERT_FALSE(lacking);
  EXPECT_NE(lacking.error().text().find("jobs 9 to 10 were accepted and are not there"),
            std::string::npos)
      << lacking.error().text();
  EXPECT_EQ(files(), 3U);
}

/// For each byte that comes, says so and then writes, and brings its log in all the time.
[[noreturn]] void write_when_told(const fs::path& state, int told, int tells) {
  auto store = SqliteStore::open(state);
  if (!store) ::_exit(3);
  std::int64_t turn = (*store)->load()->last_event;
  for (char byte = 0; ::read(told, &byte, 1) == 1;) {
    if (::write(tells, &byte, 1) != 1) ::_exit(4);
    for (const std::int64_t last = turn + 40; turn < last;) {
      if (!(*store)->write(batch_of(++turn), Durability::synced)) ::_exit(5);
      (*store)->settle();
    }
  }
  ::_exit(0);
}

TEST_F(BackedUpStore, IsOfOneMomentWhateverIsWrittenMeanwhile) {
  write(*open(), 1, 60);
  int to[2], from[2];
  ASSERT_EQ(::pipe2(to, O_CLOEXEC), 0);
  ASSERT_EQ(::pipe2(from, O_CLOEXEC), 0);
  const pid_t writer = ::fork();
  ASSERT_GE(writer, 0);
  if (writer == 0) {
    ::close(to[1]);
    write_when_told(state(), to[0], from[1]);
  }
  std::int64_t last = 0;
  for (int round = 0; round < 8 && !HasFailure(); ++round) {
    char byte = 'w';
    ASSERT_EQ(::write(to[1], &byte, 1), 1);
    ASSERT_EQ(::read(from[0], &byte, 1), 1);
    const auto found = check_store(state());
    EXPECT_TRUE(found && found->faults.empty())
        << (found ? found->faults.front().text() : found.error().text());
    const fs::path copy = folder_.path() / fmt::format("copy{}", round);
    fs::create_directory(copy);
    const auto made = back_up_store(state(), copy / "cleave.db");
    ASSERT_TRUE(made) << made.error().text();
    auto store = SqliteStore::open(copy);
    ASSERT_TRUE(store) << store.error().text();
    const std::int64_t whole = whole_batches(**store);
    EXPECT_GE(whole, last);
    EXPECT_GE(whole, found ? found->progress.event : 0);
    EXPECT_EQ(2 * whole, made->progress.job);
    last = whole;
  }
  EXPECT_GT(last, 60);
  ::close(to[1]);
  int status = 0;
  ASSERT_EQ(::waitpid(writer, &status, 0), writer);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << WEXITSTATUS(status);
  for (const int each : {to[0], from[0], from[1]}) ::close(each);
  EXPECT_EQ(whole_batches(*open()), 60 + 8 * 40);
}

/// What is read must not be written over: the store waits with its log, until the log is very long.
TEST_F(BackedUpStore, KeepsItsDatabaseAsItIsWhileItIsRead) {
  auto store = open();
  write(*store, 1, 3);
  store->settle();
  write(*store, 4, 4);
  {
    auto reader = StoreReader::open(state());
    ASSERT_TRUE(reader) << reader.error().text();
    const std::string before = bytes_of(file());
    write(*store, 5, 6);
    store->settle();
    EXPECT_TRUE(bytes_of(file()) == before);
    EXPECT_FALSE(reader->overtaken());
    store.reset();
    EXPECT_TRUE(bytes_of(file()) == before) << "nor when it is closed";
    EXPECT_FALSE(reader->overtaken());
    const auto jobs = reader->connection().number("SELECT count(*) FROM jobs");
    ASSERT_TRUE(jobs);
    EXPECT_EQ(*jobs, 8);
  }
  EXPECT_EQ(whole_batches(*open()), 6);
}

TEST_F(BackedUpStore, NoticesThatItWasOvertaken) {
  write(*open(), 1, 3);
  auto reader = StoreReader::open(state());
  ASSERT_TRUE(reader) << reader.error().text();
  EXPECT_FALSE(reader->overtaken());
  sql("PRAGMA user_version = 6");  // by a program that knows nothing of readers
  EXPECT_TRUE(reader->overtaken());
}

TEST(Witness, SaysWhatAStoreLacks) {
  const StoreProgress seen{9, 20, 30};
  EXPECT_EQ(missing_batches(seen, seen), "");
  EXPECT_EQ(missing_batches(seen, {10, 20, 31}), "");
  EXPECT_EQ(missing_batches(seen, {8, 20, 29}),
            "its latest batch is missing, which had been on the disk");
  EXPECT_EQ(missing_batches(seen, {7, 18, 29}),
            "its latest 2 batches are missing, which had been on the disk: jobs 19 to 20 were "
            "accepted and are not there");
  EXPECT_EQ(parse_witness(witness_text(seen)).seen, seen);
  EXPECT_FALSE(parse_witness("").damaged);
}

}  // namespace
}  // namespace cleave
