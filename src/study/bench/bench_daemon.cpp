// `cleave bench daemon`: what the daemon does in a second, how soon a job begins, what memory it
// takes, and what it adds to the time of a batch. Each part has a `cleaved` of its own, a process
// on simulated GPUs with its state on a disk, asked over its socket as any client asks it. Nothing
// in it is switched off: the audit is written, answers mean that the submission is synced.

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <thread>

#include "api/time_text.hpp"
#include "base/format.hpp"
#include "base/installation.hpp"
#include "cli/child_program.hpp"
#include "cli/columns.hpp"
#include "study/bench/bench_parts.hpp"
#include "study/bench/daemon_batch.hpp"
#include "study/bench/daemon_process.hpp"
#include "study/bench/kept_connections.hpp"

namespace cleave::cli {

namespace fs = std::filesystem;
using std::chrono::nanoseconds;

namespace {

struct BenchDaemonCommandOptions {
  std::size_t jobs = 10'000, connections = 50, subscribers = 200;
  std::size_t starts = 200;  // jobs whose start is timed
  double batch = 1;          // by which the batch's jobs are stretched; 0: no batch
  fs::path programs;         // of cleave, cleaved and cleave-job
  fs::path folder;           // on the disk that the state is to be on
  std::string folder_given;  // empty: the usual one
  bool json = false;
};

struct TimeSpread {
  double median_ms = 0, p95_ms = 0, most_ms = 0;
};

struct DaemonBench {
  // The disk: 4 KiB appended to a file and synced, as each submission asks for in the end.
  std::string file_system;  // "ext4"
  TimeSpread disk_sync;

  // Submissions over `connections`, each sent when the answer before it on its connection has come.
  std::size_t jobs = 0, connections = 0;
  double submits_per_s = 0;
  TimeSpread submit, submit_alone;  // from question to answer; alone: one connection, 200 of them

  // With all of them queued.
  double list_first_byte_ms = 0, list_last_byte_ms = 0,
         list_mib = 0;               // GET /v1/jobs?limit=10000; median
  double page_last_byte_ms = 0;      // GET /v1/jobs, the newest 1,000
  double ps_ms = 0, ps_page_ms = 0;  // `cleave ps`, and with --limit 1000, as processes; median
  double memory_mib = 0, most_memory_mib = 0;

  // One after the other on one instance that stands: each starts when the end of the one before is
  // heard.
  std::size_t starts = 0;
  TimeSpread start;         // from the decision to the process
  TimeSpread submit_start;  // from sending the submission to the process, the instance being idle

  // With `subscribers` clients following events, of which a quarter never read.
  std::size_t subscribers = 0, stuck = 0;
  double submits_per_s_alone = 0,
         submits_per_s_followed = 0;  // the same number without and with them

