#include "cli/live/sim_host.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <system_error>

#include "base/format.hpp"
#include "base/tell.hpp"
#include "cli/interrupts.hpp"
#include "cli/live/host_mounts.hpp"
#include "nvmlsim/host_writer.hpp"
#include "nvmlsim/sim_node.hpp"

namespace cleave::cli {

namespace fs = std::filesystem;

namespace {

/// Where the driver root is on an entered host: in a folder that is covered anyway.
constexpr const char* driver_place = "dev/cleave";
/// How often the node is looked at for new and destroyed instances.
constexpr int look_every_ms = 10;

/// Files that are shown in the place of the host's: their folders cannot be covered.
constexpr const char* single_files[] = {"proc/devices", "proc/modules"};

const std::vector<std::string> covered_folders = {"dev", "proc/driver", "sys/bus/pci/devices",
                                                  "sys/bus/pci/drivers", "sys/module"};

void add_below(const std::string& folder, const HostTree& tree, HostTree& to) {
  for (const auto& [path, file] : tree) to.emplace(fmt::format("{}/{}", folder, path), file);
}

/// The tree of an entered host.
HostTree entered_tree(const SimHost& host, const RealHost& real, const HostTree& driver) {
  HostTree tree = host.tree(real);
  add_below(driver_place, driver, tree);
  for (const char* path : single_files)
    if (const auto file = tree.extract(path))
      tree.emplace(fmt::format("{}/{}", driver_place, path), file.mapped());
  return tree;
}

/// Beside the command, until that ends: makes the files those of the node.
[[noreturn]] void keep_up_to_date(const std::string& node, int command, HostWriter writer,
                                  const RealHost& real, const HostTree& driver) {
  ::setsid();  // Ctrl-C is the command's
  ::prctl(PR_SET_NAME, "cleave-sim-host");
  const int nothing = ::open("/dev/null", O_RDWR);
  for (int file = 0; file < 3; ++file) ::dup2(nothing, file);
  ::close_range(3, static_cast<unsigned>(command) - 1, 0);
  ::close_range(static_cast<unsigned>(command) + 1, ~0U, 0);
  [[maybe_unused]] const int moved = ::chdir("/");
  const auto host = SimHost::open(node);
  std::uint64_t state = 0;
  pollfd ended{command, POLLIN, 0};
  while (host && !host->gone()) {
    if (const std::uint64_t now = host->state(); now != state) {
      state = now;
      if (!writer.update(entered_tree(*host, real, driver))) break;
    }
    if (::poll(&ended, 1, look_every_ms) > 0) break;
  }
  ::_exit(0);
}

/// Starts that as nobody's child: the command must not meet a child that it did not start.
Result<void> start_keeping(const std::string& node, const HostWriter& writer, const RealHost& real,
                           const HostTree& driver) {
  const int command = static_cast<int>(::syscall(SYS_pidfd_open, ::getpid(), 0));
  if (command < 0)
    return fail(ErrorKind::infeasible, "pidfd_open", std::generic_category().message(errno),
                "this needs Linux 5.3 or newer");
  const pid_t between = ::fork();
  if (between == 0) {
    if (::fork() == 0) keep_up_to_date(node, command, writer, real, driver);
    ::_exit(0);
  }
  ::close(command);
  if (between < 0)
    return fail(ErrorKind::infeasible, "fork", std::generic_category().message(errno));
  while (::waitpid(between, nullptr, 0) < 0 && errno == EINTR) continue;
  return {};
}

void put_in_front(const char* variable, const std::string& folder) {
  const char* before = std::getenv(variable);
  const std::string value =
      before == nullptr || *before == '\0' ? folder : fmt::format("{}:{}", folder, before);
  ::setenv(variable, value.c_str(), 1);
}

Result<int> become(const std::vector<std::string>& command) {
  std::vector<char*> words;
  for (const std::string& each : command) words.push_back(const_cast<char*>(each.c_str()));
  words.push_back(nullptr);
  ::execvp(words.front(), words.data());
  const int why = errno;
  tell("cleave: {}: it cannot be started: {}\n", command.front(),
       std::generic_category().message(why));
  return why == ENOENT ? 127 : 126;  // as shells end
}

}  // namespace

Result<int> enter_sim_host(const std::string& node, const std::vector<std::string>& command) {
  std::error_code failed;
  const std::string directory = fs::absolute(node, failed).lexically_normal().string();
  const auto driver = driver_root();
  if (!driver) return std::unexpected(driver.error());
  const RealHost real = real_host();
  HostTree tree;
  {
    const auto host = SimHost::open(directory);
    if (!host) return std::unexpected(host.error());
    tree = entered_tree(*host, real, *driver);
  }
  if (const auto done = enter_own_mounts(); !done) return std::unexpected(done.error());
  const auto covered = cover(covered_folders, "nvidia");
  if (!covered) return std::unexpected(covered.error());
  HostWriter writer("/", *covered, DeviceFiles::null_device);
  if (const auto done = writer.update(tree); !done) return std::unexpected(done.error());
  for (const char* path : single_files)
    if (const std::string place = fmt::format("/{}", path); fs::exists(place, failed))
      if (const auto done = show_instead(fmt::format("/{}/{}", driver_place, path), place); !done)
        return std::unexpected(done.error());
  if (const auto done = start_keeping(directory, writer, real, *driver); !done)
    return std::unexpected(done.error());
  ::setenv(sim_node_variable, directory.c_str(), 1);
  put_in_front("PATH", fmt::format("/{}/{}", driver_place, driver_programs));
  put_in_front("LD_LIBRARY_PATH", fmt::format("/{}/{}", driver_place, driver_libraries));
  return become(command);
}

namespace {

constexpr const char* marker = ".cleave-sim-node";

/// Empties a folder that an earlier call wrote; others must be empty or new.
Result<void> prepare(const fs::path& folder) {
  std::error_code failed;
  const bool ours = fs::exists(folder / marker, failed);
  if (!ours && fs::exists(folder, failed) && !fs::is_empty(folder, failed))
    return fail(ErrorKind::bad_input, folder.string(), "the folder is not empty",
                "name a new folder, or one that `cleave sim-node root` wrote");
  for (const char* each : {"dev", "proc", "sys", "usr"}) fs::remove_all(folder / each, failed);
  fs::create_directories(folder, failed);
  std::ofstream(folder / marker) << "made by cleave sim-node root\n";
  if (!fs::exists(folder / marker, failed))
    return fail(ErrorKind::infeasible, folder.string(), "it cannot be written");
  return {};
}

}  // namespace

Result<int> write_sim_host(const std::string& node, const std::string& folder, bool follow) {
  const auto driver = driver_root();
  if (!driver) return std::unexpected(driver.error());
  const auto host = SimHost::open(node);
  if (!host) return std::unexpected(host.error());
  if (const auto done = prepare(folder); !done) return std::unexpected(done.error());
  const RealHost real = real_host();
  HostWriter writer(folder, {""}, DeviceFiles::empty);
  const Interrupts interrupts(Interrupts::Waiting::ends);
  std::uint64_t state = 0;
  do {
    if (const std::uint64_t now = host->state(); now != state) {
      state = now;
      HostTree tree = host->tree(real);
      tree.insert(driver->begin(), driver->end());
      if (const auto done = writer.update(tree); !done) return std::unexpected(done.error());
    }
    if (follow) ::poll(nullptr, 0, look_every_ms);
  } while (follow && !host->gone() && Interrupts::came() == 0);
  return 0;
}

}  // namespace cleave::cli
