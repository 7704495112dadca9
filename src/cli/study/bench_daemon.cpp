// `cleave bench daemon`: what the daemon does in a second, and what it adds.

#include "cli/study/bench_daemon.hpp"

#include "base/format.hpp"
#include "base/json.hpp"
#include "cli/table.hpp"
#include "study/bench/bench_daemon.hpp"

namespace cleave::cli {

namespace fs = std::filesystem;

namespace {

struct Options {
  std::size_t jobs = 10'000, connections = 50, subscribers = 200, starts = 200;
  double batch = 1;
  std::string folder;
  bool json = false;
};

Json to_json(const TimeSpread& spread) {
  return {{"median_ms", spread.median_ms}, {"p95_ms", spread.p95_ms}, {"most_ms", spread.most_ms}};
}

void print_json(const DaemonBench& bench) {
  Json batch = nullptr;
  if (bench.batch)
    batch = {{"jobs", bench.batch->jobs},
             {"makespan_s", bench.batch->makespan_s},
             {"simulated_s", bench.batch->simulated_s},
             {"overhead", bench.batch->overhead()}};
  print(Json{{"file_system", bench.file_system},
             {"disk_sync", to_json(bench.disk_sync)},
             {"jobs", bench.jobs},
             {"connections", bench.connections},
             {"submits_per_s", bench.submits_per_s},
             {"submit", to_json(bench.submit)},
             {"submit_alone", to_json(bench.submit_alone)},
             {"list_first_byte_ms", bench.list_first_byte_ms},
             {"list_last_byte_ms", bench.list_last_byte_ms},
             {"list_mib", bench.list_mib},
             {"page_last_byte_ms", bench.page_last_byte_ms},
             {"ps_ms", bench.ps_ms},
             {"ps_page_ms", bench.ps_page_ms},
             {"memory_mib", bench.memory_mib},
             {"most_memory_mib", bench.most_memory_mib},
             {"starts", bench.starts},
             {"start", to_json(bench.start)},
             {"submit_start", to_json(bench.submit_start)},
             {"subscribers", bench.subscribers},
             {"stuck", bench.stuck},
             {"submits_per_s_alone", bench.submits_per_s_alone},
             {"submits_per_s_followed", bench.submits_per_s_followed},
             {"batch", batch}});
}

void print_text(const DaemonBench& bench) {
  Table table({"what", "median", "95 %", "most"});
  const auto add = [&](std::string what, const TimeSpread& spread) {
    table.add({std::move(what), fmt::format("{:.2f} ms", spread.median_ms),
               fmt::format("{:.2f} ms", spread.p95_ms), fmt::format("{:.2f} ms", spread.most_ms)});
  };
  add(fmt::format("4 KiB to the disk ({}), synced", bench.file_system), bench.disk_sync);
  add(fmt::format("a submission, {} at a time", bench.connections), bench.submit);
  add("a submission alone", bench.submit_alone);
  add("decision to process", bench.start);
  add("submission to process, instance idle", bench.submit_start);
  fmt::print("cleaved on simulated GPUs, instances made in no time\n\n{}\n", table.text());
  fmt::print("{:.0f} submissions/s over {} connections, {} of them\n", bench.submits_per_s,
             bench.connections, bench.jobs);
  fmt::print(
      "with {} queued: {:.0f} MiB resident, {:.0f} MiB at most; `cleave ps` {:.0f} ms, its newest "
      "1000 "
      "{:.0f} ms\n",
      bench.jobs, bench.memory_mib, bench.most_memory_mib, bench.ps_ms, bench.ps_page_ms);
  fmt::print(
      "GET /v1/jobs: the newest 1000 in {:.1f} ms; all ({:.1f} MiB) first byte {:.1f} ms, last "
      "{:.1f} ms\n",
      bench.page_last_byte_ms, bench.list_mib, bench.list_first_byte_ms, bench.list_last_byte_ms);
  fmt::print(
      "{} who follow events, {} of them never reading: {:.0f} submissions/s, {:.0f} without them\n",
      bench.subscribers, bench.stuck, bench.submits_per_s_followed, bench.submits_per_s_alone);
  if (bench.batch)
    fmt::print("a batch of {} jobs: {:.2f} s, {:.2f} s in the simulator, {:+.1f} %\n",
               bench.batch->jobs, bench.batch->makespan_s, bench.batch->simulated_s,
               100 * bench.batch->overhead());
}

Result<int> daemon(const Options& given) {
  DaemonBenchOptions options;
  std::error_code failed;
  options.programs = fs::read_symlink("/proc/self/exe", failed).parent_path();
  options.folder = given.folder.empty() ? fs::temp_directory_path() : fs::path(given.folder);
  options.folder = fs::absolute(options.folder, failed);
  options.jobs = given.jobs;
  options.connections = given.connections;
  options.subscribers = given.subscribers;
  options.starts = given.starts;
  options.batch_seconds = given.batch;
  const auto bench =
      bench_daemon(options, [](const std::string& line) { fmt::print(stderr, "{}\n", line); });
  if (!bench) return std::unexpected(bench.error());
  if (given.json)
    print_json(*bench);
  else
    print_text(*bench);
  return 0;
}

}  // namespace

void add_bench_daemon(CommandLine& bench, Run& run) {
  auto options = std::make_shared<Options>();
  CommandLine* command = add_command(
      bench, "daemon", "Submissions, starts and memory of the daemon, and what it adds to a batch",
      "cleave bench daemon --jobs 1000 --subscribers 20 --starts 20 --batch 0");
  command->add_option("--jobs", options->jobs, "That are submitted and stay queued")
      ->check(Check::range(1, 90'000))
      ->default_str("10000");
  command->add_option("--connections", options->connections, "Over which they come, kept alive")
      ->check(Check::range(1, 200))
      ->default_str("50");
  command
      ->add_option("--subscribers", options->subscribers,
                   "Who follow events, a quarter of them never reading")
      ->check(Check::range(0, 200))
      ->default_str("200");
  command->add_option("--starts", options->starts, "Jobs whose start is timed, in each of two ways")
      ->check(Check::range(1, 10'000))
      ->default_str("200");
  command
      ->add_option("--batch", options->batch,
                   "By what the run times of the batch are stretched that is run beside the "
                   "simulator; 0: none")
      ->check(number_from(0, 1000))
      ->default_str("1");
  command
      ->add_option(
          "--folder", options->folder,
          "Where the daemon's state is, on the disk that it would be on; by itself $TMPDIR or /tmp")
      ->check(not_empty());
  add_json(*command, options->json);
  command->callback([options, &run] { run = [options] { return daemon(*options); }; });
}

}  // namespace cleave::cli
