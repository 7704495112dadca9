#include "control/loop/attempt_launcher.hpp"

#include <algorithm>
#include <cerrno>

#include "base/format.hpp"
#include "base/human_time.hpp"
#include "control/node/vacancy.hpp"
#include "control/verdicts/expected_end.hpp"

namespace cleave {

namespace {

std::string variable(std::string_view name) {
  return fmt::format("{}=", name);
}

template <class Value>
void set(std::vector<std::string>& environment, std::string_view name, const Value& value) {
  std::erase_if(environment,
                [&](const std::string& each) { return each.starts_with(variable(name)); });
  environment.push_back(fmt::format("{}={}", name, value));
}

/// What the user says is stronger.
template <class Value>
void add(std::vector<std::string>& environment, std::string_view name, const Value& value) {
  const auto said = [&](const std::string& each) { return each.starts_with(variable(name)); };
  if (std::ranges::none_of(environment, said))
    environment.push_back(fmt::format("{}={}", name, value));
}

/// For programs that ask cleave_report to save their work (docs/reporting.md).
void add_signal(std::vector<std::string>& environment, const JobSpec& spec) {
  if (spec.checkpoint_signal != 0)
    add(environment, "CLEAVE_CHECKPOINT_SIGNAL", spec.checkpoint_signal);
}

void add_array(std::vector<std::string>& environment, const ArrayTask& task) {
  set(environment, "CLEAVE_ARRAY_JOB", task.job);
  set(environment, "CLEAVE_ARRAY_INDEX", task.index);
  set(environment, "CLEAVE_ARRAY_COUNT", task.tasks);
}

/// Files of its user's in which its outputs are wanted.
void add_files(Launch& launch, const JobRecord& job) {
  const JobSpec& spec = job.spec;
  const OutputNames names{.job = job.job(),
                          .array = spec.task ? spec.task->job : job.job(),
                          .index = spec.task ? spec.task->index : 0,
                          .rank = job.rank(),
                          .attempt = launch.key.attempt,
                          .name = spec.name};
  if (!spec.output_file.empty())
    launch.output_file = output_file(spec.output_file, launch.working_directory, names);
  if (!spec.error_file.empty())
    launch.error_file = output_file(spec.error_file, launch.working_directory, names);
}

/// As far as the submission says it.
Result<Container> container_of(const JobSpec& spec, const ContainerRuntimes& runtimes) {
  const auto runtime = runtime_for(runtimes, spec.image);
  if (!runtime) return std::unexpected(runtime.error());
  Container container;
  container.by = runtime->by;
  container.program = runtime->program;
  container.image = spec.image;
  for (const std::string& each : spec.binds)
    if (auto bind = parse_bind(each)) container.mounts.push_back(std::move(*bind));
  return container;
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

/// Where they find each other: the same each time if it is free.
void AttemptLauncher::choose_meeting_port(JobNumber number) {
  constexpr int first = 20'000, count = 10'000;  // below those that systems give out
  LiveJob* job = node_.find(number);
  if (job == nullptr) return;
  if (job->meeting_port == 0) job->meeting_port = first + static_cast<int>(number % count);
  job->meeting_port = runner_.free_port(job->meeting_port);
}

/// Their attempts have the same number.
void AttemptLauncher::start(std::span<const PlacedStep> processes) {
  std::int64_t attempt = 0;
  for (const PlacedStep& each : processes)
    if (const LiveJob* job = node_.find(each.step.job))
      attempt = std::max(attempt, job->record.attempts);
  if (processes.size() > 1) choose_meeting_port(processes.front().step.job);
  for (const PlacedStep& each : processes) start(each, attempt + 1);
}

void AttemptLauncher::start(const PlacedStep& process, std::int64_t number) {
  const auto& [gpu, step] = process;
  LiveJob* job = node_.find(step.job);
  if (job == nullptr) return;
  LiveAttempt attempt = attempt_on(gpu, step);
  job->record.attempts = number;
  job->given.reset();
  const JobKey key{job->record.number, number};
  attempt.record.key = key;
  attempt.watched = true;
  attempt.shared = node_.occupied(attempt.place.gpu, attempt.place.placement);
  predict(*job, attempt);
  node_.occupy(attempt.place, key);
  note_user(attempt, job->record.owner.uid);
  book_.note(attempt.record);
  if (number > most_attempts_kept) book_.outdate({key.job, number - most_attempts_kept});
  (step.kind == GpuStep::Kind::replica && job->main ? job->replica : job->main) = key.attempt;
  if (job->main == key.attempt) job->record.state = JobState::starting;
  book_.note(*job);
  job->attempts.emplace(key.attempt, std::move(attempt));
  // Where it must not run twice, the power may go right after it began.
  if (!may_be_restarted(job->record.spec)) book_.sync_next();
  if (!job->record.has_process()) return;
  book_.later([this, key, seen = clock_.steady()] { launch(key, seen); });
}

/// A stranger may have come since the place was seen free. Beside a process of a job they are not
/// told from it, and nobody looks.
bool AttemptLauncher::must_be_seen_again(const LiveAttempt& attempt, Duration seen) const {
  if (clock_.steady() - seen <= vacancy_holds) return false;
  const auto there = node_.occupants.find(attempt.place);
  return there == node_.occupants.end() ||
         std::ranges::none_of(there->second, [&](const JobKey& key) {
           const LiveJob* other = node_.find(key.job);
           return other != nullptr && other->attempts.contains(key.attempt) &&
                  other->attempts.at(key.attempt).record.began;
         });
}

/// Who has had an instance is known after a restart, too.
void AttemptLauncher::note_user(const LiveAttempt& attempt, std::uint32_t uid) {
  if (!attempt.place.placement) return;
  auto& instances = node_.gpu(attempt.place.gpu).instances;
  const auto instance = instances.find(*attempt.place.placement);
  if (instance == instances.end()) return;
  const bool same = !instance->second.fresh && instance->second.user == uid;
  if (same) return;
  instance->second.fresh = false;
  if (attempt.shared) return forget_user(instance->second);
  instance->second.user = uid;
  book_.note_setting(user_key(attempt.record.device), fmt::format("{}", uid));
}

/// Jobs of several users are on it at a time: whose memory they leave there will not be known.
void AttemptLauncher::forget_user(ManagedInstance& instance) {
  instance.user.reset();
  node_.users.erase(instance.device);
  book_.note_setting(user_key(instance.device), "");
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

/// By the driver's numbers; none where it has not said those of one.
std::vector<JobDevice> AttemptLauncher::devices_of(
    std::span<const LiveAttempt* const> attempts) const {
  std::vector<JobDevice> devices;
  for (const LiveAttempt* each : attempts) {
    const ManagedGpu& gpu = node_.gpu(each->place.gpu);
    if (!gpu.identity->minor) return {};
    JobDevice device{*gpu.identity->minor, std::nullopt};
    if (each->place.placement) {
      const auto instance = gpu.instances.find(*each->place.placement);
      if (instance == gpu.instances.end() || !instance->second.numbers) return {};
      device.instance = instance->second.numbers;
    }
    devices.push_back(device);
  }
  return devices;
}

void AttemptLauncher::add_gang(Launch& launch, const LiveJob& job) const {
  std::vector<std::string> devices;
  std::vector<const LiveAttempt*> attempts;
  std::int64_t processes = 0;
  for (const LiveJob* process : node_.processes(job)) {
    processes += process->record.has_process() ? 1 : 0;
    attempts.push_back(&process->attempts.at(launch.key.attempt));
    devices.push_back(attempts.back()->record.device);
  }
  const std::int64_t rank = job.record.rank();
  const std::string all = fmt::format("{}", fmt::join(devices, ","));
  if (processes == 1) {
    launch.visible_devices = all;
    launch.devices = devices_of(attempts);
  }
  set(launch.environment, "CLEAVE_RANK", rank);
  set(launch.environment, "CLEAVE_PROCESSES", processes);
  set(launch.environment, "CLEAVE_GANG", all);
  if (processes == 1) return;
  add(launch.environment, "RANK", rank);
  add(launch.environment, "WORLD_SIZE", processes);
  add(launch.environment, "LOCAL_RANK", rank);
  add(launch.environment, "LOCAL_WORLD_SIZE", processes);
  add(launch.environment, "MASTER_ADDR", "127.0.0.1");
  add(launch.environment, "MASTER_PORT", node_.find(job.record.job())->meeting_port);
}

/// What it was given of the host, and no more than the operator lets any job have. A process that
/// has several GPUs has what all of them give.
GroupLimits AttemptLauncher::limits_of(const LiveJob& job, const LiveAttempt& attempt) const {
  GroupLimits limits{settings_.job_processes, settings_.job_memory};
  if (node_.host.empty()) return limits;
  HostAmount has = node_.host_part(job.record, attempt.place);
  if (job.record.several() && job.record.processes() == 1) {
    has = {};
    for (const LiveJob* each : node_.processes(job))
      if (const auto other = each->attempts.find(attempt.record.key.attempt);
          other != each->attempts.end())
        has += node_.host_part(each->record, other->second.place);
  }
  if (node_.host.millicpus) limits.millicpus = std::max<std::int64_t>(1, has.millicpus);
  if (!node_.host.memory) return limits;
  const MiB memory = std::max(MiB{1}, has.memory);
  limits.memory = limits.memory > MiB{} ? std::min(limits.memory, memory) : memory;
  return limits;
}

Result<Launch> AttemptLauncher::launch_of(const LiveJob& job, const LiveAttempt& attempt,
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
  launch.checkpoint_command = job.record.spec.checkpoint_command;
  if (const std::string& restore = job.record.spec.restore_command;
      job.record.checkpoint != 0 && !restore.empty())
    launch.argv = {"/bin/sh", "-c", restore};
  if (job.record.checkpoint != 0)
    set(launch.environment, "CLEAVE_CHECKPOINT_OF", job.record.checkpoint);
  launch.working_directory = command.working_directory;
  add_files(launch, job.record);
  if (job.record.spec.task) add_array(launch.environment, *job.record.spec.task);
  launch.visible_devices = attempt.record.device;
  const LiveAttempt* only = &attempt;
  launch.devices = devices_of({&only, 1});
  launch.known_as = job.record.job();
  if (job.record.several()) add_gang(launch, job);
  if (job.record.is_replica()) set(launch.environment, "CLEAVE_REPLICA", job.record.rank());
  launch.stop_grace = job.record.spec.stop_grace;
  launch.log_limit = settings_.log_limit;
  launch.limits = limits_of(job, attempt);
  if (job.record.spec.image.empty()) return launch;
  auto container = container_of(job.record.spec, settings_.containers);
  if (!container) return std::unexpected(container.error());
  launch.container = std::move(*container);
  return launch;
}

void AttemptLauncher::launch(const JobKey& key, Duration seen) {
  LiveJob* job = node_.find(key.job);
  if (job == nullptr || !job->attempts.contains(key.attempt)) return;
  const LiveAttempt& attempt = job->attempts.at(key.attempt);
  if (attempt.record.end) return processes_.not_started(key, attempt.record.why);
  if (must_be_seen_again(attempt, seen))
    return processes_.held_up(
        key, fmt::format("the store could not be written for {}, and nobody has seen since whether "
                         "its place is still free",
                         human(clock_.steady() - seen)));
  const auto command = book_.command(job->record.job());
  if (!command) return processes_.not_started(key, command.error().text(), EIO);
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
  const auto wanted = launch_of(*job, attempt, *owner, **command);
  if (!wanted) return processes_.not_started(key, wanted.error().text());
  if (const auto started = runner_.start(*wanted); !started)
    processes_.not_started(key, started.error().error.text(), started.error().code);
  // Where it is not there, or cannot be removed, that is no matter: the rest goes with the job.
  if (key.attempt > most_attempt_folders)
    static_cast<void>(runner_.forget({key.job, key.attempt - most_attempt_folders}));
}

}  // namespace cleave
