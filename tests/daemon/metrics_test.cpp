// The metrics of a real daemon, read by Prometheus's own programs: what it serves, the rules of
// alerts, and the board, of which every panel has data.

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <boost/asio/io_context.hpp>
#include <cmath>
#include <fstream>
#include <thread>

#include "base/format.hpp"
#include "base/places_test.hpp"
#include "base/text.hpp"
#include "daemon/http/raw_client_test.hpp"
#include "daemon/metrics/metrics_listener.hpp"
#include "daemon_stand.hpp"

namespace cleave::whole {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

const char* missing_prometheus = "Prometheus is missing: tools/setup.sh test installs it";

bool has_program(const std::string& name) {
  return testing_program::shell("command -v " + name).exit_code == 0;
}

/// One that nobody has now.
std::uint16_t free_port() {
  const Descriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof at;
  if (::bind(socket.number(), reinterpret_cast<sockaddr*>(&at), size) != 0) return 0;
  ::getsockname(socket.number(), reinterpret_cast<sockaddr*>(&at), &size);
  return ntohs(at.sin_port);
}

/// GET over TCP on loopback; all that comes, or nothing.
std::string get_over_tcp(std::uint16_t port, const std::string& target) {
  const Descriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_port = htons(port);
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(socket.number(), reinterpret_cast<sockaddr*>(&at), sizeof at) != 0) return {};
  const timeval patience{10, 0};
  ::setsockopt(socket.number(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  const std::string ask =
      fmt::format("GET {} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", target);
  if (::send(socket.number(), ask.data(), ask.size(), MSG_NOSIGNAL) < 0) return {};
  std::string all;
  char piece[65536];
  for (ssize_t got = 0; (got = ::recv(socket.number(), piece, sizeof piece, 0)) > 0;)
    all.append(piece, static_cast<std::size_t>(got));
  return all;
}

std::string page_of(const DaemonStand& stand) {
  const auto reply = RawClient(stand.socket()).ask("GET", "/metrics");
  return reply && reply->status == 200 ? reply->body : "";
}

std::size_t series_of(const std::string& page) {
  std::size_t count = 0;
  for (const std::string_view line : split(page, '\n'))
    count += !line.empty() && !line.starts_with('#') ? 1U : 0U;
  return count;
}

/// The value of this series; NaN where it is not there.
double value_of(const std::string& page, const std::string& series) {
  const std::string all = "\n" + page;
  const std::size_t at = all.find("\n" + series + " ");
  if (at == std::string::npos) return std::nan("");
  return std::atof(all.c_str() + at + series.size() + 2);
}

Json job_of(const std::string& profile, const std::vector<std::string>& arguments) {
  Json command = Json::array({binary_dir() + "/bin/cleave-job"});
  for (const std::string& each : arguments) command.push_back(each);
  return Json{{"command", command},
              {"environment", Json::array()},
              {"directory", "/"},
              {"name", "a name that no metric has"},
              {"application", "secret-application"},
              {"profile", profile}};
}

std::int64_t submit_job(DaemonStand& stand, const Json& job) {
  const auto answer = stand.ask("POST", "/v1/jobs", job.dump());
  EXPECT_TRUE(answer) << answer.error().text();
  return answer ? (*answer)["id"].get<std::int64_t>() : 0;
}

/// A certificate for loopback, its key, and a file of passwords.
struct Secrets {
  explicit Secrets(const std::string& folder)
      : certificate(folder + "/crt"), key(folder + "/key"), passwords(folder + "/passwords") {
    const auto made = testing_program::shell(
        fmt::format("openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes "
                    "-days 2 -subj /CN=localhost -addext subjectAltName=IP:127.0.0.1 -keyout {} "
                    "-out {}",
                    key, certificate));
    made_ = made.exit_code == 0;
    std::ofstream(passwords) << "prometheus:a long password\n";
    ::chmod(passwords.c_str(), 0600);
  }
  [[nodiscard]] bool made() const { return made_; }
  std::string certificate, key, passwords;

 private:
  bool made_ = false;
};

/// Debian's Prometheus, on loopback with its data in a folder of its own.
class Prometheus {
 public:
  Prometheus(const std::string& folder, const std::string& config) : port_(free_port()) {
    const std::string file = folder + "/prometheus.yml", log = folder + "/prometheus.log";
    std::ofstream(file) << config;
    std::vector<std::string> words = {
        "prometheus", "--config.file=" + file, "--storage.tsdb.path=" + folder + "/tsdb",
        fmt::format("--web.listen-address=127.0.0.1:{}", port_), "--log.level=warn"};
    std::vector<char*> arguments;
    for (std::string& each : words) arguments.push_back(each.data());
    arguments.push_back(nullptr);
    pid_ = ::fork();
    if (pid_ != 0) return;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    const int out = ::open(log.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    ::dup2(out, 1);
    ::dup2(out, 2);
    ::execvp(arguments[0], arguments.data());
    ::_exit(127);
  }
  ~Prometheus() {
    ::kill(pid_, SIGTERM);
    ::waitpid(pid_, nullptr, 0);
  }
  Prometheus(const Prometheus&) = delete;
  Prometheus& operator=(const Prometheus&) = delete;

  /// The result of an instant query; an empty list where there is none.
  [[nodiscard]] Json query(const std::string& text) const {
    std::string escaped;
    for (const char each : text)
      escaped += fmt::format("%{:02X}", static_cast<unsigned char>(each));
    const std::string answer = get_over_tcp(port_, "/api/v1/query?query=" + escaped);
    const std::size_t begin = answer.find('{'), end = answer.rfind('}');
    if (begin == std::string::npos || end == std::string::npos) return Json::array();
    const Json parsed = Json::parse(answer.substr(begin, end - begin + 1), nullptr, false);
    if (!parsed.is_object() || parsed.value("status", "") != "success") {
      ADD_FAILURE() << text << ": " << answer;
      return Json::array();
    }
    return parsed["data"]["result"];
  }
  [[nodiscard]] bool has_data(const std::string& text) const {
    const Json result = query(text);
    return std::ranges::any_of(
        result, [](const Json& each) { return each["value"][1].get<std::string>() != "NaN"; });
  }

 private:
  std::uint16_t port_;
  pid_t pid_ = -1;
};

/// What dcgm-exporter would say of the instances of these metrics, served as it serves it.
class DcgmStandIn {
 public:
  DcgmStandIn() {
    auto opened =
        MetricsListener::open(loop_, {"127.0.0.1:0", "", "", ""},
                              {[this] { return std::atomic_load(&text_); }, [] { return true; }});
    if (!opened) throw std::runtime_error(opened.error().text());
    listener_ = std::move(*opened);
    thread_ = std::thread([this] { loop_.run(); });
  }
  ~DcgmStandIn() {
    loop_.stop();
    thread_.join();
  }
  DcgmStandIn(const DcgmStandIn&) = delete;
  DcgmStandIn& operator=(const DcgmStandIn&) = delete;

  void follow(const std::string& metrics) {
    std::string text = "# TYPE DCGM_FI_DEV_FB_USED gauge\n";
    for (const std::string_view line : split(metrics, '\n')) {
      constexpr std::string_view info = "cleave_instance_info{";
      if (!line.starts_with(info)) continue;
      const std::string_view labels = line.substr(info.size(), line.find(",gpu=") - info.size());
      text += fmt::format("DCGM_FI_DEV_FB_USED{{{},device=\"nvidia0\"}} 1234\n", labels);
    }
    std::atomic_store(&text_, std::make_shared<const std::string>(text));
  }
  [[nodiscard]] std::string target() const {
    const std::string url = listener_->url();
    return url.substr(7, url.rfind('/') - 7);
  }

 private:
  boost::asio::io_context loop_;
  std::shared_ptr<const std::string> text_ = std::make_shared<const std::string>();
  std::unique_ptr<MetricsListener> listener_;
  std::thread thread_;
};

StandOptions options_with(const std::string& gpus, const std::string& config) {
  StandOptions options;
  options.gpus = gpus;
  options.config = "look_every_s = 0.2\n" + config;
  return options;
}

TEST(DaemonMetrics, FollowWhatHappens) {
  DaemonStand stand(options_with("2xA100-40GB", ""));
  EXPECT_EQ(value_of(page_of(stand), "cleave_gpus{state=\"ready\"}"), 2);
  const std::int64_t job = submit_job(stand, job_of("3g.20gb", {"--seconds", "2", "--quiet"}));
  ASSERT_TRUE(stand.wait_for_state(job, "running"));
  std::string page;
  EXPECT_TRUE(stand.wait_until([&] {
    page = page_of(stand);
    return value_of(page, "cleave_jobs{state=\"running\"}") == 1 &&
           page.contains(fmt::format("job_number=\"{}\"", job));
  })) << page;
  EXPECT_EQ(value_of(page, "cleave_instances{profile=\"3g.20gb\",state=\"held\"}"), 1);
  EXPECT_EQ(value_of(page, "cleave_instance_changes_total{change=\"create\",result=\"done\"}"), 1);
  EXPECT_FALSE(page.contains("secret-application") || page.contains("a name that no metric has"));
  stand.over(job);
  EXPECT_TRUE(stand.wait_until([&] {
    page = page_of(stand);
    return value_of(page, "cleave_jobs_ended_total{state=\"finished\"}") == 1;
  })) << page;
  EXPECT_EQ(value_of(page, "cleave_job_turnaround_seconds_count"), 1);
  EXPECT_EQ(value_of(page, "cleave_job_wait_seconds_count"), 1);
  EXPECT_EQ(value_of(page, "cleave_attempts_ended_total{end=\"ended-itself\"}"), 1);
  EXPECT_GT(value_of(page, "cleave_decision_duration_seconds_count"), 0);
  EXPECT_GT(value_of(page, "cleave_store_write_duration_seconds_count"), 0);
  EXPECT_GT(value_of(page, "cleave_store_size_bytes"), 0);
}

TEST(DaemonMetrics, JobsAddNoSeries) {
  DaemonStand stand(options_with("4xA100-40GB", ""));
  ASSERT_TRUE(stand.ask("POST", "/v1/pause"));
  const std::size_t before = series_of(page_of(stand));
  Json all = Json::array();
  for (int i = 0; i < 1000; ++i) {
    Json job = job_of("1g.5gb", {"--seconds", "1"});
    job["name"] = fmt::format("job {}", i);
    job["application"] = fmt::format("application {}", i);
    all.push_back(job);
  }
  const auto taken = stand.ask("POST", "/v1/submissions", Json{{"submissions", all}}.dump());
  ASSERT_TRUE(taken) << taken.error().text();
  std::string page;
  EXPECT_TRUE(stand.wait_until([&] {
    page = page_of(stand);
    return value_of(page, "cleave_queue_jobs{reason=\"paused\"}") == 1000;
  })) << page;
  EXPECT_EQ(series_of(page), before);
  fmt::print("{} series of 4 GPUs with 1,000 jobs, {} bytes\n", before, page.size());
  // Why each waits takes the scheduler's word when it is not paused.
  ASSERT_TRUE(stand.ask("POST", "/v1/resume"));
  const auto spent = [&] { return value_of(page, "cleave_metrics_page_duration_seconds_sum"); };
  EXPECT_TRUE(stand.wait_until([&] {
    page = page_of(stand);
    return value_of(page, "cleave_queue_jobs{reason=\"room\"}") > 900;
  })) << page;
  const double first = spent();
  EXPECT_TRUE(stand.wait_until([&] {
    page = page_of(stand);
    return spent() > first;
  }));
  fmt::print("a page of jobs that wait for room takes {:.2f} ms\n", 1000 * (spent() - first));
  EXPECT_LT(series_of(page), before + 28 + 40) << "instances, and profiles that there are now";
}

TEST(DaemonMetrics, PromtoolHasNoComplaint) {
  if (!has_program("promtool")) GTEST_SKIP() << missing_prometheus;
  DaemonStand stand(options_with("1xA100-40GB,1xH100-80GB-SXM5", ""));
  stand.over(submit_job(stand, job_of("1g.5gb", {"--seconds", "0.2", "--quiet"})));
  const std::string file = stand.path("page");
  std::ofstream(file) << page_of(stand);
  const auto metrics = testing_program::shell("promtool check metrics < " + file);
  EXPECT_EQ(metrics.exit_code, 0) << metrics.out << metrics.err;
  EXPECT_EQ(metrics.out + metrics.err, "");
  const auto rules =
      testing_program::shell("promtool check rules packaging/monitoring/cleave.rules.yml");
  EXPECT_EQ(rules.exit_code, 0) << rules.out << rules.err;
  const auto alerts =
      testing_program::shell("promtool test rules tests/daemon/cleave.rules.test.yml");
  EXPECT_EQ(alerts.exit_code, 0) << alerts.out << alerts.err;
}

/// What the board asks, as Grafana would ask it.
std::vector<std::pair<std::string, std::string>> queries_of_board() {
  const Json board = Json::parse(text_of(source_dir() + "/packaging/monitoring/cleave-board.json"));
  std::vector<std::pair<std::string, std::string>> all;
  for (const Json& panel : board["panels"]) {
    if (!panel.contains("targets")) continue;
    for (const Json& target : panel["targets"]) {
      std::string text = target["expr"].get<std::string>();
      for (const auto& [variable, value] : {std::pair("$__rate_interval", "30s"), {"$node", ".*"}})
        for (std::size_t at = 0; (at = text.find(variable)) != std::string::npos;)
          text.replace(at, std::string_view(variable).size(), value);
      all.emplace_back(panel["title"].get<std::string>(), text);
    }
  }
  return all;
}

/// Jobs come, some fail, and instances are made, until Prometheus has seen enough of it.
void live_a_little(DaemonStand& stand, DcgmStandIn& dcgm) {
  const auto until = Clock::now() + 12s;
  for (int i = 0; Clock::now() < until; ++i) {
    submit_job(stand, job_of(i % 3 == 0 ? "2g.20gb" : "1g.10gb",
                             {"--phases", i % 2 == 0 ? "cpu=2" : "cpu=1.5", "--quiet"}));
    if (i % 4 == 0) submit_job(stand, job_of("1g.10gb", {"--no-such-option"}));
    dcgm.follow(page_of(stand));
    std::this_thread::sleep_for(500ms);
  }
}

TEST(DaemonMetrics, EveryPanelOfTheBoardHasDataInARealPrometheus) {
  if (!has_program("prometheus")) GTEST_SKIP() << missing_prometheus;
  TemporaryFolder folder(quick_folder());
  const Secrets secrets(folder.path().string());
  if (!secrets.made()) GTEST_SKIP() << "the program openssl is missing";
  const std::uint16_t port = free_port();
  DaemonStand stand(options_with(
      "2xH100-80GB-SXM5", fmt::format("metrics = \"127.0.0.1:{}\"\nmetrics_certificate = \"{}\"\n"
                                      "metrics_key = \"{}\"\nmetrics_credentials = \"{}\"\n",
                                      port, secrets.certificate, secrets.key, secrets.passwords)));
  EXPECT_TRUE(
      stand.log().contains(fmt::format("metrics are at https://127.0.0.1:{}/metrics", port)))
      << stand.log();
  DcgmStandIn dcgm;
  const Prometheus prometheus(
      folder.path().string(),
      fmt::format("global: {{scrape_interval: 1s, evaluation_interval: 1s}}\n"
                  "rule_files: [{}/packaging/monitoring/cleave.rules.yml]\n"
                  "scrape_configs:\n"
                  "  - job_name: cleave\n    scheme: https\n    tls_config: {{ca_file: {}}}\n"
                  "    basic_auth: {{username: prometheus, password: a long password}}\n"
                  "    static_configs: [{{targets: [\"127.0.0.1:{}\"]}}]\n"
                  "  - job_name: stranger\n    scheme: https\n    tls_config: {{ca_file: {}}}\n"
                  "    basic_auth: {{username: prometheus, password: wrong}}\n"
                  "    static_configs: [{{targets: [\"127.0.0.1:{}\"]}}]\n"
                  "  - job_name: dcgm\n    static_configs: [{{targets: [\"{}\"]}}]\n",
                  source_dir(), secrets.certificate, port, secrets.certificate, port,
                  dcgm.target()));
  ASSERT_TRUE(stand.wait_until([&] { return prometheus.has_data("up{job=\"cleave\"} == 1"); }))
      << text_of(folder.path().string() + "/prometheus.log");
  live_a_little(stand, dcgm);
  EXPECT_TRUE(prometheus.has_data("up{job=\"stranger\"} == 0")) << "a wrong password";
  const auto queries = queries_of_board();
  EXPECT_GT(queries.size(), 40U);
  for (const auto& [panel, query] : queries)
    EXPECT_TRUE(prometheus.has_data(query)) << panel << ": " << query;
  EXPECT_TRUE(prometheus.query("ALERTS{severity!=\"info\",alertname!=\"CleaveJobsFail\"}").empty())
      << prometheus.query("ALERTS").dump();
  const auto limit = fmt::format("scrape_samples_scraped{{job=\"cleave\"}} < 400");
  EXPECT_TRUE(prometheus.has_data(limit));
}

TEST(DaemonMetrics, WhatAConfigurationMeansIsSaidBeforehand) {
  TemporaryFolder folder;
  const std::string file = (folder.path() / "c.toml").string();
  const auto check = [&](const std::string& text) {
    std::ofstream(file) << "managed_gpus = [0]\n" << text;
    return testing_program::shell("cleaved --check-config " + file);
  };
  const auto open = check("metrics = \"0.0.0.0:9844\"\n");
  EXPECT_EQ(open.exit_code, 0) << open.err;
  EXPECT_TRUE(open.out.contains("anybody who reaches 0.0.0.0:9844 can read the metrics"))
      << open.out;
  EXPECT_FALSE(check("metrics = \"127.0.0.1:9844\"\n").out.contains("anybody"));
  const auto wrong = check("metrics = \"localhost\"\n");
  EXPECT_NE(wrong.exit_code, 0);
  EXPECT_TRUE(wrong.err.contains("is not an address with a port")) << wrong.err;
  EXPECT_NE(check("metrics_credentials = \"/etc/passwd\"\n").exit_code, 0);
}

/// Submissions for this long over several connections; how many a second.
double submissions_a_second(const DaemonStand& stand, std::chrono::milliseconds time) {
  std::atomic<std::int64_t> count = 0;
  const std::string body = job_of("7g.40gb", {"--seconds", "1"}).dump();
  const auto begun = Clock::now();
  std::vector<std::thread> clients;
  for (int i = 0; i < 8; ++i)
    clients.emplace_back([&] {
      RawClient client(stand.socket());
      while (Clock::now() < begun + time) {
        const auto reply = client.ask("POST", "/v1/jobs", body);
        if (!reply || reply->status != 201) return;
        ++count;
      }
    });
  for (std::thread& each : clients) each.join();
  return static_cast<double>(count) / std::chrono::duration<double>(Clock::now() - begun).count();
}

/// Fifty scrapes a second as long as it lives.
class Scrapers {
 public:
  explicit Scrapers(std::uint16_t port) {
    thread_ = std::thread([this, port] {
      for (auto next = Clock::now(); !end_; next += 20ms) {
        std::this_thread::sleep_until(next);
        count += get_over_tcp(port, "/metrics").contains("cleave_build_info") ? 1 : 0;
      }
    });
  }
  ~Scrapers() {
    end_ = true;
    thread_.join();
  }
  Scrapers(const Scrapers&) = delete;
  Scrapers& operator=(const Scrapers&) = delete;
  std::atomic<std::int64_t> count = 0;

 private:
  std::atomic<bool> end_ = false;
  std::thread thread_;
};

TEST(DaemonMetrics, FiftyScrapesASecondDoNotSlowSubmissions) {
  const bool whole = std::getenv("CLEAVE_LONG") != nullptr;
  const int rounds = whole ? 10 : 2;
  const auto time = whole ? std::chrono::milliseconds(1000) : std::chrono::milliseconds(200);
  const std::uint16_t port = free_port();
  DaemonStand stand(options_with(
      "4xA100-40GB", fmt::format("metrics = \"127.0.0.1:{}\"\nmost_waiting = 1000000\n", port)));
  ASSERT_TRUE(stand.ask("POST", "/v1/pause"));
  std::int64_t scrapes = 0;
  double with = 0, without = 0;
  submissions_a_second(stand, time);
  for (int i = 0; i < rounds; ++i) {
    // The queue grows, so that what comes second is slower: by turns.
    const auto alone = [&] { return submissions_a_second(stand, time); };
    const auto scraped = [&] {
      Scrapers scrapers(port);
      const double rate = submissions_a_second(stand, time);
      scrapes += scrapers.count;
      return rate;
    };
    const double first = i % 2 == 0 ? alone() : scraped();
    const double second = i % 2 == 0 ? scraped() : alone();
    without += i % 2 == 0 ? first : second;
    with += i % 2 == 0 ? second : first;
  }
  const double ratio = without / with;
  const std::string page = page_of(stand);
  fmt::print(
      "{:.0f} submissions a second without, {:.0f} with {} scrapes: ratio {:.3f}; a page takes "
      "{:.2f} ms with {:.0f} jobs\n",
      without / rounds, with / rounds, scrapes, ratio,
      1000 * value_of(page, "cleave_metrics_page_duration_seconds_sum") /
          value_of(page, "cleave_metrics_page_duration_seconds_count"),
      value_of(page, "cleave_jobs{state=\"queued\"}"));
  EXPECT_GT(scrapes, 0);

  EXPECT_LE(ratio, whole ? 1.05 : 4.0) << "CLEAVE_LONG=1 is what counts";
}

}  // namespace
}  // namespace cleave::whole
