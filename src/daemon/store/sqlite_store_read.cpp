// What the store answers.

#include <algorithm>
#include <iterator>

#include "base/format.hpp"
#include "base/text.hpp"
#include "control/record_text.hpp"
#include "daemon/store/sqlite_store.hpp"
#include "daemon/store/store_columns.hpp"
#include "daemon/store/store_schema.hpp"

namespace cleave {

namespace {

/// Whether the row is intact, and its columns.
template <class Record>
std::string selected(std::string_view table, std::span<const StoreColumn<Record>> columns,
                     std::string_view alias) {
  return fmt::format("{}, {}", is_intact(table, columns, alias), column_names(columns, alias));
}

const std::string& select_jobs() {
  static const std::string sql =
      fmt::format("SELECT {} FROM jobs", selected("jobs", job_columns(), "jobs"));
  return sql;
}
const std::string& select_attempts() {
  static const std::string sql =
      fmt::format("SELECT {} FROM attempts", selected("attempts", attempt_columns(), "attempts"));
  return sql;
}
/// Both, of a job and its latest attempt; no column of the conditions of a listing is in both
/// tables.
const std::string& select_joined() {
  static const std::string sql = fmt::format(
      "SELECT {}, {} FROM jobs LEFT JOIN attempts AS a ON a.job = number AND a.attempt ="
      " (SELECT max(attempt) FROM attempts WHERE job = number)",
      selected("jobs", job_columns(), "jobs"), selected("attempts", attempt_columns(), "a"));
  return sql;
}

std::int64_t limit(std::size_t most) {
  return static_cast<std::int64_t>(std::min<std::size_t>(most, INT64_MAX));
}

/// The columns of a row, if it is what was written.
template <class Record>
Result<void> take_intact(SqliteRun& row, bool intact, std::span<const StoreColumn<Record>> columns,
                         Record& record, const std::string& place) {
  if (!intact)
    return fail(ErrorKind::bad_input, place, "its row in the database is not what was written",
                "stop the daemon, keep a copy of the store, and restore a backup");
  return take_columns(row, columns, record, place);
}

/// The first column, its number, names it in errors.
Result<JobRecord> read_job(SqliteRun& row, const std::string& file) {
  JobRecord job;
  const bool intact = row.integer() != 0;
  job.number = row.integer();
  const std::string place = fmt::format("{}: job {}", file, job.number);
  const auto taken = take_intact(row, intact, job_columns().subspan(1), job, place);
  if (!taken) return std::unexpected(taken.error());
  return job;
}

/// Nothing where an attempt is joined and there is none.
Result<std::optional<AttemptRecord>> read_attempt(SqliteRun& row, const std::string& file) {
  const bool intact = row.integer() != 0;
  const auto job = row.integer_if();
  if (!job) return std::nullopt;
  AttemptRecord attempt;
  attempt.key = {*job, row.integer()};
  const std::string place = fmt::format("{}: attempt {}.{}", file, *job, attempt.key.attempt);
  const auto taken = take_intact(row, intact, attempt_columns().subspan(2), attempt, place);
  if (!taken) return std::unexpected(taken.error());
  return attempt;
}

/// Of other tables.
template <class Record>
Result<std::vector<Record>> read_all(SqliteRun& run, std::span<const StoreColumn<Record>> columns,
                                     const std::string& place) {
  std::vector<Record> all;
  while (run.row()) {
    const bool intact = run.integer() != 0;
    if (const auto taken = take_intact(run, intact, columns, all.emplace_back(), place); !taken)
      return std::unexpected(taken.error());
  }
  if (const auto fine = run.state(); !fine) return std::unexpected(fine.error());
  return all;
}

Result<std::vector<AttemptRecord>> read_attempts(SqliteRun& run, const std::string& file) {
  std::vector<AttemptRecord> all;
  while (run.row()) {
    auto attempt = read_attempt(run, file);
    if (!attempt) return std::unexpected(attempt.error());
    if (*attempt) all.push_back(std::move(**attempt));
  }
  if (const auto fine = run.state(); !fine) return std::unexpected(fine.error());
  return all;
}

/// The statement of a listing: only with the conditions that it has, so that each finds its index.
std::string listing(std::string_view columns, const JobQuery& query) {
  std::string sql = fmt::format("{} WHERE number < ?1 AND number > ?4 AND ?2 > 0", columns);
  if (query.state)
    sql += " AND state = ?3";
  else
    sql += query.final_too ? " AND ?3 = ''" : " AND ?3 = '' AND final = 0";
  if (!query.processes) sql += " AND leader = 0";
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

Result<std::vector<LearntProfile>> SqliteStore::read_learnt() {
  SqliteRun run = connection_.use(
      fmt::format("SELECT {} FROM learnt ORDER BY uid, application, gpu_model, batch, profile",
                  selected("learnt", learnt_columns(), "learnt")));
  const std::string place = fmt::format("{}: learnt", shown(file_.path().string(), 200));
  std::vector<LearntProfile> all;
  // It is advice: a daemon does without what it cannot read.
  while (run.row()) {
    const bool intact = run.integer() != 0;
    if (!take_intact(run, intact, learnt_columns(), all.emplace_back(), place)) all.pop_back();
  }
  if (const auto fine = run.state(); !fine) return std::unexpected(fine.error());
  return all;
}

/// And the highest number: the newest are always kept.
Result<void> SqliteStore::read_open_plan(StoreContents& contents) {
  const auto last = connection_.number("SELECT coalesce(max(number), 0) FROM plans");
  if (!last) return std::unexpected(last.error());
  contents.last_plan = *last;
  SqliteRun run = connection_.use(
      fmt::format("SELECT {} FROM plans WHERE ended_ns IS NULL ORDER BY number DESC LIMIT 1",
                  selected("plans", plan_columns(), "plans")));
  auto open =
      read_all(run, plan_columns(), fmt::format("{}: plans", shown(file_.path().string(), 200)));
  if (!open) return std::unexpected(open.error());
  if (!open->empty()) contents.plan = std::move(open->front());
  return {};
}

Result<std::vector<LivePlan>> SqliteStore::plans(std::int64_t before, std::size_t most) {
  SqliteRun run = connection_.use(
      fmt::format("SELECT {} FROM plans WHERE number < ?1 ORDER BY number DESC LIMIT ?2",
                  selected("plans", plan_columns(), "plans")));
  return read_all(run.with(before, limit(most)), plan_columns(),
                  fmt::format("{}: plans", shown(file_.path().string(), 200)));
}

/// What is damaged is left out: it is told by `cleaved check`, and does not keep the rest.
Result<std::vector<UsageRow>> SqliteStore::usage(const UsageQuery& query) {
  static const std::string sql = fmt::format(
      "SELECT {} FROM usage WHERE (day, kind, uid, gid, application, gpu) > (?1, ?2, ?3, ?4, ?5, "
      "?6)"
      " AND day <= ?7 AND (?8 IS NULL OR (kind = 'jobs' AND uid = ?8))"
      " ORDER BY day, kind, uid, gid, application, gpu LIMIT ?9",
      selected("usage", usage_columns(), "usage"));
  const UsageKey& after = query.after;
  SqliteRun run = connection_.use(sql);
  run.with(after.day, use_kind_names[static_cast<std::size_t>(after.kind)], after.party.uid,
           after.party.gid, after.party.application, after.gpu, query.until, query.uid,
           limit(query.most));
  const std::string place = fmt::format("{}: usage", shown(file_.path().string(), 200));
  std::vector<UsageRow> all;
  while (run.row()) {
    const bool intact = run.integer() != 0;
    if (!take_intact(run, intact, usage_columns(), all.emplace_back(), place)) all.pop_back();
  }
  if (const auto fine = run.state(); !fine) return std::unexpected(fine.error());
  return all;
}

/// By the index of them, since there may be many others. Where it is damaged a job would be
/// missing: another index knows them by their states.
Result<std::vector<JobRecord>> SqliteStore::open_jobs() {
  SqliteRun run = connection_.use(
      fmt::format("{} INDEXED BY jobs_open WHERE final = 0 ORDER BY number", select_jobs()));
  auto jobs = read_jobs(run);
  if (!jobs) return jobs;
  std::string states;
  for (const std::string_view each : job_state_names)
    if (!is_final(*parse_job_state(each)))
      states += fmt::format("{}'{}'", states.empty() ? "" : ", ", each);
  SqliteRun again = connection_.use(fmt::format(
      "SELECT number FROM jobs INDEXED BY jobs_in_state WHERE state IN ({}) ORDER BY number",
      states));
  auto next = jobs->begin();
  bool same = true;
  while (again.row()) same = next != jobs->end() && next++->number == again.integer() && same;
  if (const auto fine = again.state(); !fine) return std::unexpected(fine.error());
  if (same && next == jobs->end()) return jobs;
  return damaged(connection_, "its indexes do not have the same unfinished jobs");
}

/// Those of unfinished jobs, and others that have not ended.
Result<std::vector<AttemptRecord>> SqliteStore::open_attempts() {
  const std::string file = shown(file_.path().string(), 200);
  SqliteRun of_jobs = connection_.use(
      fmt::format("{} WHERE job IN (SELECT number FROM jobs INDEXED BY jobs_open WHERE final = 0)",
                  select_attempts()));
  auto attempts = read_attempts(of_jobs, file);
  if (!attempts) return attempts;
  SqliteRun others = connection_.use(fmt::format(
      "{} INDEXED BY attempts_open WHERE ended_ns IS NULL AND job NOT IN (SELECT number FROM jobs "
      "INDEXED BY jobs_open WHERE final = 0)",
      select_attempts()));
  auto more = read_attempts(others, file);
  if (!more) return more;
  std::ranges::move(*more, std::back_inserter(*attempts));
  std::ranges::sort(*attempts, {}, &AttemptRecord::key);
  return attempts;
}

Result<StoreContents> SqliteStore::load() {
  StoreContents contents;
  const std::string file = shown(file_.path().string(), 200);
  auto jobs = open_jobs();
  if (!jobs) return std::unexpected(jobs.error());
  contents.jobs = std::move(*jobs);
  auto attempts = open_attempts();
  if (!attempts) return std::unexpected(attempts.error());
  contents.attempts = std::move(*attempts);
  SqliteRun open_instances =
      connection_.use(fmt::format("SELECT {} FROM instances WHERE gone_ns IS NULL ORDER BY device",
                                  selected("instances", instance_columns(), "instances")));
  auto instances = read_all(open_instances, instance_columns(), fmt::format("{}: instances", file));
  if (!instances) return std::unexpected(instances.error());
  contents.instances = std::move(*instances);
  SqliteRun all_settings = connection_.use(
      fmt::format("SELECT {} FROM settings", selected("settings", setting_columns(), "settings")));
  auto settings = read_all(all_settings, setting_columns(), fmt::format("{}: settings", file));
  if (!settings) return std::unexpected(settings.error());
  contents.settings.insert(settings->begin(), settings->end());
  auto learnt = read_learnt();
  if (!learnt) return std::unexpected(learnt.error());
  contents.learnt = std::move(*learnt);
  if (const auto read = read_open_plan(contents); !read) return std::unexpected(read.error());
  contents.last_job = numbers_.job;
  contents.last_event = numbers_.event;
  return contents;
}

Result<std::optional<JobRecord>> SqliteStore::job(JobNumber number) {
  SqliteRun run = connection_.use(fmt::format("{} WHERE number = ?1", select_jobs()));
  run.with(number);
  auto found = read_jobs(run);
  if (!found) return std::unexpected(found.error());
  if (found->empty()) return std::nullopt;
  return std::move(found->front());
}

Result<std::optional<JobRecord>> SqliteStore::job_with_key(std::uint32_t uid,
                                                           const std::string& key) {
  static const std::string sql =
      fmt::format("{} WHERE uid = ?1 AND submission_key = ?2", select_jobs());
  SqliteRun run = connection_.use(sql);
  run.with(uid, key);
  auto found = read_jobs(run);
  if (!found) return std::unexpected(found.error());
  if (found->empty()) return std::nullopt;
  return std::move(found->front());
}

Result<std::optional<JobCommand>> SqliteStore::command(JobNumber number) {
  static const std::string sql = fmt::format("SELECT {} FROM commands WHERE job = ?1",
                                             selected("commands", command_columns(), "commands"));
  SqliteRun run = connection_.use(sql);
  auto found =
      read_all(run.with(number), command_columns(),
               fmt::format("{}: command of job {}", shown(file_.path().string(), 200), number));
  if (!found) return std::unexpected(found.error());
  if (found->empty()) return std::nullopt;
  return std::move(found->front().second);
}

Result<std::vector<AttemptRecord>> SqliteStore::attempts(JobNumber number) {
  SqliteRun run =
      connection_.use(fmt::format("{} WHERE job = ?1 ORDER BY attempt", select_attempts()));
  return read_attempts(run.with(number), shown(file_.path().string(), 200));
}

Result<std::optional<AttemptRecord>> SqliteStore::attempt(const JobKey& key) {
  static const std::string sql =
      fmt::format("{} WHERE job = ?1 AND attempt = ?2", select_attempts());
  SqliteRun run = connection_.use(sql);
  auto found = read_attempts(run.with(key.job, key.attempt), shown(file_.path().string(), 200));
  if (!found) return std::unexpected(found.error());
  if (found->empty()) return std::nullopt;
  return std::move(found->front());
}

Result<std::vector<JobRecord>> SqliteStore::jobs(const JobQuery& query) {
  SqliteRun run = connection_.use(listing(select_jobs(), query));
  ask(run, query);
  return read_jobs(run);
}

Result<std::vector<StoredJob>> SqliteStore::jobs_with_attempts(const JobQuery& query) {
  SqliteRun run = connection_.use(listing(select_joined(), query));
  ask(run, query);
  const std::string file = shown(file_.path().string(), 200);
  std::vector<StoredJob> all;
  while (run.row()) {
    auto job = read_job(run, file);
    if (!job) return std::unexpected(job.error());
    StoredJob& stored = all.emplace_back();
    stored.job = std::move(*job);
    auto latest = read_attempt(run, file);
    if (!latest) return std::unexpected(latest.error());
    stored.latest = std::move(*latest);
  }
  if (const auto fine = run.state(); !fine) return std::unexpected(fine.error());
  return all;
}

Result<std::vector<EventRecord>> SqliteStore::events(std::int64_t after,
                                                     std::optional<std::uint32_t> uid,
                                                     std::size_t most) {
  static const std::string sql = fmt::format(
      "SELECT {} FROM events WHERE number > ?1 AND"
      " (?2 IS NULL OR job IS NULL OR uid = ?2) ORDER BY number LIMIT ?3",
      selected("events", event_columns(), "events"));
  SqliteRun run = connection_.use(sql);
  return read_all(run.with(after, uid, limit(most)), event_columns(),
                  fmt::format("{}: events", shown(file_.path().string(), 200)));
}

Result<std::vector<StoredSize>> SqliteStore::sizes(JobNumber after, std::int64_t most_bytes) {
  constexpr std::size_t most = 1000;
  SqliteRun run = connection_.use(
      "SELECT number, leader, uid, attempts, CASE final WHEN 1 THEN ended_ns END,"
      " length(CAST(wish AS BLOB))"
      " + coalesce((SELECT length(CAST(command AS BLOB)) FROM commands WHERE job = number), 0)"
      " FROM jobs WHERE number > ?1 ORDER BY number");
  run.with(after);
  std::vector<StoredSize> all;
  std::int64_t bytes = 0;
  while (all.size() < most && bytes < most_bytes && run.row()) {
    StoredSize& size = all.emplace_back();
    size.number = run.integer();
    const JobNumber leader = run.integer();
    size.job = leader == 0 ? size.number : leader;
    size.uid = static_cast<std::uint32_t>(run.integer());
    size.attempts = run.integer();
    size.ended = run.instant_if();
    size.bytes = run.integer();
    bytes += size.bytes;
  }
  if (const auto fine = run.state(); !fine) return std::unexpected(fine.error());
  return all;
}

Result<std::vector<JobRecord>> SqliteStore::ended_before(Instant time, std::size_t most) {
  SqliteRun run = connection_.use(fmt::format(
      "{} WHERE final = 1 AND leader = 0 AND ended_ns < ?1 ORDER BY ended_ns, number LIMIT ?2",
      select_jobs()));
  return read_jobs(run.with(time, limit(most)));
}

}  // namespace cleave
