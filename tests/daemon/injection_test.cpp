// The system fails the daemon: each kind of call that a run of 50 jobs makes is failed in turn, its
// first one and others by a seed, once or for a while. No accepted job is lost, none fails for the
// host's reasons, none runs twice, and the daemon does not crash. Where it is right that it ends,
// it does so with words, and the next one finishes everything.
//
// Each position is drawn by its kind and its number alone, so the long form can be run in parts:
//
//   CLEAVE_LONG=1             500 positions of each kind
//   CLEAVE_FAULT_POSITIONS=N  that many of each kind
//   CLEAVE_FAULT_KIND=KIND    of this kind only
//   CLEAVE_FAULT_FROM=N       begins with this position; 0, the first call of its kind
//   CLEAVE_FAULT_WORKERS=N    runs at a time, each with a daemon of its own; they mostly wait
//   CLEAVE_FAULT_ONLY=KIND:FIRST:TIMES:ERROR  only this one, which a failure names

#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <map>
#include <new>
#include <set>
#include <sstream>
#include <thread>

#include "base/format.hpp"
#include "base/number_asked_test.hpp"
#include "base/places_test.hpp"
#include "base/random.hpp"
#include "base/text.hpp"
#include "daemon/store/sqlite_store.hpp"
#include "daemon_stand.hpp"

namespace cleave::whole {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

/// Counts looks rather than time: on a machine that is busy with other work they become rarer, and
/// the daemon has as many of them as on one that is not. Time alone ends it much later.
class Patience {
 public:
  explicit Patience(milliseconds most)
      : looks_left_(most / between), until_(std::chrono::steady_clock::now() + 10 * most) {}
  /// Whether to look again, after a pause.
  bool goes_on() {
    std::this_thread::sleep_for(between);
    return --looks_left_ > 0 && std::chrono::steady_clock::now() < until_;
  }

 private:
  static constexpr milliseconds between{10};
  long looks_left_;
  std::chrono::steady_clock::time_point until_;
};

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
  /// Of a fault that lasts, in calls. Where a start, or taking an instance away, fails by it, the
  /// pause before the next try doubles, and the last job makes few calls in many minutes.
  long longest = 30;
};
const std::vector<Kind> kinds = {
    {"open", {EMFILE, ENFILE, ENOMEM, EIO, EINTR}},
    {"write", {ENOSPC, EDQUOT, EIO, EINTR, EAGAIN}},
    {"sync", {EIO, ENOSPC, EDQUOT}},
    {"name", {ENOSPC, EDQUOT, EIO, ENOMEM}, 3},
    {"start", {EAGAIN, ENOMEM}, 3},
    {"descriptor", {EMFILE, ENFILE, ENOMEM, EINTR}},
    {"read", {EIO, EINTR, ENOMEM}},
    {"map", {ENOMEM, EAGAIN}},
    {"lock", {EINTR, ENOLCK}, 3},
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
    const std::ofstream emptied(stand_.path("log"), std::ios::trunc);
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
    if (becomes_ready()) return;
    const int code = stand_.wait_for_end(milliseconds(0));
    ++ends_;
    EXPECT_TRUE(code == 1 || code == 2) << "it crashed, or hangs: " << code << "\n" << stand_.log();
    EXPECT_NE(stand_.log().find("cleaved: "), std::string::npos) << "without a word";
    EXPECT_EQ(stand_.log().find("internal error"), std::string::npos) << stand_.log();
    stand_.kill();
    stand_.start();
    ASSERT_TRUE(becomes_ready()) << stand_.log();
  }

  bool becomes_ready() {
    for (Patience patience(seconds(20)); stand_.runs();) {
      const auto answer = stand_.ask("GET", "/healthz");
      if (answer && (*answer)["status"] != "starting") return true;
      if (!patience.goes_on()) return false;
    }
    return false;
  }

  static bool comes_true(const std::function<bool()>& is) {
    for (Patience patience(seconds(20)); !is();)
      if (!patience.goes_on()) return false;
    return true;
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
    Patience patience(seconds(20));
    for (int accepted = 0; accepted < jobs_of_a_run();) {
      const std::string name = fmt::format("job-{}", ++last_name_);
      const int code = accepted % 3;
      const auto answer = stand_.ask("POST", "/v1/jobs", document(code, name));
      wanted_[name] = {code, answer.has_value()};
      if (answer) ++accepted;
      if (!answer && !stand_.runs()) go_on();
      ASSERT_TRUE(answer || patience.goes_on())
          << "jobs are not accepted any more: " << answer.error().text();
    }
  }

  /// A start makes some four names: thirty that fail in a row may be eight starts of the last job,
  /// which then waits for 1, 2, 4 .. 128 s, as it is documented.
  void finish() {
    Patience patience(seconds(fault_ && fault_->times > 1 ? 300 : 60));
    while (true) {
      if (!stand_.runs()) go_on();
      const auto live = stand_.ask("GET", "/v1/jobs?user=all");
      if (live && (*live)["jobs"].empty()) return;
      ASSERT_TRUE(patience.goes_on())
          << "jobs do not end: " << (live ? live->dump(1) : live.error().text()) << stand_.log();
    }
  }

  void check_health() {
    std::string health;
    EXPECT_TRUE(comes_true([&] {
      if (!stand_.runs()) go_on();
      const auto answer = stand_.ask("GET", "/healthz");
      health = answer ? answer->dump() : answer.error().text();
      return answer && (*answer)["status"] == "ok";
    })) << "the trouble does not pass: "
        << health;
    EXPECT_TRUE(comes_true([&] { return stand_.processes_of_jobs().empty(); }));
    EXPECT_TRUE(comes_true([&] { return stand_.instances().empty(); }))
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

/// The fault at a position of its kind, of which a run makes `calls` calls. Depends on no other.
Fault fault_at(std::size_t kind_number, long position, long calls) {
  const Kind& kind = kinds[kind_number];
  if (position == 0) return {kind.name, 1, 1, kind.errors.front()};
  Random random(1'000'000 * (kind_number + 1) + static_cast<std::uint64_t>(position));
  const auto below = [&](long most) {
    return static_cast<long>(random.below(static_cast<std::uint64_t>(most)));
  };
  // A fifth of them lasts for a while.
  return {kind.name, 1 + below(calls), below(5) == 0 ? 2 + below(kind.longest) : 1,
          kind.errors[static_cast<std::size_t>(below(std::ssize(kind.errors)))]};
}

/// What the processes that run faults share: the next one, and what came of them.
struct Tally {
  std::atomic<long> next = 0, done = 0, failed = 0, ends = 0;
};

class Workers {
 public:
  Workers(std::vector<Fault> faults, long first) : faults_(std::move(faults)), first_(first) {
    void* const shared =
        ::mmap(nullptr, sizeof(Tally), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) throw std::bad_alloc();
    tally_ = new (shared) Tally;
  }
  ~Workers() { ::munmap(tally_, sizeof(Tally)); }
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  /// Runs them all, `count` at a time. A process ends with the first fault that fails in it, and
  /// another takes its place.
  void run(long count) {
    std::set<pid_t> running;
    while (true) {
      while (std::ssize(running) < count && tally_->next < std::ssize(faults_) &&
             tally_->failed <= most_failures)
        running.insert(begin());
      if (running.empty()) return;
      int status = 0;
      const pid_t ended = ::waitpid(-1, &status, 0);
      running.erase(ended);
      EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) <= 1) << "the test itself crashed";
    }
  }
  [[nodiscard]] const Tally& tally() const { return *tally_; }

 private:
  static constexpr long most_failures = 20;

  pid_t begin() const {
    std::fflush(nullptr);
    const pid_t child = ::fork();
    if (child != 0) return child;
    ::prctl(PR_SET_PDEATHSIG, SIGTERM);
    work();
    std::fflush(nullptr);
    ::_exit(testing::Test::HasFailure() ? 1 : 0);
  }

  void work() const {
    Injection injection;
    while (!testing::Test::HasFailure()) {
      const long i = tally_->next++;
      if (i >= std::ssize(faults_)) return;
      const Fault& fault = faults_[static_cast<std::size_t>(i)];
      injection.run(fault);
      tally_->ends += injection.ends();
      if (testing::Test::HasFailure()) {
        ++tally_->failed;
        fmt::print("position {}: CLEAVE_FAULT_ONLY={} shows it again\n", first_ + i, fault.text());
      }
      if (++tally_->done % 50 == 0)
        fmt::print("{}: {} of {} done, at position {}\n", fault.kind, tally_->done.load(),
                   faults_.size(), first_ + i);
      std::fflush(nullptr);
    }
  }

  std::vector<Fault> faults_;
  long first_;
  Tally* tally_;
};

