#pragma once
// For tests: `adaptive` driven by hand, with jobs of which each test says what is known and what
// may be done to them. Carries every command out at once and keeps its own account of what runs
// where, by the rules of placement alone.

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/format.hpp"
#include "base/overloads.hpp"
#include "engine/engine.hpp"
#include "model/fleet_file.hpp"
#include "model/layout_text.hpp"
#include "physics/contention.hpp"

namespace cleave {

/// What is known of a job, and what may be done to it.
struct AdaptiveJob {
  Request request{ByProfile{"7g.40gb"}, {}};
  std::chrono::seconds full{};  // on the whole GPU; 0: not known
  double bend = 1;              // speed on a share s of the slices: s to this power
  bool saves = true, live = false;
  std::int64_t priority = 0;
  std::optional<std::string> application{}, user{};
  std::optional<Instant> deadline{};
  std::optional<double> progress{};
  double transfer = 0;  // of `full`, over the link to the host; what is told of it
  double kappa = 1;     // what it draws
};

/// A job that is never interrupted.
inline AdaptiveJob stays(AdaptiveJob job) {
  job.saves = job.live = false;
  return job;
}

/// What the scheduler is told of these.
class AdaptiveFacts final : public JobFacts {
 public:
  AdaptiveFacts(const Fleet& fleet, bool predicted) : fleet_(&fleet), predicted_(predicted) {}

  [[nodiscard]] std::int64_t priority(JobId job) const override { return of.at(job).priority; }
  [[nodiscard]] std::optional<Instant> deadline(JobId job) const override {
    return of.at(job).deadline;
  }
  [[nodiscard]] bool movable(JobId job) const override { return of.at(job).live; }
  [[nodiscard]] bool restartable(JobId job) const override { return of.at(job).saves; }
  [[nodiscard]] bool saves(JobId job) const override { return of.at(job).saves; }
  [[nodiscard]] std::optional<Instant> running_since(JobId job) const override {
    const auto found = began.find(job);
    return found == began.end() ? std::nullopt : std::optional(found->second);
  }
  [[nodiscard]] std::optional<Duration> time_on(JobId job, std::size_t kind,
                                                int profile) const override {
    const AdaptiveJob& said = of.at(job);
    if (said.full.count() == 0) return std::nullopt;
    return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(
        in_seconds(said.full) / std::pow(share(kind, profile), said.bend)));
  }
  [[nodiscard]] std::optional<double> speed_on(JobId job, std::size_t kind,
                                               int profile) const override {
    const std::string* of_job = application(job);
    const auto learnt = of_job == nullptr ? bends.end() : bends.find(*of_job);
    if (learnt == bends.end()) return std::nullopt;
    return std::pow(share(kind, profile), learnt->second);
  }
  [[nodiscard]] bool predicts() const override { return predicted_; }
  [[nodiscard]] std::optional<double> progress(JobId job) const override {
    return of.at(job).progress;
  }
  [[nodiscard]] const std::string* application(JobId job) const override {
    const auto& said = of.at(job).application;
    return said ? &*said : nullptr;
  }
  [[nodiscard]] const std::string* user(JobId job) const override {
    const auto& said = of.at(job).user;
    return said ? &*said : nullptr;
  }

  [[nodiscard]] const SharedLoad* load_on(JobId job, std::size_t kind, int profile) const override {
    const AdaptiveJob& said = of.at(job);
    SharedLoad& load = loads_[{job, kind, profile}];
    load.parts.transfer = said.transfer;
    load.parts.compute = (1 - said.transfer) / std::pow(share(kind, profile), said.bend);
    load.kappa = said.kappa;
    load.compute_share = share(kind, profile);
    return &load;
  }
  [[nodiscard]] const SharedGpu* shared_by(std::size_t /*kind*/) const override { return &shared; }

  SharedGpu shared{.link = LinkSharing::off};  // nothing
  std::map<JobId, AdaptiveJob> of;
  std::map<JobId, Instant> began;       // of adopted jobs
  std::map<std::string, double> bends;  // what was learnt of applications

