#include "study/bench/daemon_process.hpp"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <thread>

#include "base/format.hpp"
#include "base/text.hpp"
#include "study/bench/kept_connections.hpp"

namespace cleave {

namespace fs = std::filesystem;

namespace {

constexpr auto patience = std::chrono::seconds(10);

/// The child's input is empty; `out` and `err` become its outputs where they are not negative. It
/// ends with this program, however that ends.
Result<pid_t> spawn(const std::vector<std::string>& command, int out, int err) {
  std::vector<char*> arguments;
  for (const std::string& each : command) arguments.push_back(const_cast<char*>(each.c_str()));
  arguments.push_back(nullptr);
  const int in = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGTERM);
    ::dup2(in, 0);
    if (out >= 0) ::dup2(out, 1);
    if (err >= 0) ::dup2(err, 2);
    ::execv(arguments.front(), arguments.data());
    ::_exit(127);
  }
  if (in >= 0) ::close(in);
  if (pid < 0) return fail(ErrorKind::infeasible, command.front(), "it cannot be started");
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
  auto folder = WorkFolder::make(options.folder, "bench");
  if (!folder) return std::unexpected(folder.error());
  const fs::path place = folder->path();
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
  const int log = ::open((place / "log").c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  const auto pid = spawn(command, log, log);
  if (log >= 0) ::close(log);
  if (!pid) return std::unexpected(pid.error());
  std::unique_ptr<DaemonProcess> daemon(new DaemonProcess(std::move(*folder), *pid));
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
  if (!keep) ends[1] = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
  const auto pid = spawn(command, ends[1], -1);
  if (ends[1] >= 0) ::close(ends[1]);
  std::string said;
  if (keep) {
    char buffer[1 << 16];
    for (ssize_t got = 0; pid && (got = ::read(ends[0], buffer, sizeof buffer)) > 0;)
      said.append(buffer, static_cast<std::size_t>(got));
    ::close(ends[0]);
  }
  if (!pid) return std::unexpected(pid.error());
  if (const int status = wait_for(*pid); status != 0)
    return fail(ErrorKind::infeasible, command.front(),
                fmt::format("it ended with status {}", status));
  return said;
}

}  // namespace cleave
