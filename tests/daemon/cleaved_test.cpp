// The program cleaved itself, on simulated GPUs of its own.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <thread>

#include "../cli/program.hpp"
#include "base/json.hpp"
#include "base/places_test.hpp"
#include "daemon/http/raw_client_test.hpp"
#include "runner/descriptor.hpp"

namespace cleave {
namespace {

using Ms = std::chrono::milliseconds;
using testing_program::shell;

/// A state of its own, and the daemons that run on it, one after the other.
class DaemonStand {
 public:
  ~DaemonStand() {
    if (pid_ > 0) {
      cancel_all();
      end(SIGTERM);
    }
  }
  [[nodiscard]] std::string path(const char* name) const {
    return (folder_.path() / name).string();
  }
  [[nodiscard]] std::string log() const {
    std::ostringstream text;
    text << std::ifstream(path("log")).rdbuf();
    return text.str();
  }
  void write(const char* name, const std::string& text) const { std::ofstream(path(name)) << text; }

  std::vector<std::string> arguments(const std::string& gpus = "1xA100-40GB") const {
    return {binary_dir() + "/bin/cleaved",
            "--simulate",
            gpus,
            "--instant",
            "--state",
            path("state"),
            "--socket",
            path("run/s"),
            "--config",
            path("c.toml")};
  }
  /// Starts it and waits until it answers.
  bool begin(const std::string& gpus = "1xA100-40GB", const std::vector<std::string>& more = {}) {
    // Without another scheduler one that gives each job no more than it asks for.
    std::ostringstream text;
    text << std::ifstream(path("c.toml")).rdbuf();
    const std::string config = text.str();
    if (!config.contains("scheduler")) write("c.toml", "scheduler = \"online\"\n" + config);
    auto words = arguments(gpus);
    words.insert(words.end(), more.begin(), more.end());
    pid_ = start(words);
    return until([&] { return RawClient(path("run/s")).connected(); }) &&
           ask("GET", "/healthz") != nullptr;
  }
  /// What it says goes there, or into the file `log`.
  void log_to(int descriptor) { log_ = descriptor; }
  pid_t start(const std::vector<std::string>& words) const {
    const pid_t pid = ::fork();
    if (pid != 0) return pid;
    const int out =
        log_ >= 0 ? log_ : ::open(path("log").c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
    ::dup2(out, 1);
    ::dup2(out, 2);
    ::setenv("NOTIFY_SOCKET", path("notify").c_str(), 1);
    std::vector<char*> argv;
    for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
    argv.push_back(nullptr);
    ::execv(argv[0], argv.data());
    ::_exit(127);
  }
  static int ended(pid_t pid) {
    int status = 0;
    for (int i = 0; i < 4000; ++i, std::this_thread::sleep_for(Ms(5)))
      if (::waitpid(pid, &status, WNOHANG) == pid)
        return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    ::kill(pid, SIGKILL);
    ::waitpid(pid, &status, 0);
    return -1;
  }
  int end(int signal) {
    ::kill(pid_, signal);
    return ended(std::exchange(pid_, 0));
  }
  void signal(int number) const { ::kill(pid_, number); }

  Json ask(const char* method, const std::string& target, const std::string& body = {}) const {
    RawClient client(path("run/s"));
    const auto reply = client.ask(method, target, body);
    if (!reply) return nullptr;
    Json answer = Json::parse(reply->body, nullptr, false);
    return answer.is_discarded() ? Json(reply->body) : answer;
  }
  std::int64_t submit(const std::string& script) const {
    const Json job = ask("POST", "/v1/jobs",
                         Json{{"command", {"sh", "-c", script}},
                              {"environment", {"PATH=/usr/bin:/bin"}},
                              {"directory", "/"}}
                             .dump());
    return job.contains("id") ? job["id"].get<std::int64_t>() : 0;
  }
  template <class Test>
  static bool until(Test test) {
    for (int i = 0; i < 4000; ++i, std::this_thread::sleep_for(Ms(5)))
      if (test()) return true;
    return false;
  }
  [[nodiscard]] std::string state_of(std::int64_t job) const {
    return ask("GET", fmt::format("/v1/jobs/{}", job)).value("state", "");
  }

 private:
  /// Jobs outlive the daemon; none is to outlive the test.
  void cancel_all() const {
    const Json answer = ask("GET", "/v1/jobs");
    if (!answer.contains("jobs")) return;
    for (const Json& job : answer["jobs"])
      ask("POST", fmt::format("/v1/jobs/{}/cancel", job["id"].get<std::int64_t>()));
    until([&] { return ask("GET", "/v1/jobs")["jobs"].empty(); });
  }
  TemporaryFolder folder_;
  pid_t pid_ = 0;
  int log_ = -1;
};

TEST(Cleaved, RunsAJobAndEndsWhenTold) {
  DaemonStand stand;
  const Descriptor notify(::socket(AF_UNIX, SOCK_DGRAM, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string path = stand.path("notify");
  std::memcpy(address.sun_path, path.data(), path.size());
  ASSERT_EQ(::bind(notify.number(), reinterpret_cast<const sockaddr*>(&address), sizeof address),
            0);
  ASSERT_TRUE(stand.begin()) << stand.log();
  const auto job = stand.submit("echo out; echo err >&2; echo $CUDA_VISIBLE_DEVICES; exit 3");
  ASSERT_EQ(job, 1) << stand.log();
  const Json over = stand.ask("GET", "/v1/jobs/1/wait?timeout_s=60");
  EXPECT_EQ(over["state"], "failed") << over;
  EXPECT_EQ(over["exit_code"], 3);
  RawClient client(stand.path("run/s"));
  const auto output = client.ask("GET", "/v1/jobs/1/logs?wait_s=30");
  ASSERT_TRUE(output);
  EXPECT_TRUE(output->body.starts_with("out\nMIG-")) << output->body;
  EXPECT_EQ(output->header("Cleave-Over"), "true");
  EXPECT_EQ(client.ask("GET", "/v1/jobs/1/logs?stream=stderr")->body, "err\n");
  EXPECT_EQ(stand.end(SIGTERM), 0);
  EXPECT_NE(::access(stand.path("run/s").c_str(), F_OK), 0) << "the socket is gone";
  char told[64];
  const ssize_t got = ::recv(notify.number(), told, sizeof told, MSG_DONTWAIT);
  EXPECT_EQ(std::string(told, static_cast<std::size_t>(std::max<ssize_t>(got, 0))), "READY=1");
  EXPECT_NE(stand.log().find("manages GPU 0: NVIDIA A100"), std::string::npos) << stand.log();
  EXPECT_NE(stand.log().find("device nodes are not fenced, since "), std::string::npos);
}

TEST(Cleaved, OfRootTakesNoStateThatOthersCouldChange) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root trusts its state directory like that";
  DaemonStand stand;
  std::ofstream(stand.path("c.toml")).close();
  const std::string state = stand.path("state-of-others");
  ASSERT_EQ(::mkdir(state.c_str(), 0700), 0);
  auto elsewhere = stand.arguments();
  const auto given = std::ranges::find(elsewhere, "--state");
  ASSERT_NE(given, elsewhere.end());
  given[1] = state;
  ASSERT_EQ(::chmod(state.c_str(), 0777), 0);
  EXPECT_EQ(DaemonStand::ended(stand.start(elsewhere)), 1);
  EXPECT_NE(stand.log().find("others may write to it"), std::string::npos) << stand.log();
  ASSERT_EQ(::chmod(state.c_str(), 0700), 0);
  ASSERT_EQ(::chown(state.c_str(), 65534, 65534), 0);
  EXPECT_EQ(DaemonStand::ended(stand.start(elsewhere)), 1);
  EXPECT_NE(stand.log().find("belongs to another user (uid 65534)"), std::string::npos)
      << stand.log();
}

TEST(Cleaved, AReaderOfItsLogThatStallsStopsNothing) {
  DaemonStand stand;
  stand.write("c.toml", "server.requests_per_s = 100000.0\nserver.burst = 100000.0\n");
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const Descriptor reader(ends[0]);
  Descriptor writer(ends[1]);
  // The least that a pipe can hold: it is full at once.
  ASSERT_GT(::fcntl(writer.number(), F_SETPIPE_SZ, 4096), 0);
  stand.log_to(writer.number());
  ASSERT_TRUE(stand.begin());
  // Each drained GPU is an event, which is a line.
  for (int i = 0; i < 4000; ++i) {
    const auto answer = stand.ask("POST", i % 2 == 0 ? "/v1/gpus/0/drain" : "/v1/gpus/0/undrain");
    ASSERT_TRUE(answer.contains("uuid")) << i << answer;
  }
  EXPECT_EQ(stand.end(SIGTERM), 0) << "nor does it keep the daemon from ending";
  writer.close();
  std::string said(std::size_t{1} << 20, '\0');
  const ssize_t got = ::read(reader.number(), said.data(), said.size());
  EXPECT_GT(got, 0);
}

TEST(Cleaved, ASocketThatIsRemovedIsMadeAnew) {
  DaemonStand stand;
  ASSERT_TRUE(stand.begin());
  ASSERT_EQ(::unlink(stand.path("run/s").c_str()), 0);
  EXPECT_TRUE(stand.until([&] { return RawClient(stand.path("run/s")).connected(); }));
  EXPECT_EQ(stand.ask("GET", "/healthz")["status"], "ok");
  EXPECT_NE(stand.log().find("the socket was removed and is made anew"), std::string::npos);
  // With its folder and its lock; a signal has it look at once.
  std::filesystem::remove_all(stand.path("run"));
  stand.signal(SIGHUP);
  EXPECT_TRUE(stand.until([&] { return RawClient(stand.path("run/s")).connected(); }));
  const pid_t second = stand.start(stand.arguments());
  EXPECT_EQ(DaemonStand::ended(second), 1) << "it has the lock of that name";
  EXPECT_EQ(stand.end(SIGTERM), 0);
  EXPECT_NE(::access(stand.path("run/s").c_str(), F_OK), 0);
}

/// Everybody may make folders in /tmp, also that of another user.
TEST(Cleaved, ListensElsewhereWhereAnotherUserKeepsItsPlace) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can be two users";
  constexpr uid_t user = 61'234, another = 61'235;
  const std::string kept = fmt::format("/tmp/cleave-{}", user);
  if (::mkdir(kept.c_str(), 0755) != 0) GTEST_SKIP() << kept << " is there";
  ASSERT_EQ(::chown(kept.c_str(), another, another), 0);
  const TemporaryFolder home;
  ASSERT_EQ(::chown(home.path().c_str(), user, user), 0);
  const std::string program = binary_dir() + "/bin/cleaved", log = home.path() / "log",
                    socket = home.path() / ".local/state/cleave/run/cleaved.sock";
  const pid_t daemon = ::fork();
  if (daemon == 0) {
    ::alarm(60);
    if (::setgid(user) != 0 || ::setuid(user) != 0) ::_exit(126);
    for (const char* each : {"XDG_RUNTIME_DIR", "XDG_STATE_HOME", "CLEAVE_SOCKET"})
      ::unsetenv(each);
    ::setenv("HOME", home.path().c_str(), 1);
    ::dup2(::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600), 2);
    ::execl(program.c_str(), "cleaved", "--simulate", "1xA100-40GB", "--instant", nullptr);
    ::_exit(127);
  }
  bool over = false;
  const bool answers = DaemonStand::until([&] {
    over = ::waitpid(daemon, nullptr, WNOHANG) == daemon;
    return over || RawClient(socket).connected();
  });
  if (!over) {
    ::kill(daemon, SIGTERM);
    EXPECT_EQ(DaemonStand::ended(daemon), 0);
  }
  ::rmdir(kept.c_str());
  std::ostringstream said;
  said << std::ifstream(log).rdbuf();
  if (over && said.str().empty()) GTEST_SKIP() << "the programs lie where other users do not come";
  EXPECT_TRUE(answers && !over) << said.str();
  EXPECT_NE(said.str().find("it belongs to somebody else"), std::string::npos) << said.str();
}

TEST(Cleaved, AStoreThatIsRemovedTakesNoJob) {
  DaemonStand stand;
  ASSERT_TRUE(stand.begin());
  const std::int64_t first = stand.submit("exit 3");
  ASSERT_GT(first, 0);
  EXPECT_TRUE(stand.until([&] { return stand.state_of(first) == "failed"; }));
  const std::string job =
      Json{{"command", {"true"}}, {"environment", {"PATH=/bin"}}, {"directory", "/"}}.dump();
  for (const char* each : {"state/cleave.db", "state/cleave.db-wal", "state"}) {
    const std::string there = stand.path(each), away = stand.path("away");
    ASSERT_EQ(::rename(there.c_str(), away.c_str()), 0) << each;
    const Json refused = stand.ask("POST", "/v1/jobs", job);
    EXPECT_NE(refused.dump().find("removed or replaced"), std::string::npos) << refused;
    EXPECT_TRUE(stand.until([&] {
      const Json health = stand.ask("GET", "/healthz");
      return health["status"].get<std::string>() == "degraded" &&
             health["troubles"].dump().contains("no job is accepted");
    }));
    ASSERT_EQ(::rename(away.c_str(), there.c_str()), 0);
    EXPECT_TRUE(stand.until([&] {
      return stand.ask("GET", "/healthz")["status"].get<std::string>() == "ok";
    })) << "it is back";
  }
  EXPECT_GT(stand.submit("true"), first);
  EXPECT_EQ(stand.end(SIGTERM), 0);
}

TEST(Cleaved, IsThereOnceAndItsJobsOutliveIt) {
  DaemonStand stand;
  ASSERT_TRUE(stand.begin()) << stand.log();
  EXPECT_EQ(DaemonStand::ended(stand.start(stand.arguments())), 1) << "the socket is taken";
  EXPECT_NE(stand.log().find("another daemon"), std::string::npos) << stand.log();
  auto elsewhere = stand.arguments();
  elsewhere[7] = stand.path("run/other");
  EXPECT_EQ(DaemonStand::ended(stand.start(elsewhere)), 1) << "the state is taken";
  const std::string go = stand.path("go");
  const auto job =
      stand.submit(fmt::format("while [ ! -e '{}' ]; do sleep 0.05; done; echo done", go));
  ASSERT_TRUE(DaemonStand::until([&] { return stand.state_of(job) == "running"; })) << stand.log();
  EXPECT_EQ(stand.end(SIGKILL), 128 + SIGKILL);
  EXPECT_EQ(::access(stand.path("run/s").c_str(), F_OK), 0) << "a stale socket";
  EXPECT_EQ(DaemonStand::ended(stand.start(stand.arguments("2xA100-40GB"))), 1)
      << "other GPUs are there";
  ASSERT_TRUE(stand.begin()) << stand.log();
  EXPECT_EQ(stand.state_of(job), "running") << "adopted";
  std::ofstream(go).close();
  EXPECT_EQ(stand.ask("GET", fmt::format("/v1/jobs/{}/wait?timeout_s=60", job))["state"],
            "finished");
  EXPECT_EQ(stand.ask("GET", fmt::format("/v1/jobs/{}", job))["attempts"], 1);
}

/// As docs/cleaved.md says: a backup is made while the daemon runs, and begun from later.
TEST(Cleaved, HasItsStoreCheckedBackedUpAndRestored) {
  DaemonStand stand;
  ASSERT_TRUE(stand.begin()) << stand.log();
  const auto cleaved = [&](const std::string& words, int code) {
    const auto outcome = shell(
        fmt::format("{}/bin/cleaved {} --state '{}'", binary_dir(), words, stand.path("state")));
    EXPECT_EQ(outcome.exit_code, code) << words << ": " << outcome.out << outcome.err;
    return outcome.out + outcome.err;
  };
  const std::string backup = stand.path("backup.db"), store = stand.path("state/cleave.db");
  EXPECT_EQ(stand.submit("exit 3"), 1);
  EXPECT_EQ(stand.ask("GET", "/v1/jobs/1/wait?timeout_s=60")["state"], "failed");
  stand.ask("POST", "/v1/pause");
  EXPECT_EQ(stand.submit("true"), 2);
  EXPECT_NE(cleaved("check", 0).find("2 jobs in"), std::string::npos);
  EXPECT_NE(cleaved("backup " + backup, 0).find("the latest job has the number 2"),
            std::string::npos);
  EXPECT_NE(cleaved("backup " + backup, 2).find("it is there already"), std::string::npos);
  EXPECT_EQ(stand.submit("true"), 3);
  EXPECT_EQ(stand.end(SIGKILL), 128 + SIGKILL);
  EXPECT_NE(cleaved("check", 0).find("3 jobs in"), std::string::npos) << "it is in the log";
  std::filesystem::remove(store + "-wal");
  std::filesystem::copy_file(backup, store, std::filesystem::copy_options::overwrite_existing);
  EXPECT_NE(cleaved("check", 1).find("job 3 was accepted and is not there"), std::string::npos);
  EXPECT_EQ(DaemonStand::ended(stand.start(stand.arguments())), 2) << "it says what is missing";
  ASSERT_TRUE(stand.begin("1xA100-40GB", {"--accept-loss"})) << stand.log();
  EXPECT_NE(stand.log().find("the loss is accepted"), std::string::npos) << stand.log();
  EXPECT_EQ(stand.ask("GET", "/v1/jobs/1")["exit_code"], 3);
  EXPECT_EQ(stand.state_of(2), "queued");
  EXPECT_EQ(stand.submit("true"), 4) << "no number is given twice";
  stand.ask("POST", "/v1/resume");
  for (const int job : {2, 4})
    EXPECT_EQ(stand.ask("GET", fmt::format("/v1/jobs/{}/wait?timeout_s=60", job))["state"],
              "finished");
  EXPECT_EQ(stand.end(SIGTERM), 0);
  cleaved("check", 0);
}

TEST(Cleaved, ReadsItsConfigurationAgain) {
  DaemonStand stand;
  stand.write("c.toml", "most_waiting = 1\n");
  ASSERT_TRUE(stand.begin()) << stand.log();
  stand.ask("POST", "/v1/pause");
  EXPECT_EQ(stand.submit("true"), 1);
  EXPECT_EQ(stand.submit("true"), 0) << "one is enough";
  stand.write("c.toml", "most_waiting = 5\nmanaged_gpus = [0]\n");
  stand.signal(SIGHUP);
  ASSERT_TRUE(DaemonStand::until([&] {
    return stand.log().find("most_waiting: 1 -> 5") != std::string::npos;
  })) << stand.log();
  EXPECT_NE(stand.log().find("(after a restart)"), std::string::npos);
  EXPECT_EQ(stand.submit("true"), 2);
  stand.write("c.toml", "most_wating = 1\n");
  stand.signal(SIGHUP);
  ASSERT_TRUE(
      DaemonStand::until([&] { return stand.log().find("is unchanged") != std::string::npos; }));
  EXPECT_NE(stand.log().find("c.toml:1: unknown key 'most_wating'"), std::string::npos)
      << stand.log();
  EXPECT_EQ(stand.submit("true"), 3);
  const auto troubles = [&] {
    const Json status = stand.ask("GET", "/v1/status");
    return status.is_object() ? status.value("troubles", Json()).dump() : status.dump();
  };
  EXPECT_NE(troubles().find("c.toml:1: unknown key 'most_wating'"), std::string::npos)
      << troubles();
  stand.write("c.toml", "most_waiting = 6\n");
  stand.signal(SIGHUP);
  EXPECT_TRUE(DaemonStand::until([&] { return troubles() == "[]"; })) << troubles();
}

/// A job of an application on a simulated instance; the keys of `more` are the submission's own.
Json run_application(const DaemonStand& stand, const std::string& application,
                     const std::string& seconds, const Json& more = Json::object()) {
  Json job{{"command",
            {"cleave-job", "--memory", "2GiB", "--phases", "cpu=" + seconds, "--iterations", "2",
             "--quiet"}},
           {"environment", {"PATH=" + binary_dir() + "/bin:/usr/bin:/bin"}},
           {"directory", "/"},
           {"application", application},
           {"batch", 64}};
  job.update(more);
  const Json taken = stand.ask("POST", "/v1/jobs", job.dump());
  EXPECT_TRUE(taken.contains("id")) << taken << stand.log();
  Json over = stand.ask("GET", fmt::format("/v1/jobs/{}/wait?timeout_s=60", taken.value("id", 0)));
  EXPECT_EQ(over["state"], "finished") << over;
  return over;
}

TEST(Cleaved, PredictsAnApplicationThatRanTwice) {
  DaemonStand stand;
  ASSERT_TRUE(stand.begin()) << stand.log();
  const Json first = run_application(stand, "sleeper", "0.8", {{"profile", "1g.5gb"}});
  EXPECT_TRUE(first["history"][0]["predicted_s"].is_null()) << "nothing is known";
  run_application(stand, "sleeper", "0.8", {{"profile", "3g.20gb"}});
  EXPECT_EQ(stand.end(SIGTERM), 0);
  ASSERT_TRUE(stand.begin()) << stand.log();
  const Json third = run_application(stand, "sleeper", "0.8");
  EXPECT_TRUE(third["asked"].get<std::string>().starts_with("sleeper, batch 64: 2")) << third;
  const Json& attempt = third["history"].back();
  EXPECT_EQ(attempt["instance"]["profile"], "1g.5gb") << "the smallest that holds the peak";
  EXPECT_EQ(attempt["predicted_by"], "measured");
  EXPECT_NEAR(attempt["predicted_s"].get<double>(), attempt["lasted_s"].get<double>(), 0.5);
  const Json predictions = stand.ask("GET", "/v1/status")["predictions"];
  ASSERT_EQ(predictions.size(), 3U) << predictions;
  EXPECT_TRUE(predictions[0]["by"].is_null());
  EXPECT_EQ(predictions[0]["count"], 2);
  EXPECT_EQ(predictions[1]["by"], "measured");
  EXPECT_LT(predictions[1]["median_error"].get<double>(), 0.6);
  EXPECT_EQ(predictions[2]["by"], "guess") << "of the second, from one profile";
  const Json learnt = stand.ask("GET", "/v1/profiles")["profiles"];
  ASSERT_EQ(learnt.size(), 2U) << learnt;
  EXPECT_EQ(learnt[0]["samples"], 2);
  EXPECT_GE(learnt[0]["peak_memory_mib"], 2048);
}

/// The counters that a job taught, which keeps three quarters of its instance busy, as the next
/// daemon has them.
Json counters_taught(const std::string& gpus, const std::string& profile) {
  DaemonStand stand;
  stand.write("c.toml", "look_every_s = 0.25\n");
  EXPECT_TRUE(stand.begin(gpus)) << stand.log();
  const Json command = {"cleave-job",   "--memory", "2GiB",   "--phases", "cpu=2",
                        "--iterations", "2",        "--busy", "0.75",     "--quiet"};
  run_application(stand, "sleeper", "2", {{"profile", profile}, {"command", command}});
  EXPECT_EQ(stand.end(SIGTERM), 0);
  EXPECT_TRUE(stand.begin(gpus)) << stand.log();
  const Json learnt = stand.ask("GET", "/v1/profiles")["profiles"];
  EXPECT_EQ(learnt.size(), 1U) << learnt;
  return learnt.empty() ? Json() : learnt[0].value("counters", Json::object());
}

TEST(Cleaved, LearnsHowBusyAnApplicationIs) {
  const Json counters = counters_taught("1xH100-80GB-SXM5", "1g.10gb");
  ASSERT_EQ(counters.size(), 4U) << counters;
  EXPECT_NEAR(counters["sm_activity"].get<double>(), 0.75, 0.25);
  for (const char* half : {"sm_occupancy", "dram_activity"})
    EXPECT_NEAR(counters[half].get<double>(), counters["sm_activity"].get<double>() / 2, 1e-6);
  EXPECT_GT(counters["tensor_activity"].get<double>(), 0);
  EXPECT_EQ(counters_taught("1xA100-40GB", "1g.5gb"), Json::object()) << "it does not count";
}

TEST(Cleaved, ProfilesOfTheOperatorDecideAndAreReadAgain) {
  DaemonStand stand;
  const auto line = [](const char* profile, double time_s, double busy) {
    return Json{{"application", "resnet"},
                {"gpu_model", "A100-40GB"},
                {"batch", 64},
                {"profile", profile},
                {"time_s", time_s},
                {"peak_memory_mib", 6000},
                {"counters", {{"sm_occupancy", busy}}}}
               .dump() +
           "\n";
  };
  stand.write("p.jsonl",
              line("2g.10gb", 110, 0.9) + line("3g.20gb", 105, 0.5) + line("7g.40gb", 100, 0.2));
  ASSERT_TRUE(stand.begin()) << stand.log();
  stand.write("c.toml", fmt::format("profiles = \"{}\"\n", stand.path("p.jsonl")));
  stand.signal(SIGHUP);
  const auto says = [&](const std::string& what) {
    return DaemonStand::until([&] { return stand.log().find(what) != std::string::npos; });
  };
  ASSERT_TRUE(says("configuration: profiles: ")) << stand.log();
  for (const bool broken : {false, true}) {
    if (broken) {
      stand.write("p.jsonl", "{");
      stand.signal(SIGHUP);
      ASSERT_TRUE(says("stay in use")) << stand.log();
      EXPECT_TRUE(says("p.jsonl:1"));
    }
    const Json over = run_application(stand, "resnet", "0.1");
    EXPECT_EQ(over["asked"], "resnet, batch 64: 2g.10gb, by measurements");
    EXPECT_EQ(over["history"][0]["instance"]["profile"], "2g.10gb");
    EXPECT_EQ(over["history"][0]["predicted_by"], "measured");
  }
  const auto checked = shell("cleaved --check-config " + stand.path("c.toml"));
  EXPECT_EQ(checked.exit_code, 2);
  EXPECT_NE(checked.err.find("p.jsonl:1"), std::string::npos) << checked.err;
  EXPECT_EQ(stand.end(SIGTERM), 0);
  EXPECT_EQ(DaemonStand::ended(stand.start(stand.arguments())), 2) << "the start refuses it";
}

TEST(Cleaved, ReportsErrorsBeforeItBegins) {
  DaemonStand stand;
  stand.write("good.toml", "most_waiting = 7\n");
  stand.write("bad.toml", "\n[server]\nconnections = \"many\"\n");
  const auto good = shell("cleaved --check-config " + stand.path("good.toml"));
  EXPECT_EQ(good.exit_code, 0) << good.err;
  EXPECT_NE(good.out.find("most_waiting: 100000 -> 7"), std::string::npos) << good.out;
  const auto bad = shell("cleaved --check-config " + stand.path("bad.toml"));
  EXPECT_EQ(bad.exit_code, 2);
  EXPECT_NE(bad.err.find("bad.toml:3: 'server.connections'"), std::string::npos) << bad.err;
  const auto none = shell("cleaved --check-config " + stand.path("none.toml"));
  EXPECT_EQ(none.exit_code, 2);
  EXPECT_NE(none.err.find("none.toml: the configuration cannot be read: No such file"),
            std::string::npos)
      << none.err;
  for (const auto& [key, value] : {std::pair("operators_group", "\"no-such-group\""),
                                   std::pair("allowed_groups", "[\"root\", \"no-such-group\"]")}) {
    stand.write("group.toml", fmt::format("{} = {}\n", key, value));
    const auto group = shell("cleaved --check-config " + stand.path("group.toml"));
    EXPECT_EQ(group.exit_code, 2);
    EXPECT_NE(
        group.err.find(fmt::format("{}: there is no group 'no-such-group'; `getent group`", key)),
        std::string::npos)
        << group.err;
  }
  EXPECT_EQ(shell("cleaved --sample-config | diff - docs/cleaved.toml").exit_code, 0);
  EXPECT_EQ(shell("cleaved --no-such-option").exit_code, 2);
  const std::string places = " --state " + stand.path("s") + " --socket " + stand.path("r/s");
  EXPECT_EQ(shell("cleaved --simulate 3xNothing" + places).exit_code, 2);
  const auto many = shell("cleaved --simulate 65xA100-40GB" + places);
  EXPECT_EQ(many.exit_code, 2);
  EXPECT_NE(many.err.find("cleaved: --simulate: 65 GPUs are more"), std::string::npos) << many.err;
  stand.write("nvml.toml", "nvml = \"/tmp\"\n");
  const auto library = shell("cleaved --check-config " + stand.path("nvml.toml"));
  EXPECT_EQ(library.exit_code, 2);
  EXPECT_NE(library.err.find("nvml.toml: nvml: /tmp: it is not a plain file"), std::string::npos)
      << library.err;
  const auto unnamed =
      shell("env -u CLEAVE_SIM_NODE cleaved --config " + stand.path("good.toml") + places);
  EXPECT_EQ(unnamed.exit_code, 2);
  EXPECT_NE(unnamed.err.find("managed_gpus names no GPU"), std::string::npos) << unnamed.err;
}

}  // namespace
}  // namespace cleave
