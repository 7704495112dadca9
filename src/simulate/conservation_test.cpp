// What no run may break, under random work and faults over a million events: a link carries no more
// than it can, a GPU draws no more than its cap, nothing makes progress where nothing runs, each
// finished job has had exactly its work, and the energy is the sum of what was drawn. An auditor
// checks it, knowing only what the simulator tells its observers.

#include <gtest/gtest.h>

#include <limits>
#include <map>
#include <set>

#include "base/format.hpp"
#include "base/random.hpp"
#include "base/sanitized_test.hpp"
#include "model/workload_file.hpp"
#include "physics/link.hpp"
#include "simulate/every_progress_test.hpp"
#include "simulate/processes.hpp"
#include "simulate/random_places_test.hpp"
#include "simulate/simulator.hpp"

namespace cleave {
namespace {

/// Adds up, by itself, what it is told.
class Auditor final : public RunObserver {
 public:
  Auditor(const FleetFile& fleet, const Workload& workload, const WorldTerms& terms)
      : workload_(&workload), jobs_(workload.jobs.size()), gpus_(fleet.gpus.size()) {
    for (std::size_t i = 0; i < jobs_.size(); ++i)
      jobs_[i].processes.resize(places_of(workload, workload.jobs[i]));
    for (const GpuEntry& gpu : fleet.gpus) {
      const GpuModel& model = fleet.geometries[gpu.geometry].model();
      bounds_.push_back(power_bounds(model, terms.power));
    }
    for (std::size_t i = 0; i < gpus_.size(); ++i) gpus_[i].present = true;
  }

  void on(const RunEvent& event) override {
    advance(event.at);
    if (event.job) on_job(event, jobs_[index(*event.job)]);
    if (event.kind == RunEvent::Kind::gpu_lost) gpus_[index(*event.gpu)].present = false;
    if (event.kind == RunEvent::Kind::gpu_returned) gpus_[index(*event.gpu)].present = true;
  }

  void on_rate(Instant now, const RateChange& change) override {
    advance(now);
    Audited& job = jobs_[index(change.job)];
    settle(job, now);
    const std::uint32_t rank = change.rank.value_or(0);
    Process& process = job.processes.at(rank);
    const bool leaves = change.speed == 0 && change.from == now;
    if (leaves) {
      gpus_[index(change.gpu)].processes.erase({change.job, rank});
      process = {};
    } else {
      gpus_[index(change.gpu)].processes.emplace(change.job, rank);
      (change.from > now ? process.next : process.now) = change;
      process.next_from = change.from > now ? change.from : Instant::max();
      if (change.from > now) process.now = {};
      if (change.from > now) starts_.emplace(change.from, change.gpu);
    }
    touched_.insert(change.gpu);
  }

  /// After the run.
  void finish(const RunSummary& summary, const std::string& what) {
    advance(Instant::max());
    for (const Audited& job : jobs_)
      for (const Process& process : job.processes)
        EXPECT_EQ(process.now.speed, 0) << what << ": nothing runs at the end";
    EXPECT_EQ(finished_, summary.finished) << what;
    // Picojoules to joules: to the millijoule.
    EXPECT_NEAR(static_cast<double>(job_energy_) * 1e-12, *summary.job_energy_j, 1e-3) << what;
    EXPECT_NEAR(*summary.energy_j, *summary.job_energy_j + *summary.idle_energy_j, 1e-3) << what;
    EXPECT_LE(highest_link, 1 + 1e-9) << what;
  }

  double highest_link = 0, highest_power = 0;  // shares of what there is
  std::size_t audited_ends = 0, audited_ends_of_several = 0;

 private:
  /// A process's rate, and the next one from a time to come.
  struct Process {
    RateChange now{}, next{};
    Instant next_from = Instant::max();
  };
  /// A job, what it has done, and what it had done when its processes began.
  struct Audited {
    std::vector<Process> processes;  // by rank
    Instant since{};
    double done = 0, began_with = 0;  // nanoseconds of work
  };
  struct Gpu {
    std::set<std::pair<JobId, std::uint32_t>> processes;
    bool present = false;
  };