 private:
  [[nodiscard]] double share(std::size_t kind, int profile) const {
    const GpuModel& model = fleet_->graphs()[kind]->geometry().model();
    return static_cast<double>(model.profiles[static_cast<std::size_t>(profile)].compute.value) /
           model.compute.value;
  }

  const Fleet* fleet_;
  bool predicted_;
  mutable std::map<std::tuple<JobId, std::size_t, int>, SharedLoad> loads_;
};

/// The engine, its GPUs and the clock.
class AdaptiveWorld {
 public:
  /// What else an engine is made from.
  struct More {
    Forecaster* forecaster = nullptr;
    std::vector<GpuReservation> reservations = {};
    std::string_view idle = {};  // instances that exist on the first GPU
    bool predicted = false;      // times and speeds are learnt
  };
  explicit AdaptiveWorld(std::string_view spec, std::string_view fleet = "1xA100-40GB")
      : AdaptiveWorld(spec, fleet, More{}) {}
  AdaptiveWorld(std::string_view spec, std::string_view fleet, const More& more)
      : file_(furnished(fleet, more.idle)),
        fleet_(file_),
        requests_(file_.geometries),
        facts_(fleet_, more.predicted),
        engine_(*Engine::make(*parse_scheduler(spec),
                              {.fleet = fleet_,
                               .requests = requests_,
                               .facts = &facts_,
                               .reservations = more.reservations},
                              requests_, more.forecaster)),
        held_(fleet_.size()) {}

  void submit(unsigned job, const AdaptiveJob& said) { submit_all(job, {said}); }
  /// Several at one instant.
  void submit_all(unsigned first, const std::vector<AdaptiveJob>& jobs) {
    for (const AdaptiveJob& said : jobs) {
      const auto id = static_cast<JobId>(first++);
      facts_.of[id] = said;
      hear(Submitted{id, requests_.intern(said.request)});
    }
    settle();
  }
  /// It runs already, on an instance that the fleet shows as idle; to be settled by what comes.
  void adopt(unsigned job, const AdaptiveJob& said, std::string_view at, Duration ago) {
    const auto id = static_cast<JobId>(job);
    facts_.of[id] = said;
    facts_.began[id] = now_ - ago;
    const Geometry& geometry = file_.geometries.front();
    const auto layout = parse_layout(at, geometry);
    const auto& [profile, start] = layout->front();
    const PlacementId place = *geometry.find(*profile, start);
    sit(id, {GpuId{0}, place});
    hear(Adopted{id, requests_.intern(said.request), GpuId{0}, place});
  }
  void finish(unsigned job) {
    rise(static_cast<JobId>(job));
    tell(Finished{static_cast<JobId>(job)});
  }
  /// As the daemon does it: a job that runs is stopped, and has ended then.
  void cancel(unsigned job) {
    const auto id = static_cast<JobId>(job);
    tell(Cancelled{id});
    if (runs(job)) finish(job);
  }
  void run_out(unsigned job) {
    const auto id = static_cast<JobId>(job);
    const auto had = usable(job);
    rise(id);
    tell(OutOfMemory{id, had});
  }
  void lose(unsigned gpu) {
    const auto id = static_cast<GpuId>(gpu);
    std::erase_if(seats_, [&](const auto& each) { return each.second.gpu == id; });
    held_[gpu] = {};
    tell(GpuLost{id});
  }
  /// The instance of a running job is gone.
  void vanish(unsigned job) {
    const Seat seat = seats_.at(static_cast<JobId>(job));
    rise(static_cast<JobId>(job));
    tell(InstanceVanished{seat.gpu, seat.place});
  }
  void tell(const Event& event) {
    hear(event);
    settle();
  }
  /// So long after.
  void wait(Duration time) { now_ += time; }

