#include "study/bench/daemon_process.hpp"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <thread>

#include "base/format.hpp"
#include "base/text.hpp"
#include "cli/child_program.hpp"
#include "study/bench/kept_connections.hpp"

namespace cleave {

namespace fs = std::filesystem;

namespace {

constexpr auto patience = std::chrono::seconds(10);

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
  const auto pid = start_child(command, log, log);
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
    wait_for_child(pid_);
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

}  // namespace cleave