  const Job& job_of(const RunEvent& event) const { return workload_->jobs[index(*event.job)]; }

  /// Progress and energy until now at the rates so far: progress at the speed of the slowest.
  void settle(Audited& job, Instant now) {
    const auto add_until = [&](Instant to) {
      const std::int64_t ns = (to - job.since).count();
      job.since = to;
      if (ns <= 0) return;
      double speed = std::numeric_limits<double>::infinity();
      for (const Process& process : job.processes) {
        speed = std::min(speed, process.now.speed);
        job_energy_ += static_cast<Wide>(process.now.power.value) * ns;
      }
      job.done += speed * static_cast<double>(ns);
    };
    for (Process& process : job.processes) {
      if (process.next_from > now) continue;
      // All begin at one time, but for what is worked out at that time.
      if (job.since < process.next_from) add_until(process.next_from);
      process.now = process.next;
      process.next_from = Instant::max();
    }
    add_until(now);
  }

  void on_job(const RunEvent& event, Audited& job) {
    settle(job, event.at);
    if (!event.counts()) return;
    const auto all = static_cast<double>(job_of(event).duration.count());
    const JobDetails* details = workload_->details_of(job_of(event));
    const Keeps keeps = details == nullptr ? Keeps::unsaid : details->keeps;
    switch (event.kind) {
      case RunEvent::Kind::started:
        job.began_with = job.done;
        break;
      case RunEvent::Kind::finished:
        ++finished_;
        ++audited_ends;
        audited_ends_of_several += event.rank ? 1 : 0;
        // Ends are rounded to the nanosecond, at each change of speed once.
        EXPECT_NEAR(job.done, all, 1e-9 * all + 100) << job_of(event).id;
        break;
      case RunEvent::Kind::stopped:
      case RunEvent::Kind::restarted_early:
      case RunEvent::Kind::ran_out:
      case RunEvent::Kind::evicted:
        if (keeps == Keeps::unsaid || keeps == Keeps::nothing) job.done = 0;
        if (keeps == Keeps::checkpoint && !event.until) {
          double last = job.began_with;
          if (details->checkpoint_every) {
            const auto every = static_cast<double>(details->checkpoint_every->count());
            last = std::max(last, std::floor(job.done / every) * every);
          }
          job.done = last;
        }
        break;
      default:
        break;
    }
  }

  /// What holds between the changes of one instant and those of the next.
  void advance(Instant now) {
    if (now <= seen_) return;
    check(seen_);
    while (!starts_.empty() && starts_.begin()->first < now) {
      const auto [at, gpu] = *starts_.begin();
      starts_.erase(starts_.begin());
      touched_.insert(gpu);
      check(at);
    }
    seen_ = now;
  }

  void check(Instant at) {
    for (const GpuId id : touched_) {
      const Gpu& gpu = gpus_[index(id)];
      double link = 0;
      std::int64_t power = 0;
      for (const auto& [job, rank] : gpu.processes) {
        const Process& each = jobs_[index(job)].processes[rank];
        const RateChange& rate = each.next_from <= at ? each.next : each.now;
        EXPECT_TRUE(gpu.present || rate.speed == 0) << "a job runs on a GPU that is lost";
        link += rate.link;
        power += rate.power.value;
      }
      const PowerBounds& bounds = bounds_[index(id)];
      EXPECT_LE(power, (bounds.cap - bounds.idle).value);
      highest_link = std::max(highest_link, link);
      highest_power =
          std::max(highest_power, static_cast<double>(power) /
                                      static_cast<double>((bounds.cap - bounds.idle).value));
    }
    touched_.clear();
  }

  __extension__ typedef __int128 Wide;

