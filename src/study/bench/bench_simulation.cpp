// `cleave bench simulation`: how many events a second a simulation runs through, on the path that
// `cleave simulate` takes. Arrivals and run times are exponential, profiles drawn evenly; the
// arrival rate holds a share of the fleet's memory slices. An event is an arrival or an end of a
// job and nothing else; reading files is not part of it.
//
// Three worlds: `bare`, in which jobs share nothing and draw nothing; `usual`, the defaults of
// `cleave simulate`; and `full`, in which two jobs of three transfer, each GPU is capped at four
// fifths of its power, and a meter polls. There an event changes the speeds of a GPU's other jobs
// wherever the cap binds.

#include <sys/resource.h>

#include "base/format.hpp"
#include "base/random.hpp"
#include "cli/columns.hpp"
#include "simulate/simulator.hpp"
#include "study/bench/bench_parts.hpp"

namespace cleave::cli {

namespace {

struct BenchSimulationCommandOptions {
  std::vector<std::size_t> gpus = {160, 10000}, jobs = {5000, 1000000};  // jobs: one for each fleet
  std::string scheduler = "online", model = "A100-40GB", world = "all";
  std::size_t priorities = 1;
  bool json = false;
};

constexpr double load = 0.75;
constexpr int repeats = 3;

struct SimulationBench {
  std::size_t gpus = 0, jobs = 0;
  std::string scheduler;
  std::string_view world;
  std::size_t events = 0;
  double seconds = 0;                      // the median
  double peak_mib = 0;                     // memory of this process until now, with the workload
  std::optional<bool> no_index_identical;  // tried where the scan ends in reasonable time