  // The same batch on the daemon and in the simulator.
  struct Batch {
    std::size_t jobs = 0;
    double makespan_s = 0, simulated_s = 0;
    [[nodiscard]] double overhead() const { return makespan_s / simulated_s - 1; }
  };
  std::optional<Batch> batch;
};

std::string in_ms(const Json& value) {
  return fmt::format("{:.2f} ms", value.get<double>());
}

const Columns<TimeSpread> spread_columns = {{"median_ms", "median", &TimeSpread::median_ms, in_ms},
                                            {"p95_ms", "95 %", &TimeSpread::p95_ms, in_ms},
                                            {"most_ms", "most", &TimeSpread::most_ms, in_ms}};

template <auto Spread>
Json spread_json(const DaemonBench& bench) {
  return json_row(spread_columns, bench.*Spread);
}

using B = DaemonBench;
const Columns<DaemonBench::Batch> batch_columns = {
    {"jobs", json_only, &B::Batch::jobs},
    {"makespan_s", json_only, &B::Batch::makespan_s},
    {"simulated_s", json_only, &B::Batch::simulated_s},
    {"overhead", json_only, &B::Batch::overhead}};

const Columns<DaemonBench> columns = {
    {"file_system", json_only, &B::file_system},
    {"disk_sync", json_only, spread_json<&B::disk_sync>},
    {"jobs", json_only, &B::jobs},
    {"connections", json_only, &B::connections},
    {"submits_per_s", json_only, &B::submits_per_s},
    {"submit", json_only, spread_json<&B::submit>},
    {"submit_alone", json_only, spread_json<&B::submit_alone>},
    {"list_first_byte_ms", json_only, &B::list_first_byte_ms},
    {"list_last_byte_ms", json_only, &B::list_last_byte_ms},
    {"list_mib", json_only, &B::list_mib},
    {"page_last_byte_ms", json_only, &B::page_last_byte_ms},
    {"ps_ms", json_only, &B::ps_ms},
    {"ps_page_ms", json_only, &B::ps_page_ms},
    {"memory_mib", json_only, &B::memory_mib},
    {"most_memory_mib", json_only, &B::most_memory_mib},
    {"starts", json_only, &B::starts},
    {"start", json_only, spread_json<&B::start>},
    {"submit_start", json_only, spread_json<&B::submit_start>},
    {"subscribers", json_only, &B::subscribers},
    {"stuck", json_only, &B::stuck},
    {"submits_per_s_alone", json_only, &B::submits_per_s_alone},
    {"submits_per_s_followed", json_only, &B::submits_per_s_followed},
    {"batch", json_only, [](const B& bench) {
       return bench.batch ? json_row(batch_columns, *bench.batch) : Json(nullptr);
     }}};

constexpr std::size_t alone_count = 200, looks = 5;

double ms(nanoseconds time) {
  return std::chrono::duration<double, std::milli>(time).count();
}

TimeSpread spread(std::vector<double> all_ms) {
  if (all_ms.empty()) return {};
  std::ranges::sort(all_ms);
  const auto at = [&](double share) {
    return all_ms[static_cast<std::size_t>(share * static_cast<double>(all_ms.size() - 1) + 0.5)];
  };
  return {at(0.5), at(0.95), all_ms.back()};
}

TimeSpread spread(const std::vector<nanoseconds>& times) {
  std::vector<double> all;
  for (const nanoseconds each : times) all.push_back(ms(each));
  return spread(std::move(all));
}

/// What a shell brings along, so that a submission is as large as people's are: 2.4 KiB.
Json usual_environment() {
  Json all = Json::array({"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=/home/user", "LANG=C.UTF-8"});
  for (int i = 0; i < 35; ++i)
    all.push_back(fmt::format("A_VARIABLE_OF_THE_SHELL_{}=and/its/value:of/usual/length:{}", i, i));
  return all;
}

std::string submission(const std::string& profile, const Json& command) {
  return Json{{"command", command},
              {"environment", usual_environment()},
              {"directory", "/"},
              {"name", "bench"},
              {"profile", profile}}
      .dump();
}

double per_second(std::size_t count, BenchClock::time_point since) {
  return static_cast<double>(count) / seconds_since(since);
}

/// The file system of the folder, by the longest mount point above it.
std::string file_system_of(const fs::path& folder) {
  const std::string place = fs::weakly_canonical(folder).string();
  std::ifstream mounts("/proc/mounts");
  std::string line, name = "unknown";
  std::size_t longest = 0;
  while (std::getline(mounts, line)) {
    std::istringstream in(line);
    std::string device, point, type;
    in >> device >> point >> type;
    const bool above = place == point || place.starts_with(point == "/" ? point : point + "/");
    if (!above || point.size() < longest) continue;
    longest = point.size();
    name = type;
  }
  return name;
}

Result<TimeSpread> sync_times(const fs::path& folder) {
  const std::string file = (folder / fmt::format("cleave-bench-sync.{}", ::getpid())).string();
  const int number = ::open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0600);
  if (number < 0) return fail(ErrorKind::infeasible, file, "it cannot be made");
  const std::vector<char> page(4096, 'x');
  std::vector<nanoseconds> times;
  for (int i = 0; i < 100; ++i) {
    const auto begin = BenchClock::now();
    if (::write(number, page.data(), page.size()) < 0 || ::fdatasync(number) != 0) break;
    times.push_back(BenchClock::now() - begin);
  }
  ::close(number);
  ::unlink(file.c_str());
  return spread(times);
}

class Bench {
 public:
  explicit Bench(const BenchDaemonCommandOptions& options) : options_(options) {}

  Result<DaemonBench> run() {
    bench_.file_system = file_system_of(options_.folder);
    auto synced = sync_times(options_.folder);
    if (!synced) return std::unexpected(synced.error());
    bench_.disk_sync = *synced;
    for (const auto part : {&Bench::submits, &Bench::starts, &Bench::followed, &Bench::batch})
      if (const auto done = (this->*part)(); !done) return std::unexpected(done.error());
    return std::move(bench_);
  }

