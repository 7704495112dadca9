// The system fails the daemon: each kind of call that a run of 50 jobs makes is failed in turn, its
// first one and others by a seed, once or for a while. No accepted job is lost, none fails for the
// host's reasons, none runs twice, and the daemon does not crash. Where it is right that it ends,
// it does so with words, and the next one finishes everything.
//
// CLEAVE_LONG=1 takes 500 positions of each kind; CLEAVE_FAULT_POSITIONS=N that many;
// CLEAVE_FAULT_ONLY=KIND:FIRST:TIMES:ERROR only this one.

#include <signal.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <map>
#include <sstream>
#include <thread>

#include "base/format.hpp"
#include "base/places_test.hpp"
#include "base/random.hpp"
#include "base/text.hpp"
#include "daemon/store/sqlite_store.hpp"
#include "daemon_stand.hpp"

namespace cleave::whole {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

long positions_of_a_kind() {
  if (const char* given = std::getenv("CLEAVE_FAULT_POSITIONS")) return std::atol(given);
  const char* long_form = std::getenv("CLEAVE_LONG");
  return long_form != nullptr && *long_form != 0 ? 500 : 0;
}

/// Few where only a sample is taken.
int jobs_of_a_run() {
  return positions_of_a_kind() > 0 || std::getenv("CLEAVE_FAULT_ONLY") != nullptr ? 50 : 12;
}

/// What fails in the way of a host that is short of something, or broken for a moment.
struct Kind {
  const char* name;
  std::vector<int> errors;
};
const std::vector<Kind> kinds = {
    {"open", {EMFILE, ENFILE, ENOMEM, EIO, EINTR}},
    {"write", {ENOSPC, EDQUOT, EIO, EINTR, EAGAIN}},
    {"sync", {EIO, ENOSPC, EDQUOT}},
    {"name", {ENOSPC, EDQUOT, EIO, ENOMEM}},
    {"start", {EAGAIN, ENOMEM}},
    {"descriptor", {EMFILE, ENFILE, ENOMEM, EINTR}},
    {"read", {EIO, EINTR, ENOMEM}},
    {"map", {ENOMEM, EAGAIN}},
    {"lock", {EINTR, ENOLCK}},
    {"look", {ENOMEM, EIO}},
    {"sqlite-memory", {ENOMEM}},
};

/// Calls that fail: of a kind, from the first on, so many.
struct Fault {
  std::string kind;
  long first = 0, times = 0;
  int error = 0;
  [[nodiscard]] std::string text() const {
    return fmt::format("{}:{}:{}:{}", kind, first, times, error);
  }
};

std::string library() {
  return binary_dir() + "/lib/cleave-test-faults/failing-calls.so";
}

class Injection {
 public:
  Injection() : stand_(options()), folder_(stand_.path("jobs-wrote")) {
    ::mkdir(folder_.c_str(), 0755);
    EXPECT_EQ(stand_.stop(), 0);
  }

  /// A run with this fault, or none; checks everything.
  void run(const std::optional<Fault>& fault) {
    const testing::ScopedTrace trace(__FILE__, __LINE__, fault ? fault->text() : "no fault");
    fault_ = fault;
    ends_ = 0;
    wanted_.clear();
    std::ofstream(stand_.path("log"), std::ios::trunc);
    start_with_fault();
    submit_all();
    finish();
    check_health();
    end();
    check_store();
  }
  /// How many calls of each kind the latest run made.
  [[nodiscard]] std::map<std::string, long> counts() const {
    std::map<std::string, long> found;
    std::istringstream lines(text_of(stand_.path("counts")));
    std::string kind;
    for (long count = 0; lines >> kind >> count;) found[kind] = count;
    return found;
  }
  [[nodiscard]] long ends() const { return ends_; }
  [[nodiscard]] std::string log() const { return stand_.log(); }

 private:
  static StandOptions options() {
    StandOptions options;
    options.config =
        "keep_idle_s = 0.3\nlook_every_s = 0.5\nserver.requests_per_s = 100000.0\n"
        "server.burst = 100000.0\n";
    return options;
  }

