#include "daemon_stand.hpp"
#include "base/places_test.hpp"

#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <sstream>
#include <thread>

#include "../cli/foreign_instance.hpp"
#include "base/format.hpp"
#include "runner/process_tree.hpp"

namespace cleave::whole {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

std::string text_of(const std::string& file) {
  std::stringstream text;
  text << std::ifstream(file, std::ios::binary).rdbuf();
  return text.str();
}

fs::path quick_folder() {
  return ::access("/dev/shm", W_OK | X_OK) == 0 ? fs::path("/dev/shm") : fs::temp_directory_path();
}

int as_user(uid_t uid, const std::function<int()>& body) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(30);
    const gid_t group = uid;
    if (::setgroups(1, &group) != 0 || ::setgid(uid) != 0 || ::setuid(uid) != 0) ::_exit(99);
    ::_exit(body());
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 98;
}

namespace {

/// Without another scheduler one that gives each job no more than it asks for, so that it is known
/// beforehand what runs where.
std::string by_request(const std::string& config) {
  return config.contains("scheduler") ? config : "scheduler = \"online\"\n" + config;
}

}  // namespace

DaemonStand::DaemonStand(StandOptions options)
    : options_(std::move(options)), folder_(quick_folder()) {
  // Other users can reach the socket, as at its usual place.
  ::chmod(folder_.path().c_str(), 0755);
  state_ = options_.state.empty() ? path("state") : options_.state;
  std::ofstream(path("cleaved.toml")) << by_request(options_.config);
  if (options_.user && *options_.user != ::geteuid()) {
    fs::create_directory(state_);
    for (const std::string& each : {state_, folder_.path().string()})
      if (::chown(each.c_str(), *options_.user, *options_.user) != 0)
        ADD_FAILURE() << "chown " << each;
  }
  start();
  EXPECT_TRUE(wait_until_ready()) << log();
}

DaemonStand::~DaemonStand() {
  if (::testing::Test::HasFailure()) std::fprintf(stderr, "The daemon said:\n%s\n", log().c_str());
  if (runs()) kill();
  end_processes_of_jobs();
}

void DaemonStand::start(const std::vector<std::string>& environment) {
  std::vector<std::string> words = {binary_dir() + "/bin/cleaved",
                                    "--simulate",
                                    options_.gpus,
                                    "--state",
                                    state_,
                                    "--socket",
                                    socket(),
                                    "--config",
                                    path("cleaved.toml")};
  if (options_.instant) words.emplace_back("--instant");
  std::vector<char*> arguments;
  for (std::string& each : words) arguments.push_back(each.data());
  arguments.push_back(nullptr);
  const std::string log = path("log");
  pid_ = ::fork();
  if (pid_ == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    const int out = ::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    ::dup2(out, 1);
    ::dup2(out, 2);
    for (const std::string& each : environment) {
      const std::size_t at = each.find('=');
      ::setenv(each.substr(0, at).c_str(), each.substr(at + 1).c_str(), 1);
    }
    if (options_.user && *options_.user != ::geteuid()) {
      if (::setgroups(0, nullptr) != 0 || ::setgid(*options_.user) != 0 ||
          ::setuid(*options_.user) != 0)
        ::_exit(99);
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    }
    ::execv(arguments[0], arguments.data());
    ::_exit(127);
  }
  client_.reset();
}

bool DaemonStand::wait_until_ready() {
  const auto until = Clock::now() + std::chrono::seconds(20);
  while (runs() && Clock::now() < until) {
    const auto answer = ask("GET", "/healthz");
    if (answer && (*answer)["status"] != "starting") return true;
    std::this_thread::sleep_for(milliseconds(5));
  }
  return false;
}

bool DaemonStand::runs() {
  if (pid_ <= 0) return false;
  int status = 0;
  if (::waitpid(pid_, &status, WNOHANG) == 0) return true;
  status_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  pid_ = -1;
  client_.reset();
  return false;
}

int DaemonStand::wait_for_end(milliseconds patience) {
  const auto until = Clock::now() + patience;
  while (runs()) {
    if (Clock::now() > until) return -1;
    std::this_thread::sleep_for(milliseconds(2));
  }
  return status_;
}

