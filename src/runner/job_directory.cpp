#include "runner/job_directory.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/format.hpp"
#include "base/json.hpp"
#include "base/text.hpp"

namespace cleave {

namespace {

constexpr int lock_flags = O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
constexpr std::int64_t longest_began = 4096;

/// Pids and start times are valid only until the next boot.
std::string this_boot() {
  const Descriptor file(::open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC));
  char text[64];
  const ssize_t got = file ? ::read(file.number(), text, sizeof text) : 0;
  return std::string(trimmed({text, static_cast<std::size_t>(std::max<ssize_t>(got, 0))}));
}

void fill_in_session(int folder, JobMark& mark) {
  const auto text = read_file_in(folder, lock_file, ::geteuid(), longest_began);
  if (!text) return;
  const auto document = parse_json(*text, lock_file);
  if (!document) return;
  std::optional<Error> error;
  JsonReader in(*document, lock_file, error);
  const std::string boot = in.text("boot");
  const auto session = in.integer("session", 2, 1 << 30);
  const auto started = in.integer("started", 0, std::int64_t{1} << 62);
  in.done();
  if (error || boot != this_boot()) return;
  mark.session = static_cast<pid_t>(session);
  mark.session_started = static_cast<std::uint64_t>(started);
}

}  // namespace

std::string directory_name(const JobKey& key) {
  return fmt::format("{}.{}", key.job, key.attempt);
}

std::optional<JobKey> parse_directory_name(std::string_view name) {
  const auto parts = split(name, '.');
  if (parts.size() != 2) return std::nullopt;
  const auto job = parse_integer(parts[0]), attempt = parse_integer(parts[1]);
  if (!job || !attempt || *job < 1 || *attempt < 1) return std::nullopt;
  const JobKey key{*job, *attempt};
  if (directory_name(key) != name) return std::nullopt;
  return key;
}

Result<std::optional<Descriptor>> take_job_lock(int folder) {
  Descriptor file(::openat(folder, lock_file, lock_flags | O_CREAT, 0600));
  if (!file) return system_error_at(lock_file, "cannot be opened");
  if (::flock(file.number(), LOCK_EX | LOCK_NB) == 0) return std::optional(std::move(file));
  if (errno == EWOULDBLOCK) return std::optional<Descriptor>();
  return system_error_at(lock_file, "cannot be taken");
}

bool job_lock_is_held(int folder) {
  const Descriptor file(::openat(folder, lock_file, lock_flags));
  if (!file) return errno != ENOENT;
  return ::flock(file.number(), LOCK_EX | LOCK_NB) != 0;
}

Result<Descriptor> make_outcome_file(int folder) {
  Descriptor file(
      ::openat(folder, outcome_file, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file) return system_error_at(outcome_file, "cannot be made");
  return file;
}

Result<void> write_outcome(int file, const ProcessOutcome& outcome) {
  const std::string record = outcome_record(outcome);
  if (::lseek(file, 0, SEEK_SET) != 0 || !write_all(file, record))
    return system_error_at(outcome_file, "cannot be written");
  if (::ftruncate(file, static_cast<off_t>(record.size())) != 0)
    return system_error_at(outcome_file, "cannot be cut to its length");
  if (::fsync(file) != 0) return system_error_at(outcome_file, "cannot be synced to the disk");
  return {};
}

Result<std::optional<ProcessOutcome>> read_outcome(int folder) {
  struct stat facts {};
  if (::fstatat(folder, outcome_file, &facts, AT_SYMLINK_NOFOLLOW) != 0 && errno == ENOENT)
    return std::optional<ProcessOutcome>();
  const auto record = read_file_in(folder, outcome_file, ::geteuid(), longest_outcome);
  if (!record) return std::unexpected(record.error());
  const auto text = whole_record(*record);
  if (!text) return std::optional<ProcessOutcome>();
  const auto outcome = parse_outcome(*text, outcome_file);
  if (!outcome) return std::unexpected(outcome.error());
  return std::optional(*outcome);
}

Result<JobMark> job_mark(int folder, const JobKey& key) {
  struct stat facts {};
  if (::fstat(folder, &facts) != 0)
    return system_error_at(directory_name(key), "cannot be examined");
  JobMark mark;
  mark.text = fmt::format("{}-{:x}-{:x}", directory_name(key), facts.st_dev, facts.st_ino);
  struct stat of_user {};
  if (::fstatat(folder, user_folder, &of_user, AT_SYMLINK_NOFOLLOW) != 0)
    return system_error_at(directory_name(key), "its user's folder cannot be examined");
  mark.uid = of_user.st_uid;
  fill_in_session(folder, mark);
  return mark;
}

Result<Launch> read_launch(int folder) {
  const auto text = read_file_in(folder, launch_file, ::geteuid(), longest_launch);
  if (!text) return std::unexpected(text.error());
  return parse_launch(*text, launch_file);
}

void forget_launch(int folder) {
  (void)::unlinkat(folder, launch_file, 0);
}

bool can_judge(int folder, const JobKey& key,
               const Result<std::optional<ProcessOutcome>>& outcome) {
  if (outcome && *outcome) return true;
  // What was removed will not come back either.
  const auto passes = [](const auto& read) {
    return !read && read.error().kind == ErrorKind::infeasible && errno != ENOENT;
  };
  errno = 0;
  if (passes(outcome)) return false;
  if (passes(job_mark(folder, key))) return false;
  if (passes(read_file_in(folder, lock_file, ::geteuid(), longest_began))) return false;
  return !passes(read_launch(folder));
}

std::string began_text() {
  Json text;
  text["session"] = ::getsid(0);
  const auto facts = facts_of(::getpid());
  text["started"] = facts ? facts->started : 0;
  text["boot"] = this_boot();
  return text.dump();
}

bool may_have_begun(int folder) {
  struct stat facts {};
  return ::fstatat(folder, lock_file, &facts, AT_SYMLINK_NOFOLLOW) != 0 || facts.st_size > 0;
}

}  // namespace cleave
