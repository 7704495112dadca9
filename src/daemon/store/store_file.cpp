#include "daemon/store/store_file.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <optional>

#include "base/format.hpp"
#include "base/text.hpp"

namespace cleave {

namespace {

std::filesystem::path beside(const std::filesystem::path& path, const char* suffix) {
  return fmt::format("{}{}", path.string(), suffix);
}

/// Its size; and closes it to others.
Result<std::optional<std::int64_t>> closed_file(const std::filesystem::path& path) {
  auto size = plain_file(path);
  if (!size || !*size) return size;
  struct stat facts = {};
  if (::lstat(path.c_str(), &facts) != 0) return system_failure(path, "cannot be examined");
  if ((facts.st_mode & 0777) != 0600 && ::chmod(path.c_str(), 0600) != 0)
    return system_failure(path, "cannot be closed to other users");
  return size;
}

Result<FileHandle> open_lock(const std::filesystem::path& path) {
  if (const auto plain = closed_file(path); !plain) return std::unexpected(plain.error());
  auto file = FileHandle::open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK);
  if (!file) return file;
  if (::fchmod(file->descriptor(), 0600) != 0)
    return system_failure(path, "cannot be closed to other users");
  return file;
}

Result<FileHandle> take_lock(const std::filesystem::path& path) {
  auto file = open_lock(path);
  if (!file) return file;
  while (::flock(file->descriptor(), LOCK_EX | LOCK_NB) != 0) {
    if (errno == EINTR) continue;
    if (errno != EWOULDBLOCK) return system_failure(path, "cannot be locked");
    const auto text = file->read_from(0, path);
    const auto pid = text ? parse_integer(trimmed(*text)) : std::nullopt;
    return fail(ErrorKind::infeasible, shown(path.parent_path().string(), 200),
                pid ? fmt::format("it is used by another cleaved (pid {})", *pid)
                    : std::string("it is used by another cleaved"),
                "stop that one, or name another directory with --state");
  }
  if (::ftruncate(file->descriptor(), 0) != 0) return system_failure(path, "cannot be written");
  if (const auto signed_ = file->write_whole(fmt::format("{}\n", ::getpid()), path); !signed_)
    return std::unexpected(signed_.error());
  return file;
}

std::optional<std::uint64_t> inode_of(const std::filesystem::path& path) {
  struct stat facts = {};
  if (::lstat(path.c_str(), &facts) != 0) return std::nullopt;
  return facts.st_ino;
}

Result<void> make_empty(const std::filesystem::path& path) {
  const auto file = FileHandle::open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW);
  if (!file) return std::unexpected(file.error());
  if (::fchmod(file->descriptor(), 0600) != 0)
    return system_failure(path, "cannot be closed to other users");
  return sync_directory(path.parent_path());
}

}  // namespace

Result<std::optional<std::int64_t>> plain_file(const std::filesystem::path& path) {
  const std::string place = shown(path.string(), 200);
  struct stat facts = {};
  if (::lstat(path.c_str(), &facts) != 0) {
    if (errno == ENOENT) return std::optional<std::int64_t>();
    return system_failure(path, "cannot be examined");
  }
  if (!S_ISREG(facts.st_mode))
    return fail(ErrorKind::bad_input, place, "it is not a plain file",
                "move it away, or name another directory with --state");
  if (facts.st_uid != ::geteuid())
    return fail(ErrorKind::infeasible, place,
                fmt::format("it belongs to another user (uid {})", facts.st_uid),
                "run it as that user, or name another directory with --state");
  return std::optional<std::int64_t>(facts.st_size);
}

Error lost_to_its_log(const std::filesystem::path& path, std::int64_t log_bytes) {
  return {ErrorKind::bad_input, shown(path.string(), 200),
          fmt::format("it is gone, but not its log, cleave.db-wal of {} bytes", log_bytes),
          "restore it, or move the log away too to begin with nothing"};
}

std::filesystem::path StoreFile::witness() const {
  return beside(path_, ".witness");
}

Result<StoreFile> StoreFile::take(const std::filesystem::path& state_directory) {
  std::error_code failed;
  const std::filesystem::path directory = std::filesystem::canonical(state_directory, failed);
  if (failed)
    return fail(ErrorKind::infeasible, shown(state_directory.string(), 200),
                fmt::format("cannot be used: {}", failed.message()),
                "name another directory with --state");
  const std::filesystem::path path = directory / store_name;
  auto lock = take_lock(beside(path, ".lock"));
  if (!lock) return std::unexpected(lock.error());
  const auto database = closed_file(path);
  if (!database) return std::unexpected(database.error());
  bool torn = database->value_or(0) % store_page_bytes != 0;
  if (const auto plain = closed_file(beside(path, ".witness")); !plain)
    return std::unexpected(plain.error());
  for (const char* suffix : {"-wal", "-shm", "-journal"}) {
    const auto size = closed_file(beside(path, suffix));
    if (!size) return std::unexpected(size.error());
    if (size->value_or(0) > 0) torn = false;
    // SQLite would take the log of an empty database for rubbish and delete it.
    if (suffix == std::string_view("-wal") && size->value_or(0) > 0 && database->value_or(0) == 0)
      return std::unexpected(lost_to_its_log(path, **size));
  }
  if (!*database)
    if (const auto made = make_empty(path); !made) return std::unexpected(made.error());
  return StoreFile(std::move(*lock), path, inode_of(path).value_or(0), torn);
}

Result<void> StoreFile::is_there() {
  const auto log = inode_of(beside(path_, "-wal"));
  if (log_ == 0) log_ = log.value_or(0);
  const bool same = inode_of(path_) == inode_;
  if (same && (log_ == 0 || log == log_)) return {};
  return fail(ErrorKind::infeasible, shown((same ? beside(path_, "-wal") : path_).string(), 200),
              "it was removed or replaced while this daemon has it open",
              "put it back, or restart the daemon, which takes what is there then");
}

}  // namespace cleave
