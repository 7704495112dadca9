// `cleave bench gangs`: what it costs to say whether a job of several places fits, to start one,
// and to keep places for one, in the engine as simulator and daemon drive it.
//
// A fleet of nodes with eight GPUs each is filled with jobs of one place until these hold the load,
// and then changes: before each question a job ends and another comes. `no`: a gang comes that
// finds no room, the queue is looked at, and it is cancelled. `start`: one comes that finds room on
// some node, and starts. `keep`: with backfill, one comes that finds none, and its places are kept
// at the earliest time at which they are free together.

#include "base/format.hpp"
#include "base/random.hpp"
#include "cli/columns.hpp"
#include "engine/engine.hpp"
#include "study/bench/bench_parts.hpp"

namespace cleave::cli {

namespace {

struct BenchGangsCommandOptions {
  std::vector<std::size_t> gpus = {8, 100, 1000, 10000};
  std::string scheduler = "online", model = "A100-40GB";
  bool json = false;
};

struct GangsBench {
  std::size_t gpus = 0, jobs = 0;
  double no_us = 0, start_us = 0, keep_us = 0;
};

const Columns<GangsBench> columns = {{"gpus", "GPUs", &GangsBench::gpus},
                                     {"jobs", "jobs", &GangsBench::jobs},
                                     {"no_us", "no us", &GangsBench::no_us, decimals(2)},
                                     {"start_us", "start us", &GangsBench::start_us, decimals(2)},
                                     {"keep_us", "keep us", &GangsBench::keep_us, decimals(1)}};

constexpr double load = 0.75;
constexpr std::uint32_t places = 8;
constexpr std::size_t times = 1000;
constexpr std::size_t gpus_of_node = 8;

/// Every job takes minutes, each its own time; gangs have numbers behind all others.
class BenchFacts final : public JobFacts {
 public:
  explicit BenchFacts(std::size_t first_gang) : first_gang_(first_gang) {}

  [[nodiscard]] Gang gang(JobId job) const override {
    if (index(job) < first_gang_) return JobFacts::gang(job);
    const std::size_t leader = index(job) - (index(job) - first_gang_) % places;
    return {static_cast<JobId>(leader), static_cast<JobId>(leader + 1), places};
  }
  [[nodiscard]] std::optional<Duration> time_on(JobId job, std::size_t /*kind*/,
                                                int /*profile*/) const override {
    return std::chrono::seconds(60 + mixed_bits(index(job)) % 6000);
  }

 private:
  std::size_t first_gang_;
};

/// One fleet under one scheduler.
class Measured {
 public:
  Measured(const GpuModel& model, std::size_t size, const SchedulerSpec& spec)
      : file_(fleet_file(model, size)),
        fleet_(file_),
        requests_(file_.geometries),
        facts_(most_jobs(size)),
        next_gang_(most_jobs(size)),
        engine_(Engine::make(
            spec, {.fleet = fleet_, .requests = requests_, .facts = &facts_, .gangs = true},
            requests_, nullptr)) {}

  [[nodiscard]] Result<void> made() const {
    if (!engine_) return std::unexpected(engine_.error());
    return {};
  }

  /// Jobs of random profiles until they hold the load.
  void fill() {
    const Geometry& geometry = file_.geometries.front();
    const auto wanted = static_cast<std::int64_t>(load * static_cast<double>(fleet_.size()) *
                                                  geometry.model().memory_slices.value);
    for (std::int64_t held = 0; held < wanted;) held += come();
  }
  /// A job ends and another comes.
  void change() {
    const std::size_t at = random_.below(running_.size());
    tell(Finished{running_[at]});
    running_[at] = running_.back();
    running_.pop_back();
    come();
  }

  /// A gang comes, and leaves when the engine has answered: how long that took in us, and whether
  /// it started.
  std::pair<double, bool> gang(Request asked) {
    const auto id = static_cast<JobId>(next_gang_);
    asked.places = places;
    const RequestId request = requests_.intern(asked);
    const auto begin = BenchClock::now();
    tell(Submitted{id, request});
    const double us = seconds_since(begin) * 1e6;
    const bool started = !commands_.empty();
    if (started) {
      tell(Finished{id});
    } else {
      tell(Cancelled{id});
    }
    return {us, started};
  }

  [[nodiscard]] std::size_t jobs() const { return running_.size(); }
  /// What never finds room while other jobs run: as many whole GPUs of a node.
  [[nodiscard]] Request too_much() const {
    Request request{ByProfile{std::string(file_.geometries.front().model().largest().name)}, {}};
    request.together = Together::node;
    return request;
  }
  [[nodiscard]] static Request small() {
    Request request{Unknown{}, {}};
    request.together = Together::node;
    return request;
  }

