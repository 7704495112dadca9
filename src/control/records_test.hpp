#pragma once
// For tests: records at random, with everything in them that a record may hold.

#include <optional>
#include <string>
#include <vector>

#include "base/format.hpp"
#include "base/random.hpp"
#include "control/job_record.hpp"
#include "control/learnt_profile.hpp"
#include "control/usage_record.hpp"

namespace cleave {

/// Draws records from a seed.
class RandomRecords {
 public:
  explicit RandomRecords(std::uint64_t seed) : random(seed) {}

  bool chance(double share) { return random.uniform() < share; }

  /// Any valid UTF-8: quotes, line ends, zero bytes, escapes of terminals, letters of several
  /// lengths.
  std::string any_text() {
    static const std::vector<std::string> pieces = {"a",
                                                    "job",
                                                    " ",
                                                    "\"",
                                                    "\\",
                                                    "\n",
                                                    "\x1b[31m",
                                                    "'; DROP TABLE jobs; --",
                                                    std::string(1, '\0'),
                                                    "ä",
                                                    "中",
                                                    "\U0001F600",
                                                    "%s",
                                                    "{}",
                                                    "="};
    std::string text;
    for (std::uint64_t left = random.below(6); left > 0; --left)
      text += pieces[random.below(pieces.size())];
    return text;
  }
  std::int64_t any_number() {
    const std::int64_t all = static_cast<std::int64_t>(random.bits());
    return chance(0.1) ? all : chance(0.1) ? (all < 0 ? INT64_MIN : INT64_MAX) : all % 1000;
  }
  int any_int() { return static_cast<int>(any_number() % 300); }
  Duration any_time() { return Duration(any_number()); }
  Instant any_instant() { return Instant(any_time()); }
  std::vector<std::string> any_texts() {
    std::vector<std::string> all(random.below(4));
    for (std::string& each : all) each = any_text();
    return all;
  }

  Request any_request() {
    Request request;
    switch (random.below(4)) {
      case 0:
        request.wanted = ByProfile{any_text()};
        break;
      case 1:
        request.wanted = BySize{MiB{any_number()}, ComputeSlices{any_int()}};
        break;
      case 2:
        request.wanted = ByShare{any_int(), chance(0.5) ? ShareRule::nearest : ShareRule::round_up};
        break;
      default:
        request.wanted = Unknown{};
    }
    if (chance(0.3)) request.fits = any_texts();
    if (chance(0.3)) request.at_least = MiB{any_number()};
    if (chance(0.3)) {
      request.places = static_cast<std::uint32_t>(1 + random.below(5));
      request.together = static_cast<Together>(random.below(words_of_together.size()));
    }
    return request;
  }

  JobOwner any_owner() {
    JobOwner owner;
    owner.uid = static_cast<std::uint32_t>(chance(0.2) ? random.bits() : 1000 + random.below(3));
    owner.gid = static_cast<std::uint32_t>(random.bits());
    for (std::uint64_t left = random.below(4); left > 0; --left)
      owner.groups.push_back(static_cast<std::uint32_t>(random.bits()));
    owner.user = any_text();
    return owner;
  }

  /// Every field of its table.
  JobSpec any_spec() {
    JobSpec spec;
    std::apply([&](const auto&... row) { (fill(spec.*row.member), ...); }, fields_of<JobSpec>);
    return spec;
  }
  void fill(std::string& value) { value = any_text(); }
  void fill(std::vector<std::string>& value) { value = any_texts(); }
  void fill(std::int64_t& value) { value = any_number(); }
  void fill(int& value) { value = any_int(); }
  void fill(bool& value) { value = chance(0.5); }
  void fill(double& value) { value = any_int() / 8.0; }
  void fill(Duration& value) { value = any_time(); }
  void fill(Request& value) { value = any_request(); }
  void fill(Keeps& value) { value = static_cast<Keeps>(random.below(words_of_keeps.size())); }
  void fill(std::vector<StatedTime>& value) {
    value.clear();
    for (std::uint64_t left = random.below(3); left > 0; --left)
      value.push_back({any_text(), any_time()});
  }
  void fill(StatedKernel& value) {
    value.grid.assign(random.below(4), any_number());
    value.threads.assign(random.below(4), any_number());
    value.registers = any_number();
    value.shared_bytes = any_number();
  }
  void fill(std::uint32_t& value) { value = static_cast<std::uint32_t>(random.below(4)); }
  void fill(LeaseTerms::Then& value) {
    value = static_cast<LeaseTerms::Then>(random.below(words_of_then.size()));
  }
  void fill(MiB& value) { value = MiB{any_number()}; }
  template <class Record>
  requires(std::is_same_v<Record, ServiceTerms> || std::is_same_v<Record, LeaseTerms> ||
           std::is_same_v<Record, ArrayTask> ||
           std::is_same_v<Record, JobsAtOnce>) void fill(Record& record) {
    std::apply([&](const auto&... row) { (fill(record.*row.member), ...); }, fields_of<Record>);
  }
  template <class Value>
  void fill(std::optional<Value>& value) {
    value.reset();
    if (chance(0.5)) fill(value.emplace());
  }