 private:
  struct Stand {
    std::unique_ptr<DaemonProcess> daemon;
    std::unique_ptr<KeptConnections> ask;
  };
  Result<Stand> stand(const std::string& gpus, bool paused) {
    Stand stand;
    auto daemon = DaemonProcess::start({options_.programs, options_.folder, gpus, true});
    if (!daemon) return std::unexpected(daemon.error());
    stand.daemon = std::move(*daemon);
    auto ask = KeptConnections::open(stand.daemon->socket(), 1);
    if (!ask) return std::unexpected(ask.error());
    stand.ask = std::move(*ask);
    if (paused)
      if (const auto done = stand.ask->ask("POST", "/v1/pause"); !done)
        return std::unexpected(done.error());
    return stand;
  }

  /// Jobs that never begin.
  Result<double> submit_rate(Stand& stand, std::size_t count, std::vector<nanoseconds>* times) {
    auto connections = KeptConnections::open(stand.daemon->socket(), options_.connections);
    if (!connections) return std::unexpected(connections.error());
    const std::string body = submission("1g.5gb", {"true"});
    const auto begin = BenchClock::now();
    auto taken = (*connections)->post_all("/v1/jobs", count, [&](std::size_t) { return body; });
    if (!taken) return std::unexpected(taken.error());
    const double rate = per_second(count, begin);
    if (times != nullptr) *times = std::move(*taken);
    return rate;
  }

  Result<void> submits() {
    tell(fmt::format("{} submissions over {} connections", options_.jobs, options_.connections));
    auto made = stand("4xA100-40GB", true);
    if (!made) return std::unexpected(made.error());
    std::vector<nanoseconds> times;
    const auto rate = submit_rate(*made, options_.jobs, &times);
    if (!rate) return std::unexpected(rate.error());
    bench_.jobs = options_.jobs;
    bench_.connections = options_.connections;
    bench_.submits_per_s = *rate;
    bench_.submit = spread(times);
    const std::string body = submission("1g.5gb", {"true"});
    if (const auto listed = lists(*made); !listed) return listed;
    std::vector<nanoseconds> single;
    for (std::size_t i = 0; i < alone_count; ++i) {
      const auto answer = made->ask->ask("POST", "/v1/jobs", body);
      if (!answer) return std::unexpected(answer.error());
      single.push_back(answer->last_byte);
    }
    bench_.submit_alone = spread(single);
    const ResidentMemory memory = made->daemon->memory();
    bench_.memory_mib = memory.now_mib;
    bench_.most_memory_mib = memory.most_mib;
    return {};
  }

  Result<double> process_time(std::vector<std::string> command) {
    std::vector<double> times;
    for (std::size_t i = 0; i < looks; ++i) {
      const auto begin = BenchClock::now();
      if (const auto ran = run_to_end(command, false); !ran) return std::unexpected(ran.error());
      times.push_back(ms(BenchClock::now() - begin));
    }
    return spread(times).median_ms;
  }

  Result<void> lists(Stand& stand) {
    tell("lists of them");
    std::vector<double> first, last, page;
    for (std::size_t i = 0; i < looks; ++i) {
      const auto whole = stand.ask->ask("GET", "/v1/jobs?limit=10000");
      if (!whole) return std::unexpected(whole.error());
      first.push_back(ms(whole->first_byte));
      last.push_back(ms(whole->last_byte));
      bench_.list_mib = static_cast<double>(whole->body.size()) / (1 << 20);
      const auto newest = stand.ask->ask("GET", "/v1/jobs");
      if (!newest) return std::unexpected(newest.error());
      page.push_back(ms(newest->last_byte));
    }
    bench_.list_first_byte_ms = spread(first).median_ms;
    bench_.list_last_byte_ms = spread(last).median_ms;
    bench_.page_last_byte_ms = spread(page).median_ms;
    std::vector<std::string> ps = {(options_.programs / "cleave").string(), "ps", "--socket",
                                   stand.daemon->socket().string()};
    const auto whole = process_time(ps);
    if (!whole) return std::unexpected(whole.error());
    bench_.ps_ms = *whole;
    ps.insert(ps.end(), {"--limit", "1000"});
    const auto short_one = process_time(ps);
    if (!short_one) return std::unexpected(short_one.error());
    bench_.ps_page_ms = *short_one;
    return {};
  }

