#include "device/gpu_lock.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cctype>
#include <cerrno>
#include <thread>

#include "base/format.hpp"
#include "base/text.hpp"

namespace cleave {

namespace {

constexpr std::string_view daemon_name = "cleaved";

LockHolder parse_holder(std::string_view text) {
  const auto words = split(trimmed(text), ' ');
  if (words.size() != 2 || !fit_for_a_name(words[0]) || !valid_utf8(words[0])) return {};
  const auto pid = parse_integer(words[1]);
  if (!pid || *pid <= 0 || *pid > UINT32_MAX) return {};
  return {.program = shown(words[0]), .pid = static_cast<std::uint32_t>(*pid)};
}

/// The text of a dead holder stays until the next one writes its own, shortly after taking the
/// lock.
bool gone(std::uint32_t pid) {
  return ::kill(static_cast<pid_t>(pid), 0) != 0 && errno == ESRCH;
}

LockHolder read_holder(const FileHandle& file, const std::filesystem::path& path) {
  const auto text = file.read_from(0, path);
  LockHolder holder = text ? parse_holder(*text) : LockHolder{};
  if (holder.pid != 0 && gone(holder.pid)) holder = {};
  return holder;
}

/// Whether the open file is still the one with that name: it may have been removed meanwhile.
bool still_named(const FileHandle& file, const std::filesystem::path& path) {
  struct stat open = {}, named = {};
  return ::fstat(file.descriptor(), &open) == 0 && ::stat(path.c_str(), &named) == 0 &&
         open.st_ino == named.st_ino && open.st_dev == named.st_dev;
}

/// Whether the lock was taken; false if another process has it.
Result<bool> try_to_lock(const FileHandle& file, int how, const std::filesystem::path& path) {
  while (::flock(file.descriptor(), how | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK) return false;
    if (errno != EINTR) return system_failure(path, "cannot be locked");
  }
  return true;
}

std::unexpected<Error> held(const std::string& name, const LockHolder& holder) {
  if (holder.program == daemon_name)
    return fail(ErrorKind::infeasible, "",
                fmt::format("{} is managed by {} (pid {})", name, holder.program, holder.pid),
                "ask the daemon for the change, or stop it first");
  if (holder.program.empty())
    return fail(ErrorKind::infeasible, "",
                fmt::format("{} is being changed by another program of Cleave", name),
                "try again when it is done");
  return fail(ErrorKind::infeasible, "",
              fmt::format("{} is being changed by {} (pid {})", name, holder.program, holder.pid),
              "try again when it is done");
}

Result<void> sign(const FileHandle& file, std::string_view program,
                  const std::filesystem::path& path) {
  if (::ftruncate(file.descriptor(), 0) != 0) return system_failure(path, "cannot be written");
  return file.write_whole(fmt::format("{} {}\n", program, ::getpid()), path);
}

}  // namespace

std::string gpu_lock_name(std::string_view gpu_uuid) {
  std::string name = "gpu-";
  for (const char c : gpu_uuid)
    name += std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' ? c : '_';
  return name + ".lock";
}

Result<GpuLock> GpuLock::take(const std::filesystem::path& state_directory,
                              std::string_view gpu_uuid, const std::string& name,
                              std::string_view program, std::chrono::milliseconds patience) {
  using Clock = std::chrono::steady_clock;
  const std::filesystem::path path = state_directory / gpu_lock_name(gpu_uuid);
  const Clock::time_point until = Clock::now() + patience;
  while (true) {
    auto file = FileHandle::open(path, O_RDWR | O_CREAT);
    if (!file) return std::unexpected(file.error());
    const auto taken = try_to_lock(*file, LOCK_EX, path);
    if (!taken) return std::unexpected(taken.error());
    if (*taken && still_named(*file, path)) {
      if (const auto signed_ = sign(*file, program, path); !signed_)
        return std::unexpected(signed_.error());
      return GpuLock(std::move(*file));
    }
    if (*taken) continue;
    const LockHolder holder = read_holder(*file, path);
    if (holder.program == daemon_name || Clock::now() >= until) return held(name, holder);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

std::optional<LockHolder> GpuLock::holder(const std::filesystem::path& state_directory,
                                          std::string_view gpu_uuid) {
  const std::filesystem::path path = state_directory / gpu_lock_name(gpu_uuid);
  const auto file = FileHandle::open(path, O_RDONLY);
  if (!file) return {};
  // A shared lock that is released at once: a program that tries to take the lock at this moment
  // waits as for any holder.
  const auto taken = try_to_lock(*file, LOCK_SH, path);
  if (!taken || *taken) return {};
  return read_holder(*file, path);
}

}  // namespace cleave
