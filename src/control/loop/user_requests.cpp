#include "control/loop/user_requests.hpp"

#include <algorithm>
#include <utility>

#include "base/format.hpp"
#include "base/text.hpp"
#include "control/brain/fleet_of_node.hpp"
#include "control/node/reserved_gpus.hpp"
#include "placement/gang_room.hpp"
#include "placement/request_table.hpp"

namespace cleave {

namespace {

constexpr std::size_t most_remembered_requests = 4096;

/// Why these GPUs, were they empty, could not serve the request; empty where they could.
std::string why_never(const Request& request, const FleetFile& file) {
  ResolvedRequest resolved = resolve(request, file.geometries);
  if (!resolved.impossible.empty() || request.places == 1) return resolved.impossible;
  const Fleet fleet(file);
  const FleetNodes nodes(fleet);
  SideBySide beside(fleet);
  GangRoom room(nodes);
  for (std::size_t i = 0; i < file.gpus.size(); ++i) {
    const std::size_t kind = file.gpus[i].geometry;
    room.set(static_cast<GpuId>(i), beside.most(kind, resolved.candidates[kind], {}));
  }
  if (room.fits(request.places, request.together)) return {};
  return fmt::format("the GPUs here never have {} at a time", text(request));
}

/// Of all its places together, on the smallest instances or GPUs here that it could have.
std::int64_t least_slices(const Request& request, const FleetFile& file) {
  const ResolvedRequest resolved = resolve(request, file.geometries);
  std::optional<std::int64_t> least;
  const auto consider = [&](std::int64_t slices) {
    least = std::min(least.value_or(slices), slices);
  };
  for (const GpuEntry& gpu : file.gpus) {
    const Geometry& geometry = file.geometries[gpu.geometry];
    if (std::holds_alternative<WholeGpu>(request.wanted)) consider(geometry.model().compute.value);
    if (std::holds_alternative<WholeGpu>(request.wanted)) continue;
    for (const PlacementId id : resolved.candidates[gpu.geometry])
      consider(geometry[id].profile->compute.value);
  }
  return least.value_or(0) * std::int64_t{request.places};
}

}  // namespace

void UserRequests::write() {
  unwritten_keys_.clear();
  further_jobs_ = 0;
  book_.write_requests(node_,
                       [this](const UserRequest& each) { return stop_though_unwritten(each); });
}

/// Nothing enters that is not written; but what runs is stopped all the same, since it may be what
/// fills the disk. That it was asked for is written when that is possible again.
bool UserRequests::stop_though_unwritten(const UserRequest& request) {
  std::vector<JobKey> keys;
  for (const JobNumber number : request.cancels) {
    const std::vector<JobKey> attempts = attempts_of(number);
    keys.insert(keys.end(), attempts.begin(), attempts.end());
  }
  if (keys.empty()) return false;
  request.enter();
  for (const JobKey& key : keys) lifecycle_.stop_now(key);
  return true;
}

/// Of all its processes and replicas, while it has not ended.
std::vector<JobKey> UserRequests::attempts_of(JobNumber number) const {
  std::vector<JobKey> keys;
  const LiveJob* job = node_.find(number);
  if (job == nullptr || is_final(job->record.state)) return keys;
  for (const LiveJob* replica : std::as_const(node_).replicas(*job))
    for (const LiveJob* process : std::as_const(node_).processes(*replica))
      for (const auto& [attempt, live] : process->attempts) keys.push_back(live.record.key);
  return keys;
}

/// Why no GPU here will ever have an instance for it; empty where one can.
const std::string& UserRequests::work_out_impossible(const Request& request) {
  static const std::string unknown;
  if (node_.gpus.empty()) return unknown;
  if (impossible_.size() > most_remembered_requests) impossible_.clear();
  const auto [known, fresh] = impossible_.try_emplace(request);
  if (fresh) known->second = why_never(request, fleet_of(node_));
  return known->second;
}

/// A job of several counts once. They are counted only where there may be too many.
std::size_t UserRequests::unfinished_jobs(std::size_t more) const {
  std::size_t jobs = node_.jobs.size();
  if (jobs + book_.open_requests() + further_jobs_ + more >= settings_.most_waiting)
    jobs = static_cast<std::size_t>(std::ranges::count_if(
        node_.jobs, [](const auto& each) { return each.second.record.leader == 0; }));
  return jobs + book_.open_requests() + further_jobs_ + more;
}

/// Whole GPUs need MIG off, and not every daemon may switch it.
Result<void> UserRequests::check_mig(const JobSpec& spec) const {
  if (!std::holds_alternative<WholeGpu>(spec.request.wanted) || settings_.may_switch_mig ||
      brain_.wants_whole_gpus())
    return {};
  return fail(ErrorKind::infeasible, "gpus",
              "this daemon may not switch MIG off, which a whole GPU needs",
              "ask for the largest instance, or have an operator set may_switch_mig");
}

/// Not every scheduler takes services and leases.
Result<void> UserRequests::check_kind(const JobSpec& spec) const {
  if (kind_of(spec) == JobKind::batch) return {};
  const auto reservations = reservations_of(settings_.reservations, node_, clock_.wall());
  const auto possible = Brain::check_scheduler(brain_.scheduler(), fleet_of(node_), reservations,
                                               true, settings_.user_limits);
  if (possible) return {};
  return fail(ErrorKind::infeasible, spec.service ? "service" : "lease", possible.error().message,
              fmt::format("an operator can choose another with `cleave scheduler`; {}",
                          possible.error().remedy));
}

/// What the host never has for it.
Result<void> UserRequests::check_host(const JobSpec& spec) const {
  const HostNode host = node_.host_node();
  HostAmount all;
  for (std::uint32_t place = 0; place < spec.request.places && !host_ask(spec).empty(); ++place)
    all += host_share(host_ask(spec), host, {});
  if (holds(host, {}, all)) return {};
  const bool cpus = host.has.millicpus && all.millicpus > *host.has.millicpus;
  return fail(
      ErrorKind::infeasible, cpus ? "cpus" : "host_memory_mib",
      cpus ? fmt::format("jobs may have {:g} CPUs of this host together, and it asks for {:g}",
                         static_cast<double>(*host.has.millicpus) / 1000,
                         static_cast<double>(all.millicpus) / 1000)
           : fmt::format("jobs may have {} MiB of this host's memory together, and it asks "
                         "for {}",
                         host.has.memory->value, all.memory.value),
      "ask for less");
}

Result<void> UserRequests::check(const JobSpec& spec, std::size_t more) {
  if (const std::size_t there = unfinished_jobs(more); there >= settings_.most_waiting)
    return fail(ErrorKind::infeasible, "the queue",
                more == 0 ? fmt::format("there are already {} unfinished jobs", there)
                          : fmt::format("there would be {} unfinished jobs", there + 1),
                "wait until some have ended, or raise most_waiting");
  const auto interrupting = Brain::interrupting_name(brain_.scheduler());
  if (interrupting && !interrupting->empty() && !may_be_restarted(spec))
    return fail(ErrorKind::infeasible, "restartable",
                fmt::format("the scheduler {} stops jobs and starts them again", *interrupting),
                "submit with --restartable, or let an operator choose another scheduler");
  if (const auto possible = check_mig(spec); !possible) return possible;
  if (const auto possible = check_kind(spec); !possible) return possible;
  if (!spec.image.empty())
    if (const auto runtime = runtime_for(settings_.containers, spec.image); !runtime)
      return std::unexpected(runtime.error());
  if (const auto possible = check_host(spec); !possible) return possible;
  if (const std::string& never = work_out_impossible(spec.request); !never.empty())
    return fail(ErrorKind::infeasible, "the request", never,
                "`cleave top --once` shows the GPUs, `cleave gpu MODEL` the profiles of one");
  return check_slices(spec);
}

/// What asks for more than a user may ever hold would wait for ever.
Result<void> UserRequests::check_slices(const JobSpec& spec) const {
  const auto& most = settings_.user_limits.slices;
  if (!most || node_.gpus.empty()) return {};
  const std::int64_t least = least_slices(spec.request, fleet_of(node_));
  if (least <= *most) return {};
  return fail(ErrorKind::infeasible, "the request",
              fmt::format("it takes {} compute slices, and a user may hold {}", least, *most),
              "ask for less; slices_per_user is the limit");
}

Result<void> UserRequests::check_disk(const DiskAccounts::Kept& more) const {
  if (const auto room = may_accept(node_.disk.rooms, settings_.disk_marks); !room) return room;
  if (exempt_ && exempt_(more.uid)) return {};
  return may_keep(node_.disk.accounts, more.uid, more.bytes(), settings_.keep_per_user);
}

Result<std::optional<KeyedJob>> UserRequests::submitted_with(std::uint32_t uid,
                                                             const std::string& key) const {
  if (const auto found = unwritten_keys_.find({uid, key}); found != unwritten_keys_.end())
    return found->second;
  const auto stored = book_.job_with_key(uid, key);
  if (!stored) return std::unexpected(stored.error());
  if (!*stored) return std::nullopt;
  return KeyedJob{(*stored)->number, (*stored)->key.value().content, true};
}

std::optional<Duration> UserRequests::most_grace(CancelGrace grace) const {
  switch (grace) {
    case CancelGrace::of_job:
      return std::nullopt;
    case CancelGrace::of_operator:
      return settings_.operators_grace;
    case CancelGrace::at_once:
      break;
  }
  return Duration{};
}

void UserRequests::cancel(std::span<const Cancellation> jobs, const std::string& by) {
  StoreBatch batch;
  std::vector<JobNumber> numbers;
  std::vector<std::pair<JobNumber, std::optional<Duration>>> all;
  for (const Cancellation& each : jobs) {
    const LiveJob* job = node_.find(each.job);
    // What is over, or was never there, asks for nothing; the caller has checked which.
    if (job == nullptr || is_final(job->record.state)) continue;
    for (const LiveJob* replica : std::as_const(node_).replicas(*job)) {
      batch.jobs.push_back(replica->record);
      batch.jobs.back().cancelled = true;
    }
    // That it is over is another event: job-cancelled, or how it ended before it heard of this.
    batch.events.push_back(book_.event_record(
        "job-cancelling", fmt::format("job {} is being cancelled by {}", each.job, by),
        &job->record));
    numbers.push_back(each.job);
    all.emplace_back(each.job, most_grace(each.grace));
  }
  const auto enter = [this, all = std::move(all), by] {
    for (const auto& [number, most] : all)
      if (LiveJob* cancelled = node_.find(number))
        for (LiveJob* replica : node_.replicas(*cancelled)) lifecycle_.cancel(*replica, by, most);
  };
  book_.request(std::move(batch), enter).cancels = std::move(numbers);
}

Result<void> UserRequests::drain(GpuId gpu, bool drained) {
  if (index(gpu) >= node_.gpus.size())
    return fail(ErrorKind::bad_input, "gpu", "there is no such GPU among the managed ones");
  const std::string& uuid = node_.gpu(gpu).identity->uuid;
  StoreBatch batch;
  batch.settings.emplace_back(drained_key(uuid), drained ? "yes" : "");
  batch.events.push_back(book_.event_record(
      drained ? "gpu-drained" : "gpu-undrained",
      fmt::format("{} {}", node_.in_words(gpu),
                  drained ? "is drained: running jobs continue, and no new ones start there"
                          : "takes work again"),
      nullptr, uuid));
  book_.request(std::move(batch), [this, gpu, drained] { enter_drained(gpu, drained); });
  return {};
}

void UserRequests::enter_drained(GpuId id, bool drained) {
  ManagedGpu& gpu = node_.gpu(id);
  gpu.drained = drained;
  if (drained) return brain_.tell(GpuDrained{id});
  const bool unhealthy = gpu.drained_by() != nullptr;
  health_.accept(id);
  if (unhealthy) return lifecycle_.rebuild("an operator takes a GPU back");
  if (!gpu.hung && !node_.held_of(id).all) brain_.tell(GpuUndrained{id});
}

void UserRequests::pause(bool paused) {
  StoreBatch batch;
  batch.settings.emplace_back(paused_key, paused ? "yes" : "");
  batch.events.push_back(book_.event_record(
      paused ? "paused" : "resumed",
      paused ? "no job is started until it is resumed" : "jobs start again", nullptr));
  book_.request(std::move(batch), [this, paused] {
    node_.paused = paused;
    brain_.tell(paused ? Event(Paused{}) : Event(Resumed{}));
  });
}

Result<void> UserRequests::check_scheduler(const std::string& text) const {
  return check_scheduler(text, settings_);
}

Result<void> UserRequests::check_scheduler(const std::string& text,
                                           const ControlSettings& settings) const {
  const auto interrupting = Brain::interrupting_name(text);
  if (!interrupting) return std::unexpected(interrupting.error());
  if (!interrupting->empty())
    for (const auto& [number, job] : node_.jobs)
      if (!may_be_restarted(job.record.spec) && !is_final(job.record.state) &&
          job.record.leader == 0)
        return fail(
            ErrorKind::infeasible, text,
            fmt::format("it stops jobs and starts them again, and job {} is not restartable",
                        number),
            "wait until it has ended");
  const auto reservations = reservations_of(settings.reservations, node_, clock_.wall());
  return Brain::check_scheduler(text, fleet_of(node_), reservations, has_kinds(node_),
                                settings.user_limits);
}

Result<void> UserRequests::set_scheduler(const std::string& text) {
  if (const auto possible = check_scheduler(text); !possible) return possible;
  StoreBatch batch;
  batch.settings.emplace_back(scheduler_key, text);
  batch.events.push_back(book_.event_record(
      "scheduler", fmt::format("the scheduler is {} from now on", text), nullptr));
  book_.request(std::move(batch), [this, text] {
    brain_.choose_scheduler(text);
    lifecycle_.rebuild("another scheduler was chosen");
  });
  return {};
}

Result<std::vector<std::string>> UserRequests::reload(const ControlSettings& settings) {
  std::vector<std::string> unchanged;
  const bool other_reservations = settings.reservations != settings_.reservations;
  const bool other_limits = settings.user_limits != settings_.user_limits;
  if (other_reservations)
    if (const auto fine = check_reserved(settings.reservations, node_, clock_.wall()); !fine)
      return std::unexpected(fine.error());
  if (other_reservations || other_limits) {
    // The one that was chosen, and the one that a restart may go back to.
    for (const std::string& scheduler : {brain_.scheduler(), settings_.scheduler})
      if (const auto possible = check_scheduler(scheduler, settings); !possible)
        return fail_at(other_reservations ? "reservations" : "limits of users", possible.error());
  }
  if (settings.forecaster != settings_.forecaster) {
    if (const auto possible = Brain::check_forecaster(settings.forecaster); !possible)
      return std::unexpected(possible.error());
    lifecycle_.rebuild("another forecaster was chosen");
  }
  if (other_reservations) lifecycle_.rebuild("other GPUs are reserved");
  if (other_limits) lifecycle_.rebuild("users have other limits");
  if (settings.scheduler != settings_.scheduler) unchanged.emplace_back("scheduler");
  const std::string scheduler = settings_.scheduler;
  if (settings.applications != settings_.applications) {
    node_.applications.set_given(settings.applications);
    lifecycle_.rebuild("the profiles of applications were read again");
  }
  settings_ = settings;
  settings_.scheduler = scheduler;
  book_.note(node_.applications.keep(settings_.keep_profiles));
  return unchanged;
}

}  // namespace cleave