 private:
  static FleetFile fleet_file(const GpuModel& model, std::size_t size) {
    FleetFile file;
    file.geometries.emplace_back(model, ProfileChoice::parse("plain")->on(model));
    for (std::size_t i = 0; i < size; ++i)
      file.gpus.push_back({fmt::format("n{}/{}", i / gpus_of_node, i % gpus_of_node), 0, {}});
    return file;
  }
  static std::size_t most_jobs(std::size_t size) { return 64 * size + 100'000; }

  /// Answers the memory slices that it was given; 0 where there was no room.
  std::int64_t come() {
    const Geometry& geometry = file_.geometries.front();
    const auto profiles = geometry.profile_list();
    const Profile& profile = *profiles[1 + random_.below(profiles.size() - 1)];
    const auto job = static_cast<JobId>(next_job_++);
    tell(Submitted{job, requests_.intern({ByProfile{std::string(profile.name)}, {}})});
    if (commands_.empty()) {
      tell(Cancelled{job});
      return 0;
    }
    running_.push_back(job);
    return profile.memory.value;
  }
  void tell(const Event& event) {
    commands_.clear();
    engine_->on(event, now_, commands_);
    engine_->settle(now_, commands_);
  }

  FleetFile file_;
  Fleet fleet_;
  RequestTable requests_;
  BenchFacts facts_;
  std::size_t next_job_ = 0, next_gang_;
  Result<Engine> engine_;
  Random random_{7};
  Instant now_{};
  std::vector<JobId> running_;
  std::vector<Command> commands_;
};

/// The median over gangs of this request that start, or do not.
Result<double> median_us(const GpuModel& model, std::size_t size, const std::string& scheduler,
                         bool starts, GangsBench& bench) {
  const auto spec = parse_scheduler(scheduler);
  if (!spec) return std::unexpected(spec.error());
  Measured fleet(model, size, *spec);
  if (const auto made = fleet.made(); !made) return std::unexpected(made.error());
  fleet.fill();
  bench.jobs = fleet.jobs();
  std::vector<double> us;
  for (std::size_t i = 0; i <= times; ++i) {
    fleet.change();
    const auto [took, started] = fleet.gang(starts ? fleet.small() : fleet.too_much());
    // The first works out what is worked out once.
    if (i > 0 && started == starts) us.push_back(took);
  }
  return us.empty() ? 0 : median(std::move(us));
}

Result<GangsBench> bench_one(const GpuModel& model, std::size_t size,
                             const std::string& scheduler) {
  GangsBench bench{.gpus = size};
  const std::string joint = scheduler.contains(':') ? ";" : ":";
  const struct {
    double GangsBench::*figure;
    std::string spec;
    bool starts;
  } parts[] = {{&GangsBench::no_us, scheduler, false},
               {&GangsBench::start_us, scheduler, true},
               {&GangsBench::keep_us, scheduler + joint + "backfill=easy", false}};
  for (const auto& part : parts) {
    const auto us = median_us(model, size, part.spec, part.starts, bench);
    if (!us) return std::unexpected(us.error());
    bench.*part.figure = *us;
  }
  return bench;
}

Result<int> gangs(const BenchGangsCommandOptions& given) {
  const auto model = find_gpu_model(given.model);
  if (!model) return std::unexpected(model.error());
  std::vector<GangsBench> runs;
  for (const std::size_t size : given.gpus) {
    auto run = bench_one(**model, size, given.scheduler);
    if (!run) return std::unexpected(run.error());
    runs.push_back(*run);
  }
  if (given.json)
    print(Json{{"model", (*model)->key},
               {"scheduler", given.scheduler},
               {"places", places},
               {"runs", json_rows(columns, runs)}});
  else
    fmt::print("Jobs of {} places on {} under {}, nodes of {} GPUs, medians\n\n{}", places,
               (*model)->key, given.scheduler, gpus_of_node, text_rows(columns, runs));
  return 0;
}

}  // namespace

void add_bench_gangs(CommandLine& bench, Run& run) {
  const auto [command, options] =
      add_command(bench, run, "gangs", "Jobs of several places: whether they fit, and a start",
                  "cleave bench gangs --gpus 8,10000", gangs);
  add_fleet_sizes(*command, options.gpus);
  command->add_option("--scheduler", options.scheduler, "The scheduler, which must take gangs")
      ->default_str(options.scheduler);
  add_bench_model(*command, options.model);
  add_json(*command, options.json);
}

}  // namespace cleave::cli
