#pragma once
// For tests: an engine with jobs whose times are known, on GPUs that carry out every command at
// once. Keeps its own account of what is held, by the rules of placement alone.

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "engine/command_words_test.hpp"
#include "engine/engine.hpp"
#include "model/layout_text.hpp"

namespace cleave {

/// A job as the test makes it.
struct WorldJob {
  Request request;
  Duration full{};  // on the whole GPU
  double bend = 1;  // speed on a share s of the slices: s to this power
  std::optional<Instant> deadline;
  bool restartable = true;
};

/// What is known of these jobs.
class WorldFacts final : public JobFacts {
 public:
  explicit WorldFacts(const Fleet& fleet) : fleet_(&fleet) {}

  [[nodiscard]] std::optional<Instant> deadline(JobId job) const override {
    return of(job).deadline;
  }
  [[nodiscard]] bool restartable(JobId job) const override { return of(job).restartable; }
  [[nodiscard]] std::optional<Duration> time_on(JobId job, std::size_t kind,
                                                int profile) const override {
    const GpuModel& model = fleet_->graphs()[kind]->geometry().model();
    const int slices = model.profiles[static_cast<std::size_t>(profile)].compute.value;
    const double share = static_cast<double>(slices) / model.compute.value;
    return Duration{
        std::llround(static_cast<double>(of(job).full.count()) / std::pow(share, of(job).bend))};
  }
  [[nodiscard]] std::optional<Instant> expected_end(JobId job) const override {
    const auto found = reported.find(job);
    return found == reported.end() ? std::nullopt : std::optional(found->second);
  }
  [[nodiscard]] const WorldJob& of(JobId job) const { return jobs[index(job)]; }

  std::vector<WorldJob> jobs;
  std::map<JobId, Instant> reported;

 private:
  const Fleet* fleet_;
};

/// The engine, the GPUs and the clock.
class DynaPWorld {
 public:
  DynaPWorld(std::string_view spec, std::string_view fleet)
      : file_(*parse_fleet_in_short(fleet, ProfileChoice::plain())),
        fleet_(file_),
        requests_(file_.geometries),
        facts_(fleet_),
        engine_(*Engine::make(*parse_scheduler(spec), {fleet_, requests_, true, &facts_}, requests_,
                              nullptr)),
        held_(fleet_.size()) {}

  /// Several at one instant; answers with the commands in words.
  std::string submit(const std::vector<WorldJob>& jobs, Instant now) {
    end_until(now);
    std::vector<Command> commands;
    for (const WorldJob& job : jobs) {
      const auto id = static_cast<JobId>(facts_.jobs.size());
      facts_.jobs.push_back(job);
      ids_.push_back(requests_.intern(job.request));
      engine_.on(Submitted{id, ids_.back()}, now, commands);
    }
    return settle(now, commands);
  }
  /// Jobs end until then, each at its time.
  void end_until(Instant now) {
    while (!running_.empty()) {
      const auto next = std::ranges::min_element(
          running_, {}, [](const auto& each) { return std::pair(each.second.end, each.first); });
      if (next->second.end > now) return;
      end(next->first, next->second.end);
    }
  }
  void end_all() { end_until(Instant::max()); }
  std::string end(JobId job, Instant now) {
    std::vector<Command> commands;
    const Run run = running_.at(job);
    running_.erase(job);
    held_[index(run.gpu)].erase(run.placement);
    ends_[job] = now;
    engine_.on(Finished{job}, now, commands);
    return settle(now, commands);
  }

  /// Reports of a running job say that it will end then.
  void report_end(unsigned job, Instant end) { facts_.reported[static_cast<JobId>(job)] = end; }

  [[nodiscard]] std::size_t stops() const { return stops_; }
  [[nodiscard]] std::size_t ended() const { return ends_.size(); }
  [[nodiscard]] std::size_t late() const {
    return static_cast<std::size_t>(std::ranges::count_if(ends_, [&](const auto& each) {
      const auto deadline = facts_.of(each.first).deadline;
      return deadline && each.second > *deadline;
    }));
  }
  [[nodiscard]] Instant end_of(unsigned job) const { return ends_.at(static_cast<JobId>(job)); }
  /// Where it runs, "0 2g.12gb@0"; empty where it does not.
  [[nodiscard]] std::string place(unsigned job) const {
    const auto run = running_.find(static_cast<JobId>(job));
    if (run == running_.end()) return {};
    const Geometry& geometry = fleet_.geometry(fleet_[run->second.gpu]);
    return fmt::format("{} {}", index(run->second.gpu),
                       layout_text(geometry, PlacementSet::of(run->second.placement)));
  }
  /// Jobs for which others were stopped although a GPU had room on which they were in time.
  [[nodiscard]] const std::vector<std::string>& needless_stops() const { return needless_; }