  void start_with_fault() {
    std::vector<std::string> environment = {"LD_PRELOAD=" + library(),
                                            "CLEAVE_FAULT_COUNTS=" + stand_.path("counts")};
    if (fault_) environment.push_back("CLEAVE_FAULT=" + fault_->text());
    stand_.start(environment);
    go_on();
  }

  /// Where it ended, it said why; another one begins, whose calls do not fail.
  void go_on() {
    if (stand_.wait_until_ready()) return;
    const int code = stand_.wait_for_end(milliseconds(0));
    ++ends_;
    EXPECT_TRUE(code == 1 || code == 2) << "it crashed, or hangs: " << code << "\n" << stand_.log();
    EXPECT_NE(stand_.log().find("cleaved: "), std::string::npos) << "without a word";
    EXPECT_EQ(stand_.log().find("internal error"), std::string::npos) << stand_.log();
    stand_.kill();
    stand_.start();
    ASSERT_TRUE(stand_.wait_until_ready()) << stand_.log();
  }

  [[nodiscard]] std::string document(int code, const std::string& name) const {
    // No other job has this instance meanwhile.
    const std::string script = fmt::format(
        "exec 9>\"{0}/lock-$CUDA_VISIBLE_DEVICES\"; flock -n 9 || echo doubly >>{0}/{1}; "
        "echo begin >>{0}/{1}; exit {2}",
        folder_, name, code);
    return Json{{"command", {"sh", "-c", script}},
                {"environment", {"PATH=/usr/local/bin:/usr/bin:/bin"}},
                {"directory", "/"},
                {"profile", "1g.5gb"},
                {"name", name}}
        .dump();
  }

  /// Until so many were accepted. One without an answer may have been accepted as well.
  void submit_all() {
    const auto until = std::chrono::steady_clock::now() + seconds(20);
    for (int accepted = 0; accepted < jobs_of_a_run();) {
      const std::string name = fmt::format("job-{}", ++last_name_);
      const int code = accepted % 3;
      const auto answer = stand_.ask("POST", "/v1/jobs", document(code, name));
      wanted_[name] = {code, answer.has_value()};
      if (answer) ++accepted;
      if (!answer && !stand_.runs()) go_on();
      ASSERT_LT(std::chrono::steady_clock::now(), until)
          << "jobs are not accepted any more: " << (answer ? "" : answer.error().text());
      if (!answer) std::this_thread::sleep_for(milliseconds(20));
    }
  }

  void finish() {
    const auto until = std::chrono::steady_clock::now() + seconds(60);
    while (true) {
      if (!stand_.runs()) go_on();
      const auto live = stand_.ask("GET", "/v1/jobs?user=all");
      if (live && (*live)["jobs"].empty()) return;
      ASSERT_LT(std::chrono::steady_clock::now(), until)
          << "jobs do not end: " << (live ? live->dump(1) : live.error().text()) << stand_.log();
      std::this_thread::sleep_for(milliseconds(20));
    }
  }

  void check_health() {
    std::string health;
    EXPECT_TRUE(stand_.wait_until([&] {
      if (!stand_.runs()) go_on();
      const auto answer = stand_.ask("GET", "/healthz");
      health = answer ? answer->dump() : answer.error().text();
      return answer && (*answer)["status"] == "ok";
    })) << "the trouble does not pass: "
        << health;
    EXPECT_TRUE(stand_.wait_until([&] { return stand_.processes_of_jobs().empty(); }));
    EXPECT_TRUE(stand_.wait_until([&] { return stand_.instances().empty(); }))
        << fmt::format("{}", fmt::join(stand_.instances(), " ")) << stand_.log();
  }

  void end() {
    if (!stand_.runs()) return;
    const int code = stand_.stop();
    EXPECT_TRUE(code >= 0 && code <= 2) << "it crashed at its end\n" << stand_.log();
  }

