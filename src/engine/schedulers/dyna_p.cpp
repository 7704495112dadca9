#include "engine/schedulers/dyna_p.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "base/overloads.hpp"
#include "engine/arrange.hpp"
#include "engine/schedulers/batch_search.hpp"
#include "engine/schedulers/partition_choice.hpp"
#include "engine/schedulers/reconfigure_last.hpp"
#include "engine/seats.hpp"

namespace cleave {

namespace {

constexpr OptionRow rows[] = {
    {"w", "NUMBER", "auto",
     "largest number of jobs in a batch; auto: the GPU's number of compute slices"},
    {"layout", "inside|after", "inside",
     "whether the search for a batch looks at layouts, or slices alone"},
    {"order", "deadline|arrival", "deadline",
     "which of equally good jobs goes first: the earliest deadline or the earliest arrival"},
    {"lambda", "NUMBER", "0.5",
     "partition choice: weight of latency against throughput; 1: latency only, 0: throughput only"},
    {"margin", "SECONDS", "0", "time that must remain before a deadline"},
    {"base", "own|full", "own",
     "partition choice: relative to each partition's largest batch, or one for all"},
    {"alpha", "SECONDS", "5", "cost of reconfiguring a GPU, beside lost work"},
    {"beta", "SECONDS", "0", "reconfigure if stopping costs at most this much more than waiting"},
    {"penalty", "SECONDS", "0", "what a missed deadline adds to the cost of waiting"},
    {"waiting-cost", "remaining|literal", "remaining", "how the cost of waiting is read"},
    {"condition", "text|listing", "text",
     "whether costs are compared as in Equation 11 or in Algorithm 2"},
    {"deadline-test", "jct|with-alpha", "jct",
     "whether restarted jobs must meet deadlines alpha later"},
    {"reconfigure", "on|off", "on", "off: running jobs are never stopped"},
    {"time-error", "SHARE", "0.1",
     "predicted times are off by up to this share, drawn from the seed"},
};
constexpr std::size_t options_of_oracle = std::size(rows) - 1;  // all but time-error

struct DynaPOptions {
  std::optional<int> w;
  bool layout_inside = true, by_deadline = true, reconfigure = true;
  PartitionOptions partition;
  ReconfigureOptions cost;
  Duration penalty{};
};

class DynaP final : public Scheduler {
 public:
  DynaP(const SchedulerSetup& setup, const DynaPOptions& options)
      : seats_(setup.fleet),
        options_(options),
        facts_(setup.facts),
        chooser_(setup, options.partition) {
    for (const auto& graph : setup.fleet.graphs()) kinds_.emplace_back(graph, width(*graph));
    for (std::size_t i = 0; i < setup.fleet.size(); ++i)
      own_.push_back(setup.fleet[static_cast<GpuId>(i)].held);
  }

  /// What it runs on is what it is taken to have been given.
  bool adopt(const Adopted& adopted, Instant now, std::vector<Command>& /*commands*/) override {
    if (!seats_.adopt(adopted)) return false;
    const Waiting job{adopted.job, adopted.request};
    keep_record(job, now);
    record(job.job).waits = false;
    const auto since = facts_ != nullptr ? facts_->running_since(job.job) : std::nullopt;
    record(job.job).since = since.value_or(now);
    const std::size_t kind = seats_.fleet()[adopted.gpu].kind;
    const int profile =
        kind_of(adopted.gpu).layouts.graph().geometry()[*adopted.placement].profile_index;
    record(job.job).plans[kind].jct = chooser_.predicted(job.job, kind, profile);
    return true;
  }

  void on(const SchedulerEvent& event, Instant now, std::vector<Command>& /*commands*/) override {
    const auto book = [&](const auto& what) {
      for (const Waiting job : seats_.hear(what)) wait(job, now);
    };
    std::visit(Overloads{[&](const Submitted& job) {
                           wait({job.job, job.request}, now);
                         },
                         [&](const Finished& job) { seats_.leave(job.job); },
                         [&](const Requeued& job) {
                           seats_.leave(job.job);
                           wait({job.job, job.request}, now);
                         },
                         [&](const Cancelled& job) {
                           if (index(job.job) < records_.size()) take(job.job);
                         },
                         [&](const GpuLost& lost) {
                           own_[index(lost.gpu)] = {};
                           book(lost);
                         },
                         [&](const SeatsEvent auto& what) { book(what); }, [](const Woken&) {}},
               event);
  }

