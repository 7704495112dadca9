// What the store answers.

#include <algorithm>

#include "base/format.hpp"
#include "base/text.hpp"
#include "control/record_text.hpp"
#include "daemon/store/sqlite_store.hpp"

namespace cleave {

namespace {

constexpr const char* job_columns =
    "SELECT number, submitted_ns, state, ended_ns, exit_code, reason, attempts, failures, "
    "cancelled, request,"
    " early_restarts, owner, wish FROM jobs";
constexpr const char* attempt_columns =
    "SELECT job, attempt, gpu, device, profile, start, started_ns, began_ns, ended_ns, \"end\", "
    "why,"
    " exit_code, peak_mib FROM attempts";
/// Both, of a job and its latest attempt; no column of the conditions of a listing is in both
/// tables.
constexpr const char* joined_columns =
    "SELECT number, submitted_ns, state, jobs.ended_ns, jobs.exit_code, reason, attempts, "
    "failures, "
    "cancelled,"
    " request, early_restarts, owner, wish, a.job, a.attempt, a.gpu, a.device, a.profile, a.start,"
    " a.started_ns, a.began_ns, a.ended_ns, a.\"end\", a.why, a.exit_code, a.peak_mib"
    " FROM jobs LEFT JOIN attempts AS a ON a.job = number AND a.attempt ="
    " (SELECT max(attempt) FROM attempts WHERE job = number)";

std::int64_t limit(std::size_t most) {
  return static_cast<std::int64_t>(std::min<std::size_t>(most, INT64_MAX));
}

std::unexpected<Error> unknown_word(const std::string& place, std::string_view word) {
  return fail(ErrorKind::bad_input, place, fmt::format("'{}' is not known", shown(word)),
              "the database is damaged, or a newer Cleave wrote it");
}

/// The texts of a job; `place` names it.
Result<void> read_texts(SqliteRun& row, JobRecord& job, const std::string& place) {
  const auto request = row.text_if();
  const auto restarts = row.text_if();
  if (restarts) {
    auto read = parse_instants(*restarts, place);
    if (!read) return std::unexpected(read.error());
    job.early_restarts = std::move(*read);
  }
  auto owner = parse_owner(row.text(), place);
  if (!owner) return std::unexpected(owner.error());
  job.owner = std::move(*owner);
  auto spec = parse_spec(row.text(), place);
  if (!spec) return std::unexpected(spec.error());
  job.spec = std::move(*spec);
  job.request = job.spec.request;
  if (!request) return {};
  auto read = parse_request(*request, place);
  if (!read) return std::unexpected(read.error());
  job.request = std::move(*read);
  return {};
}

Result<JobRecord> read_job(SqliteRun& row, const std::string& file) {
  JobRecord job;
  job.number = row.integer();
  const std::string place = fmt::format("{}: job {}", file, job.number);
  job.submitted = row.instant();
  const std::string_view state = row.text();
  const auto known = parse_job_state(state);
  if (!known) return unknown_word(place, state);
  job.state = *known;
  job.ended = row.instant_if();
  job.exit_code = row.int_if();
  job.reason = row.text();
  job.attempts = row.integer();
  job.failures = row.integer();
  job.cancelled = row.integer() != 0;
  if (const auto texts = read_texts(row, job, place); !texts) return std::unexpected(texts.error());
  return job;
}

/// Its columns after the first, which is the job's number.
Result<AttemptRecord> read_attempt(SqliteRun& row, JobNumber job, const std::string& file) {
  AttemptRecord attempt;
  attempt.key.job = job;
  attempt.key.attempt = row.integer();
  attempt.gpu = row.text();
  attempt.device = row.text();
  attempt.profile = row.text();
  attempt.start = row.integer();
  attempt.started = row.instant();
  attempt.began = row.instant_if();
  attempt.ended = row.instant_if();
  if (const auto end = row.text_if()) {
    attempt.end = parse_attempt_end(*end);
    if (!attempt.end)
      return unknown_word(
          fmt::format("{}: attempt {}.{}", file, attempt.key.job, attempt.key.attempt), *end);
  }
  attempt.why = row.text();
  attempt.exit_code = row.int_if();
  if (const auto peak = row.integer_if()) attempt.peak = MiB{*peak};
  return attempt;
}

Result<std::vector<AttemptRecord>> read_attempts(SqliteRun& run, const std::string& file) {
  std::vector<AttemptRecord> all;
  while (run.row()) {
    const JobNumber job = run.integer();
    auto attempt = read_attempt(run, job, file);
    if (!attempt) return std::unexpected(attempt.error());
    all.push_back(std::move(*attempt));
  }
  if (const auto fine = run.state(); !fine) return std::unexpected(fine.error());
  return all;
}

Result<std::vector<InstanceRecord>> read_instances(SqliteRun run) {
  std::vector<InstanceRecord> all;
  while (run.row()) {
    InstanceRecord& instance = all.emplace_back();
    instance.device = run.text();
    instance.gpu = run.text();
    instance.profile = run.text();
    instance.start = run.integer();
    instance.made = run.instant();
  }
  if (const auto fine = run.state(); !fine) return std::unexpected(fine.error());
  return all;
}

/// The statement of a listing: only with the conditions that it has, so that each finds its index.
std::string listing(const char* columns, const JobQuery& query) {
  std::string sql = fmt::format("{} WHERE number < ?1 AND number > ?4 AND ?2 > 0", columns);
  if (query.state)
    sql += " AND state = ?3";
  else
    sql += query.final_too ? " AND ?3 = ''" : " AND ?3 = '' AND final = 0";
  // Of the jobs that are open, which are few, and not of all that the user ever had: '+' hides an
  // index.
  if (query.uid) sql += query.state || query.final_too ? " AND uid = ?5" : " AND +uid = ?5";
  return fmt::format("{} ORDER BY number DESC LIMIT ?2", sql);
}

void ask(SqliteRun& run, const JobQuery& query) {
  run.with(query.before, limit(query.most), query.state ? name(*query.state) : std::string_view(),
           query.after);
  if (query.uid) run.with(*query.uid);
}

}  // namespace

Result<std::vector<JobRecord>> SqliteStore::read_jobs(SqliteRun& run) const {
  const std::string file = shown(file_.path().string(), 200);
  std::vector<JobRecord> all;
  while (run.row()) {
    auto job = read_job(run, file);
    if (!job) return std::unexpected(job.error());
    all.push_back(std::move(*job));
  }
  if (const auto fine = run.state(); !fine) return std::unexpected(fine.error());
  return all;
}

Result<StoreContents> SqliteStore::load() {
  StoreContents contents;
  SqliteRun open_jobs =
      connection_.use(fmt::format("{} WHERE final = 0 ORDER BY number", job_columns));
  auto jobs = read_jobs(open_jobs);
  if (!jobs) return std::unexpected(jobs.error());
  contents.jobs = std::move(*jobs);
  SqliteRun open_attempts =
      connection_.use(fmt::format("{} WHERE ended_ns IS NULL OR job IN (SELECT number FROM jobs "
                                  "WHERE final = 0) ORDER BY job, attempt",
                                  attempt_columns));
  auto attempts = read_attempts(open_attempts, shown(file_.path().string(), 200));
  if (!attempts) return std::unexpected(attempts.error());
  contents.attempts = std::move(*attempts);
  SqliteRun over = connection_.use(
      "SELECT job, attempt FROM attempts WHERE job NOT IN (SELECT number FROM jobs WHERE final = 0)"
      " ORDER BY job, attempt");
  while (over.row()) {
    const JobNumber job = over.integer();
    contents.over.push_back({job, over.integer()});
  }
  if (const auto fine = over.state(); !fine) return std::unexpected(fine.error());
  auto instances =
      read_instances(connection_.use("SELECT device, gpu, profile, start, made_ns FROM instances "
                                     "WHERE gone_ns IS NULL ORDER BY device"));
  if (!instances) return std::unexpected(instances.error());
  contents.instances = std::move(*instances);
  SqliteRun settings = connection_.use("SELECT key, value FROM settings");
  while (settings.row()) {
    const std::string key(settings.text());
    contents.settings[key] = settings.text();
  }
  if (const auto fine = settings.state(); !fine) return std::unexpected(fine.error());
  contents.last_job = numbers_.job;
  contents.last_event = numbers_.event;
  return contents;
}

Result<std::optional<JobRecord>> SqliteStore::job(JobNumber number) {
  SqliteRun run = connection_.use(fmt::format("{} WHERE number = ?1", job_columns));
  run.with(number);
  auto found = read_jobs(run);
  if (!found) return std::unexpected(found.error());
  if (found->empty()) return std::nullopt;
  return std::move(found->front());
}

Result<std::optional<JobCommand>> SqliteStore::command(JobNumber number) {
  SqliteRun run = connection_.use("SELECT command FROM commands WHERE job = ?1");
  if (!run.with(number).row()) {
    if (const auto fine = run.state(); !fine) return std::unexpected(fine.error());
    return std::nullopt;
  }
  auto command = parse_command(
      run.text(), fmt::format("{}: command of job {}", shown(file_.path().string(), 200), number));
  if (!command) return std::unexpected(command.error());
  return std::move(*command);
}

Result<std::vector<AttemptRecord>> SqliteStore::attempts(JobNumber number) {
  SqliteRun run =
      connection_.use(fmt::format("{} WHERE job = ?1 ORDER BY attempt", attempt_columns));
  return read_attempts(run.with(number), shown(file_.path().string(), 200));
}

Result<std::vector<JobRecord>> SqliteStore::jobs(const JobQuery& query) {
  SqliteRun run = connection_.use(listing(job_columns, query));
  ask(run, query);
  return read_jobs(run);
}

Result<std::vector<StoredJob>> SqliteStore::jobs_with_attempts(const JobQuery& query) {
  SqliteRun run = connection_.use(listing(joined_columns, query));
  ask(run, query);
  const std::string file = shown(file_.path().string(), 200);
  std::vector<StoredJob> all;
  while (run.row()) {
    auto job = read_job(run, file);
    if (!job) return std::unexpected(job.error());
    StoredJob& stored = all.emplace_back();
    stored.job = std::move(*job);
    const auto number = run.integer_if();
    if (!number) continue;
    auto latest = read_attempt(run, *number, file);
    if (!latest) return std::unexpected(latest.error());
    stored.latest = std::move(*latest);
  }
  if (const auto fine = run.state(); !fine) return std::unexpected(fine.error());
  return all;
}

Result<std::vector<EventRecord>> SqliteStore::events(std::int64_t after,
                                                     std::optional<std::uint32_t> uid,
                                                     std::size_t most) {
  SqliteRun run = connection_.use(
      "SELECT number, at_ns, kind, job, uid, gpu, text FROM events"
      " WHERE number > ?1 AND (?2 IS NULL OR job IS NULL OR uid = ?2) ORDER BY number LIMIT ?3");
  run.with(after, uid, limit(most));
  std::vector<EventRecord> all;
  while (run.row()) {
    EventRecord& event = all.emplace_back();
    event.number = run.integer();
    event.at = run.instant();
    event.kind = run.text();
    event.job = run.integer_if();
    if (const auto whose = run.integer_if()) event.uid = static_cast<std::uint32_t>(*whose);
    event.gpu = run.text();
    event.text = run.text();
  }
  if (const auto fine = run.state(); !fine) return std::unexpected(fine.error());
  return all;
}

Result<std::vector<JobRecord>> SqliteStore::ended_before(Instant time, std::size_t most) {
  SqliteRun run = connection_.use(fmt::format(
      "{} WHERE final = 1 AND ended_ns < ?1 ORDER BY ended_ns, number LIMIT ?2", job_columns));
  return read_jobs(run.with(time, limit(most)));
}

}  // namespace cleave