int DaemonStand::stop() {
  if (runs()) ::kill(pid_, SIGTERM);
  const int code = wait_for_end();
  if (code == -1) {
    ADD_FAILURE() << "the daemon does not end";
    kill();
  }
  return code;
}

void DaemonStand::kill() {
  if (runs()) ::kill(pid_, SIGKILL);
  (void)wait_for_end();
}

void DaemonStand::reload(const std::string& config) {
  std::ofstream(path("cleaved.toml")) << by_request(config);
  ::kill(pid_, SIGHUP);
}

std::string DaemonStand::log() const {
  return text_of(path("log"));
}

std::string DaemonStand::command(const std::string& arguments) const {
  return fmt::format("CLEAVE_SOCKET='{}' cleave {}", socket(), arguments);
}

Outcome DaemonStand::run(const std::string& arguments) const {
  return testing_program::shell(command(arguments));
}

std::int64_t DaemonStand::submit(const std::string& arguments) const {
  const Outcome outcome = run("submit --json " + arguments);
  EXPECT_EQ(outcome.exit_code, 0) << arguments << "\n" << outcome.err;
  const auto document = parse_json(outcome.out, "submit");
  if (!document || !document->contains("id")) {
    ADD_FAILURE() << arguments << "\n" << outcome.out << outcome.err;
    return 0;
  }
  return (*document)["id"].get<std::int64_t>();
}

Result<Json> DaemonStand::ask(std::string_view method, const std::string& target,
                              const std::string& body) {
  if (!client_) {
    SocketPlace place;
    place.path = socket();
    place.chosen = true;
    client_ = std::make_unique<ApiClient>(std::vector{place});
  }
  return client_->ask_json(method, target, body);
}

Json DaemonStand::get(const std::string& target) {
  auto answer = ask("GET", target);
  EXPECT_TRUE(answer) << target << ": " << (answer ? "" : answer.error().text());
  return answer ? *answer : Json::object();
}

std::string DaemonStand::fmt_job(std::int64_t number) {
  return fmt::format("/v1/jobs/{}", number);
}

Json DaemonStand::over(std::int64_t number) {
  const auto answer = ask("GET", fmt::format("/v1/jobs/{}/wait?timeout_s=55", number));
  EXPECT_TRUE(answer) << (answer ? "" : answer.error().text());
  if (!answer) return Json{{"state", ""}, {"reason", ""}, {"history", Json::array()}};
  const std::string state = (*answer)["state"].get<std::string>();
  EXPECT_TRUE(state == "finished" || state == "failed" || state == "cancelled") << answer->dump(1);
  return *answer;
}

void DaemonStand::all_over(const std::vector<std::int64_t>& numbers) {
  for (const std::int64_t number : numbers) (void)over(number);
}

bool DaemonStand::wait_until(const std::function<bool()>& is, milliseconds most) {
  const auto until = Clock::now() + most;
  while (!is()) {
    if (Clock::now() > until) return false;
    std::this_thread::sleep_for(milliseconds(10));
  }
  return true;
}

bool DaemonStand::wait_for_state(std::int64_t number, const std::string& state) {
  return wait_until([&] { return state_of(number) == state; });
}

std::string DaemonStand::events() {
  std::string all;
  std::int64_t after = 0;
  while (true) {
    const Json page = get(fmt::format("/v1/events?format=json&after={}", after));
    if (!page.contains("events") || page["events"].empty()) return all;
    for (const Json& each : page["events"]) {
      all +=
          fmt::format("{} {}\n", each["kind"].get<std::string>(), each["text"].get<std::string>());
      after = each["id"].get<std::int64_t>();
    }
  }
}

std::unique_ptr<NvmlDoor> DaemonStand::client() const {
  ::setenv(sim_node_variable, node().c_str(), 1);
  auto door = NvmlDoor::open(binary_dir() + "/lib/cleave-nvmlsim/libnvidia-ml.so.1");
  ::unsetenv(sim_node_variable);
  EXPECT_TRUE(door) << (door ? "" : door.error().text());
  return door ? std::move(*door) : nullptr;
}

std::string DaemonStand::foreign(const std::string& profile, std::uint32_t start,
                                 std::uint32_t gpu) const {
  return testing_program::make_foreign_instance(*client(), profile, start, gpu);
}