  [[nodiscard]] bool runs(unsigned job) const { return seats_.contains(static_cast<JobId>(job)); }
  /// "0 3g.20gb@4"; empty where it does not run.
  [[nodiscard]] std::string place(unsigned job) const {
    const auto seat = seats_.find(static_cast<JobId>(job));
    if (seat == seats_.end()) return {};
    const Geometry& geometry = fleet_.geometry(fleet_[seat->second.gpu]);
    return fmt::format("{} {}", index(seat->second.gpu),
                       layout_text(geometry, PlacementSet::of(seat->second.place)));
  }
  /// In compute slices; 0 where it does not run.
  [[nodiscard]] int slices(unsigned job) const {
    const auto seat = seats_.find(static_cast<JobId>(job));
    return seat == seats_.end() ? 0 : profile_at(seat->second).compute.value;
  }
  [[nodiscard]] std::optional<MiB> usable(unsigned job) const {
    return profile_at(seats_.at(static_cast<JobId>(job))).usable;
  }
  [[nodiscard]] std::set<JobId> running() const {
    std::set<JobId> all;
    for (const auto& [job, seat] : seats_) all.insert(job);
    return all;
  }
  /// How often it was started, saved and moved, and stopped without being saved.
  struct Counts {
    std::size_t starts = 0, saved = 0, moved = 0, stopped = 0;
    std::vector<Instant> disruptions;  // saved or moved
  };
  [[nodiscard]] const Counts& of(unsigned job) { return counts_[static_cast<JobId>(job)]; }
  [[nodiscard]] Outlook outlook(unsigned job) const {
    return engine_.outlook(static_cast<JobId>(job));
  }
  AdaptiveFacts& facts() { return facts_; }
  AdaptiveJob& known(unsigned job) { return facts_.of.at(static_cast<JobId>(job)); }

 private:
  struct Seat {
    GpuId gpu{};
    PlacementId place = 0;
  };

  static FleetFile furnished(std::string_view fleet, std::string_view idle) {
    FleetFile file = *parse_fleet_in_short(fleet, *ProfileChoice::parse("plain"));
    if (idle.empty()) return file;
    const Geometry& geometry = file.geometries.front();
    const auto layout = parse_layout(idle, geometry);
    for (const auto& [profile, start] : *layout) {
      InstanceEntry entry;
      entry.placement = *geometry.find(*profile, start);
      file.gpus.front().instances.push_back(entry);
    }
    return file;
  }

  void hear(const Event& event) {
    engine_.on(event, now_, commands_);
    carry_out();
  }
  void settle() {
    engine_.settle(now_, commands_);
    carry_out();
  }
  void carry_out() {
    for (const Command& command : std::exchange(commands_, {}))
      std::visit(Overloads{[&](const StartJob& what) {
                             ++counts_[what.job].starts;
                             sit(what.job, {what.gpu, what.placement});
                           },
                           [&](const CheckpointJob& what) {
                             EXPECT_TRUE(facts_.of.at(what.job).saves) << index(what.job);
                             disturbed(what.job).saved += 1;
                             rise(what.job);
                           },
                           [&](const MigrateJob& what) {
                             EXPECT_TRUE(facts_.of.at(what.job).live) << index(what.job);
                             disturbed(what.job).moved += 1;
                             rise(what.job);
                             sit(what.job, {what.gpu, what.placement});
                           },
                           [&](const StopJob& what) {
                             ++counts_[what.job].stopped;
                             rise(what.job);
                           },
                           [](const auto&) {}},
                 command);
  }
  Counts& disturbed(JobId job) {
    counts_[job].disruptions.push_back(now_);
    return counts_[job];
  }
  void sit(JobId job, Seat seat) {
    PlacementSet& held = held_[index(seat.gpu)];
    EXPECT_FALSE(held.contains(seat.place));
    held.insert(seat.place);
    EXPECT_TRUE(fleet_.geometry(fleet_[seat.gpu]).legal(held));
    EXPECT_TRUE(seats_.emplace(job, seat).second) << index(job) << " runs already";
  }
  void rise(JobId job) {
    const Seat seat = seats_.at(job);
    held_[index(seat.gpu)].erase(seat.place);
    seats_.erase(job);
  }
  [[nodiscard]] const Profile& profile_at(Seat seat) const {
    return *fleet_.geometry(fleet_[seat.gpu])[seat.place].profile;
  }

  FleetFile file_;
  Fleet fleet_;
  RequestTable requests_;
  AdaptiveFacts facts_;
  Engine engine_;
  Instant now_{};
  std::vector<Command> commands_;
  std::vector<PlacementSet> held_;  // by GPU
  std::map<JobId, Seat> seats_;
  std::map<JobId, Counts> counts_;
};

}  // namespace cleave