 private:
  struct Run {
    GpuId gpu{};
    PlacementId placement = 0;
    Instant end;
  };

  std::string settle(Instant now, std::vector<Command>& commands) {
    engine_.settle(now, commands);
    for (std::size_t i = 0; i < commands.size(); ++i) {
      if (std::holds_alternative<StopJob>(commands[i]) &&
          (i == 0 || !std::holds_alternative<StopJob>(commands[i - 1])))
        check_stop(commands, i, now);
      carry_out(commands[i], now);
    }
    return CommandWords(fleet_).text(commands);
  }

  void carry_out(const Command& command, Instant now) {
    if (const auto* stop = std::get_if<StopJob>(&command)) {
      ++stops_;
      const Run run = running_.at(stop->job);
      running_.erase(stop->job);
      held_[index(run.gpu)].erase(run.placement);
    } else if (const auto* start = std::get_if<StartJob>(&command)) {
      const std::size_t kind = fleet_[start->gpu].kind;
      const Geometry& geometry = fleet_.graphs()[kind]->geometry();
      const int profile = geometry[start->placement].profile_index;
      held_[index(start->gpu)].insert(start->placement);
      running_[start->job] = {start->gpu, start->placement,
                              now + *facts_.time_on(start->job, kind, profile)};
    }
  }

  /// `at`: the first of some StopJob. The jobs that they are stopped for are those of the next run
  /// of StartJob on that GPU that were not stopped themselves.
  void check_stop(const std::vector<Command>& commands, std::size_t at, Instant now) {
    const GpuId emptied = running_.at(std::get<StopJob>(commands[at]).job).gpu;
    std::set<JobId> stopped;
    for (; std::holds_alternative<StopJob>(commands[at]); ++at)
      stopped.insert(std::get<StopJob>(commands[at]).job);
    while (!std::holds_alternative<StartJob>(commands[at])) ++at;
    for (; at < commands.size(); ++at) {
      const auto* start = std::get_if<StartJob>(&commands[at]);
      if (start == nullptr || start->gpu != emptied) return;
      if (stopped.contains(start->job)) continue;
      for (std::size_t gpu = 0; gpu < fleet_.size(); ++gpu)
        if (could_take(gpu, start->job, now))
          needless_.push_back(
              fmt::format("job {} could have started on GPU {}", index(start->job), gpu));
    }
  }

  /// Without stopping anybody: a placement is free on which the job is in time, or any if it is
  /// late everywhere.
  [[nodiscard]] bool could_take(std::size_t gpu, JobId job, Instant now) const {
    const std::size_t kind = fleet_[static_cast<GpuId>(gpu)].kind;
    const Geometry& geometry = fleet_.graphs()[kind]->geometry();
    const ResolvedRequest& request = requests_[ids_[index(job)]];
    const bool named = std::holds_alternative<ByProfile>(request.request.wanted);
    const PlacementSet all = named ? request.candidates[kind] : request.holds[kind];
    const auto deadline = facts_.of(job).deadline;
    const auto in_time = [&](PlacementId p) {
      return !deadline || now + *facts_.time_on(job, kind, geometry[p].profile_index) <= *deadline;
    };
    bool late = true, room = false, room_in_time = false;
    for (const PlacementId p : all) {
      const bool free = !held_[gpu].contains(p) && !held_[gpu].meets(geometry[p].conflicts);
      late = late && !in_time(p);
      room = room || free;
      room_in_time = room_in_time || (free && in_time(p));
    }
    return late ? room : room_in_time;
  }

  FleetFile file_;
  Fleet fleet_;
  RequestTable requests_;
  WorldFacts facts_;
  Engine engine_;
  std::vector<RequestId> ids_;      // by job
  std::vector<PlacementSet> held_;  // by GPU
  std::map<JobId, Run> running_;
  std::map<JobId, Instant> ends_;
  std::size_t stops_ = 0;
  std::vector<std::string> needless_;
};

}  // namespace cleave