  void settle(Instant now, std::vector<Command>& commands) override {
    plan_again(now);
    // What jobs of one priority leave is for those of the next. Running jobs are only stopped for
    // the highest that waits.
    std::vector<std::int64_t> priorities;
    for (const auto& [priority, jobs] : waiting_) priorities.push_back(priority);
    for (const std::int64_t priority : priorities)
      if (!serve_all(priority, priority == priorities.front(), now, commands)) return;
  }

 private:
  struct Kind {
    Kind(const std::shared_ptr<const StateGraph>& graph, int widest)
        : layouts(graph),
          empty(static_cast<int>(graph->geometry().model().profiles.size()), widest) {}
    LayoutShapes layouts;
    BatchQueue empty;
    std::map<std::int64_t, BatchQueue> queues;  // by priority
    std::map<std::pair<StateId, int>, std::vector<BatchShape>>
        by_free_slices;  // of those that were asked for
  };
  struct Record {
    RequestId request{};
    std::vector<PartitionPlan> plans;  // by kind
    QueueRank rank;
    std::int64_t priority = 0;
    Instant since{};  // runs since
    bool waits = false;
  };

  static int total_slices(const StateGraph& graph) {
    return graph.geometry().model().compute.value;
  }
  int width(const StateGraph& graph) const {
    return std::min(options_.w.value_or(total_slices(graph)), total_slices(graph));
  }
  Kind& kind_of(GpuId gpu) { return kinds_[seats_.fleet()[gpu].kind]; }
  Record& record(JobId job) { return records_[index(job)]; }
  const PartitionPlan& plan(JobId job, GpuId gpu) {
    return record(job).plans[seats_.fleet()[gpu].kind];
  }

  // The queue: one for each GPU model and priority, the same jobs for each model that they can run
  // on.

  void keep_record(Waiting job, Instant now) {
    if (records_.size() <= index(job.job)) records_.resize(index(job.job) + 1);
    const auto deadline =
        facts_ != nullptr && options_.by_deadline ? facts_->deadline(job.job) : std::nullopt;
    const std::int64_t key = deadline ? deadline->time_since_epoch().count() : INT64_MAX;
    record(job.job) = {.request = job.request,
                       .plans = chooser_.plan(job.job, job.request, now),
                       .rank = {key, index(job.job)},
                       .priority = rank_of(facts_, job.job).priority,
                       .since = {},
                       .waits = true};
  }

  void wait(Waiting job, Instant now) {
    keep_record(job, now);
    for_each_queue(job.job,
                   [](BatchQueue& queue, const QueuedJob& queued) { queue.insert(queued); });
    ++waiting_[record(job.job).priority];
    for (const PartitionPlan& plan : record(job.job).plans)
      if (plan.until) expiries_.emplace(*plan.until, job.job);
  }

  /// Jobs that would be late by now on the partition that they were given are given another
  /// (Algorithm 2, lines 3 to 7).
  void plan_again(Instant now) {
    while (!expiries_.empty() && expiries_.begin()->first < now) {
      const JobId job = expiries_.begin()->second;
      expiries_.erase(expiries_.begin());
      if (!record(job).waits) continue;
      const RequestId request = record(job).request;
      take(job);
      wait({job, request}, now);
    }
  }

  void take(JobId job) {
    if (!record(job).waits) return;
    record(job).waits = false;
    for_each_queue(job, [](BatchQueue& queue, const QueuedJob& queued) { queue.erase(queued); });
    const std::int64_t priority = record(job).priority;
    if (--waiting_[priority] > 0) return;
    waiting_.erase(priority);
    // Workloads have few priorities as a rule, but each job may have one of its own.
    if (priority != 0)
      for (Kind& kind : kinds_) kind.queues.erase(priority);
  }

  template <class Do>
  void for_each_queue(JobId job, Do&& act) {
    for (std::size_t kind = 0; kind < kinds_.size(); ++kind)
      if (const PartitionPlan& plan = record(job).plans[kind]; plan.profile >= 0)
        act(kinds_[kind].queues.try_emplace(record(job).priority, kinds_[kind].empty).first->second,
            {job, plan.profile, plan.relative, record(job).rank});
  }

  bool waits(std::int64_t priority) const { return waiting_.contains(priority); }

  // One pass over the GPUs (Algorithm 2).

  /// By Equation 12, ascending, full ones left out; equal ones by number.
  std::vector<GpuId> fullest_first() const {
    std::vector<std::pair<Ratio, GpuId>> open;
    for (std::size_t i = 0; i < seats_.fleet().size(); ++i) {
      const auto gpu = static_cast<GpuId>(i);
      const GpuState& state = seats_.fleet()[gpu];
      const ComputeSlices all = seats_.fleet().geometry(state).model().compute;
      if (state.absent || state.held_compute >= all.value) continue;
      open.emplace_back(fragmentation_measure({state.held_compute}, all), gpu);
    }
    std::ranges::sort(open);
    std::vector<GpuId> order;
    order.reserve(open.size());
    for (const auto& [measure, gpu] : open) order.push_back(gpu);
    return order;
  }

