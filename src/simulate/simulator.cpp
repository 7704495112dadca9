#include "simulate/simulator.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <queue>
#include <set>

#include "base/format.hpp"
#include "base/text.hpp"
#include "physics/speed.hpp"
#include "simulate/measure.hpp"
#include "simulate/world.hpp"

namespace cleave {

namespace {

/// Relative speeds by (speed model, GPU model, profile), worked out when first needed. The last column of a
/// GPU model is the whole GPU with MIG off.
class Speeds {
 public:
  Speeds(const Workload& workload, const Fleet& fleet) : workload_(&workload) {
    for (const auto& graph : fleet.graphs()) models_.push_back(&graph->geometry().model());
    known_.resize(workload.speeds.size() * models_.size() * columns, unknown);
  }

  /// A speed of 0 means that the job does not fit.
  Speed on(const Job& job, std::uint16_t kind, std::size_t column) {
    double& known = known_[(job.speed * models_.size() + kind) * columns + column];
    if (known == unknown) {
      const GpuModel& model = *models_[kind];
      SpeedModel timed = workload_->speeds[job.speed];
      if (timed.reference == nullptr) timed.reference = models_.front();
      const auto speed = column == whole_gpu ? speed_on_whole_gpu(timed, model)
                                             : speed_on(timed, model, model.profiles[column]);
      // The sign bit says that it is inferred.
      known = !speed ? 0 : speed->inferred ? -speed->relative : speed->relative;
    }
    return {std::abs(known), known < 0};
  }

  static constexpr std::size_t whole_gpu =
      8 * sizeof(ProfileMask);  // after as many profiles as a mask can hold
  static constexpr std::size_t columns = whole_gpu + 1;

 private:
  static constexpr double unknown = std::numeric_limits<double>::infinity();

  const Workload* workload_;
  std::vector<const GpuModel*> models_;
  std::vector<double> known_;
};

/// Where a job runs, and since when it holds what it runs on.
struct Running {
  GpuId gpu{};
  PlacementId placement = 0;
  bool whole = false;
  double speed = 0;
  Instant held{}, start{};
};

struct End {
  Instant at;
  JobId job;
  friend bool operator>(const End& a, const End& b) {
    return std::pair(a.at, a.job) > std::pair(b.at, b.job);
  }
};

class Simulation {
 public:
  Simulation(const FleetFile& file, const Workload& workload, const SchedulerSpec& spec)
      : workload_(workload),
        spec_(spec),
        fleet_(file),
        requests_(file.geometries),
        world_(fleet_),
        speeds_(workload, fleet_),
        begin_(workload.jobs.empty() ? Instant{} : workload.jobs.front().arrival),
        last_end_(begin_),
        measure_(world_, begin_),
        running_(workload.jobs.size()) {
    for (const Request& request : workload.requests) request_ids_.push_back(requests_.intern(request));
  }

  Result<RunSummary> run(std::uint64_t seed, const Progress& progress, bool use_index) {
    auto scheduler = make_scheduler(spec_, {fleet_, requests_, use_index});
    if (!scheduler) return std::unexpected(scheduler.error());
    std::vector<Command> commands;
    const std::size_t all = 2 * workload_.jobs.size();
    std::size_t arrived = 0;
    while (arrived < workload_.jobs.size() || !ends_.empty()) {
      const bool end_next = !ends_.empty() && (arrived == workload_.jobs.size() ||
                                               ends_.top().at <= workload_.jobs[arrived].arrival);
      const Instant now = end_next ? ends_.top().at : workload_.jobs[arrived].arrival;
      commands.clear();
      if (end_next) {
        const JobId job = ends_.top().job;
        ends_.pop();
        end(job, now);
        (*scheduler)->on(Finished{job}, now, commands);
      } else {
        const auto job = static_cast<JobId>(arrived);
        (*scheduler)->on(Submitted{job, request_ids_[workload_.jobs[arrived].request]}, now, commands);
        ++arrived;
      }
      for (const Command& command : commands)
        if (const auto done = carry_out(command, now); !done) return std::unexpected(done.error());
      ++summary_.events;
      if (progress && summary_.events % 16384 == 0) progress(summary_.events, all);
    }
    if (progress) progress(all, all);
    return finish(seed);
  }