  /// When its process was begun, as its supervisor wrote it down, in ns since 1970.
  static Result<std::int64_t> began_ns(const Stand& stand, std::int64_t job) {
    const fs::path file =
        stand.daemon->state() / "jobs" / fmt::format("{}.1", job) / "outcome.json";
    std::ifstream in(file);
    std::string text;  // the record is the first line
    std::getline(in, text);
    const auto outcome = parse_json(text, file.string());
    if (!outcome) return std::unexpected(outcome.error());
    return outcome->value("began_ns", std::int64_t{0});
  }

  /// Waits until it is over, and says when it was decided to start it, in ns since 1970.
  Result<std::int64_t> decided_ns(Stand& stand, std::int64_t job) {
    const auto answer = stand.ask->ask("GET", fmt::format("/v1/jobs/{}/wait?timeout_s=60", job));
    if (!answer) return std::unexpected(answer.error());
    const auto document = parse_json(answer->body, "the daemon's answer");
    if (!document) return std::unexpected(document.error());
    if ((*document)["state"] != "finished")
      return fail(ErrorKind::infeasible, fmt::format("job {}", job), (*document)["reason"].dump());
    const auto at = parse_utc_text((*document)["history"][0]["started_at"].get<std::string>());
    if (!at) return fail(ErrorKind::internal, "the daemon's answer", "a time cannot be read");
    return at->time_since_epoch().count();
  }

  Result<void> starts() {
    tell(fmt::format("the start of {} jobs", 2 * options_.starts));
    auto made = stand("1xA100-40GB", true);
    if (!made) return std::unexpected(made.error());
    const std::string body = submission("7g.40gb", {"true"});
    const auto job_of = [](const KeptAnswer& answer) {
      const auto document = parse_json(answer.body, "the daemon's answer");
      return document ? document->value("id", std::int64_t{0}) : 0;
    };
    std::vector<std::int64_t> chain;
    for (std::size_t i = 0; i < options_.starts + 1; ++i) {
      const auto answer = made->ask->ask("POST", "/v1/jobs", body);
      if (!answer) return std::unexpected(answer.error());
      chain.push_back(job_of(*answer));
    }
    if (const auto resumed = made->ask->ask("POST", "/v1/resume"); !resumed)
      return std::unexpected(resumed.error());
    std::vector<double> times;
    for (const std::int64_t job : chain) {
      const auto decided = decided_ns(*made, job);
      if (!decided) return std::unexpected(decided.error());
      const auto began = began_ns(*made, job);
      if (!began) return std::unexpected(began.error());
      // The first one waits for its instance.
      if (job != chain.front()) times.push_back(static_cast<double>(*began - *decided) / 1e6);
    }
    bench_.starts = options_.starts;
    bench_.start = spread(times);
    times.clear();
    for (std::size_t i = 0; i < options_.starts; ++i) {
      const auto sent = std::chrono::system_clock::now().time_since_epoch();
      const auto answer = made->ask->ask("POST", "/v1/jobs", body);
      if (!answer) return std::unexpected(answer.error());
      const std::int64_t job = job_of(*answer);
      if (const auto decided = decided_ns(*made, job); !decided)
        return std::unexpected(decided.error());
      const auto began = began_ns(*made, job);
      if (!began) return std::unexpected(began.error());
      times.push_back(static_cast<double>(*began - nanoseconds(sent).count()) / 1e6);
    }
    bench_.submit_start = spread(times);
    return {};
  }

  Result<void> followed() {
    const std::size_t stuck = options_.subscribers / 4,
                      count = std::max<std::size_t>(options_.jobs / 2, 1);
    tell(fmt::format("{} submissions with {} clients following events, of which {} never read",
                     count, options_.subscribers, stuck));
    for (const bool with : {false, true}) {
      auto made = stand("4xA100-40GB", true);
      if (!made) return std::unexpected(made.error());
      auto followers =
          KeptConnections::open(made->daemon->socket(), with ? options_.subscribers : 0);
      if (!followers) return std::unexpected(followers.error());
      if (const auto asked = (*followers)->ask_on_all("/v1/events"); !asked) return asked;
      std::this_thread::sleep_for(std::chrono::milliseconds(200));
      std::jthread reader([&](const std::stop_token& stop) {
        while (!stop.stop_requested()) {
          (*followers)->drain(stuck);
          std::this_thread::sleep_for(std::chrono::milliseconds(20));
        }
      });
      const auto rate = submit_rate(*made, count, nullptr);
      if (!rate) return std::unexpected(rate.error());
      (with ? bench_.submits_per_s_followed : bench_.submits_per_s_alone) = *rate;
    }
    bench_.subscribers = options_.subscribers;
    bench_.stuck = stuck;
    return {};
  }