  /// Jobs of this priority are placed until no more can be. False where all GPUs are full.
  bool serve_all(std::int64_t priority, bool highest, Instant now, std::vector<Command>& commands) {
    // W may keep a batch smaller than the room there is, so GPUs are gone through until nothing is
    // placed.
    for (bool placed = true; placed && waits(priority);) {
      placed = false;
      const std::vector<GpuId> order = fullest_first();
      if (order.empty()) return false;
      for (const GpuId gpu : order)
        if (waits(priority) && serve(gpu, priority, highest, now, commands)) placed = true;
    }
    return true;
  }

  bool serve(GpuId gpu, std::int64_t priority, bool highest, Instant now,
             std::vector<Command>& commands) {
    const GpuState& state = seats_.fleet()[gpu];
    Kind& kind = kind_of(gpu);
    const auto found = kind.queues.find(priority);
    if (found == kind.queues.end()) return false;
    const BatchQueue& queue = found->second;
    const StateGraph& graph = kind.layouts.graph();
    const int all = total_slices(graph), w = width(graph);
    if (options_.layout_inside) {
      const Batch batch = best_batch(queue, kind.layouts.around(state.occupied), all, w);
      if (!batch.jobs.empty()) return assign(gpu, batch, now, commands);
    }
    const Batch batch = best_batch(queue, by_free_slices(gpu), all, w);
    if (batch.jobs.empty()) return false;
    if (!options_.layout_inside && assign(gpu, batch, now, commands)) return true;
    return highest && reconfigure(gpu, batch, now, commands);
  }

  /// What fits by slice counts, of all that the GPU could be partitioned into if its jobs were
  /// stopped (Equation 6).
  const std::vector<BatchShape>& by_free_slices(GpuId gpu) {
    Kind& kind = kind_of(gpu);
    const GpuState& state = seats_.fleet()[gpu];
    const StateGraph& graph = kind.layouts.graph();
    const StateId fixed = graph.find(own_[index(gpu)] | state.walls);
    const int free =
        total_slices(graph) - state.held_compute - graph.geometry().compute(state.walls).value;
    const auto [entry, fresh] = kind.by_free_slices.try_emplace({fixed, free});
    if (fresh)
      for (const BatchShape& shape : kind.layouts.around(fixed))
        if (shape.slices <= free) entry->second.push_back(shape);
    return entry->second;
  }

  /// Starts the batch there if changes of idle instances alone make room for it.
  bool assign(GpuId gpu, const Batch& batch, Instant now, std::vector<Command>& commands) {
    const GpuState& state = seats_.fleet()[gpu];
    std::vector<JobId> jobs;
    for (const QueuedJob& queued : batch.jobs) jobs.push_back(queued.job);
    const auto places = places_for(gpu, jobs, state.occupied, state.idle);
    if (!places) return false;
    start_all(gpu, jobs, *places, now, commands);
    return true;
  }

  std::optional<std::vector<PlacementId>> places_for(GpuId gpu, const std::vector<JobId>& jobs,
                                                     StateId occupied, PlacementSet idle) {
    std::vector<int> profiles;
    for (const JobId job : jobs) profiles.push_back(plan(job, gpu).profile);
    return arrange(kind_of(gpu).layouts.graph(), occupied, idle, profiles);
  }

  /// All instances first: they are one change of the GPU.
  void start_all(GpuId gpu, const std::vector<JobId>& jobs, const std::vector<PlacementId>& places,
                 Instant now, std::vector<Command>& commands) {
    for (const PlacementId place : places)
      if (!seats_.fleet()[gpu].idle.contains(place)) seats_.create(gpu, place, commands);
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      take(jobs[i]);
      record(jobs[i]).since = now;
      seats_.start({jobs[i], record(jobs[i]).request}, gpu, places[i], commands);
    }
  }

  // Reconfiguration, the last resort.

