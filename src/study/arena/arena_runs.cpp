#include "study/arena/arena_runs.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <numeric>
#include <thread>

#include "base/format.hpp"
#include "base/read_text.hpp"
#include "study/arena/kept_runs.hpp"

namespace cleave {

Result<OpenArenaCell> open_arena_cell(const ArenaCell& cell) {
  OpenArenaCell open{.cell = cell, .fleet = {}, .workloads = {}, .options = {}, .inputs = {}};
  auto fleet = cell.run.read_fleet();
  if (!fleet) return fail_at(cell.place, fleet.error());
  open.fleet = *std::move(fleet);
  auto options = cell.run.read_simulation(open.fleet);
  if (!options) return fail_at(cell.place, options.error());
  open.options = *std::move(options);
  const auto fleet_text = read_text(cell.run.fleet);
  for (std::size_t seed = 0; seed < cell.seeds.size(); ++seed) {
    cli::RunArguments of_seed = cell.run;
    of_seed.workload = cell.workloads[seed];
    auto workload = of_seed.read_workload(cell.seeds[seed]);
    if (!workload) return fail_at(cell.place, workload.error());
    if (workload->jobs.empty())
      return fail(ErrorKind::bad_input, fmt::format("{}: {}", cell.place, cell.workloads[seed]),
                  "there is no job in it", "leave the seed out");
    open.workloads.push_back(*std::move(workload));
    const auto text = read_text(cell.workloads[seed]);
    if (!text) return fail_at(cell.place, text.error());
    open.inputs.push_back(fmt::format("{}\n{}\n{}\n{}\n{}", fleet_text.value_or(cell.run.fleet),
                                      settings_text(cell.run), name(cell.may), cell.seeds[seed],
                                      *text));
  }
  return open;
}

bool ArenaRun::same_as(const ArenaRun& other) const {
  return finished == other.finished && turnaround_s == other.turnaround_s &&
         p95_slowdown == other.p95_slowdown && makespan_s == other.makespan_s &&
         disruptions == other.disruptions && longest_wait_s == other.longest_wait_s &&
         wait_s == other.wait_s && execution_s == other.execution_s && shares == other.shares &&
         why.has_value() == other.why.has_value();
}

ArenaRun run_in_arena(const OpenArenaCell& cell, std::size_t seed,
                      const ArenaContestant& contestant) {
  ArenaRun run;
  const auto spec = spec_in(contestant, cell.cell);
  if (!spec) {
    run.why = spec.error();
    return run;
  }
  SimulationOptions options = cell.options;
  options.seed = cell.cell.seeds[seed];
  options.know = told_in(contestant, cell.cell);
  if (contestant.compaction) options.compaction = contestant.compaction;
  const auto begin = std::chrono::steady_clock::now();
  const auto summary = simulate(cell.fleet, cell.workloads[seed], *spec, options);
  run.seconds = in_seconds(std::chrono::steady_clock::now() - begin);
  if (!summary) {
    run.why = summary.error();
    return run;
  }
  run.finished = summary->finished == summary->jobs;
  run.turnaround_s = in_seconds(summary->turnaround.mean);
  run.wait_s = in_seconds(summary->wait.mean);
  run.execution_s = in_seconds(summary->execution.mean);
  run.p95_slowdown = summary->slowdown.p95;
  run.makespan_s = in_seconds(summary->makespan);
  run.disruptions = summary->disruptions_mean.value_or(0);
  run.longest_wait_s = in_seconds(summary->first_wait_max);
  run.plans = static_cast<double>(summary->compactions);
  run.moves = static_cast<double>(summary->compaction_moves);
  run.served = static_cast<double>(summary->compactions_served);
  run.shares = summary->shared_starts > 0;
  return run;
}

namespace {

/// Calls `work` with 0 ... count - 1, on at most this number of threads.
void on_threads(std::size_t most, std::size_t count, const std::function<void(std::size_t)>& work) {
  std::atomic<std::size_t> next = 0;
  const auto all = [&] {
    for (std::size_t i = next++; i < count; i = next++) work(i);
  };
  std::vector<std::jthread> threads;
  for (std::size_t i = 1; i < std::min(most, count); ++i) threads.emplace_back(all);
  all();
}

/// All runs, those of many jobs first: so no thread is left with a long one at the end.
class ArenaRunner {
 public:
  ArenaRunner(const std::vector<OpenArenaCell>& cells,
              const std::vector<ArenaContestant>& contestants, const ArenaRunOptions& options)
      : cells_(cells), options_(options), others_count_(contestants.size(), 0) {
    results_.contestants = contestants;
    for (std::size_t cell = 0; cell < cells.size(); ++cell) {
      const std::size_t seeds = cells[cell].cell.seeds.size();
      results_.cells.push_back({cells[cell].cell, std::vector<LowerBounds>(seeds),
                                std::vector(contestants.size(), std::vector<ArenaRun>(seeds))});
      for (std::size_t seed = 0; seed < seeds; ++seed) {
        boundless_.push_back({cell, 0, seed});
        for (std::size_t contestant = 0; contestant < contestants.size(); ++contestant)
          items_.push_back({cell, contestant, seed});
      }
    }
    std::ranges::stable_sort(items_, std::greater(), [this](const Item& item) {
      return cells_[item.cell].workloads[item.seed].jobs.size();
    });
  }

