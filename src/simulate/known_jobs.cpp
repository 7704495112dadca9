#include "simulate/known_jobs.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>

#include "engine/batch_rows.hpp"
#include "model/speed_table.hpp"
#include "physics/speed_law.hpp"
#include "placement/gang_room.hpp"

namespace cleave {

namespace {

constexpr auto longest_ns = static_cast<double>(longest_duration.count());

/// How fast jobs of which nothing is known are on each profile.
std::vector<std::vector<double>> shares_of(const Fleet& fleet) {
  std::vector<std::vector<double>> shares;
  SpeedModel nothing;
  nothing.reference = &fleet.graphs().front()->geometry().model();
  for (const auto& graph : fleet.graphs()) {
    const GpuModel& model = graph->geometry().model();
    std::vector<double>& of = shares.emplace_back();
    for (const Profile& profile : model.profiles) {
      const auto speed = cleave::speed_on(nothing, model, profile);
      of.push_back(speed ? speed->relative : 1);
    }
  }
  return shares;
}

}  // namespace

KnownJobs::KnownJobs(const Workload& workload, const Speeds& speeds, const Fleet& fleet,
                     const std::vector<RequestId>& request_ids,
                     const ApplicationTimes* applications, const Told& told)
    : workload_(&workload),
      processes_(workload),
      speeds_(&speeds),
      fleet_(&fleet),
      request_ids_(&request_ids),
      applications_(applications),
      told_(told),
      all_told_(told.knowledge == Knowledge()) {
  if (!all_told_) shares_ = shares_of(fleet);
  not_all_plain_ = processes_.any_gang() || workload.has_kinds();
}

std::int64_t KnownJobs::priority(JobId id) const {
  const JobDetails* details = workload_->details_of(job(id));
  return details == nullptr ? 0 : details->priority;
}

std::optional<Instant> KnownJobs::deadline(JobId id) const {
  const JobDetails* details = workload_->details_of(job(id));
  if (details == nullptr || !details->deadline) return std::nullopt;
  return job(id).arrival + *details->deadline;
}

/// A person is not moved away from work.
bool KnownJobs::movable(JobId id) const {
  if (not_all_plain_ && (kind(id) == JobKind::lease || places_of(*workload_, job(id)) > 1))
    return false;
  return may_move(told_.may, workload_->details_of(job(id)));
}

bool KnownJobs::restartable(JobId id) const {
  return may_stop(told_.may, workload_->details_of(job(id)));
}

bool KnownJobs::saves(JobId id) const {
  const JobDetails* details = workload_->details_of(job(id));
  return details != nullptr &&
         (details->keeps == Keeps::checkpoint || details->keeps == Keeps::stateless);
}

std::optional<Duration> KnownJobs::time_on(JobId id, std::size_t kind, int profile) const {
  if (!workload_->services.empty() && this->kind(id) == JobKind::service) return std::nullopt;
  if (applications_ != nullptr) return predicted(id, kind, profile);
  return all_told_ ? true_time(id, kind, profile)
                   : told_time(id, {kind, static_cast<std::size_t>(profile)});
}

/// For whole GPUs with MIG off the largest profile stands.
std::size_t KnownJobs::column_of(JobId id, std::size_t profile) const {
  const Request& request = workload_->requests[job(id).request];
  return asks_for_whole(request) ? Speeds::whole_gpu : profile;
}

std::optional<Duration> KnownJobs::true_time(JobId id, std::size_t kind, int profile) const {
  const double speed = true_speed(id, {kind, static_cast<std::size_t>(profile)});
  if (!(speed > 0)) return std::nullopt;
  const double ns = static_cast<double>(job(id).duration.count()) / speed;
  return Duration{std::llround(std::min(ns, 2 * longest_ns))};
}

double KnownJobs::true_speed(JobId id, Cell on) const {
  return speeds_->on(job(id), on.kind, column_of(id, on.profile)).relative;
}

const SharedLoad* KnownJobs::load_on(JobId id, std::size_t kind, int profile) const {
  if (told_.knowledge.speeds != KnownSpeeds::truth) return nullptr;
  const Cell on{kind, static_cast<std::size_t>(profile)};
  if (column_of(id, on.profile) != on.profile || !(true_speed(id, on) > 0)) return nullptr;
  return &speeds_->load_on(job(id), kind, on.profile);
}

std::optional<KnownJobs::Cell> KnownJobs::asked(JobId id) const {
  const ResolvedRequest& request = (*told_.requests)[(*request_ids_)[job(id).request]];
  for (std::size_t kind = 0; kind < request.candidates.size(); ++kind) {
    if (request.candidates[kind].empty()) continue;
    const Geometry& geometry = fleet_->graphs()[kind]->geometry();
    const int profile = geometry[request.candidates[kind].first()].profile_index;
    return Cell{kind, static_cast<std::size_t>(profile)};
  }
  return std::nullopt;
}

std::optional<double> KnownJobs::progress(JobId id) const {
  if (told_.knowledge.speeds == KnownSpeeds::unknown || !told_.progress) return std::nullopt;
  return told_.progress(processes_.job_of(id));
}

std::optional<Duration> KnownJobs::checkpoint_time(JobId id, std::size_t kind) const {
  const JobDetails* details = workload_->details_of(job(id));
  if (details != nullptr && details->keeps == Keeps::stateless) return Duration::zero();
  if (!told_.stops.by_memory) return told_.stops.checkpoint;
  const Geometry& geometry = fleet_->graphs()[kind]->geometry();
  const HostLink& link = host_link(geometry.model());
  const auto copied = [&](MiB memory) {
    return 2 * copy_time(link, false, memory, *told_.stops.by_memory);
  };
  const auto* size = std::get_if<BySize>(&workload_->requests[job(id).request].wanted);
  if (size != nullptr && told_.knowledge.memory == KnownMemory::truth) return copied(size->memory);
  // At most what it would be given.
  if (told_.requests == nullptr) return std::nullopt;
  const auto most =
      usable_alone((*told_.requests)[(*request_ids_)[job(id).request]], kind, geometry);
  return most ? std::optional(copied(*most)) : std::nullopt;
}

/// As far as its request says.
bool KnownJobs::may_have(JobId id, Cell cell) const {
  const ResolvedRequest& request = (*told_.requests)[(*request_ids_)[job(id).request]];
  const PlacementSet placements =
      fleet_->graphs()[cell.kind]->geometry().of_profile(static_cast<int>(cell.profile));
  return placements.meets(request.holds[cell.kind] | request.candidates[cell.kind]);
}

/// Where the job does not run and that is not told: as if only processors counted.
double KnownJobs::guessed_speed(JobId id, Cell on) const {
  const double speed = true_speed(id, on);
  const bool withheld = told_.knowledge.memory != KnownMemory::truth;
  return speed > 0 || !withheld ? speed : share(on);
}

std::optional<double> KnownJobs::told_ns(JobId id, Cell on) const {
  const auto duration = static_cast<double>(job(id).duration.count());
  if (told_.knowledge.speeds == KnownSpeeds::truth) {
    const double speed = guessed_speed(id, on);
    return speed > 0 ? std::optional(duration / speed) : std::nullopt;
  }
  const auto from = asked(id);
  if (!from || !may_have(id, on)) return std::nullopt;
  const double speed = guessed_speed(id, *from);
  if (!(speed > 0)) return std::nullopt;
  const auto here = learnt_pace(id, on), there = learnt_pace(id, *from);
  return duration / speed * (here && there ? *there / *here : share(*from) / share(on));
}

std::optional<Duration> KnownJobs::told_time(JobId id, Cell on) const {
  if (told_.knowledge.times == KnownTimes::unknown) return std::nullopt;
  const auto ns = told_ns(id, on);
  if (!ns) return std::nullopt;
  const double factor = noise_factor(told_.knowledge, told_.seed, index(processes_.job_of(id)));
  return Duration{std::llround(std::min(*ns * factor, 2 * longest_ns))};
}

std::optional<double> KnownJobs::speed_on(JobId id, std::size_t kind, int profile) const {
  if (applications_ != nullptr || told_.knowledge.times != KnownTimes::unknown) return std::nullopt;
  const Cell on{kind, static_cast<std::size_t>(profile)};
  if (told_.knowledge.speeds == KnownSpeeds::truth) {
    const double speed = guessed_speed(id, on);
    return speed > 0 ? std::optional(speed) : std::nullopt;
  }
  return may_have(id, on) ? learnt_pace(id, on) : std::nullopt;
}

void KnownJobs::learn(JobId id, std::size_t kind, int profile, Duration seen) {
  const std::string* of = application(id);
  if (told_.knowledge.speeds != KnownSpeeds::learn || of == nullptr || seen <= Duration::zero())
    return;
  const GpuModel& model = fleet_->graphs()[kind]->geometry().model();
  ProfileRecord record;
  record.key = {*of, std::string(model.key), batch(id).value_or(1),
                std::string(model.profiles[static_cast<std::size_t>(profile)].name), false};
  // Of a unit of its work, such as an iteration: how many it has differs from job to job.
  record.time_s = in_seconds(seen) / in_seconds(job(id).duration);
  paces_.erase({*of, record.key.batch});
  learnt_.add(std::move(record), MergeRule::mean);
}

double KnownJobs::guessed_pace(Cell on) const {
  constexpr double law = 0.6;  // near what measured jobs show (docs/physics.md)
  return std::pow(share(on), law);
}

std::optional<double> KnownJobs::learnt_pace(JobId id, Cell on) const {
  const std::string* of = application(id);
  if (told_.knowledge.speeds != KnownSpeeds::learn || of == nullptr) return std::nullopt;
  const std::int64_t size = batch(id).value_or(1);
  auto [known, fresh] = paces_.try_emplace({*of, size});
  if (fresh) known->second = learnt_paces(*of, size);
  if (known->second.empty()) return std::nullopt;
  return known->second[on.kind][on.profile];
}

/// As it was seen, by the law of slices where two profiles of the GPU model were, else from one by
/// a guess at it: few jobs lose as much speed as they lose processors.
std::vector<std::vector<double>> KnownJobs::learnt_paces(const std::string& application,
                                                         std::int64_t batch) const {
  std::vector<std::vector<double>> paces;
  std::optional<double> of_all_processors;
  for (std::size_t kind = 0; kind < fleet_->graphs().size(); ++kind) {
    const GpuModel& model = fleet_->graphs()[kind]->geometry().model();
    const SpeedTable table = measured_speeds(learnt_, application, batch, model);
    std::vector<double>& of = paces.emplace_back(model.profiles.size(), 0);
    for (std::size_t i = 0; i < of.size(); ++i) {
      const auto listed = listed_speed(table, model, model.profiles[i].name);
      if (listed && !of_all_processors) of_all_processors = *listed / guessed_pace({kind, i});
      of[i] = listed.value_or(completed_speed(table, model, model.profiles[i]).value_or(0));
    }
  }
  if (!of_all_processors) return {};
  for (std::size_t kind = 0; kind < paces.size(); ++kind)
    for (std::size_t i = 0; i < paces[kind].size(); ++i)
      if (!(paces[kind][i] > 0)) paces[kind][i] = *of_all_processors * guessed_pace({kind, i});
  return paces;
}

std::optional<Duration> KnownJobs::predicted(JobId id, std::size_t kind, int profile) const {
  const std::string* of = application(id);
  if (applications_ == nullptr || of == nullptr) return std::nullopt;
  const std::int64_t size = batch(id).value_or(1);
  auto [known, fresh] = predictions_.try_emplace({*of, size});
  if (fresh)
    for (const auto& graph : fleet_->graphs()) {
      const GpuModel& model = graph->geometry().model();
      std::vector<Duration>& times = known->second.emplace_back();
      for (const Profile& each : model.profiles) {
        const auto time = applications_->time_on(*of, size, model, each);
        const auto whole =
            time ? duration_from_seconds(time->seconds) : Result<Duration>{Duration{-1}};
        times.push_back(whole.value_or(Duration{-1}));
      }
    }
  const Duration time = known->second[kind][static_cast<std::size_t>(profile)];
  return time < Duration::zero() ? std::nullopt : std::optional(time);
}

const std::string* KnownJobs::user(JobId id) const {
  const JobDetails* details = workload_->details_of(job(id));
  return details == nullptr || !details->user ? nullptr : &*details->user;
}

const std::string* KnownJobs::account(JobId id) const {
  const JobDetails* details = workload_->details_of(job(id));
  return details == nullptr || !details->account ? nullptr : &*details->account;
}

const std::string* KnownJobs::application(JobId id) const {
  const JobDetails* details = workload_->details_of(job(id));
  return details != nullptr && details->application ? &*details->application : nullptr;
}

std::optional<std::int64_t> KnownJobs::batch(JobId id) const {
  const JobDetails* details = workload_->details_of(job(id));
  return details != nullptr ? details->batch : std::nullopt;
}

std::vector<BatchRow> KnownJobs::batch_rows() const {
  std::vector<BatchRow> rows;
  if (applications_ != nullptr) {
    for (std::size_t kind = 0; kind < fleet_->graphs().size(); ++kind)
      for (BatchRow& row : batch_rows_of(applications_->repository(),
                                         fleet_->graphs()[kind]->geometry().model(), kind))
        rows.push_back(std::move(row));
    return rows;
  }
  // A latency is a time, and how latencies differ is how speeds do.
  if (!tells_times() || told_.knowledge.speeds != KnownSpeeds::truth) return rows;
  std::set<std::tuple<std::string, std::int64_t>> seen;
  for (std::size_t i = 0; i < workload_->jobs.size(); ++i) {
    const auto id = static_cast<JobId>(i);
    const JobDetails* details = workload_->details_of(job(id));
    if (details == nullptr || !details->application || !details->batch || !details->latency)
      continue;
    if (!seen.emplace(*details->application, *details->batch).second) continue;
    for (std::size_t kind = 0; kind < fleet_->graphs().size(); ++kind) {
      const Geometry& geometry = fleet_->graphs()[kind]->geometry();
      for (const Profile* profile : geometry.profile_list()) {
        const auto column = static_cast<std::size_t>(profile - geometry.model().profiles.data());
        const double speed = guessed_speed(id, {kind, column});
        if (!(speed > 0)) continue;
        const double latency = in_seconds(*details->latency) / speed;
        if (!(latency > 0)) continue;
        rows.push_back({*details->application, *details->batch, kind, static_cast<int>(column),
                        latency, static_cast<double>(*details->batch) / latency});
      }
    }
  }
  return rows;
}

std::vector<JobFacts::Expected> KnownJobs::expected() const {
  std::vector<Expected> all;
  all.reserve(workload_->jobs.size());
  for (std::size_t i = 0; i < workload_->jobs.size(); ++i)
    all.push_back({static_cast<JobId>(i), (*request_ids_)[workload_->jobs[i].request],
                   workload_->jobs[i].arrival});
  return all;
}

}  // namespace cleave
