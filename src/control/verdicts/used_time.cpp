#include "control/verdicts/used_time.hpp"

#include <algorithm>

#include "base/format.hpp"
#include "base/human_time.hpp"

namespace cleave {

namespace {

/// Whether what an attempt did is still there for the next.
bool keeps_its_work(const JobSpec& spec) {
  return spec.progress == Keeps::checkpoint || spec.progress == Keeps::stateless;
}

bool runs_again(JobVerdict::Kind kind) {
  using Kind = JobVerdict::Kind;
  return kind == Kind::wait_again || kind == Kind::retry || kind == Kind::larger_instance ||
         kind == Kind::carry_on || kind == Kind::start_later;
}

}  // namespace

bool counts_as_used(const JobSpec& spec, AttemptEnd end) {
  switch (end) {
    case AttemptEnd::ended_itself:
    case AttemptEnd::out_of_memory:
    case AttemptEnd::moved:
    case AttemptEnd::cancelled:
    case AttemptEnd::idle:
    case AttemptEnd::time_limit:
      return true;
    case AttemptEnd::early_restart:
    case AttemptEnd::made_room:
    case AttemptEnd::lost:
    case AttemptEnd::gang:
      return keeps_its_work(spec);
    case AttemptEnd::not_started:
      break;
  }
  return false;
}

Duration used_by(const JobSpec& spec, const AttemptRecord& attempt) {
  if (!attempt.began || !attempt.end || !counts_as_used(spec, *attempt.end)) return {};
  if (attempt.lasted) return *attempt.lasted;
  return attempt.ended ? std::max(Duration{}, *attempt.ended - *attempt.began) : Duration{};
}

std::optional<Duration> time_left(const JobRecord& job, Duration since_begin) {
  if (!job.spec.time_limit || job.is_replica()) return std::nullopt;
  return std::max(Duration{}, *job.spec.time_limit - job.used - std::max(Duration{}, since_begin));
}

std::string out_of_time_in_words(const JobSpec& spec) {
  return fmt::format("it has run for {}, its time limit", human(*spec.time_limit));
}

JobVerdict within_time_limit(const JobRecord& job, JobVerdict verdict) {
  const auto left = time_left(job, {});
  if (!left || *left > Duration{} || !runs_again(verdict.kind)) return verdict;
  return {.kind = JobVerdict::Kind::finish,
          .state = JobState::failed,
          .reason = fmt::format("{}; {}", out_of_time_in_words(job.spec), verdict.reason),
          .exit_code = verdict.exit_code};
}

}  // namespace cleave