  ArenaResults run() {
    if (options_.kept != nullptr && !options_.own_runs_only) try_others();
    on_threads(options_.most_threads, items_.size() + boundless_.size(), [this](std::size_t i) {
      i < items_.size() ? run_one(items_[i]) : bound(boundless_[i - items_.size()]);
    });
    results_.kept = used_;
    results_.kept_of_another = of_another_;
    return std::move(results_);
  }

 private:
  struct Item {
    std::size_t cell = 0, contestant = 0, seed = 0;
  };

  [[nodiscard]] std::uint64_t key(const Item& item) const {
    return arena_key(cells_[item.cell], item.seed, results_.contestants[item.contestant]);
  }
  [[nodiscard]] ArenaRun simulated(const Item& item) const {
    return run_in_arena(cells_[item.cell], item.seed, results_.contestants[item.contestant]);
  }

  /// Of each baseline that another program ran, repeats the quickest run. Where it comes out
  /// otherwise, none of them count.
  void try_others() {
    on_threads(options_.most_threads, results_.contestants.size(), [this](std::size_t contestant) {
      if (results_.contestants[contestant].role == ArenaRole::tested) return;
      const Item* quickest = nullptr;
      const ArenaRun* before = nullptr;
      for (const Item& item : items_) {
        if (item.contestant != contestant) continue;
        const KeptRuns::Kept* kept = options_.kept->find(key(item));
        if (kept == nullptr || kept->own) continue;
        if (before != nullptr && before->seconds <= kept->run.seconds) continue;
        quickest = &item;
        before = &kept->run;
      }
      others_count_[contestant] =
          before != nullptr && simulated(*quickest).same_as(*before) ? 1 : 0;
    });
  }

  void run_one(const Item& item) {
    ArenaRun& run = results_.cells[item.cell].runs[item.contestant][item.seed];
    const std::uint64_t at = options_.kept == nullptr ? 0 : key(item);
    const KeptRuns::Kept* kept = options_.kept == nullptr ? nullptr : options_.kept->find(at);
    if (kept != nullptr && (kept->own || others_count_[item.contestant] != 0)) {
      run = kept->run;
      ++used_;
      of_another_ += kept->own ? 0 : 1;
    } else {
      run = simulated(item);
      if (options_.kept != nullptr && !run.why) options_.kept->add(at, run);
    }
    if (!options_.progress) return;
    const std::scoped_lock lock(telling_);
    options_.progress(++done_, items_.size());
  }

  void bound(const Item& item) {
    const OpenArenaCell& open = cells_[item.cell];
    const Workload& workload = open.workloads[item.seed];
    results_.cells[item.cell].bounds[item.seed] = lower_bounds(
        open.fleet, workload, open.options.world, std::vector<bool>(workload.jobs.size(), true));
  }

  const std::vector<OpenArenaCell>& cells_;
  const ArenaRunOptions& options_;
  ArenaResults results_;
  std::vector<Item> items_, boundless_;
  std::vector<char> others_count_;  // by contestant; not bool: several threads write
  std::atomic<std::size_t> used_ = 0, of_another_ = 0;
  std::mutex telling_;
  std::size_t done_ = 0;  // under the lock
};

}  // namespace

ArenaResults run_arena(const std::vector<OpenArenaCell>& cells,
                       const std::vector<ArenaContestant>& contestants,
                       const ArenaRunOptions& options) {
  return ArenaRunner(cells, contestants, options).run();
}

}  // namespace cleave
