#include "daemon/store/store_check.hpp"

#include <sys/stat.h>

#include <algorithm>

#include "base/format.hpp"
#include "base/text.hpp"
#include "daemon/store/store_file.hpp"
#include "daemon/store/store_schema.hpp"
#include "runner/job_directory.hpp"

namespace cleave {

namespace fs = std::filesystem;

namespace {

constexpr std::int64_t most_of_a_kind = 20;  // that are named
constexpr int most_reads = 3;
constexpr const char* restore_remedy =
    "stop the daemon, keep a copy of the state directory, and restore a backup";

/// Gathers what is wrong with one database.
class Check {
 public:
  Check(StoreReader& reader, bool with_witness)
      : reader_(reader),
        with_witness_(with_witness),
        connection_(reader.connection()),
        place_(shown(reader.path().string(), 200)) {}

  Result<StoreFindings> whole();

 private:
  void fault(std::string message, std::string remedy = restore_remedy) {
    found_.faults.push_back({ErrorKind::bad_input, place_, std::move(message), std::move(remedy)});
  }
  /// Damage is a fault. What else keeps this program from reading ends the check.
  void hear(const Result<void>& done) {
    if (done) return;
    if (done.error().kind == ErrorKind::infeasible)
      cannot_ = done.error();
    else
      found_.faults.push_back(done.error());
  }
  void check_structure();
  template <class Record>
  void check_table(const StoreTable<Record>& table);
  void check_references();
  void check_numbers();
  void check_witness();

