// `cleave bench slurm`: what a round of the controller beside Slurm takes to decide, from what
// Slurm and the daemons have said to what is to be done. Slurm itself is a cluster in memory.
//
// Nodes of four GPUs are filled by rounds until nothing more starts. Then, before each measured
// round, a twentieth of the running jobs end and as many jobs come, so that there is something to
// decide.

#include "base/format.hpp"
#include "base/json.hpp"
#include "cli/columns.hpp"
#include "engine/scheduler.hpp"
#include "slurm/slurm_double.hpp"
#include "study/bench/bench_parts.hpp"

namespace cleave::cli {

namespace {

struct BenchSlurmCommandOptions {
  std::vector<std::size_t> nodes = {8, 50, 500};
  std::size_t waiting = 1000, rounds = 20;
  std::string model = "A100-40GB";
  std::string scheduler{default_scheduler};
  bool json = false;
};

struct SlurmBench {
  std::size_t nodes = 0, running = 0, waiting = 0;
  double cluster_ms = 0, cluster_worst_ms = 0, node_ms = 0, node_worst_ms = 0;
};

using S = SlurmBench;
const Columns<SlurmBench> columns = {
    {"nodes", "nodes", &S::nodes},
    {"running", "running", &S::running},
    {"waiting", "waiting", &S::waiting},
    {"cluster_ms", "cluster ms", &S::cluster_ms, decimals(2)},
    {"cluster_worst_ms", "worst", &S::cluster_worst_ms, decimals(2)},
    {"node_ms", "node ms", &S::node_ms, decimals(2)},
    {"node_worst_ms", "worst", &S::node_worst_ms, decimals(2)}};

constexpr std::size_t gpus_of_node = 4;
const std::function<bool()> always = [] { return true; };

void come(SlurmDouble& slurm, std::size_t jobs, bool gated) {
  const auto profiles = slurm.graph()->geometry().profile_names();
  for (std::size_t i = 0; i < jobs; ++i)
    slurm.submit({{profiles[slurm.random().below(profiles.size())], 1}}, gated,
                 static_cast<std::int64_t>(1 + slurm.random().below(1000)));
}

/// Median and largest time of a decision, in milliseconds.
std::pair<double, double> decide(const BenchSlurmCommandOptions& options, std::size_t nodes,
                                 SlurmMode mode, SlurmBench& bench) {
  SlurmDouble slurm({nodes, gpus_of_node, options.model, 256}, 5);
  ControllerSettings settings;
  settings.mode = mode;
  settings.counts.most_raised = nodes;
  settings.cluster.scheduler = options.scheduler;
  const bool gated = mode == SlurmMode::cluster;
  ControllerMemory memory;
  const Instant now{std::chrono::seconds{1'764'000'000}};
  come(slurm, options.waiting + nodes * gpus_of_node * 4, gated);
  const auto serve = [&] {
    static_cast<void>(run_round(slurm, settings, memory, now, always));
    slurm.schedule();
    slurm.prolog();
  };
  for (std::size_t before = slurm.waiting() + 1; slurm.waiting() < before;) {
    before = slurm.waiting();
    serve();
  }
  std::vector<double> times;
  for (std::size_t round = 0; round < options.rounds; ++round) {
    slurm.end_some(0.05);
    come(slurm, options.waiting - std::min(options.waiting, slurm.waiting()), gated);
    const SlurmSight sight = *slurm.look();
    const auto begin = BenchClock::now();
    const auto views = views_of(sight);
    if (gated)
      static_cast<void>(cluster_round(views, sight.jobs, now, settings.cluster));
    else
      static_cast<void>(
          count_round(views, waiting_in_order(sight.jobs), now, settings.counts, memory.laws));
    times.push_back(seconds_since(begin) * 1e3);
    bench.waiting = slurm.waiting();
    serve();
  }
  bench.running = 0;
  for (const NodeReport& node : slurm.world().reports) bench.running += node.claims.size();
  return {median(times), *std::ranges::max_element(times)};
}

Result<int> bench_slurm(const BenchSlurmCommandOptions& options) {
  if (const auto spec = parse_scheduler(options.scheduler); !spec)
    return std::unexpected(spec.error());
  if (const auto model = find_gpu_model(options.model); !model)
    return fail_at("--model", model.error());
  std::vector<SlurmBench> rows;
  for (const std::size_t nodes : options.nodes) {
    SlurmBench bench;
    bench.nodes = nodes;
    std::tie(bench.node_ms, bench.node_worst_ms) = decide(options, nodes, SlurmMode::node, bench);
    std::tie(bench.cluster_ms, bench.cluster_worst_ms) =
        decide(options, nodes, SlurmMode::cluster, bench);
    rows.push_back(bench);
  }
  if (options.json)
    print(Json{{"model", options.model},
               {"scheduler", options.scheduler},
               {"runs", json_rows(columns, rows)}});
  else
    fmt::print("Decisions on nodes of {} {}, cluster mode under {}, medians\n\n{}", gpus_of_node,
               options.model, options.scheduler, text_rows(columns, rows));
  return 0;
}

}  // namespace

void add_bench_slurm(CommandLine& bench, Run& run) {
  const auto [command, options] =
      add_command(bench, run, "slurm", "Measure a round of the controller beside Slurm",
                  "cleave bench slurm --nodes 500 --waiting 1000", bench_slurm);
  command->add_option("--nodes", options.nodes, "Numbers of nodes, each with four GPUs")
      ->delimiter(',')
      ->check(Check::range(1, 100000));
  command->add_option("--waiting", options.waiting, "Jobs that wait")
      ->check(Check::range(1, 1000000));
  command->add_option("--rounds", options.rounds, "Rounds to measure")
      ->check(Check::range(1, 100000));
  command->add_option("--scheduler", options.scheduler, "Scheduler of cluster mode");
  add_bench_model(*command, options.model, "nodes");
  add_json(*command, options.json);
}

}  // namespace cleave::cli
