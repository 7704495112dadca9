// `cleave bench decisions`: what a decision costs while jobs wait, in the engine as simulator and
// daemon drive it.
//
// A fleet is full, and a number of jobs wait. Then, again and again, the job that is done first
// ends and another one comes; each is one decision. Speeds are known, half of the jobs may be saved
// and go on elsewhere, and times are told or not.

#include <cmath>
#include <queue>

#include "base/format.hpp"
#include "base/random.hpp"
#include "cli/columns.hpp"
#include "engine/engine.hpp"
#include "study/bench/bench_parts.hpp"

namespace cleave::cli {

namespace {

struct DecisionsOptions {
  std::vector<std::size_t> gpus = {4, 100, 1000};
  std::string schedulers = "adaptive,online:backfill=easy,miso:measure=0", model = "A100-40GB";
  std::size_t waiting = 1000, decisions = 4000;
  bool rigid = false, times = false;
  bool json = false;
};

struct DecisionsBench {
  std::string scheduler;
  std::size_t gpus = 0, waiting = 0, decisions = 0;
  double median_us = 0, p99_us = 0, max_us = 0;
};

const Columns<DecisionsBench> columns = {
    {"scheduler", "scheduler", &DecisionsBench::scheduler},
    {"gpus", "GPUs", &DecisionsBench::gpus},
    {"waiting", "waiting", &DecisionsBench::waiting},
    {"decisions", "decisions", &DecisionsBench::decisions},
    {"median_us", "median us", &DecisionsBench::median_us, decimals(1)},
    {"p99_us", "p99 us", &DecisionsBench::p99_us, decimals(1)},
    {"max_us", "max us", &DecisionsBench::max_us, decimals(1)}};

/// Jobs of minutes to hours, which use a larger instance more or less well.
class QueuedFacts final : public JobFacts {
 public:
  QueuedFacts(const GpuModel& model, const DecisionsOptions& given)
      : model_(&model), rigid_(given.rigid), times_(given.times) {}