TEST(DaemonInjection, WhateverTheSystemFailsNoJobIsLostAndNoneFailsForIt) {
  if (sanitized) GTEST_SKIP() << "what stands before the system's calls stands before a sanitizer";
  if (const auto only = only_fault()) return Injection().run(only);
  std::map<std::string, long> counts;
  {
    Injection injection;
    injection.run(std::nullopt);
    counts = injection.counts();
  }
  const char* only_kind = std::getenv("CLEAVE_FAULT_KIND");
  const long last = std::max(positions_of_a_kind(), 1L);
  const auto first = static_cast<long>(number_asked("CLEAVE_FAULT_FROM", 0));
  const auto workers = static_cast<long>(number_asked("CLEAVE_FAULT_WORKERS", 2));
  long runs = 0, ends = 0;
  for (std::size_t kind = 0; kind < kinds.size(); ++kind) {
    const char* const name = kinds[kind].name;
    if (only_kind != nullptr && std::string_view(only_kind) != name) continue;
    const long calls = counts[name];
    ASSERT_GT(calls, 0) << name;
    std::vector<Fault> faults;
    for (long i = first; i <= last; ++i) faults.push_back(fault_at(kind, i, calls));
    Workers all(std::move(faults), first);
    all.run(workers);
    EXPECT_EQ(all.tally().failed, 0) << name << ": each is named above";
    runs += all.tally().done;
    ends += all.tally().ends;
    if (positions_of_a_kind() > 0)
      fmt::print("{}: {} calls in a run; {} positions, {} of them failed\n", name, calls,
                 all.tally().done.load(), all.tally().failed.load());
  }
  fmt::print("{} runs of {} jobs, each with a failing call; {} daemons ended with words\n", runs,
             jobs_of_a_run(), ends);
}

// What the event loop is made of, call by call: it says of little of it that it failed.
TEST(DaemonInjection, EachDescriptorThatADaemonBeginsWith) {
  if (sanitized) GTEST_SKIP() << "what stands before the system's calls stands before a sanitizer";
  std::vector<Fault> faults;
  for (long first = 1; first <= 16; ++first) faults.push_back({"descriptor", first, 1, EMFILE});
  Workers all(std::move(faults), 1);
  all.run(4);
  EXPECT_EQ(all.tally().failed, 0) << "each is named above";
}

}  // namespace
}  // namespace cleave::whole
