#include "stand.hpp"
#include "base/places_test.hpp"

#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "base/format.hpp"
#include "base/text.hpp"

namespace cleave::supervised {

std::string read_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

bool is_alive(std::int64_t pid) {
  const auto facts = facts_of(static_cast<pid_t>(pid));
  return facts && !facts->zombie;
}

Stand::Stand(GroupPlaces groups, std::optional<DriverNodes> fenced)
    : groups_(std::move(groups)), fenced_(std::move(fenced)) {
  ::chmod(root_.c_str(), 0711);
  auto runner = ProcessRunner::open(places());
  if (!runner) throw std::runtime_error(runner.error().text());
  runner_ = std::move(*runner);
}

ProcessRunner::Places Stand::places() const {
  ProcessRunner::Places all{path("jobs"), binary_dir() + "/bin/cleave-supervise", 0, groups_,
                            fenced_};
  all.gifts = gifts_;
  return all;
}

Stand::~Stand() {
  for (const JobKey& key : started_)
    if (const pid_t pid = supervisor(key); pid > 0) ::kill(pid, SIGKILL);
  std::vector<JobMark> marks;
  for (const JobKey& key : started_) {
    const auto opened = open_folder(folder(key));
    if (!opened) continue;
    const auto mark = job_mark(opened->number(), key);
    if (!mark) continue;
    marks.push_back(*mark);
    const JobGroups groups(groups_, mark->text);
    (void)end_groups({&groups, 1}, std::chrono::seconds(5));
  }
  (void)end_leftovers(marks);
  runner_.reset();
}

std::vector<FoundJob> Stand::begin_again() {
  runner_.reset();
  auto runner = ProcessRunner::open(places());
  EXPECT_TRUE(runner);
  runner_ = std::move(*runner);
  events_.clear();
  const auto found = runner_->found();
  EXPECT_TRUE(found) << found.error().text();
  return found ? *found : std::vector<FoundJob>{};
}

Launch Stand::launch(const std::string& script) {
  Launch launch;
  launch.key = {static_cast<std::int64_t>(started_.size()) + 1, 1};
  launch.uid = ::geteuid();
  launch.gid = ::getegid();
  launch.argv = {"sh", "-c", script};
  launch.environment = {"PATH=/usr/local/bin:/usr/bin:/bin"};
  launch.working_directory = std::string("/");
  launch.visible_devices = "MIG-0";
  launch.stop_grace = std::chrono::milliseconds(300);
  launch.leftover_grace = std::chrono::milliseconds(100);
  return launch;
}

JobKey Stand::start(const Launch& launch) {
  const auto started = runner_->start(launch);
  EXPECT_TRUE(started) << started.error().error.text();
  started_.push_back(launch.key);
  return launch.key;
}

void Stand::hear() {
  for (RunnerEvent& event : runner_->poll()) events_.push_back(std::move(event));
}

bool Stand::wait_until(const std::function<bool()>& is) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (true) {
    hear();
    if (is()) return true;
    if (std::chrono::steady_clock::now() > until) return false;
    pollfd one{runner_->wake_fd(), POLLIN, 0};
    ::poll(&one, 1, 10);
  }
}

const ProcessOutcome* Stand::outcome(const JobKey& key) const {
  for (const RunnerEvent& event : events_)
    if (const auto* ended = std::get_if<JobEnded>(&event.what);
        ended != nullptr && event.key == key)
      return &ended->outcome;
  return nullptr;
}

bool Stand::lost(const JobKey& key) const {
  return std::ranges::any_of(events_, [&](const RunnerEvent& event) {
    return event.key == key && std::holds_alternative<SupervisorLost>(event.what);
  });
}

bool Stand::never_started(const JobKey& key) const {
  return std::ranges::any_of(events_, [&](const RunnerEvent& event) {
    return event.key == key && std::holds_alternative<AttemptNotStarted>(event.what);
  });
}

std::int64_t Stand::pid(const JobKey& key) const {
  for (const RunnerEvent& event : events_)
    if (const auto* began = std::get_if<JobBegan>(&event.what);
        began != nullptr && event.key == key)
      return began->pid;
  return 0;
}

const ProcessOutcome* Stand::wait_for_end(const JobKey& key) {
  EXPECT_TRUE(
      wait_until([&] { return outcome(key) != nullptr || lost(key) || never_started(key); }));
  return outcome(key);
}

std::string Stand::path(const std::string& name) const {
  return fmt::format("{}/{}", root_, name);
}

std::string Stand::folder(const JobKey& key) const {
  return fmt::format("{}/jobs/{}", root_, directory_name(key));
}

std::string Stand::users_folder(const JobKey& key) const {
  return fmt::format("{}/{}", folder(key), user_folder);
}

std::string Stand::text(const JobKey& key, const std::string& file) const {
  return read_text(fmt::format("{}/{}", users_folder(key), file));
}

std::int64_t Stand::ends(const JobKey& key) const {
  return std::ranges::count_if(events_, [&](const RunnerEvent& event) {
    return event.key == key && (std::holds_alternative<JobEnded>(event.what) ||
                                std::holds_alternative<SupervisorLost>(event.what) ||
                                std::holds_alternative<AttemptNotStarted>(event.what));
  });
}

std::vector<ProcessFacts> Stand::processes(const std::vector<JobKey>& keys) const {
  std::vector<JobMark> marks;
  for (const JobKey& key : keys) {
    const auto opened = open_folder(folder(key));
    if (!opened) continue;
    const auto mark = job_mark(opened->number(), key);
    if (!mark) continue;
    marks.push_back(*mark);
    const JobGroups groups(groups_, mark->text);
    (void)end_groups({&groups, 1}, std::chrono::seconds(5));
  }
  return find_leftovers(marks);
}

bool Stand::may_have_begun(const JobKey& key) const {
  const auto opened = open_folder(folder(key));
  return opened && cleave::may_have_begun(opened->number());
}

std::vector<pid_t> Stand::supervisors(const std::vector<JobKey>& keys) const {
  std::vector<pid_t> found(keys.size(), 0);
  for (const ProcessFacts& each : all_processes()) {
    const std::string arguments = read_text(fmt::format("/proc/{}/cmdline", each.pid));
    const auto parts = split(arguments, '\0');
    if (each.zombie || parts.size() < 2 || parts[0] != "cleave-supervise") continue;
    for (std::size_t i = 0; i < keys.size(); ++i)
      // Its child has the same name until it becomes the job's program.
      if (parts[1] == folder(keys[i]) && (found[i] == 0 || each.parent != found[i]))
        found[i] = each.pid;
  }
  return found;
}

}  // namespace cleave::supervised