  StoreReader& reader_;
  bool with_witness_;
  SqliteConnection& connection_;
  std::string place_;
  StoreFindings found_;
  std::optional<Error> cannot_;
};

Result<StoreFindings> Check::whole() {
  const auto tables = connection_.number("SELECT count(*) FROM sqlite_schema");
  if (tables && *tables == 0 && !reader_.torn()) {
    check_witness();  // nothing has been written yet
    return found_;
  }
  const auto version = known_schema(connection_, place_);
  if (!version && version.error().kind == ErrorKind::infeasible)
    return std::unexpected(version.error());
  if (!version) {
    found_.faults.push_back(version.error());
    return found_;
  }
  found_.schema = *version;
  if (reader_.torn()) hear(damaged(connection_, "its end is missing"));
  check_structure();
  static_cast<void>(for_each_table([&](const auto& table) -> Result<void> {
    if (!cannot_ && *version >= table.since) check_table(table);
    return {};
  }));
  if (!cannot_) check_references();
  if (!cannot_ && *version >= counting_since) check_numbers();
  if (cannot_) return std::unexpected(*cannot_);
  return found_;
}

void Check::check_structure() {
  SqliteRun run = connection_.use(fmt::format("PRAGMA integrity_check({})", most_of_a_kind));
  while (run.row()) {
    const std::string_view line = run.text();
    if (line != "ok") fault(fmt::format("the database is damaged: {}", shown(line, 200)));
  }
  hear(run.state());
}

/// Each row is compared with its checksum and taken apart, as far as the schema has it.
template <class Record>
void Check::check_table(const StoreTable<Record>& table) {
  const bool summed = found_.schema >= sums_since;
  const bool newest = found_.schema == schema_version();
  SqliteRun run = connection_.use(fmt::format(
      "SELECT {}, {}{} FROM {} NOT INDEXED",
      summed ? is_intact(table.name, table.columns, table.name, found_.schema) : "1",
      row_name(table), newest ? ", " + column_names(table.columns, table.name) : "", table.name));
  std::int64_t wrong = 0;
  while (run.row()) {
    ++found_.rows;
    if (table.name == "jobs") ++found_.jobs;
    const bool intact = run.integer() != 0;
    const std::string row(run.text());
    Record record{};
    const auto taken = !intact  ? fail(ErrorKind::bad_input, "", altered_row(table.name, row))
                       : newest ? take_columns(run, table.columns, record, place_)
                                : Result<void>();
    if (taken || ++wrong > most_of_a_kind) continue;
    fault(intact ? fmt::format("in the table {} the row of {} cannot be understood: {}", table.name,
                               row, taken.error().message)
                 : taken.error().message);
  }
  if (wrong > most_of_a_kind)
    fault(
        fmt::format("in the table {} {} more rows are wrong", table.name, wrong - most_of_a_kind));
  const auto fine = run.state();
  if (!fine && fine.error().kind != ErrorKind::infeasible)
    fault(fmt::format("the table {} cannot be read to its end: {}", table.name,
                      fine.error().message));
  else
    hear(fine);
}

/// What must be there because of another row. A further process of a job has no command of its own.
void Check::check_references() {
  constexpr std::pair<const char*, const char*> questions[] = {
      {"SELECT job FROM attempts WHERE job NOT IN (SELECT number FROM jobs)",
       "an attempt of job {} is there, and the job is not"},
      {"SELECT job FROM commands WHERE job NOT IN (SELECT number FROM jobs)",
       "the command of job {} is there, and the job is not"},
      {"SELECT number FROM jobs WHERE leader = 0 AND number NOT IN (SELECT job FROM commands)",
       "job {} has no command"},
      {"SELECT leader FROM jobs WHERE leader <> 0 AND leader NOT IN (SELECT number FROM jobs)",
       "a process of job {} is there, and the job is not"},
  };
  constexpr std::int64_t leaders_since = 4;
  for (const auto& [question, words] : questions) {
    if (found_.schema < leaders_since && std::string_view(question).contains("leader")) continue;
    SqliteRun run = connection_.use(fmt::format("{} LIMIT {}", question, most_of_a_kind));
    while (run.row()) fault(fmt::format(fmt::runtime(words), run.integer()));
    hear(run.state());
  }
}

void Check::check_numbers() {
  SqliteRun run = connection_.use("SELECT name, highest FROM numbers");
  while (run.row()) take_number(run, found_.progress);
  hear(run.state());
  const auto highest = connection_.number("SELECT coalesce(max(number), 0) FROM jobs");
  if (!highest) return hear(std::unexpected(highest.error()));
  check_witness();
  if (!numbers_agree(reader_.witness().seen, found_.progress, *highest))
    fault(fmt::format("the database is damaged: {}", wrong_numbers));
}

void Check::check_witness() {
  if (!with_witness_) return;
  const WitnessText& witness = reader_.witness();
  if (!witness.seen && (witness.damaged || found_.progress.batch > 0))
    fault(fmt::format("its witness, {}, is {}: whether the latest jobs are all in the store cannot "
                      "be told",
                      witness_name, witness.damaged ? "damaged" : "gone or empty"),
          "compare the latest jobs with audit.jsonl; a daemon that begins makes a new one");
  if (!witness.seen) return;
  const std::string lost = missing_batches(*witness.seen, found_.progress);
  if (!lost.empty())
    fault(lost, "restore it with its log from a backup, or start once with --accept-loss");
}

/// Attempts that have a folder.
Result<std::vector<JobKey>> folders_in(const fs::path& jobs) {
  std::vector<JobKey> keys;
  std::error_code failed;
  fs::directory_iterator each(jobs, failed);
  if (failed == std::errc::no_such_file_or_directory) return keys;
  for (; !failed && each != fs::directory_iterator(); each.increment(failed))
    if (const auto key = parse_directory_name(each->path().filename().string()))
      keys.push_back(*key);
  if (failed)
    return fail(ErrorKind::infeasible, shown(jobs.string(), 200),
                fmt::format("cannot be read: {}", failed.message()));
  std::ranges::sort(keys);
  return keys;
}

bool is_there(const fs::path& jobs, const JobKey& key) {
  struct stat facts = {};
  return ::lstat((jobs / directory_name(key)).c_str(), &facts) == 0;
}

/// Folders were listed before the store was looked at, which has each attempt before its folder is
/// made. One that was removed meanwhile belonged to a job that is forgotten.
void check_folders(SqliteConnection& connection, const fs::path& jobs,
                   const std::vector<JobKey>& folders, StoreFindings& found) {
  std::int64_t unknown = 0;
  const auto fault = [&](const std::string& folder, std::string message, std::string remedy) {
    found.faults.push_back({ErrorKind::bad_input, shown((jobs / folder).string(), 200),
                            std::move(message), std::move(remedy)});
  };
  for (const JobKey& key : folders) {
    ++found.folders;
    SqliteRun run = connection.use("SELECT 1 FROM attempts WHERE job = ?1 AND attempt = ?2");
    if (run.with(key.job, key.attempt).row() || !run.state() || !is_there(jobs, key)) continue;
    if (++unknown > most_of_a_kind) continue;
    fault(directory_name(key),
          key.job > found.progress.job
              ? fmt::format("the store does not know job {}; the highest number that it has given "
                            "is {}",
                            key.job, found.progress.job)
              : fmt::format("the store does not know attempt {} of job {}", key.attempt, key.job),
          "if the store is an older copy, restore a later one; a daemon stops what runs there, "
          "keeps the folder and does not give the number again");
  }
  if (unknown > most_of_a_kind)
    fault("",
          fmt::format("{} more folders are of attempts that the store does not know",
                      unknown - most_of_a_kind),
          "");
  SqliteRun run = connection.use(
      "SELECT job, attempt FROM attempts WHERE ended_ns IS NULL AND began_ns IS NOT NULL");
  while (run.row()) {
    const JobNumber job = run.integer();
    const JobKey key{job, run.integer()};
    if (std::ranges::binary_search(folders, key) || is_there(jobs, key)) continue;
    fault(directory_name(key), "an attempt began and has not ended, and its folder is gone",
          "a daemon that begins takes it for lost");
  }
}

Result<StoreFindings> check_once(const fs::path& state_directory, bool& overtaken) {
  const fs::path jobs = state_directory / "jobs";
  const auto folders = folders_in(jobs);
  if (!folders) return std::unexpected(folders.error());
  auto reader = StoreReader::open(state_directory);
  if (!reader) return std::unexpected(reader.error());
  auto found = check_database(*reader, true);
  if (found && found->schema > 0) check_folders(reader->connection(), jobs, *folders, *found);
  overtaken = reader->overtaken();
  return found;
}

}  // namespace

Result<StoreFindings> check_database(StoreReader& reader, bool with_witness) {
  return Check(reader, with_witness).whole();
}

Result<StoreFindings> check_store(const fs::path& state_directory) {
  for (int tries = 0; tries < most_reads; ++tries) {
    bool overtaken = false;
    auto found = check_once(state_directory, overtaken);
    if (!overtaken) return found;
  }
  return fail(ErrorKind::infeasible, shown(state_directory.string(), 200),
              "the daemon writes more than can be read meanwhile",
              "try again when less is submitted");
}

}  // namespace cleave
