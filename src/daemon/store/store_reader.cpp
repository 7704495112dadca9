#include "daemon/store/store_reader.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>

#include "base/format.hpp"
#include "base/text.hpp"
#include "daemon/store/store_file.hpp"

namespace cleave {

namespace {

constexpr std::size_t log_header_bytes = 32;  // another one for each log that is begun

/// The witness with a shared lock; empty where there is none. A daemon has an exclusive one only
/// while it brings its log in.
Result<FileHandle> lock_witness(const std::filesystem::path& path) {
  auto file = FileHandle::open_if_there(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  if (!file || !*file) return file;
  while (::flock(file->descriptor(), LOCK_SH) != 0)
    if (errno != EINTR) return system_failure(path, "cannot be locked");
  return file;
}

}  // namespace

Result<StoreReader::Files> StoreReader::files_at(const std::filesystem::path& path) {
  const auto size = plain_file(path);
  if (!size) return std::unexpected(size.error());
  if (!*size)
    return fail(ErrorKind::infeasible, shown(path.string(), 200), "there is no store",
                "name the state directory of a daemon with --state");
  Files files;
  files.size = **size;
  struct stat facts = {};
  if (::stat(path.c_str(), &facts) != 0) return system_failure(path, "cannot be examined");
  files.inode = facts.st_ino;
  files.written = facts.st_mtim;
  const std::filesystem::path log = path.string() + "-wal";
  const auto log_size = plain_file(log);
  if (!log_size) return std::unexpected(log_size.error());
  files.log_size = log_size->value_or(0);
  if (files.log_size == 0) return files;
  const auto file = FileHandle::open(log, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  if (!file) return std::unexpected(file.error());
  files.log_begins.resize(log_header_bytes);
  const ssize_t got = ::pread(file->descriptor(), files.log_begins.data(), log_header_bytes, 0);
  if (got < 0) return system_failure(log, "cannot be read");
  files.log_begins.resize(static_cast<std::size_t>(got));
  return files;
}

Result<StoreReader> StoreReader::open(const std::filesystem::path& state_directory) {
  std::error_code failed;
  const std::filesystem::path directory = std::filesystem::canonical(state_directory, failed);
  if (failed)
    return fail(ErrorKind::infeasible, shown(state_directory.string(), 200),
                fmt::format("cannot be read: {}", failed.message()),
                "name the state directory of a daemon with --state");
  const std::filesystem::path path = directory / store_name;
  const std::filesystem::path witness_path = directory / witness_name;
  if (const auto plain = plain_file(witness_path); !plain) return std::unexpected(plain.error());
  auto lock = lock_witness(witness_path);
  if (!lock) return std::unexpected(lock.error());
  const auto text = *lock ? lock->read_from(0, witness_path) : std::string();
  if (!text) return std::unexpected(text.error());
  auto files = files_at(path);
  if (!files) return std::unexpected(files.error());
  if (files->size == 0 && files->log_size > 0)
    return std::unexpected(lost_to_its_log(path, files->log_size));
  const bool torn = files->log_size == 0 && files->size % store_page_bytes != 0;
  auto connection = SqliteConnection::look_at(path, files->log_size > 0);
  if (!connection) return std::unexpected(connection.error());
  // From here on it sees what there is now. What is wrong with it is met again by the next read.
  static_cast<void>(connection->run("BEGIN; SELECT count(*) FROM sqlite_schema"));
  return StoreReader(std::move(*lock), parse_witness(*text), path, std::move(*files), torn,
                     std::move(*connection));
}

bool StoreReader::overtaken() const {
  const auto now = files_at(path_);
  if (!now) return true;
  // A log that was not there is not read: nothing of it can be in the database yet.
  const bool same_log = files_.log_size == 0 || now->log_begins == files_.log_begins;
  return !same_log || now->inode != files_.inode || now->size != files_.size ||
         now->written.tv_sec != files_.written.tv_sec ||
         now->written.tv_nsec != files_.written.tv_nsec;
}

}  // namespace cleave