  [[nodiscard]] double events_per_s() const { return static_cast<double>(events) / seconds; }
};

const Columns<SimulationBench> columns = {
    {"gpus", "GPUs", &SimulationBench::gpus},
    {"jobs", "jobs", &SimulationBench::jobs},
    {"scheduler", "scheduler", &SimulationBench::scheduler},
    {"world", "world", &SimulationBench::world},
    {"events", "events", &SimulationBench::events},
    {"seconds", "seconds", &SimulationBench::seconds, decimals(4)},
    {"events_per_s", "million events/s", &SimulationBench::events_per_s, decimals(2, 1e-6)},
    {"peak_mib", "MiB so far", &SimulationBench::peak_mib, decimals(0)},
    {"no_index_identical", "same without index", &SimulationBench::no_index_identical,
     [](const Json& same) { return same.is_null() ? "not tried" : yes_or_alarm(same); }}};

constexpr double mean_duration_s = 600;

double peak_mib() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

/// A world in which work of this kind runs.
struct BenchWorld {
  std::string_view name;
  bool shares;  // jobs transfer
  WorldTerms terms;
};

std::vector<BenchWorld> worlds(const GpuModel& model) {
  WorldTerms bare, full;
  bare.link = LinkSharing::off;
  bare.has_power = false;
  full.power.cap = Milliwatts{power_bounds(model, {}).cap.value * 4 / 5};
  full.sample = std::chrono::seconds(1);
  return {{"bare", false, bare}, {"usual", false, {}}, {"full", true, full}};
}

Workload make_workload(const Geometry& geometry, std::size_t gpus, std::size_t jobs, bool shares,
                       std::size_t priorities) {
  Random random(5), of_priorities(6);
  const auto profiles = geometry.profile_list();
  double slices = 0;
  for (const Profile* profile : profiles) slices += profile->memory.value;
  slices /= static_cast<double>(profiles.size());
  // Little's law: jobs that run at once = arrivals a second x mean duration.
  const double at_once =
      load * static_cast<double>(gpus) * geometry.model().memory_slices.value / slices;
  const double mean_gap_s = mean_duration_s / at_once;
  Workload workload;
  std::array<SpeedModel, 3> speeds;
  for (std::size_t i = 0; i < speeds.size(); ++i) {
    speeds[i].flat = true;
    if (shares) speeds[i].transfer_share = 0.1 * static_cast<double>(i);
  }
  workload.jobs.reserve(jobs);
  if (priorities > 1) workload.details.resize(priorities);
  for (std::size_t i = 0; i < workload.details.size(); ++i)
    workload.details[i].priority = static_cast<std::int64_t>(i);
  double now = 0;
  for (std::size_t i = 0; i < jobs; ++i) {
    Job job;
    job.id = fmt::format("{}", i);
    job.arrival = Instant{} + *duration_from_seconds(now);
    job.duration = *duration_from_seconds(random.exponential(mean_duration_s));
    job.request = workload.intern(
        Request{ByProfile{std::string(profiles[random.below(profiles.size())]->name)}, {}});
    job.speed = workload.intern(speeds[i % speeds.size()]);
    if (priorities > 1) job.details = static_cast<std::uint32_t>(of_priorities.below(priorities));
    workload.jobs.push_back(std::move(job));
    now += random.exponential(mean_gap_s);
  }
  workload.read = jobs;
  return workload;
}

Result<SimulationBench> bench_one(const SchedulerSpec& scheduler, const GpuModel& model,
                                  std::size_t gpus, std::size_t jobs, const BenchWorld& world,
                                  std::size_t priorities) {
  const auto fleet =
      parse_fleet_in_short(fmt::format("{}x{}", gpus, model.key), ProfileChoice::plain());
  if (!fleet) return std::unexpected(fleet.error());
  const Workload workload =
      make_workload(fleet->geometries.front(), gpus, jobs, world.shares, priorities);
  SimulationOptions options;
  options.world = world.terms;
  SimulationBench bench{gpus, jobs, scheduler.text, world.name, 0, 0, 0, {}};
  std::vector<double> seconds;
  std::string summary;
  for (int repeat = 0; repeat < repeats; ++repeat) {
    const auto begin = ProcessorClock::now();
    const auto run = simulate(*fleet, workload, scheduler, options);
    seconds.push_back(seconds_since(begin));
    if (!run) return std::unexpected(run.error());
    bench.events = run->events;
    summary = to_json(*run).dump();
  }
  bench.seconds = median(seconds);
  bench.peak_mib = peak_mib();
  constexpr std::size_t most_looks = 20'000'000;  // of a scan at a GPU
  if (gpus * jobs <= most_looks) {
    options.use_index = false;
    const auto scanned = simulate(*fleet, workload, scheduler, options);
    bench.no_index_identical = scanned && to_json(*scanned).dump() == summary;
  }
  return bench;
}

Result<int> simulation(const BenchSimulationCommandOptions& given) {
  if (given.gpus.size() != given.jobs.size())
    return fail(ErrorKind::bad_usage, "--jobs", "give as many numbers of jobs as fleets",
                "like --gpus 160,10000 --jobs 5000,1000000");
  const auto scheduler = parse_scheduler(given.scheduler);
  if (!scheduler) return std::unexpected(scheduler.error());
  const auto model = find_gpu_model(given.model);
  if (!model) return std::unexpected(model.error());
  std::vector<SimulationBench> runs;
  for (std::size_t i = 0; i < given.gpus.size(); ++i) {
    for (const BenchWorld& world : worlds(**model)) {
      if (given.world != "all" && given.world != world.name) continue;
      auto bench =
          bench_one(*scheduler, **model, given.gpus[i], given.jobs[i], world, given.priorities);
      if (!bench) return std::unexpected(bench.error());
      runs.push_back(std::move(*bench));
    }
  }
  if (given.json)
    print(Json{{"runs", json_rows(columns, runs)}});
  else
    fmt::print("Simulated events a second, full summary included\n\n{}", text_rows(columns, runs));
  return 0;
}

}  // namespace

void add_bench_simulation(CommandLine& bench, Run& run) {
  const auto [command, options] =
      add_command(bench, run, "simulation", "Events a second of a simulation, on generated work",
                  "cleave bench simulation --gpus 160 --jobs 5000", simulation);
  add_fleet_sizes(*command, options.gpus);
  command->add_option("--jobs", options.jobs, "Number of jobs for each fleet")
      ->delimiter(',')
      ->check(Check::range(1, 100000000));
  command->add_option("--scheduler", options.scheduler, "NAME[:key=value;key=value]")
      ->default_str("online");
  command
      ->add_option("--priorities", options.priorities, "How many priorities jobs have, at random")
      ->check(Check::range(1, 1000))
      ->default_str("1");
  command->add_option("--world", options.world, "One of the three worlds, or all")
      ->check(Check::one_of({"all", "bare", "usual", "full"}))
      ->default_str("all");
  add_bench_model(*command, options.model);
  add_json(*command, options.json);
}

}  // namespace cleave::cli