  const Workload* workload_;
  std::vector<Audited> jobs_;
  std::vector<Gpu> gpus_;
  std::vector<PowerBounds> bounds_;  // by GPU
  std::multimap<Instant, GpuId> starts_;
  std::set<GpuId> touched_;
  Instant seen_{};
  Wide job_energy_ = 0;
  std::size_t finished_ = 0;
};

Workload random_jobs(std::uint64_t seed, int jobs) {
  Random random(seed);
  const char* profiles[] = {"1g.5gb", "1g.5gb", "2g.10gb", "3g.20gb", "4g.20gb", "7g.40gb"};
  const char* speeds[] = {"", R"(, "law": {"a_s": 1, "w_s": 1}, "transfer_share": 0.8)",
                          R"(, "law": {"a_s": 1, "w_s": 9}, "power_factor": 1.4)",
                          R"(, "transfer_share": 0.2, "power_factor": 0.3)"};
  std::string text;
  double now = 0;
  for (int i = 0; i < jobs; ++i) {
    now += random.exponential(20);
    text +=
        fmt::format(R"({{"id": "j{}", "arrival_s": {}, "profile": "{}", "duration_s": {}{}{}}})"
                    "\n",
                    i, now, profiles[random.below(6)], 1 + random.exponential(40),
                    speeds[random.below(4)], every_progress[random.below(every_progress.size())]);
  }
  return *parse_workload(text, "jobs");
}

TEST(Laws, NothingIsMadeAndNothingIsLost) {
  const std::size_t wanted = sanitized ? 30'000 : 1'000'000;
  const int jobs = sanitized ? 700 : 5000;  // so that every scheduler has its turn
  const char* specs[] = {
      "online:threshold=0.1",
      "miso",
      "scheme-a",
      "scheme-b",
      "static",
      "full-gpu",
      "online:migration=off",
      "static:layout=7g.40gb@0+7g.80gb@0;sharing=mps",
      "static:layout=4g.20gb@0+3g.20gb@4+7g.80gb@0;fit=any;sharing=time-slicing;sharers=3",
      "static:layout=7g.40gb@0+4g.40gb@0+3g.40gb@4;sharing=compute-instances",
      "static:layout=7g.40gb@0+7g.80gb@0;sharing=mps;sharers=5;percent=30"};
  std::size_t events = 0, ends = 0, of_several = 0, losses = 0, moves = 0;
  double link = 0, power = 0;
  for (std::uint64_t seed = 1; events < wanted; ++seed) {
    const FleetFile fleet =
        *parse_fleet_in_short("5xA100-40GB,1xH100-80GB-SXM5", *ProfileChoice::parse("plain"));
    Workload workload = random_jobs(seed, jobs);
    const char* spec = specs[seed % std::size(specs)];
    const auto scheduler = *parse_scheduler(spec);
    if (scheduler.row->several && seed / std::size(specs) % 2 == 0)
      ask_for_several(workload, seed, 4);
    SimulationOptions options;
    options.seed = seed;
    options.process_start = std::chrono::seconds(seed % 3);
    options.faults = *parse_faults("mtbf=20000;repair=300;job-failure=0.01");
    options.world.link = seed % 2 == 0 ? LinkSharing::spread : LinkSharing::together;
    options.world.jitter = seed % 5 == 0;
    options.world.slow_allocation = seed % 3 == 0;
    if (seed % 4 != 0) options.world.power.cap = Milliwatts{150'000};
    Auditor auditor(fleet, workload, options.world);
    options.observer = &auditor;
    const auto summary = simulate(fleet, workload, scheduler, options);
    const std::string what = fmt::format("{}, seed {}", spec, seed);
    ASSERT_TRUE(summary) << what << ": " << summary.error().text();
    auditor.finish(*summary, what);
    if (testing::Test::HasFailure()) FAIL() << what;
    events += summary->events;
    ends += auditor.audited_ends;
    of_several += auditor.audited_ends_of_several;
    losses += summary->evictions;
    moves += summary->migrations;
    link = std::max(link, auditor.highest_link);
    power = std::max(power, auditor.highest_power);
  }
  EXPECT_GT(ends, wanted / 4);
  EXPECT_GT(of_several, wanted / 50);
  EXPECT_GT(losses, 0U);
  EXPECT_GT(moves, 0U);
  EXPECT_GT(link, 0.99) << "the link must have been full, or its law says nothing";
  EXPECT_GT(power, 0.99) << "and so must the cap have been reached";
}

}  // namespace
}  // namespace cleave