  Result<void> batch() {
    if (options_.batch <= 0) return {};
    tell("a batch, and the same in the simulator");
    const auto ran = run_daemon_batch({options_.programs, options_.folder, options_.batch});
    if (!ran) return std::unexpected(ran.error());
    bench_.batch = DaemonBench::Batch{ran->jobs, ran->makespan_s, ran->simulated_s};
    return {};
  }

  /// What is being measured, a line for each part.
  static void tell(const std::string& part) { fmt::print(stderr, "{}\n", part); }

  const BenchDaemonCommandOptions& options_;
  DaemonBench bench_;
};

void print_text(const DaemonBench& bench) {
  std::vector<std::string> header = headings(spread_columns);
  header.insert(header.begin(), "what");
  Table table(header);
  const auto add = [&](const std::string& what, const TimeSpread& spread) {
    std::vector<std::string> row = cells(spread_columns, spread);
    row.insert(row.begin(), what);
    table.add(row);
  };
  add(fmt::format("4 KiB to the disk ({}), synced", bench.file_system), bench.disk_sync);
  add(fmt::format("a submission, {} at a time", bench.connections), bench.submit);
  add("a submission alone", bench.submit_alone);
  add("decision to process", bench.start);
  add("submission to process, instance idle", bench.submit_start);
  fmt::print("The daemon on simulated GPUs, instances created without delay\n\n{}\n", table.text());
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
      "{} clients following events, {} of them never reading: {:.0f} submissions/s, {:.0f} without "
      "them\n",
      bench.subscribers, bench.stuck, bench.submits_per_s_followed, bench.submits_per_s_alone);
  if (bench.batch)
    fmt::print("a batch of {} jobs: {:.2f} s, {:.2f} s in the simulator, {:+.1f} %\n",
               bench.batch->jobs, bench.batch->makespan_s, bench.batch->simulated_s,
               100 * bench.batch->overhead());
}

Result<int> daemon(const BenchDaemonCommandOptions& given) {
  BenchDaemonCommandOptions options = given;
  std::error_code failed;
  options.programs = installation_prefix() / "bin";
  options.folder = fs::absolute(
      options.folder_given.empty() ? fs::temp_directory_path() : fs::path(options.folder_given),
      failed);
  const auto bench = Bench(options).run();
  if (!bench) return std::unexpected(bench.error());
  if (options.json)
    print(json_row(columns, *bench));
  else
    print_text(*bench);
  return 0;
}

}  // namespace

void add_bench_daemon(CommandLine& bench, Run& run) {
  const auto [command, options] =
      add_command(bench, run, "daemon",
                  "Submissions, starts and memory of the daemon, and what it adds to a batch",
                  "cleave bench daemon --jobs 1000 --subscribers 20 --starts 20 --batch 0", daemon);
  command->add_option("--jobs", options.jobs, "Number of jobs submitted, which stay queued")
      ->check(Check::range(1, 90'000))
      ->default_str("10000");
  command
      ->add_option("--connections", options.connections, "Kept-alive connections that submit them")
      ->check(Check::range(1, 200))
      ->default_str("50");
  command
      ->add_option("--subscribers", options.subscribers,
                   "Clients that follow events; a quarter of them never read")
      ->check(Check::range(0, 200))
      ->default_str("200");
  command->add_option("--starts", options.starts, "Jobs whose start is timed, in each of two ways")
      ->check(Check::range(1, 10'000))
      ->default_str("200");
  command
      ->add_option("--batch", options.batch,
                   "Factor on the run times of the batch that the daemon and the simulator both "
                   "run; 0: no batch")
      ->check(number_from(0, 1000))
      ->default_str("1");
  command
      ->add_option("--folder", options.folder_given,
                   "Where the daemon keeps its state, on the disk to be measured; by default "
                   "$TMPDIR or /tmp")
      ->check(not_empty());
  add_json(*command, options.json);
}

}  // namespace cleave::cli
