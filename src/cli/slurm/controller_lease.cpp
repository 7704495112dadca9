#include "cli/slurm/controller_lease.hpp"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "base/format.hpp"
#include "base/read_text.hpp"
#include "base/text.hpp"
#include "cli/command.hpp"

namespace cleave::cli {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view file_front = "controller.";
constexpr std::string_view left = "left";

/// The first line of the file.
std::string owner_of(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

/// What process numbers of two names must share to be compared. Empty where it cannot be told.
std::string place_of_process() {
  std::error_code failed;
  const std::string boot = read_text("/proc/sys/kernel/random/boot_id").value_or(std::string());
  const std::string space = fs::read_symlink("/proc/self/ns/pid", failed).string();
  std::string place = fmt::format("{}{}", trimmed(boot), space);
  std::erase(place, ':');
  return boot.empty() || failed ? std::string() : place;
}

}  // namespace

std::string controller_name() {
  char host[256] = {};
  ::gethostname(host, sizeof host - 1);
  return fmt::format("{}:{}:{}", host, ::getpid(), place_of_process());
}

bool controller_is_gone(const std::string& name) {
  const auto parts = split(name, ':');
  if (parts.size() != 3 || parts[2].empty() || parts[2] != place_of_process()) return false;
  const auto pid = parse_integer(parts[1]);
  return pid && *pid > 0 && ::kill(static_cast<pid_t>(*pid), 0) != 0 && errno == ESRCH;
}

ControllerLease::ControllerLease(fs::path folder, std::string name, std::chrono::nanoseconds lasts,
                                 Clock clock, Gone gone)
    : folder_(std::move(folder)),
      name_(std::move(name)),
      lasts_(lasts),
      clock_(std::move(clock)),
      gone_(std::move(gone)) {}

fs::path ControllerLease::path_of(std::uint64_t number) const {
  return folder_ / fmt::format("{}{}", file_front, number);
}

Result<std::uint64_t> ControllerLease::highest() const {
  std::error_code failed;
  std::uint64_t most = 0;
  for (fs::directory_iterator at(folder_, failed), end; !failed && at != end;
       at.increment(failed)) {
    const std::string name = at->path().filename();
    if (!name.starts_with(file_front)) continue;
    const auto number = parse_integer(std::string_view(name).substr(file_front.size()));
    if (number && *number > 0) most = std::max(most, static_cast<std::uint64_t>(*number));
  }
  if (failed)
    return fail(ErrorKind::bad_input, folder_.string(), failed.message(),
                "give a folder that every machine with a controller shares");
  return most;
}

Result<void> ControllerLease::beat() {
  const auto now = clock_();
  if (const auto written =
          write_whole(path_of(mine_).string(), fmt::format("{}\n{}\n", name_, ++beats_));
      !written)
    return std::unexpected(written.error());
  renewed_ = now;
  owner_ = name_;
  return {};
}

Result<bool> ControllerLease::take(std::uint64_t number) {
  const int file = ::open(path_of(number).c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0644);
  if (file < 0 && errno == EEXIST) return false;
  if (file < 0)
    return fail(ErrorKind::infeasible, path_of(number).string(),
                std::generic_category().message(errno));
  ::close(file);
  mine_ = number;
  if (const auto written = beat(); !written) return std::unexpected(written.error());
  std::error_code ignored;
  if (number > 1) fs::remove(path_of(number - 1), ignored);
  return true;
}

Result<bool> ControllerLease::keep() {
  const auto most = highest();
  if (!most) return std::unexpected(most.error());
  if (mine_ != 0 && *most == mine_) {
    if (const auto written = beat(); !written) return std::unexpected(written.error());
    return true;
  }
  mine_ = 0;
  if (*most == 0) return take(1);
  const std::string there = read_text(path_of(*most).string()).value_or(std::string());
  owner_ = owner_of(there);
  const std::string seen = fmt::format("{}\n{}", *most, there);
  if (seen != seen_) {
    seen_ = seen;
    seen_at_ = clock_();
  }
  if (owner_ == left || (gone_ && gone_(owner_)) || clock_() - seen_at_ >= lasts_)
    return take(*most + 1);
  return false;
}

bool ControllerLease::may_act() const {
  if (mine_ == 0 || clock_() - renewed_ >= lasts_ / 2) return false;
  const auto most = highest();
  return most && *most == mine_;
}

void ControllerLease::leave() {
  if (mine_ != 0 && may_act())
    static_cast<void>(write_whole(path_of(mine_).string(), fmt::format("{}\n", left)));
  mine_ = 0;
}

}  // namespace cleave::cli