 private:
  const Job& job(JobId id) const { return workload_.jobs[index(id)]; }

  Result<void> carry_out(const Command& command, Instant now) {
    return std::visit([&](const auto& what) { return carry_out(what, now); }, command);
  }

  Result<void> carry_out(const DestroyInstance& what, Instant) {
    return world_.destroy(what.gpu, what.placement);
  }

  Result<void> carry_out(const CreateInstance& what, Instant now) {
    return world_.create(what.gpu, what.placement, now);
  }

  Result<void> carry_out(const StartJob& what, Instant now) {
    measure_.before_change(what.gpu, now);
    const auto start = world_.start(what.gpu, what.placement, now);
    if (!start) return std::unexpected(start.error());
    const SimulatedGpu& gpu = world_.gpus()[index(what.gpu)];
    const int profile = world_.graph(gpu).geometry()[what.placement].profile_index;
    return begin(what.job, {what.gpu, what.placement, false, 0, now, *start},
                 speeds_.on(job(what.job), gpu.kind, static_cast<std::size_t>(profile)));
  }

  Result<void> carry_out(const StartOnWholeGpu& what, Instant now) {
    measure_.before_change(what.gpu, now);
    const auto start = world_.start_whole(what.gpu, now);
    if (!start) return std::unexpected(start.error());
    const SimulatedGpu& gpu = world_.gpus()[index(what.gpu)];
    return begin(what.job, {what.gpu, 0, true, 0, now, *start},
                 speeds_.on(job(what.job), gpu.kind, Speeds::whole_gpu));
  }

  Result<void> carry_out(const RejectJob& what, Instant) {
    ++summary_.rejected;
    const std::string& reason = requests_[request_ids_[job(what.job).request]].impossible;
    const auto same = std::ranges::find(summary_.rejections, reason, &ReasonCount::reason);
    if (same == summary_.rejections.end()) {
      summary_.rejections.push_back({reason, 1});
    } else {
      ++same->count;
    }
    if (has_deadline(job(what.job))) ++summary_.deadline_misses;
    return {};
  }

  Result<void> begin(JobId id, Running running, Speed speed) {
    if (!(speed.relative > 0))
      return fail(ErrorKind::internal, job(id).id,
                  "the scheduler starts a job on an instance that does not fit it",
                  "this is a bug in Cleave; please report it with the command that led here");
    if (speed.inferred) ++summary_.speeds_inferred;
    running.speed = speed.relative;
    measure_.add_speed(running.gpu, speed.relative);
    // In floating point first: a long job on a slow instance may leave the range of the clock.
    const double takes = static_cast<double>(job(id).duration.count()) / speed.relative;
    if (static_cast<double>(running.start.time_since_epoch().count()) + takes >
        static_cast<double>(2 * longest_duration.count()))
      return fail(ErrorKind::infeasible, fmt::format("job '{}'", shown(job(id).id)),
                  "it would end more than 200 years after the start",
                  "check the durations, which are in seconds, and the speeds");
    running_[index(id)] = running;
    ends_.push({running.start + Duration{std::llround(takes)}, id});
    return {};
  }

  void end(JobId id, Instant now) {
    const Running& was = running_[index(id)];
    measure_.before_change(was.gpu, now);
    measure_.add_speed(was.gpu, -was.speed);
    if (was.whole) {
      world_.end_whole(was.gpu);
    } else {
      world_.end(was.gpu, was.placement);
    }
    ++summary_.finished;
    last_end_ = now;
    waits_.push_back(was.start - job(id).arrival);
    executions_.push_back(now - was.start);
    turnarounds_.push_back(now - job(id).arrival);
    if (has_deadline(job(id)) && now > job(id).arrival + *workload_.details_of(job(id))->deadline)
      ++summary_.deadline_misses;
    account_memory(job(id), in_seconds(now - was.start));
  }

