#include "crash_batch.hpp"
#include "base/places_test.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <sstream>

#include "base/format.hpp"
#include "daemon/store/sqlite_store.hpp"

namespace cleave::whole {

namespace {

/// Whether its memory does, so that it is stopped early for a larger instance.
bool grows(const std::string& kind) {
  return kind == "grows" || kind == "saved";
}

/// What each of them is and does, a line each.
std::string described(const std::vector<pid_t>& processes) {
  std::string text;
  for (const pid_t pid : processes) {
    std::string words = text_of(fmt::format("/proc/{}/cmdline", pid));
    std::ranges::replace(words, '\0', ' ');
    text += fmt::format("\n{}: {}\n", pid, words);
    for (const char* each : {"stat", "wchan", "syscall", "stack", "cgroup"})
      text += fmt::format("  {}: {}\n", each, text_of(fmt::format("/proc/{}/{}", pid, each)));
  }
  return text;
}

}  // namespace

CrashBatch::CrashBatch(DaemonStand& stand, std::uint64_t seed, bool supervisors_die)
    : stand_(stand),
      random_(seed),
      supervisors_die_(supervisors_die),
      folder_(stand.path("jobs-wrote")) {
  ::mkdir(folder_.c_str(), 0755);
}

std::string CrashBatch::script(const Wanted& wanted, const std::string& name) {
  const std::string file = fmt::format("{}/{}", folder_, name);
  const double seconds = 0.1 + random_.uniform() * random_.uniform() * 1.5;
  std::string body;
  if (wanted.kind == "good") {
    body =
        fmt::format("cleave-job --memory 1GiB --iterations 4 --phases cpu={:.2f} --quiet", seconds);
  } else if (wanted.kind == "fails") {
    body = fmt::format("cleave-job --memory 1GiB --phases cpu={:.2f} --quiet; false", seconds / 4);
  } else if (wanted.kind == "starves") {
    body = "cleave-job --memory 30GiB --quiet";
  } else if (grows(wanted.kind)) {
    body = "cleave-job --base 1GiB --per-iteration 500MiB --iterations 30 --phases cpu=0.8 --quiet";
  } else {
    body = "cleave-job --memory 1GiB --phases cpu=200 --quiet";
  }
  return fmt::format("echo begin >>'{0}'; {1} && echo end >>'{0}'", file, body);
}

Json CrashBatch::document(const Wanted& wanted, const std::string& name) {
  Json job{{"command", {"sh", "-c", script(wanted, name)}},
           {"environment", {"PATH=" + binary_dir() + "/bin:/usr/local/bin:/usr/bin:/bin"}},
           {"directory", "/"},
           {"name", name},
           {"retries", wanted.retries},
           {"restartable", wanted.restartable},
           {"stop_grace_s", 1}};
  if (wanted.kind == "grows") {
    job["checkpoint_signal"] = 28;  // WINCH, which does not end shells and programs
    job["checkpoint_grace_s"] = 0.05;
  } else if (wanted.kind == "saved") {
    job["checkpoint_command"] = random_.below(4) == 0 ? "false" : "kill -0 $CLEAVE_PID; sleep 0.02";
    job["checkpoint_grace_s"] = 5;
  }
  if (wanted.restartable && random_.below(2) == 0) {
    job.erase("restartable");  // which follows, and the job may be moved as well
    job["progress"] = "checkpoint";
  }
  if (wanted.kind == "starves") {
    job["profile"] = "1g.5gb";
  } else if (!grows(wanted.kind)) {
    const std::uint64_t ask = random_.below(4);
    if (ask == 0) job["profile"] = "2g.10gb";
    if (ask == 1) job["memory_mib"] = 4000;
    if (ask == 2) job["memory_mib"] = 15000;
  }
  return job;
}

void CrashBatch::submit() {
  static const std::vector<std::string> kinds = {"good",    "good",  "good",  "fails", "fails",
                                                 "starves", "grows", "saved", "long"};
  submit(kinds[random_.below(kinds.size())]);
}

void CrashBatch::submit(const std::string& kind) {
  Wanted wanted;
  wanted.kind = kind;
  wanted.restartable = grows(kind) || (kind != "starves" && random_.below(4) == 0);
  wanted.retries = kind == "fails" ? static_cast<int>(random_.below(3)) : 0;
  const std::string name = fmt::format("{}-{}", kind, wanted_.size() + 1);
  wanted.body = document(wanted, name).dump();
  wanted_[name] = wanted;
  submit_again();
  if (!wanted_[name].accepted) ++counts_.unanswered;
}

void CrashBatch::submit_again() {
  for (auto& [name, wanted] : wanted_)
    if (!wanted.accepted) send(wanted, name);
}

void CrashBatch::send(Wanted& wanted, const std::string& name) {
  ApiClient client({{stand_.socket(), true}});
  const auto answer = client.submit(wanted.body, fmt::format("key of {}", name));
  if (!answer) return;
  wanted.accepted = true;
  wanted.number = Json::parse(answer->body)["id"].get<std::int64_t>();
  ++counts_.accepted;
  if (answer->status == 200) ++counts_.taken_before;
}

void CrashBatch::cancel(std::int64_t most) {
  for (auto& [name, wanted] : wanted_) {
    if (most == 0) return;
    if (wanted.kind != "long" || wanted.cancelled || !wanted.accepted) continue;
    wanted.cancelled =
        stand_.ask("POST", fmt::format("/v1/jobs/{}/cancel", wanted.number), "{}").has_value();
    --most;
  }
}

bool CrashBatch::wait_until_long_ones_run() {
  return stand_.wait_until(
      [&] {
        for (auto& [name, wanted] : wanted_) {
          if (wanted.kind != "long" || wanted.cancelled || !wanted.accepted) continue;
          const auto job = stand_.ask("GET", fmt::format("/v1/jobs/{}", wanted.number));
          if (!job) return true;
          if ((*job)["state"].get<std::string>() != "running") return false;
        }
        return true;
      },
      std::chrono::seconds(5));
}

void CrashBatch::break_a_gpu() {
  static const std::vector<std::string> kinds = {"fail-create", "slow-create", "stuck-in-use",
                                                 "fail-compute"};
  stand_.fault(static_cast<int>(random_.below(2)), kinds[random_.below(kinds.size())],
               static_cast<std::uint32_t>(1 + random_.below(2)));
}

void CrashBatch::mend_gpus() {
  for (int gpu = 0; gpu < 2; ++gpu) stand_.fault(gpu, "none");
}

bool CrashBatch::wait_until_over(std::chrono::milliseconds most) {
  return stand_.wait_until(
      [&] {
        const Json live = stand_.get("/v1/jobs?user=all");
        if (!live.contains("jobs") || live["jobs"].empty()) return live.contains("jobs");
        // Jobs that would run on, including those whose submission got no answer.
        for (const Json& job : live["jobs"]) {
          const std::string name = job["name"].get<std::string>();
          if (!name.starts_with("long-") || wanted_[name].cancelled) continue;
          wanted_[name].cancelled =
              stand_
                  .ask("POST", fmt::format("/v1/jobs/{}/cancel", job["id"].get<std::int64_t>()),
                       "{}")
                  .has_value();
        }
        return false;
      },
      most);
}

CrashBatch::Written CrashBatch::written(const std::string& name) const {
  Written counts;
  std::istringstream lines(text_of(fmt::format("{}/{}", folder_, name)));
  for (std::string line; std::getline(lines, line);) {
    if (line == "begin") ++counts.begun;
    if (line == "end") ++counts.ended_well;
  }
  return counts;
}

void CrashBatch::check() {
  // The API's answers compared with the disk: read from the store, as a daemon would.
  auto store = SqliteStore::open(stand_.state());
  ASSERT_TRUE(store) << store.error().text();
  JobQuery query;
  query.final_too = true;
  query.most = 100'000;
  const auto jobs = (*store)->jobs(query);
  ASSERT_TRUE(jobs);
  std::map<std::string, std::vector<const JobRecord*>> by_name;
  for (const JobRecord& job : *jobs) by_name[job.spec.name].push_back(&job);
  std::map<JobNumber, int> outcomes;
  for (std::int64_t after = 0;;) {
    const auto events = (*store)->events(after, std::nullopt, 1000);
    ASSERT_TRUE(events);
    if (events->empty()) break;
    for (const EventRecord& each : *events) {
      after = each.number;
      if (each.kind == "job-finished" || each.kind == "job-failed" || each.kind == "job-cancelled")
        ++outcomes[each.job.value_or(0)];
    }
  }
  for (const auto& [name, wanted] : wanted_) {
    const auto& records = by_name[name];
    if (wanted.accepted) {
      EXPECT_EQ(records.size(), 1U) << name;
    } else {
      EXPECT_LE(records.size(), 1U) << name;
    }
    if (records.empty()) {
      EXPECT_EQ(written(name).begun, 0) << name << " ran, and no record of it is there";
      continue;
    }
    const JobRecord& job = *records.front();
    EXPECT_TRUE(is_final(job.state)) << name;
    EXPECT_EQ(outcomes[job.number], 1) << name << " has more or less than one outcome";
    const auto attempts = (*store)->attempts(job.number);
    ASSERT_TRUE(attempts);
    for (const AttemptRecord& each : *attempts) {
      EXPECT_TRUE(each.ended) << name << " attempt " << each.key.attempt;
      if (each.end == AttemptEnd::lost) ++counts_.lost;
    }
    check_ends(wanted, name, std::string(cleave::name(job.state)), job.reason);
    if (::testing::Test::HasFailure()) {
      for (const AttemptRecord& each : *attempts)
        std::fprintf(
            stderr, "  %s: attempt %ld %s: %s\n", name.c_str(), static_cast<long>(each.key.attempt),
            each.end ? std::string(cleave::name(*each.end)).c_str() : "-", each.why.c_str());
    }
  }
}

void CrashBatch::check_ends(const Wanted& wanted, const std::string& name, const std::string& state,
                            const std::string& reason) {
  const Written lines = written(name);
  const std::string said = fmt::format("{} is {}: {}", name, state, reason);
  (state == "finished" ? counts_.finished
   : state == "failed" ? counts_.failed
                       : counts_.cancelled) += 1;
  if (!wanted.restartable) {
    EXPECT_LE(lines.begun, 1 + wanted.retries) << said;
  }
  if (state == "finished") {
    EXPECT_EQ(lines.ended_well, 1) << said;
  }
  const bool hit = supervisors_die_ && (reason.find("supervisor") != std::string::npos ||
                                        reason.find("signal 9") != std::string::npos ||
                                        reason.find("KILL") != std::string::npos ||
                                        reason.find("137") != std::string::npos);
  if (hit) {
    EXPECT_EQ(state, "failed") << said;
    EXPECT_FALSE(wanted.restartable && reason.find("supervisor") != std::string::npos) << said;
    return;
  }
  if (wanted.kind == "good" || grows(wanted.kind)) {
    EXPECT_EQ(state, "finished") << said;
  } else if (wanted.kind == "long") {
    EXPECT_EQ(state, "cancelled") << said;
  } else {
    EXPECT_EQ(state, "failed") << said;
    if (wanted.kind == "starves") {
      EXPECT_NE(reason.find("memory"), std::string::npos) << said;
    } else if (!supervisors_die_ && !wanted.restartable) {
      EXPECT_EQ(lines.begun, 1 + wanted.retries) << said;
    }
  }
}

void CrashBatch::check_nothing_is_left(const std::vector<std::string>& foreign) {
  const bool gone = stand_.wait_until([&] { return stand_.instances() == foreign; });
  EXPECT_TRUE(gone) << "instances that stay: "
                    << fmt::format("{}", fmt::join(stand_.instances(), " "))
                    << "; of others: " << fmt::format("{}", fmt::join(foreign, " "));
  const bool ended = stand_.wait_until([&] { return stand_.processes_of_jobs().empty(); });
  EXPECT_TRUE(ended) << "processes that stay:" << described(stand_.processes_of_jobs());
  // The daemon sees what was made or destroyed behind its back when it next looks.
  Json shown;
  const bool seen = stand_.wait_until([&] {
    shown = stand_.get("/v1/instances")["instances"];
    return std::ranges::all_of(
        shown, [](const Json& each) { return each["owner"].get<std::string_view>() == "foreign"; });
  });
  EXPECT_TRUE(seen) << shown.dump();
}

}  // namespace cleave::whole
