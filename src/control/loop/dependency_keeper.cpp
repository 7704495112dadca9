#include "control/loop/dependency_keeper.hpp"

#include <algorithm>

#include "base/format.hpp"

namespace cleave {

namespace {

/// "job 12 has failed, and this one was to start only when that has finished"
std::string missed_text(JobNumber job, JobState end, const Dependency& dependency) {
  static constexpr std::string_view wanted[] = {"has finished", "has failed or was cancelled",
                                                "has ended"};
  return fmt::format("job {} {}, and this one was to start only when that {}", job,
                     end == JobState::cancelled  ? "was cancelled"
                     : end == JobState::finished ? "has finished"
                                                 : "has failed",
                     wanted[static_cast<std::size_t>(dependency.on)]);
}

}  // namespace

std::optional<JobState> DependencyKeeper::state_of(std::uint32_t uid, JobNumber number) {
  const LiveJob* live = node_.find(number);
  std::optional<JobRecord> stored;
  if (live == nullptr)
    if (auto found = book_.job(number)) stored = std::move(*found);
  const JobRecord* job = live != nullptr ? &live->record : stored ? &*stored : nullptr;
  if (job == nullptr || job->leader != 0 || job->owner.uid != uid) return std::nullopt;
  return job->state;
}

DependencyKeeper::Look DependencyKeeper::look_at(std::uint32_t uid,
                                                 const std::vector<std::string>& after) {
  Look look;
  for (const std::string& text : after) {
    const auto dependency = parse_dependency(text);
    if (!dependency) continue;  // it was checked when it was submitted
    bool there = false, unfinished = false;
    const JobNumber last = std::min(dependency->last, node_.last_job);
    for (JobNumber job = dependency->first; job <= last; ++job) {
      const auto state = state_of(uid, job);
      if (!state) continue;
      there = true;
      if (!is_final(*state))
        unfinished = true;
      else if (!is_met_by(*dependency, *state) && look.missed.empty())
        look.missed = missed_text(job, *state, *dependency);
    }
    if (unfinished) look.awaits.push_back(*dependency);
    if (!there && look.unknown.empty()) look.unknown = text.substr(text.find(':') + 1);
  }
  return look;
}

Result<void> DependencyKeeper::check(std::uint32_t uid, const std::vector<std::string>& after) {
  if (after.empty()) return {};
  const Look look = look_at(uid, after);
  if (!look.unknown.empty())
    return fail(ErrorKind::bad_input, "after",
                fmt::format("you have no job {} that it could wait for", look.unknown),
                "`cleave ps --all` lists your jobs");
  if (!look.missed.empty())
    return fail(ErrorKind::infeasible, "after", look.missed,
                "run that job again, or submit this one without waiting for it");
  return {};
}

bool DependencyKeeper::enter(LiveJob& job) {
  const JobRecord& record = job.record;
  if (record.spec.after.empty() || record.attempts > 0 || !record.stands_alone()) return true;
  const auto [at, fresh] = looks_.try_emplace({record.owner.uid, record.spec.after});
  if (fresh) at->second = look_at(record.owner.uid, record.spec.after);
  const Look& look = at->second;
  if (!look.missed.empty()) {
    lifecycle_.give_up(job, look.missed);
    return false;
  }
  job.awaits = look.awaits;
  if (!job.awaits.empty()) node_.dependents.insert(record.number);
  return true;
}

void DependencyKeeper::recall() {
  forget_looks();
  std::vector<JobNumber> numbers;
  for (const auto& [number, job] : node_.jobs)
    if (!is_final(job.record.state) && !job.record.cancelled) numbers.push_back(number);
  for (const JobNumber number : numbers) enter(node_.jobs.at(number));
}

bool DependencyKeeper::any_unfinished(std::uint32_t uid, const Dependency& dependency) const {
  for (auto at = node_.jobs.lower_bound(dependency.first);
       at != node_.jobs.end() && at->first <= dependency.last; ++at) {
    const JobRecord& job = at->second.record;
    if (job.leader == 0 && job.owner.uid == uid && !is_final(job.state)) return true;
  }
  return false;
}

std::string DependencyKeeper::missed_by(const LiveJob& job,
                                        const std::vector<std::pair<JobNumber, JobState>>& ended) {
  for (const Dependency& each : job.awaits)
    for (const auto& [number, state] : ended) {
      if (!each.names(number) || is_met_by(each, state)) continue;
      const LiveJob* other = node_.find(number);
      if (other != nullptr && other->record.owner.uid == job.record.owner.uid)
        return missed_text(number, state, each);
    }
  return {};
}

/// All that can never start first, with those that wait for them: whether what is left of the
/// others is met is known only then.
void DependencyKeeper::step() {
  if (node_.ended.empty()) return;
  while (!node_.ended.empty()) {
    const auto ended = std::exchange(node_.ended, {});
    const std::vector<JobNumber> dependents(node_.dependents.begin(), node_.dependents.end());
    for (const JobNumber number : dependents) {
      LiveJob* job = node_.find(number);
      const bool over = job == nullptr || is_final(job->record.state);
      const std::string missed = over ? std::string() : missed_by(*job, ended);
      if (over || !missed.empty()) node_.dependents.erase(number);
      if (!missed.empty()) lifecycle_.give_up(*job, missed);
    }
  }
  const std::vector<JobNumber> dependents(node_.dependents.begin(), node_.dependents.end());
  for (const JobNumber number : dependents) {
    LiveJob& job = node_.jobs.at(number);
    std::erase_if(job.awaits, [&](const Dependency& each) {
      return !any_unfinished(job.record.owner.uid, each);
    });
    if (!job.awaits.empty()) continue;
    node_.dependents.erase(number);
    lifecycle_.enter_queue(job);
  }
}

}  // namespace cleave