  bool reconfigure(GpuId gpu, const Batch& batch, Instant now, std::vector<Command>& commands) {
    const std::vector<JobId> active = seats_.on(gpu);
    if (!options_.reconfigure || active.empty() ||
        !worth_it(gpu, active, batch.jobs.front().job, now))
      return false;
    const GpuState& state = seats_.fleet()[gpu];
    const StateGraph& graph = kind_of(gpu).layouts.graph();
    std::vector<JobId> jobs = active;
    for (const QueuedJob& queued : batch.jobs) jobs.push_back(queued.job);
    const auto places =
        arrange_with_active(gpu, active.size(), jobs, graph.find(own_[index(gpu)] | state.walls));
    if (!places) return false;
    for (const JobId job : active) {
      commands.push_back(StopJob{job, StopJob::Why::room});
      seats_.leave(job);
    }
    for (const PlacementId idle : seats_.fleet()[gpu].idle) seats_.destroy(gpu, idle, commands);
    start_all(gpu, jobs, *places, now, commands);
    return true;
  }

  /// As places_for; the active jobs keep the profiles that they have.
  std::optional<std::vector<PlacementId>> arrange_with_active(GpuId gpu, std::size_t active,
                                                              const std::vector<JobId>& jobs,
                                                              StateId occupied) {
    const StateGraph& graph = kind_of(gpu).layouts.graph();
    std::vector<int> profiles;
    for (std::size_t i = 0; i < jobs.size(); ++i)
      profiles.push_back(i < active ? graph.geometry()[seats_[jobs[i]].placement].profile_index
                                    : plan(jobs[i], gpu).profile);
    return arrange(graph, occupied, {}, profiles);
  }

  bool worth_it(GpuId gpu, const std::vector<JobId>& active, JobId waiting, Instant now) {
    if (facts_ == nullptr) return false;
    std::vector<ActiveJob> running;
    for (const JobId job : active) {
      const auto jct = plan(job, gpu).jct;
      if (!jct || !facts_->restartable(job))
        return false;  // the cost of waiting is unknown, or it must not stop
      running.push_back({record(job).since, *jct, facts_->deadline(job), options_.penalty});
    }
    const auto jct = plan(waiting, gpu).jct;
    if (!jct) return false;
    return weigh_reconfiguration(now, running, {*jct, facts_->deadline(waiting), options_.penalty},
                                 options_.cost)
        .reconfigure;
  }

  Seats seats_;
  DynaPOptions options_;
  const JobFacts* facts_;
  PartitionChooser chooser_;
  std::vector<Kind> kinds_;
  std::vector<PlacementSet> own_;  // by GPU: work of the fleet file's own, which stays
  std::vector<Record> records_;    // by job
  std::map<std::int64_t, std::size_t, std::greater<>> waiting_;  // jobs, by priority
  std::set<std::pair<Instant, JobId>>
      expiries_;  // of plans; those of jobs that wait no more are passed over
};

DynaPOptions read(OptionReader& in, const SchedulerSetup& setup, bool true_times) {
  constexpr double longest_s = 1e9, most_error = 0.99;
  constexpr std::int64_t most_jobs = 32;
  DynaPOptions options;
  if (!in.is("w", "auto")) options.w = static_cast<int>(in.count("w", 1, most_jobs));
  options.layout_inside = in.is("layout", "inside");
  options.by_deadline = in.is("order", "deadline");
  options.reconfigure = in.is("reconfigure", "on");
  options.partition = {{in.number("lambda", 0, 1), in.number("margin", 0, longest_s),
                        in.is("base", "full") ? BatchBase::full : BatchBase::own},
                       true_times ? 0.0 : in.number("time-error", 0, most_error),
                       setup.seed};
  options.cost = {in.seconds("alpha", 0, longest_s), in.seconds("beta", -longest_s, longest_s),
                  in.is("waiting-cost", "literal") ? WaitingCost::literal : WaitingCost::remaining,
                  in.is("condition", "listing") ? CostCondition::listing : CostCondition::text,
                  in.is("deadline-test", "with-alpha")};
  options.penalty = in.seconds("penalty", 0, longest_s);
  return options;
}

Result<std::unique_ptr<Scheduler>> make(const SchedulerSetup& setup, const OptionTexts& given,
                                        bool true_times) {
  OptionReader in(given);
  const DynaPOptions options = read(in, setup, true_times);
  if (in.error()) return std::unexpected(*in.error());
  return std::make_unique<DynaP>(setup, options);
}

}  // namespace

std::span<const OptionRow> dyna_p_options() {
  return rows;
}

std::span<const OptionRow> oracle_options() {
  return std::span(rows).first(options_of_oracle);
}

Result<std::unique_ptr<Scheduler>> make_dyna_p(const SchedulerSetup& setup,
                                               const OptionTexts& options) {
  return make(setup, options, false);
}

Result<std::unique_ptr<Scheduler>> make_oracle(const SchedulerSetup& setup,
                                               const OptionTexts& options) {
  return make(setup, options, true);
}

}  // namespace cleave