  JobCommand any_command() { return {any_texts(), any_texts(), any_text()}; }

  /// Queued.
  JobRecord any_job(JobNumber number) {
    JobRecord job;
    job.number = number;
    if (number > 1 && chance(0.2)) job.leader = number - 1;
    job.owner = any_owner();
    job.spec = any_spec();
    // No two of a user are the same.
    if (job.leader == 0 && chance(0.5))
      job.key = SubmissionKey{fmt::format("key of {}", number), any_number()};
    job.submitted = any_instant();
    job.request = job.spec.request;
    change(job);
    return job;
  }

  /// What may change of a job that is not final; now and then it becomes so.
  void change(JobRecord& job) {
    job.state = static_cast<JobState>(random.below(chance(0.3) ? 7 : 4));
    job.reason = any_text();
    if (chance(0.5)) job.exit_code = any_int();
    // Few different moments, so that order by time meets equal ones.
    if (is_final(job.state))
      job.ended = Instant(Duration(static_cast<std::int64_t>(random.below(20))));
    job.attempts = any_number();
    job.failures = any_number();
    if (chance(0.3)) job.request = any_request();
    job.cancelled = chance(0.5);
    if (chance(0.3)) job.early_restarts.push_back(any_instant());
    job.restarts = any_number();
    job.used = any_time();
    if (chance(0.3)) job.promised = any_instant();
    if (chance(0.5)) job.energy.millijoules = any_number();
    job.energy.unmetered = any_time();
  }

  /// Sums are small: they are added up.
  UsageRow any_usage() {
    UsageRow row;
    row.key.day = static_cast<std::int64_t>(random.below(3));
    row.key.kind = static_cast<UseKind>(random.below(use_kind_names.size()));
    row.key.party = {static_cast<std::uint32_t>(random.below(2)),
                     static_cast<std::uint32_t>(random.below(2)), any_text()};
    row.key.gpu = chance(0.5) ? "GPU-a" : any_text();
    row.user = any_text();
    row.gpu_slices = 7;
    const auto small = [&] { return static_cast<std::int64_t>(random.below(1000)); };
    row.sums = {Duration{small()}, Duration{small()}, small(), small(), small(), small(), small()};
    return row;
  }

  AttemptRecord any_attempt(JobKey key) {
    AttemptRecord attempt;
    attempt.key = key;
    attempt.gpu = any_text();
    attempt.device = any_text();
    attempt.profile = any_text();
    attempt.start = any_number();
    attempt.started = any_instant();
    if (chance(0.5)) attempt.began = any_instant();
    if (chance(0.5)) attempt.ended = any_instant();
    if (chance(0.5)) attempt.end = static_cast<AttemptEnd>(random.below(attempt_end_names.size()));
    attempt.why = any_text();
    if (chance(0.5)) attempt.exit_code = any_int();
    if (chance(0.5)) attempt.peak = MiB{any_number()};
    if (chance(0.5)) {
      attempt.predicted = any_time();
      attempt.predicted_by = static_cast<TimeSource>(random.below(time_source_names.size()));
    }
    if (chance(0.5)) attempt.lasted = any_time();
    if (chance(0.5)) attempt.too_large = MiB{any_number()};
    return attempt;
  }

  InstanceRecord any_instance(std::string device) {
    InstanceRecord instance;
    instance.device = std::move(device);
    instance.gpu = any_text();
    instance.profile = any_text();
    instance.start = any_number();
    instance.made = any_instant();
    if (chance(0.3)) instance.gone = any_instant();
    if (chance(0.3)) instance.energy_mj = any_number();
    return instance;
  }

  /// One that a repository can hold, of few keys.
  LearntProfile any_learnt() {
    static const std::vector<std::string> names = {"resnet", "a b'; DROP", "\xc3\xa4"};
    static const std::vector<std::string> profiles = {"1g.5gb", "7g.40gb", "none"};
    LearntProfile learnt;
    learnt.uid = static_cast<std::uint32_t>(1000 + random.below(3));
    learnt.record.key = {names[random.below(names.size())], "A100-40GB",
                         static_cast<std::int64_t>(1 + random.below(2)),
                         profiles[random.below(profiles.size())], false};
    if (chance(0.7)) learnt.record.time_s = random.uniform() * 1e6 + 1e-9;
    if (chance(0.7))
      learnt.record.peak_memory = MiB{static_cast<std::int64_t>(random.below(40'000))};
    learnt.record.samples = static_cast<std::int64_t>(1 + random.below(1000));
    learnt.record.date = chance(0.5) ? "2026-11-23T08:00:00Z" : "";
    return learnt;
  }

  EventRecord any_event(std::int64_t number) {
    EventRecord event;
    event.number = number;
    event.at = any_instant();
    event.kind = any_text();
    if (chance(0.7)) {
      event.job = any_number();
      event.uid = static_cast<std::uint32_t>(1000 + random.below(3));
    }
    event.gpu = any_text();
    event.text = any_text();
    return event;
  }

  Random random;
};

}  // namespace cleave
