#include "daemon/store/store_columns.hpp"

#include "base/format.hpp"
#include "base/text.hpp"
#include "control/record_text.hpp"

namespace cleave {

namespace {

std::unexpected<Error> unknown_word(const std::string& place, std::string_view word) {
  return fail(ErrorKind::bad_input, place, fmt::format("'{}' is not known", shown(word)),
              "the database is damaged, or a newer Cleave wrote it");
}

// A value of the next column.

void take(SqliteRun& run, std::int64_t& value) {
  value = run.integer();
}
void take(SqliteRun& run, bool& value) {
  value = run.integer() != 0;
}
void take(SqliteRun& run, std::string& value) {
  value = run.text();
}
void take(SqliteRun& run, Instant& value) {
  value = run.instant();
}
void take(SqliteRun& run, std::optional<Instant>& value) {
  value = run.instant_if();
}
void take(SqliteRun& run, std::optional<int>& value) {
  value = run.int_if();
}
void take(SqliteRun& run, std::optional<std::int64_t>& value) {
  value = run.integer_if();
}
void take(SqliteRun& run, std::optional<std::uint32_t>& value) {
  value.reset();
  if (const auto number = run.integer_if()) value = static_cast<std::uint32_t>(*number);
}
void take(SqliteRun& run, Duration& value) {
  value = Duration{run.integer()};
}
void take(SqliteRun& run, std::optional<Duration>& value) {
  value.reset();
  if (const auto number = run.integer_if()) value = Duration{*number};
}
void take(SqliteRun& run, std::optional<MiB>& value) {
  value.reset();
  if (const auto number = run.integer_if()) value = MiB{*number};
}

template <class Value>
void put(SqliteRun& run, const Value& value) {
  run.with(value);
}
void put(SqliteRun& run, const Duration& value) {
  run.with(value.count());
}
void put(SqliteRun& run, const std::optional<Duration>& value) {
  run.with(value ? std::optional(value->count()) : std::nullopt);
}
void put(SqliteRun& run, const std::optional<MiB>& value) {
  run.with(value ? std::optional(value->value) : std::nullopt);
}

template <class Value>
constexpr std::string_view type_of = "INTEGER NOT NULL";
template <>
constexpr std::string_view type_of<std::string> = "TEXT NOT NULL";
template <class Value>
constexpr std::string_view type_of<std::optional<Value>> = "INTEGER";

template <class Record, class Value>
Value value_type(Value Record::*);
template <class Record, class Value>
Record record_type(Value Record::*);

/// A column that holds a member as it is.
template <auto member>
constexpr auto column(std::string_view name) {
  using Record = decltype(record_type(member));
  using Value = decltype(value_type(member));
  return StoreColumn<Record>{
      name, type_of<Value>, [](SqliteRun& run, const Record& record) { put(run, record.*member); },
      [](SqliteRun& run, Record& record, const std::string&) -> Result<void> {
        take(run, record.*member);
        return {};
      }};
}
template <auto member>
constexpr auto column(std::string_view name, std::string_view type) {
  auto one = column<member>(name);
  one.type = type;
  return one;
}
template <class Record>
constexpr StoreColumn<Record> fixed(StoreColumn<Record> one) {
  one.fixed = true;
  return one;
}

/// A column that holds a member as a text, read by `parse`.
template <auto member, auto parse>
Result<void> take_text(SqliteRun& run, decltype(record_type(member))& record,
                       const std::string& place) {
  auto read = parse(run.text(), place);
  if (!read) return std::unexpected(read.error());
  record.*member = std::move(*read);
  return {};
}

Result<void> take_state(SqliteRun& run, JobRecord& job, const std::string& place) {
  const std::string_view word = run.text();
  const auto known = parse_job_state(word);
  if (!known) return unknown_word(place, word);
  job.state = *known;
  return {};
}

void put_request(SqliteRun& run, const JobRecord& job) {
  std::optional<std::string> text;
  if (job.request != job.spec.request) text = request_text(job.request);
  run.with(text);
}
Result<void> take_request(SqliteRun& run, JobRecord& job, const std::string& place) {
  job.request = job.spec.request;
  const auto text = run.text_if();
  if (!text) return {};
  auto read = parse_request(*text, place);
  if (!read) return std::unexpected(read.error());
  job.request = std::move(*read);
  return {};
}

void put_restarts(SqliteRun& run, const JobRecord& job) {
  std::optional<std::string> text;
  if (!job.early_restarts.empty()) text = instants_text(job.early_restarts);
  run.with(text);
}
Result<void> take_restarts(SqliteRun& run, JobRecord& job, const std::string& place) {
  const auto text = run.text_if();
  if (!text) return {};
  auto read = parse_instants(*text, place);
  if (!read) return std::unexpected(read.error());
  job.early_restarts = std::move(*read);
  return {};
}

void put_key(SqliteRun& run, const JobRecord& job) {
  run.with(job.key ? std::optional(job.key->text) : std::nullopt);
}
Result<void> take_key(SqliteRun& run, JobRecord& job, const std::string& /*place*/) {
  job.key.reset();
  if (const auto text = run.text_if()) job.key.emplace().text = *text;
  return {};
}
void put_key_content(SqliteRun& run, const JobRecord& job) {
  run.with(job.key ? std::optional(job.key->content) : std::nullopt);
}
/// After the key.
Result<void> take_key_content(SqliteRun& run, JobRecord& job, const std::string& /*place*/) {
  const auto content = run.integer_if();
  if (job.key) job.key->content = content.value_or(0);
  return {};
}

void put_end(SqliteRun& run, const AttemptRecord& attempt) {
  run.with(attempt.end ? std::optional(name(*attempt.end)) : std::nullopt);
}
Result<void> take_end(SqliteRun& run, AttemptRecord& attempt, const std::string& place) {
  const auto word = run.text_if();
  if (!word) return {};
  attempt.end = parse_attempt_end(*word);
  if (!attempt.end) return unknown_word(place, *word);
  return {};
}

void put_source(SqliteRun& run, const AttemptRecord& attempt) {
  run.with(attempt.predicted_by ? std::optional(name(*attempt.predicted_by)) : std::nullopt);
}
Result<void> take_source(SqliteRun& run, AttemptRecord& attempt, const std::string& place) {
  const auto word = run.text_if();
  if (!word) return {};
  attempt.predicted_by = parse_time_source(*word);
  if (!attempt.predicted_by) return unknown_word(place, *word);
  return {};
}

/// The record is one line of a profile repository.
Result<void> take_profile(SqliteRun& run, LearntProfile& learnt, const std::string& place) {
  ProfileRepository one;
  const auto read = add_profiles(one, run.text(), place, MergeRule::replace);
  if (!read) return std::unexpected(read.error());
  if (one.records().size() != 1)
    return fail(ErrorKind::bad_input, place, "this is not one record of a profile repository",
                "the database is damaged, or a newer Cleave wrote it");
  learnt.record = one.records().begin()->second;
  return {};
}

/// A column that was added by the schema of this number.
template <class Record>
constexpr StoreColumn<Record> since(std::int64_t schema, StoreColumn<Record> one) {
  one.since = schema;
  return one;
}

}  // namespace

std::span<const StoreColumn<JobRecord>> job_columns() {
  using Job = JobRecord;
  static const StoreColumn<Job> columns[] = {
      column<&Job::number>("number", "INTEGER PRIMARY KEY"),
      {"uid", "INTEGER NOT NULL", [](SqliteRun& run, const Job& job) { run.with(job.owner.uid); },
       nullptr, true},
      fixed(column<&Job::submitted>("submitted_ns")),
      {"state", "TEXT NOT NULL", [](SqliteRun& run, const Job& job) { run.with(name(job.state)); },
       take_state},
      {"final", "INTEGER NOT NULL",
       [](SqliteRun& run, const Job& job) { run.with(is_final(job.state)); }},
      column<&Job::ended>("ended_ns"),
      column<&Job::exit_code>("exit_code"),
      column<&Job::reason>("reason"),
      column<&Job::attempts>("attempts"),
      column<&Job::failures>("failures"),
      column<&Job::cancelled>("cancelled"),
      {"owner", "TEXT NOT NULL",
       [](SqliteRun& run, const Job& job) { run.with(owner_text(job.owner)); },
       take_text<&Job::owner, parse_owner>, true},
      {"wish", "TEXT NOT NULL",
       [](SqliteRun& run, const Job& job) { run.with(spec_text(job.spec)); },
       take_text<&Job::spec, parse_spec>, true},
      // Where it is not the spec's any more; read after it.
      {"request", "TEXT", put_request, take_request},
      // Where there are any.
      {"early_restarts", "TEXT", put_restarts, take_restarts},
      // Of a further process of a job of several, or a further replica.
      since(4, fixed(column<&Job::leader>("leader", "INTEGER NOT NULL DEFAULT 0"))),
      {"kind", "TEXT NOT NULL DEFAULT 'batch'",
       [](SqliteRun& run, const Job& job) {
         run.with(words_of_job_kind[static_cast<std::size_t>(kind_of(job.spec))]);
       },
       nullptr, true, 5},
      since(5, column<&Job::restarts>("restarts", "INTEGER NOT NULL DEFAULT 0")),
      since(5, column<&Job::promised>("promised_ns")),
      {"submission_key", "TEXT", put_key, take_key, true, 8},
      {"submission_content", "INTEGER", put_key_content, take_key_content, true, 8},
      since(8, column<&Job::used>("used_ns", "INTEGER NOT NULL DEFAULT 0")),
      since(10, column<&Job::checkpoint>("checkpoint", "INTEGER NOT NULL DEFAULT 0")),
      {"energy_mj", "INTEGER",
       [](SqliteRun& run, const Job& job) { run.with(job.energy.millijoules); },
       [](SqliteRun& run, Job& job, const std::string&) -> Result<void> {
         take(run, job.energy.millijoules);
         return {};
       },
       false, 10},
      {"unmetered_ns", "INTEGER NOT NULL DEFAULT 0",
       [](SqliteRun& run, const Job& job) { put(run, job.energy.unmetered); },
       [](SqliteRun& run, Job& job, const std::string&) -> Result<void> {
         take(run, job.energy.unmetered);
         return {};
       },
       false, 10},
  };
  return columns;
}

std::span<const StoreColumn<StoredCommand>> command_columns() {
  using Command = StoredCommand;
  static const StoreColumn<Command> columns[] = {
      column<&Command::first>("job",
                              "INTEGER PRIMARY KEY REFERENCES jobs (number) ON DELETE CASCADE"),
      {"command", "TEXT NOT NULL",
       [](SqliteRun& run, const Command& each) { run.with(command_text(each.second)); },
       take_text<&Command::second, parse_command>},
  };
  return columns;
}

std::span<const StoreColumn<AttemptRecord>> attempt_columns() {
  using Attempt = AttemptRecord;
  static const StoreColumn<Attempt> columns[] = {
      {"job", "INTEGER NOT NULL REFERENCES jobs (number) ON DELETE CASCADE",
       [](SqliteRun& run, const Attempt& attempt) { run.with(attempt.key.job); },
       [](SqliteRun& run, Attempt& attempt, const std::string&) -> Result<void> {
         take(run, attempt.key.job);
         return {};
       }},
      {"attempt", "INTEGER NOT NULL",
       [](SqliteRun& run, const Attempt& attempt) { run.with(attempt.key.attempt); },
       [](SqliteRun& run, Attempt& attempt, const std::string&) -> Result<void> {
         take(run, attempt.key.attempt);
         return {};
       }},
      column<&Attempt::gpu>("gpu"),
      column<&Attempt::device>("device"),
      column<&Attempt::profile>("profile"),
      column<&Attempt::start>("start"),
      column<&Attempt::started>("started_ns"),
      column<&Attempt::began>("began_ns"),
      column<&Attempt::ended>("ended_ns"),
      {"\"end\"", "TEXT", put_end, take_end},
      column<&Attempt::why>("why"),
      column<&Attempt::exit_code>("exit_code"),
      column<&Attempt::peak>("peak_mib"),
      since(2, column<&Attempt::predicted>("predicted_ns")),
      {"predicted_by", "TEXT", put_source, take_source, false, 2},
      since(2, column<&Attempt::lasted>("lasted_ns")),
      since(3, column<&Attempt::too_large>("too_large_mib")),
      since(11, column<&Attempt::told_to_save>("told_to_save", "INTEGER NOT NULL DEFAULT 0")),
  };
  return columns;
}

std::span<const StoreColumn<InstanceRecord>> instance_columns() {
  using Instance = InstanceRecord;
  static const StoreColumn<Instance> columns[] = {
      column<&Instance::device>("device", "TEXT PRIMARY KEY"),
      column<&Instance::gpu>("gpu"),
      column<&Instance::profile>("profile"),
      column<&Instance::start>("start"),
      column<&Instance::made>("made_ns"),
      column<&Instance::gone>("gone_ns"),
      since(10, column<&Instance::energy_mj>("energy_mj")),
  };
  return columns;
}

std::span<const StoreColumn<StoredSetting>> setting_columns() {
  using Setting = StoredSetting;
  static const StoreColumn<Setting> columns[] = {
      column<&Setting::first>("key", "TEXT PRIMARY KEY"),
      column<&Setting::second>("value"),
  };
  return columns;
}

std::span<const StoreColumn<StoredNumber>> number_columns() {
  using Number = StoredNumber;
  static const StoreColumn<Number> columns[] = {
      column<&Number::first>("name", "TEXT PRIMARY KEY"),
      column<&Number::second>("highest"),
  };
  return columns;
}

std::span<const StoreColumn<LearntProfile>> learnt_columns() {
  using Learnt = LearntProfile;
  static const StoreColumn<Learnt> columns[] = {
      {"uid", "INTEGER NOT NULL", [](SqliteRun& run, const Learnt& each) { run.with(each.uid); },
       [](SqliteRun& run, Learnt& each, const std::string&) -> Result<void> {
         each.uid = static_cast<std::uint32_t>(run.integer());
         return {};
       }},
      {"application", "TEXT NOT NULL",
       [](SqliteRun& run, const Learnt& each) { run.with(each.record.key.application); }},
      {"batch", "INTEGER NOT NULL",
       [](SqliteRun& run, const Learnt& each) { run.with(each.record.key.batch); }},
      {"gpu_model", "TEXT NOT NULL",
       [](SqliteRun& run, const Learnt& each) { run.with(each.record.key.gpu_model); }},
      {"profile", "TEXT NOT NULL",
       [](SqliteRun& run, const Learnt& each) { run.with(each.record.key.profile); }},
      {"record", "TEXT NOT NULL",
       [](SqliteRun& run, const Learnt& each) { run.with(profile_text(each.record)); },
       take_profile},
  };
  return columns;
}

std::span<const StoreColumn<LivePlan>> plan_columns() {
  using Plan = LivePlan;
  static const StoreColumn<Plan> columns[] = {
      column<&Plan::number>("number", "INTEGER PRIMARY KEY"),
      // What is searched by follows: the text is a whole new plan, and has neither.
      {"plan", "TEXT NOT NULL", [](SqliteRun& run, const Plan& plan) { run.with(plan_text(plan)); },
       [](SqliteRun& run, Plan& plan, const std::string& place) -> Result<void> {
         auto read = parse_plan(run.text(), place);
         if (!read) return std::unexpected(read.error());
         read->number = plan.number;
         plan = std::move(*read);
         return {};
       }},
      {"state", "TEXT NOT NULL",
       [](SqliteRun& run, const Plan& plan) {
         run.with(plan_state_names[static_cast<std::size_t>(plan.state)]);
       },
       [](SqliteRun& run, Plan& plan, const std::string& place) -> Result<void> {
         const std::string_view word = run.text();
         const auto* known = std::ranges::find(plan_state_names, word);
         if (known == plan_state_names.end()) return unknown_word(place, word);
         plan.state = static_cast<PlanState>(known - plan_state_names.begin());
         return {};
       }},
      column<&Plan::ended>("ended_ns"),
  };
  return columns;
}

namespace {

/// A sum of usage.
template <auto member>
constexpr StoreColumn<UsageRow> usage_sum(std::string_view name) {
  return {name,
          "INTEGER NOT NULL",
          [](SqliteRun& run, const UsageRow& row) { put(run, row.sums.*member); },
          [](SqliteRun& run, UsageRow& row, const std::string&) -> Result<void> {
            take(run, row.sums.*member);
            return {};
          },
          false,
          1,
          true};
}

Result<void> take_use_kind(SqliteRun& run, UsageRow& row, const std::string& place) {
  const std::string_view word = run.text();
  const auto* known = std::ranges::find(use_kind_names, word);
  if (known == use_kind_names.end()) return unknown_word(place, word);
  row.key.kind = static_cast<UseKind>(known - use_kind_names.begin());
  return {};
}

}  // namespace

std::span<const StoreColumn<UsageRow>> usage_columns() {
  using Row = UsageRow;
  static const StoreColumn<Row> columns[] = {
      {"day", "INTEGER NOT NULL", [](SqliteRun& run, const Row& row) { run.with(row.key.day); },
       [](SqliteRun& run, Row& row, const std::string&) -> Result<void> {
         take(run, row.key.day);
         return {};
       }},
      {"kind", "TEXT NOT NULL",
       [](SqliteRun& run, const Row& row) {
         run.with(use_kind_names[static_cast<std::size_t>(row.key.kind)]);
       },
       take_use_kind},
      {"uid", "INTEGER NOT NULL",
       [](SqliteRun& run, const Row& row) { run.with(row.key.party.uid); },
       [](SqliteRun& run, Row& row, const std::string&) -> Result<void> {
         row.key.party.uid = static_cast<std::uint32_t>(run.integer());
         return {};
       }},
      {"gid", "INTEGER NOT NULL",
       [](SqliteRun& run, const Row& row) { run.with(row.key.party.gid); },
       [](SqliteRun& run, Row& row, const std::string&) -> Result<void> {
         row.key.party.gid = static_cast<std::uint32_t>(run.integer());
         return {};
       }},
      {"application", "TEXT NOT NULL",
       [](SqliteRun& run, const Row& row) { run.with(row.key.party.application); },
       [](SqliteRun& run, Row& row, const std::string&) -> Result<void> {
         take(run, row.key.party.application);
         return {};
       }},
      {"gpu", "TEXT NOT NULL", [](SqliteRun& run, const Row& row) { run.with(row.key.gpu); },
       [](SqliteRun& run, Row& row, const std::string&) -> Result<void> {
         take(run, row.key.gpu);
         return {};
       }},
      column<&Row::user>("user"),
      column<&Row::gpu_slices>("gpu_slices"),
      usage_sum<&UsageSums::slice_time>("slice_ns"),
      usage_sum<&UsageSums::unmetered>("unmetered_ns"),
      usage_sum<&UsageSums::millijoules>("energy_mj"),
      usage_sum<&UsageSums::jobs>("jobs"),
      usage_sum<&UsageSums::attempts>("attempts"),
      usage_sum<&UsageSums::lost>("lost"),
      usage_sum<&UsageSums::moves>("moves"),
  };
  return columns;
}

std::span<const StoreColumn<EventRecord>> event_columns() {
  using Event = EventRecord;
  static const StoreColumn<Event> columns[] = {
      column<&Event::number>("number", "INTEGER PRIMARY KEY"),
      column<&Event::at>("at_ns"),
      column<&Event::kind>("kind"),
      column<&Event::job>("job"),
      column<&Event::uid>("uid"),
      column<&Event::gpu>("gpu"),
      column<&Event::text>("text"),
  };
  return columns;
}

}  // namespace cleave