  [[nodiscard]] std::string written(const std::string& name) const {
    return text_of(fmt::format("{}/{}", folder_, name));
  }

  void check_store() {
    auto store = SqliteStore::open(stand_.state());
    ASSERT_TRUE(store) << store.error().text();
    JobQuery query;
    query.final_too = true;
    query.most = 2 * static_cast<std::size_t>(jobs_of_a_run());
    const auto jobs = (*store)->jobs(query);
    ASSERT_TRUE(jobs) << jobs.error().text();
    std::map<std::string, std::vector<const JobRecord*>> by_name;
    for (const JobRecord& job : *jobs) by_name[job.spec.name].push_back(&job);
    for (const auto& [name, wanted] : wanted_) {
      const auto& records = by_name[name];
      const std::string ran = written(name);
      if (records.empty()) {
        EXPECT_FALSE(wanted.accepted) << name << " is lost";
        EXPECT_EQ(ran, "") << name << " ran, and no record of it is there";
        continue;
      }
      EXPECT_EQ(records.size(), 1U) << name;
      const JobRecord& job = *records.front();
      const std::string state(cleave::name(job.state));
      EXPECT_EQ(state, wanted.code == 0 ? "finished" : "failed") << name << ": " << job.reason;
      EXPECT_EQ(job.exit_code, wanted.code) << name << ": " << job.reason;
      EXPECT_EQ(ran, "begin\n") << name << ": " << job.reason;
    }
  }

  struct Wanted {
    int code = 0;
    bool accepted = false;
  };

  DaemonStand stand_;
  std::string folder_;
  std::optional<Fault> fault_;
  std::map<std::string, Wanted> wanted_;
  int last_name_ = 0;
  long ends_ = 0;
};

std::optional<Fault> only_fault() {
  const char* given = std::getenv("CLEAVE_FAULT_ONLY");
  if (given == nullptr) return std::nullopt;
  const auto parts = split(given, ':');
  const auto number = [&](std::size_t at) { return parse_integer(parts.at(at)).value_or(0); };
  return Fault{std::string(parts.at(0)), number(1), number(2), static_cast<int>(number(3))};
}

TEST(DaemonInjection, WhateverTheSystemFailsNoJobIsLostAndNoneFailsForIt) {
  if (sanitized) GTEST_SKIP() << "what stands before the system's calls stands before a sanitizer";
  Injection injection;
  if (const auto only = only_fault()) return injection.run(*only);
  injection.run(std::nullopt);
  const auto counts = injection.counts();
  const long positions = positions_of_a_kind();
  Random random(7);
  long runs = 0, ends = 0;
  for (const Kind& kind : kinds) {
    const long calls = counts.contains(kind.name) ? counts.at(kind.name) : 0;
    ASSERT_GT(calls, 0) << kind.name;
    if (positions > 0) fmt::print("{}: {} calls\n", kind.name, calls);
    std::vector<Fault> faults = {{kind.name, 1, 1, kind.errors.front()}};
    // The pause after each start that fails doubles.
    const long longest = kind.name == std::string_view("start") ? 3 : 30;
    for (long i = 0; i < std::max(positions, 1L); ++i) {
      const auto below = [&](long most) {
        return static_cast<long>(random.below(static_cast<std::uint64_t>(most)));
      };
      // A fifth of them lasts for a while.
      faults.push_back({kind.name, 1 + below(calls), below(5) == 0 ? 2 + below(longest) : 1,
                        kind.errors[static_cast<std::size_t>(below(std::ssize(kind.errors)))]});
    }
    for (const Fault& fault : faults) {
      injection.run(fault);
      ++runs;
      ends += injection.ends();
      if (!testing::Test::HasFailure()) continue;
      fmt::print("CLEAVE_FAULT_ONLY={} shows it again; of {} runs\n", fault.text(), runs);
      return;
    }
  }
  fmt::print("{} runs of {} jobs, each with a failing call; {} daemons ended with words\n", runs,
             jobs_of_a_run(), ends);
}

}  // namespace
}  // namespace cleave::whole