  bool has_deadline(const Job& which) const {
    const JobDetails* details = workload_.details_of(which);
    return details != nullptr && details->deadline.has_value();
  }

  /// Resident memory: what was asked for by size. Other jobs' is not known.
  void account_memory(const Job& which, double seconds) {
    const auto* size = std::get_if<BySize>(&workload_.requests[which.request].wanted);
    if (size != nullptr) resident_mib_seconds_ += static_cast<double>(size->memory.value) * seconds;
  }

  /// What programs could use on the whole fleet; nullopt when some model's is not known.
  std::optional<double> usable_mib() const {
    double sum = 0;
    for (const SimulatedGpu& gpu : world_.gpus()) {
      const auto& usable = world_.graph(gpu).geometry().model().largest().usable;
      if (!usable) return std::nullopt;
      sum += static_cast<double>(usable->value);
    }
    return sum;
  }

  RunSummary finish(std::uint64_t seed) {
    summary_.scheduler = spec_.text;
    summary_.seed = seed;
    summary_.workload = workload_.options;
    summary_.notes = workload_.notes;
    for (const auto& graph : fleet_.graphs())
      for (const std::string& name : graph->geometry().profile_names())
        if (std::ranges::find(summary_.profiles, name) == summary_.profiles.end())
          summary_.profiles.push_back(name);
    summary_.read = workload_.read;
    summary_.left_out = workload_.left_out;
    summary_.jobs = workload_.jobs.size();
    summary_.waiting = summary_.jobs - summary_.finished - summary_.rejected;
    for (std::size_t i = 0; i < workload_.jobs.size(); ++i)
      if (running_[i].speed == 0 && has_deadline(workload_.jobs[i]) && !rejected(i))
        ++summary_.deadline_misses;
    summary_.makespan = last_end_ - begin_;
    summary_.wait = Distribution::of(waits_);
    summary_.turnaround = Distribution::of(turnarounds_);
    summary_.execution = Distribution::of(executions_);
    measure_.finish(last_end_, summary_);
    const auto usable = usable_mib();
    const double seconds = in_seconds(summary_.makespan);
    const bool all_known = std::ranges::all_of(workload_.requests, [](const Request& request) {
      return std::holds_alternative<BySize>(request.wanted);
    });
    if (all_known && usable && seconds > 0)
      summary_.memory_used_utilization = resident_mib_seconds_ / (*usable * seconds);
    summary_.creates = world_.creates();
    summary_.destroys = world_.destroys();
    return summary_;
  }

  bool rejected(std::size_t i) const {
    return !requests_[request_ids_[workload_.jobs[i].request]].impossible.empty();
  }

  const Workload& workload_;
  const SchedulerSpec& spec_;
  Fleet fleet_;  // as it is at the beginning
  RequestTable requests_;
  std::vector<RequestId> request_ids_;  // by Workload::requests
  World world_;
  Speeds speeds_;
  Instant begin_, last_end_;
  Measure measure_;
  std::priority_queue<End, std::vector<End>, std::greater<>> ends_;
  std::vector<Running> running_;  // by job
  std::vector<Duration> waits_, executions_, turnarounds_;
  double resident_mib_seconds_ = 0;
  RunSummary summary_;
};

}  // namespace

Result<RunSummary> simulate(const FleetFile& fleet, const Workload& workload, const SchedulerSpec& spec,
                            std::uint64_t seed, const Progress& progress, bool use_index) {
  return Simulation(fleet, workload, spec).run(seed, progress, use_index);
}

}  // namespace cleave
