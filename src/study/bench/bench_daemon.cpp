#include "study/bench/bench_daemon.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <sstream>
#include <thread>

#include "api/time_text.hpp"
#include "base/format.hpp"
#include "base/json.hpp"
#include "study/bench/daemon_batch.hpp"
#include "study/bench/daemon_process.hpp"
#include "study/bench/kept_connections.hpp"

namespace cleave {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;
using std::chrono::nanoseconds;

namespace {

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

double per_second(std::size_t count, Clock::time_point since) {
  return static_cast<double>(count) / std::chrono::duration<double>(Clock::now() - since).count();
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
    const auto begin = Clock::now();
    if (::write(number, page.data(), page.size()) < 0 || ::fdatasync(number) != 0) break;
    times.push_back(Clock::now() - begin);
  }
  ::close(number);
  ::unlink(file.c_str());
  return spread(times);
}

class Bench {
 public:
  Bench(const DaemonBenchOptions& options, const std::function<void(const std::string&)>& tell)
      : options_(options), tell_(tell) {}

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
    const auto begin = Clock::now();
    auto taken = (*connections)->post_all("/v1/jobs", count, [&](std::size_t) { return body; });
    if (!taken) return std::unexpected(taken.error());
    const double rate = per_second(count, begin);
    if (times != nullptr) *times = std::move(*taken);
    return rate;
  }

  Result<void> submits() {
    tell_(fmt::format("{} submissions over {} connections", options_.jobs, options_.connections));
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
      const auto begin = Clock::now();
      if (const auto ran = run_to_end(command, false); !ran) return std::unexpected(ran.error());
      times.push_back(ms(Clock::now() - begin));
    }
    return spread(times).median_ms;
  }

  Result<void> lists(Stand& stand) {
    tell_("lists of them");
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
    tell_(fmt::format("the start of {} jobs", 2 * options_.starts));
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
    tell_(fmt::format("{} submissions with {} who follow events, of whom {} never read", count,
                      options_.subscribers, stuck));
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
    if (options_.batch_seconds <= 0) return {};
    tell_("a batch, and the same in the simulator");
    const auto ran = run_daemon_batch({options_.programs, options_.folder, options_.batch_seconds});
    if (!ran) return std::unexpected(ran.error());
    bench_.batch = DaemonBench::Batch{ran->jobs, ran->makespan_s, ran->simulated_s};
    return {};
  }

  const DaemonBenchOptions& options_;
  const std::function<void(const std::string&)>& tell_;
  DaemonBench bench_;
};

}  // namespace

Result<DaemonBench> bench_daemon(const DaemonBenchOptions& options,
                                 const std::function<void(const std::string&)>& tell) {
  return Bench(options, tell).run();
}

}  // namespace cleave