void DaemonStand::destroy_all_instances(std::uint32_t number) const {
  const auto door = client();
  const GpuIndex gpu{number};
  const auto all = door->gpu_instances(gpu);
  ASSERT_TRUE(all);
  // A process that was killed may take a while to end.
  const auto destroy = [](const auto& once) {
    auto gone = once();
    for (int i = 0; i < 500 && !gone; ++i) {
      std::this_thread::sleep_for(milliseconds(10));
      gone = once();
    }
    if (!gone) ADD_FAILURE() << text(gone.error().code);
  };
  for (const LiveGpuInstance& each : *all) {
    const auto computes = door->compute_instances(gpu, each.id);
    ASSERT_TRUE(computes);
    for (const LiveComputeInstance& compute : *computes)
      destroy([&] { return door->destroy_compute_instance(gpu, each.id, compute.id); });
    destroy([&] { return door->destroy_gpu_instance(gpu, each.id); });
  }
}

void DaemonStand::fault(int gpu, const std::string& kind,
                        std::optional<std::uint32_t> times) const {
  const auto set = set_sim_fault(node(), gpu, kind, times);
  EXPECT_TRUE(set) << (set ? "" : set.error().text());
}

std::vector<std::string> DaemonStand::instances() const {
  std::vector<std::string> all;
  const auto view = look_at_sim_node(node());
  EXPECT_TRUE(view);
  if (!view) return all;
  for (const SimGpuView& gpu : view->gpus)
    for (const SimGpuInstanceView& instance : gpu.instances) {
      for (const SimComputeInstanceView& compute : instance.compute_instances)
        all.push_back(compute.uuid);
      if (instance.compute_instances.empty()) all.emplace_back("without compute instance");
    }
  std::ranges::sort(all);
  return all;
}

namespace {

std::vector<pid_t> all_pids() {
  std::vector<pid_t> all;
  std::error_code failed;
  for (const auto& entry : fs::directory_iterator("/proc", failed)) {
    const std::string name = entry.path().filename().string();
    if (name.find_first_not_of("0123456789") == std::string::npos) all.push_back(std::stoi(name));
  }
  return all;
}

bool is_zombie(pid_t pid) {
  const std::string stat = text_of(fmt::format("/proc/{}/stat", pid));
  const std::size_t behind = stat.rfind(')');
  return behind == std::string::npos || stat.compare(behind, 3, ") Z") == 0;
}

}  // namespace

std::vector<pid_t> DaemonStand::supervisors() const {
  std::vector<pid_t> all;
  for (const pid_t pid : all_pids()) {
    const std::string words = text_of(fmt::format("/proc/{}/cmdline", pid));
    if (words.starts_with("cleave-supervise") && words.find(state_ + "/") != std::string::npos &&
        !is_zombie(pid))
      all.push_back(pid);
  }
  // Nor their children: jobs that do not run yet, and the address sanitizer's search for leaks, for
  // whose end a supervisor that ends would wait for ever.
  const auto of_another = [&](pid_t pid) {
    const auto facts = facts_of(pid);
    return facts && std::ranges::find(all, facts->parent) != all.end();
  };
  std::vector<pid_t> found;
  std::ranges::remove_copy_if(all, std::back_inserter(found), of_another);
  return found;
}

std::vector<pid_t> DaemonStand::processes_of_jobs() const {
  std::vector<pid_t> all = supervisors();
  const std::string node_of_job = fmt::format("{}={}", sim_node_variable, node());
  for (const pid_t pid : all_pids()) {
    const std::string environment = text_of(fmt::format("/proc/{}/environ", pid));
    const bool marked = environment.find("CLEAVE_JOB_MARK=") != std::string::npos &&
                        environment.find(node_of_job) != std::string::npos;
    if (marked && pid != ::getpid() && !is_zombie(pid)) all.push_back(pid);
  }
  return all;
}

void DaemonStand::end_processes_of_jobs() const {
  for (int times = 0; times < 100; ++times) {
    const auto left = processes_of_jobs();
    if (left.empty()) return;
    for (const pid_t pid : left) ::kill(pid, SIGKILL);
    std::this_thread::sleep_for(milliseconds(5));
  }
}

}  // namespace cleave::whole
