#include "study/daemon_process.hpp"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <thread>

#include "base/format.hpp"
#include "base/text.hpp"
#include "study/kept_connections.hpp"

namespace cleave {

namespace fs = std::filesystem;

namespace {

constexpr auto patience = std::chrono::seconds(10);

/// Streams of the child: 0 is empty, `out` becomes 1 and `err` 2 where they are names of files or numbers.
class FileActions {
 public:
  FileActions() {
    ::posix_spawn_file_actions_init(&actions_);
    ::posix_spawn_file_actions_addopen(&actions_, 0, "/dev/null", O_RDONLY, 0);
  }
  ~FileActions() { ::posix_spawn_file_actions_destroy(&actions_); }
  FileActions(const FileActions&) = delete;
  FileActions& operator=(const FileActions&) = delete;

  void open(int number, const std::string& file) {
    ::posix_spawn_file_actions_addopen(&actions_, number, file.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  }
  void take(int number, int from) { ::posix_spawn_file_actions_adddup2(&actions_, from, number); }
  [[nodiscard]] const posix_spawn_file_actions_t* get() const { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_{};
};

Result<pid_t> spawn(const std::vector<std::string>& command, const FileActions& actions) {
  std::vector<char*> arguments;
  for (const std::string& each : command) arguments.push_back(const_cast<char*>(each.c_str()));
  arguments.push_back(nullptr);
  pid_t pid = 0;
  if (const int failed =
          ::posix_spawnp(&pid, arguments.front(), actions.get(), nullptr, arguments.data(), environ);
      failed != 0)
    return fail(ErrorKind::infeasible, command.front(),
                fmt::format("it cannot be started: {}", std::strerror(failed)));
  return pid;
}

int wait_for(pid_t pid) {
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) continue;
  return status;
}

bool answers(const fs::path& socket) {
  auto connection = KeptConnections::open(socket, 1);
  return connection && (*connection)->ask("GET", "/healthz").has_value();
}

std::string end_of(const fs::path& file) {
  std::ifstream in(file);
  std::string line, last;
  while (std::getline(in, line))
    if (!line.empty()) last = line;
  return last;
}

}  // namespace

Result<std::unique_ptr<DaemonProcess>> DaemonProcess::start(const DaemonProcessOptions& options) {
  std::string folder = (options.folder / "cleave-bench-XXXXXX").string();
  if (::mkdtemp(folder.data()) == nullptr)
    return fail(ErrorKind::infeasible, folder, "a folder for the daemon cannot be made");
  const fs::path place(folder);
  std::ofstream(place / "config.toml") << "";
  std::vector<std::string> command = {(options.programs / "cleaved").string(),
                                      "--simulate",
                                      options.gpus,
                                      "--socket",
                                      (place / "socket").string(),
                                      "--state",
                                      (place / "state").string(),
                                      "--config",
                                      (place / "config.toml").string(),
                                      "--log-level",
                                      "warn"};
  if (options.instant) command.emplace_back("--instant");
  FileActions actions;
  actions.open(1, (place / "log").string());
  actions.take(2, 1);
  const auto pid = spawn(command, actions);
  if (!pid) {
    fs::remove_all(place);
    return std::unexpected(pid.error());
  }
  std::unique_ptr<DaemonProcess> daemon(new DaemonProcess(place, *pid));
  const auto until = std::chrono::steady_clock::now() + patience;
  while (!answers(daemon->socket())) {
    const bool ended = ::waitpid(*pid, nullptr, WNOHANG) == *pid;
    if (ended) daemon->pid_ = 0;
    if (ended || std::chrono::steady_clock::now() > until)
      return fail(ErrorKind::infeasible, "cleaved",
                  fmt::format("it does not answer: {}", shown(end_of(place / "log"), 500)));
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return daemon;
}

DaemonProcess::~DaemonProcess() {
  if (pid_ > 0) {
    ::kill(pid_, SIGTERM);
    wait_for(pid_);
  }
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

ResidentMemory DaemonProcess::memory() const {
  ResidentMemory memory;
  std::ifstream in(fmt::format("/proc/{}/status", pid_));
  std::string key, line;
  while (in >> key) {
    double kib = 0;
    if (key == "VmRSS:" && in >> kib) memory.now_mib = kib / 1024;
    if (key == "VmHWM:" && in >> kib) memory.most_mib = kib / 1024;
    std::getline(in, line);
  }
  return memory;
}

Result<std::string> run_to_end(const std::vector<std::string>& command, bool keep) {
  int ends[2] = {-1, -1};
  if (keep && ::pipe2(ends, O_CLOEXEC) != 0)
    return fail(ErrorKind::infeasible, command.front(), "no pipe can be made for it");
  FileActions actions;
  if (keep)
    actions.take(1, ends[1]);
  else
    actions.open(1, "/dev/null");
  const auto pid = spawn(command, actions);
  std::string said;
  if (keep) {
    ::close(ends[1]);
    char buffer[1 << 16];
    for (ssize_t got = 0; pid && (got = ::read(ends[0], buffer, sizeof buffer)) > 0;)
      said.append(buffer, static_cast<std::size_t>(got));
    ::close(ends[0]);
  }
  if (!pid) return std::unexpected(pid.error());
  if (const int status = wait_for(*pid); status != 0)
    return fail(ErrorKind::infeasible, command.front(), fmt::format("it ended with status {}", status));
  return said;
}

}  // namespace cleave
