#include "shortest_first.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "base/overloads.hpp"
#include "engine/queue/never_ours.hpp"
#include "engine/seats.hpp"
#include "placement/policy.hpp"

namespace cleave {

namespace {

/// A job's place in the queue: higher priority first, then what has waited for long, in the order
/// of submission, then the shortest.
struct Turn {
  std::int64_t priority = 0;
  bool overdue = false;
  Duration time{};  // its shortest, as far as is known
  JobId job{};

  friend bool operator<(const Turn& a, const Turn& b) {
    const auto key = [](const Turn& turn) {
      return std::tuple(-turn.priority, !turn.overdue, turn.overdue ? Duration{} : turn.time,
                        turn.job);
    };
    return key(a) < key(b);
  }
};

class ShortestFirst final : public Scheduler {
 public:
  ShortestFirst(const SchedulerSetup& setup, const ChosenPolicy& policy, Duration longest_wait)
      : requests_(&setup.requests),
        facts_(setup.facts),
        policy_(policy),
        longest_wait_(longest_wait),
        seats_(setup.fleet),
        never_ours_(setup.fleet) {}

  // What happened goes into the account; what to do about it is decided in settle().
  void on(const SchedulerEvent& event, Instant now, std::vector<Command>& /*commands*/) override {
    std::visit(Overloads{[&](const Submitted& job) {
                           waits({job.job, job.request}, now);
                         },
                         [&](const Finished& job) { seats_.leave(job.job); },
                         [&](const Requeued& job) {
                           seats_.leave(job.job);
                           waits({job.job, job.request}, now);
                         },
                         [&](const Cancelled& job) { waiting_.erase(job.job); },
                         [&](const SeatsEvent auto& what) {
                           for (const Waiting job : seats_.hear(what)) waits(job, now);
                           never_ours_.hear(what);
                         },
                         [](const Woken&) {}},
               event);
  }

  bool adopt(const Adopted& adopted, Instant /*now*/, std::vector<Command>& /*commands*/) override {
    return adopted.placement && seats_.adopt(adopted);
  }

  void settle(Instant now, std::vector<Command>& commands) override {
    std::set<RequestId> no_room;  // room only shrinks here
    for (const auto& [turn, request] : in_turn(now)) {
      if (no_room.contains(request)) continue;
      if (const auto place = decide_by_scan(seats_.fleet(), (*requests_)[request], policy_)) {
        seats_.start({turn.job, request}, place->gpu, place->placement, commands);
        waiting_.erase(turn.job);
      } else if (turn.overdue && could_start(request)) {
        return;  // nothing takes the room that it waits for
      } else {
        no_room.insert(request);
      }
    }
  }

  Outlook outlook(JobId /*job*/) const override {
    Outlook said;
    said.order = "what jobs take, the shortest first";
    return said;
  }
  void ends_soon(JobId job) const override { seats_.leaves_soon(job); }
  void frees_soon(GpuId gpu) const override { seats_.frees_soon(gpu); }

 private:
  struct Entry {
    RequestId request{};
    Duration time{};
    Instant since{};
  };

  void waits(Waiting job, Instant now) {
    waiting_[job.job] = {job.request, shortest_time(job), now};
  }

  /// A job of which nothing is known counts as the longest.
  [[nodiscard]] Duration shortest_time(Waiting job) const {
    Duration shortest = Duration::max();
    if (facts_ == nullptr) return shortest;
    const ResolvedRequest& asked = (*requests_)[job.request];
    for (std::size_t kind = 0; kind < asked.candidates.size(); ++kind)
      for (const PlacementId p : asked.candidates[kind]) {
        const int profile = seats_.fleet().graphs()[kind]->geometry()[p].profile_index;
        if (const auto time = facts_->time_on(job.job, kind, profile))
          shortest = std::min(shortest, *time);
      }
    return shortest;
  }

  [[nodiscard]] std::vector<std::pair<Turn, RequestId>> in_turn(Instant now) const {
    std::vector<std::pair<Turn, RequestId>> all;
    for (const auto& [job, entry] : waiting_)
      all.push_back({{.priority = facts_ == nullptr ? 0 : facts_->priority(job),
                      .overdue = now - entry.since >= longest_wait_,
                      .time = entry.time,
                      .job = job},
                     entry.request});
    std::ranges::sort(all, [](const auto& a, const auto& b) { return a.first < b.first; });
    return all;
  }

  /// Whether it could start on some GPU that takes work if all jobs there had ended.
  [[nodiscard]] bool could_start(RequestId request) const {
    const Fleet& fleet = seats_.fleet();
    for (std::size_t i = 0; i < fleet.size(); ++i) {
      const auto gpu = static_cast<GpuId>(i);
      const PlacementSet candidates = (*requests_)[request].candidates[fleet[gpu].kind];
      if (never_ours_.takes_work(gpu) && !never_ours_.beside(gpu, candidates, false).empty())
        return true;
    }
    return false;
  }

  const RequestTable* requests_;
  const JobFacts* facts_;
  ChosenPolicy policy_;
  Duration longest_wait_;
  Seats seats_;
  NeverOurs never_ours_;
  std::map<JobId, Entry> waiting_;
};

constexpr OptionRow options[] = {
    {"policy", "fragmentation|reachability|preference|first-fit", "fragmentation",
     "where a job goes among the places that are free"},
    {"longest-wait", "SECONDS", "3600", "from then on, a job that finds no room is not passed by"},
};

Result<std::unique_ptr<Scheduler>> make(const SchedulerSetup& setup, const OptionTexts& given) {
  OptionReader in(given);
  const Duration longest_wait = in.seconds("longest-wait", 0, 1e9);
  if (in.error()) return std::unexpected(*in.error());
  const auto policy = choose_policy(in.text("policy"), {});
  if (!policy) return std::unexpected(policy.error());
  return std::make_unique<ShortestFirst>(setup, *policy, longest_wait);
}

}  // namespace

// To be found by its name, it is a row of the table in src/engine/scheduler.cpp.
const SchedulerRow shortest_first = {
    .name = "shortest-first",
    .summary =
        "the shortest job first, on the size that it asks for; others pass what finds no room",
    .source = "examples/scheduler",
    .priority = "jobs of higher priority first, then the shortest",
    .options = options,
    .make = make};

}  // namespace cleave
