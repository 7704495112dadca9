#include "control/loop/attempt_launcher.hpp"

#include <algorithm>

#include "base/format.hpp"
#include "control/verdicts/expected_end.hpp"

namespace cleave {

namespace {

/// For programs that ask cleave_report to save their work (docs/reporting.md); what the user says
/// of it is stronger.
constexpr std::string_view signal_variable = "CLEAVE_CHECKPOINT_SIGNAL=";

void add_signal(std::vector<std::string>& environment, const JobSpec& spec) {
  const auto said = [](const std::string& each) { return each.starts_with(signal_variable); };
  if (spec.checkpoint_signal == 0 || std::ranges::any_of(environment, said)) return;
  environment.push_back(fmt::format("{}{}", signal_variable, spec.checkpoint_signal));
}

}  // namespace

LiveAttempt AttemptLauncher::attempt_on(GpuId id, const GpuStep& step) const {
  const ManagedGpu& gpu = node_.gpu(id);
  LiveAttempt attempt;
  AttemptRecord& record = attempt.record;
  record.gpu = gpu.identity->uuid;
  record.started = clock_.wall();
  if (step.kind == GpuStep::Kind::start_whole) {
    record.device = gpu.identity->uuid;
    attempt.place = {id, std::nullopt};
    return attempt;
  }
  const ManagedInstance& instance = gpu.instances.at(step.placement);
  const Placement& where = gpu.geometry()[step.placement];
  record.device = instance.device;
  record.profile = where.profile->name;
  record.start = where.start;
  attempt.place = {id, step.placement};
  attempt.capacity = instance.capacity;
  return attempt;
}

void AttemptLauncher::start(GpuId gpu, const GpuStep& step) {
  LiveJob* job = node_.find(step.job);
  if (job == nullptr) return;
  LiveAttempt attempt = attempt_on(gpu, step);
  const JobKey key{job->record.number, ++job->record.attempts};
  attempt.record.key = key;
  attempt.watched = true;
  attempt.shared = node_.occupied(attempt.place.gpu, attempt.place.placement);
  predict(*job, attempt);
  node_.occupy(attempt.place, key);
  book_.note(attempt.record);
  (step.kind == GpuStep::Kind::replica && job->main ? job->replica : job->main) = key.attempt;
  if (job->main == key.attempt) job->record.state = JobState::starting;
  book_.note(*job);
  job->attempts.emplace(key.attempt, std::move(attempt));
  // Where it must not run twice, the power may go right after it began.
  if (!may_be_restarted(job->record.spec)) book_.sync_next();
  book_.later([this, key] { launch(key); });
}

/// As of now, so that what is seen later can be held against it.
void AttemptLauncher::predict(const LiveJob& job, LiveAttempt& attempt) const {
  const Geometry& geometry = node_.gpu(attempt.place.gpu).geometry();
  const Profile* profile =
      attempt.place.placement ? geometry[*attempt.place.placement].profile : nullptr;
  const auto run = expected_run(job, geometry.model(), profile);
  if (!run) return;
  attempt.record.predicted = run->time;
  attempt.record.predicted_by = run->source;
}

Launch AttemptLauncher::launch_of(const LiveJob& job, const LiveAttempt& attempt,
                                  const JobOwner& owner, const JobCommand& command) const {
  Launch launch;
  launch.key = attempt.record.key;
  launch.uid = owner.uid;
  launch.gid = owner.gid;
  launch.groups = owner.groups;
  launch.argv = command.argv;
  launch.environment = settings_.job_environment;
  launch.environment.insert(launch.environment.end(), command.environment.begin(),
                            command.environment.end());
  add_signal(launch.environment, job.record.spec);
  launch.working_directory = command.working_directory;
  launch.visible_devices = attempt.record.device;
  launch.stop_grace = job.record.spec.stop_grace;
  launch.log_limit = settings_.log_limit;
  return launch;
}

void AttemptLauncher::launch(const JobKey& key) {
  LiveJob* job = node_.find(key.job);
  if (job == nullptr || !job->attempts.contains(key.attempt)) return;
  const LiveAttempt& attempt = job->attempts.at(key.attempt);
  if (attempt.record.end) return processes_.not_started(key, attempt.record.why);
  const auto command = book_.command(key.job);
  if (!command) return processes_.not_started(key, command.error().text());
  if (!*command) return processes_.not_started(key, "its command is no longer in the store");
  const auto owner = look_up_owner_ ? look_up_owner_(job->record.owner) : job->record.owner;
  if (!owner && job->replica == key.attempt)
    return processes_.not_started(key, owner.error().message);
  if (!owner) {
    ProcessOutcome outcome;
    outcome.end = ProcessOutcome::End::not_started;
    outcome.reason = owner.error().message;
    return processes_.ended(*job, key.attempt, outcome);
  }
  if (const auto started = runner_.start(launch_of(*job, attempt, *owner, **command)); !started)
    processes_.not_started(key, started.error().text());
}

}  // namespace cleave