  [[nodiscard]] Duration work(JobId job) const {
    return std::chrono::milliseconds(
        static_cast<std::int64_t>(60'000 * std::exp(4 * uniform_of(1, index(job), 0))));
  }
  [[nodiscard]] double speed(JobId job, int profile) const {
    const auto& here = model_->profiles[static_cast<std::size_t>(profile)];
    const double share = static_cast<double>(here.compute.value) / model_->compute.value;
    return std::pow(share, uniform_of(1, index(job), 1));
  }
  [[nodiscard]] bool restartable(JobId job) const override {
    return !rigid_ && index(job) % 2 == 0;
  }
  [[nodiscard]] bool saves(JobId job) const override { return restartable(job); }
  [[nodiscard]] bool tells_times() const override { return times_; }
  [[nodiscard]] std::optional<Duration> time_on(JobId job, std::size_t /*kind*/,
                                                int profile) const override {
    if (!times_) return std::nullopt;
    return Duration{std::llround(static_cast<double>(work(job).count()) / speed(job, profile))};
  }
  [[nodiscard]] std::optional<double> speed_on(JobId job, std::size_t /*kind*/,
                                               int profile) const override {
    return speed(job, profile);
  }

 private:
  const GpuModel* model_;
  bool rigid_, times_;
};

/// One fleet under one scheduler, and which jobs run there until when.
class QueuedFleet {
 public:
  QueuedFleet(const GpuModel& model, std::size_t size, const SchedulerSpec& spec,
              const DecisionsOptions& given)
      : file_(fleet_file(model, size)),
        fleet_(file_),
        requests_(file_.geometries),
        facts_(model, given),
        engine_(Engine::make(spec, {.fleet = fleet_, .requests = requests_, .facts = &facts_},
                             requests_, nullptr)) {}

  [[nodiscard]] Result<void> made() const {
    if (!engine_) return std::unexpected(engine_.error());
    return {};
  }

  /// A job comes: how long the answer took, in us.
  double come() {
    const auto job = static_cast<JobId>(next_++);
    static constexpr std::int64_t sizes[] = {2000, 4000, 4000, 8000, 9000, 16000, 18000, 30000};
    const MiB memory{sizes[mixed_bits(index(job)) % std::size(sizes)]};
    ++waiting_;
    return tell(Submitted{job, requests_.intern({BySize{memory, {}}, {}})});
  }
  /// The next job ends.
  double end() {
    while (runs_until_[ends_.top().second] != ends_.top().first) ends_.pop();
    const auto [at, which] = ends_.top();
    ends_.pop();
    now_ = std::max(now_, at);
    runs_until_[which] = {};
    return tell(Finished{static_cast<JobId>(which)});
  }
  [[nodiscard]] std::size_t waiting() const { return waiting_; }

 private:
  static FleetFile fleet_file(const GpuModel& model, std::size_t size) {
    FleetFile file;
    file.geometries.emplace_back(model, ProfileChoice::parse("plain")->on(model));
    for (std::size_t i = 0; i < size; ++i) file.gpus.push_back({fmt::format("n0/{}", i), 0, {}});
    return file;
  }

  double tell(const Event& event) {
    commands_.clear();
    const auto begin = BenchClock::now();
    engine_->on(event, now_, commands_);
    engine_->settle(now_, commands_);
    const double us = seconds_since(begin) * 1e6;
    for (const Command& command : commands_) {
      if (const auto* started = std::get_if<StartJob>(&command)) {
        --waiting_;
        run(started->job, started->placement);
      } else if (const auto* whole = std::get_if<StartOnWholeGpu>(&command)) {
        --waiting_;
        run(whole->job, file_.geometries.front().all().first());
      } else if (const auto* saved = std::get_if<CheckpointJob>(&command)) {
        ++waiting_;
        runs_until_[index(saved->job)] = {};
      }
    }
    return us;
  }

  void run(JobId job, PlacementId placement) {
    const Geometry& geometry = file_.geometries.front();
    const double speed = facts_.speed(job, geometry[placement].profile_index);
    const Instant until =
        now_ + Duration{std::llround(static_cast<double>(facts_.work(job).count()) / speed)};
    if (runs_until_.size() <= index(job)) runs_until_.resize(2 * index(job) + 1);
    runs_until_[index(job)] = until;
    ends_.emplace(until, index(job));
  }

  FleetFile file_;
  Fleet fleet_;
  RequestTable requests_;
  QueuedFacts facts_;
  Result<Engine> engine_;
  Instant now_{};
  std::size_t next_ = 0, waiting_ = 0;
  std::vector<Instant> runs_until_;  // by job; the beginning of time: it does not run
  using End = std::pair<Instant, std::size_t>;
  std::priority_queue<End, std::vector<End>, std::greater<>> ends_;
  std::vector<Command> commands_;
};

Result<DecisionsBench> measure(const GpuModel& model, std::size_t size, const SchedulerSpec& spec,
                               const DecisionsOptions& given) {
  QueuedFleet fleet(model, size, spec, given);
  if (const auto made = fleet.made(); !made) return std::unexpected(made.error());
  while (fleet.waiting() < given.waiting) fleet.come();
  std::vector<double> us;
  while (us.size() < given.decisions) {
    us.push_back(fleet.end());
    while (fleet.waiting() < given.waiting) us.push_back(fleet.come());
  }
  std::ranges::sort(us);
  return DecisionsBench{
      spec.text, size, given.waiting, us.size(), median(us), us[us.size() * 99 / 100], us.back()};
}

Result<int> decisions(const DecisionsOptions& given) {
  const auto model = find_gpu_model(given.model);
  if (!model) return std::unexpected(model.error());
  const auto specs = parse_schedulers(given.schedulers);
  if (!specs) return std::unexpected(specs.error());
  std::vector<DecisionsBench> runs;
  for (const SchedulerSpec& spec : *specs)
    for (const std::size_t size : given.gpus) {
      auto run = measure(**model, size, spec, given);
      if (!run) return std::unexpected(run.error());
      runs.push_back(std::move(*run));
    }
  if (given.json)
    print(Json{{"model", (*model)->key},
               {"rigid", given.rigid},
               {"times", given.times},
               {"runs", json_rows(columns, runs)}});
  else
    fmt::print("Ends and arrivals on {} while jobs wait, {}, times {}\n\n{}", (*model)->key,
               given.rigid ? "none of which may be stopped" : "half of which may be saved",
               given.times ? "told" : "not told", text_rows(columns, runs));
  return 0;
}

}  // namespace

void add_bench_decisions(CommandLine& bench, Run& run) {
  const auto [command, options] =
      add_command(bench, run, "decisions", "What a decision costs while jobs wait",
                  "cleave bench decisions --gpus 100 --waiting 1000", decisions);
  add_fleet_sizes(*command, options.gpus);
  command->add_option("--schedulers", options.schedulers, "SPEC,SPEC,...")
      ->default_str(options.schedulers);
  command->add_option("--waiting", options.waiting, "How many jobs wait")
      ->check(Check::range(1, 1000000))
      ->default_str("1000");
  command->add_option("--decisions", options.decisions, "How many are measured, at least")
      ->check(Check::range(100, 100000000))
      ->default_str("4000");
  command->add_flag("--rigid", options.rigid, "No job may be stopped");
  command->add_flag("--times", options.times, "Times are told");
  add_bench_model(*command, options.model);
  add_json(*command, options.json);
}

}  // namespace cleave::cli
