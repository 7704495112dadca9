#include "daemon/service/job_output.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>

#include "base/format.hpp"
#include "base/text.hpp"
#include "runner/descriptor.hpp"
#include "runner/job_directory.hpp"

namespace cleave {

namespace {

constexpr std::string_view mark_begin = "[cleave: ",
                           mark_end = " bytes before this line were dropped]\n";
constexpr std::size_t mark_digits = 20;
constexpr std::size_t mark_size = mark_begin.size() + mark_digits + mark_end.size();
constexpr std::int64_t most_dropped = std::int64_t{1} << 60;
constexpr int most_tries = 5;

/// One file of an output, opened.
struct OutputFile {
  Descriptor file;
  dev_t device = 0;
  ino_t inode = 0;
  std::int64_t dropped = 0;  // bytes before it, as its first line says
  std::int64_t begin = 0;    // where the job's bytes begin in it
  std::int64_t size = 0;     // of those
  [[nodiscard]] bool same_as(const OutputFile& other) const {
    return file && other.file && device == other.device && inode == other.inode;
  }
};

std::int64_t read_at(int file, std::int64_t offset, char* to, std::size_t most) {
  std::size_t have = 0;
  while (have < most) {
    const ssize_t got =
        ::pread(file, to + have, most - have, offset + static_cast<std::int64_t>(have));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    have += static_cast<std::size_t>(got);
  }
  return static_cast<std::int64_t>(have);
}

/// How many bytes were dropped, if this is a line that says so.
std::optional<std::int64_t> dropped_by_mark(std::string_view line) {
  if (line.size() != mark_size || !line.starts_with(mark_begin) || !line.ends_with(mark_end))
    return std::nullopt;
  const auto number = parse_integer(trimmed(line.substr(mark_begin.size(), mark_digits)));
  if (!number || *number < 0 || *number > most_dropped) return std::nullopt;
  return number;
}

OutputFile open_output(int folder, const std::string& name, std::uint32_t owner) {
  OutputFile opened;
  Descriptor file(::openat(folder, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat facts {};
  if (!file || ::fstat(file.number(), &facts) != 0) return opened;
  if (!S_ISREG(facts.st_mode) || facts.st_nlink > 1 || facts.st_uid != owner) return opened;
  char first[mark_size];
  const auto got = read_at(file.number(), 0, first, mark_size);
  if (const auto dropped = dropped_by_mark({first, static_cast<std::size_t>(got)})) {
    opened.dropped = *dropped;
    opened.begin = mark_size;
  }
  opened.size = std::max<std::int64_t>(facts.st_size - opened.begin, 0);
  opened.device = facts.st_dev;
  opened.inode = facts.st_ino;
  opened.file = std::move(file);
  return opened;
}

struct OutputFiles {
  OutputFile old, now;
};

/// Opens both files as of one moment; tries again if they were rotated in between.
OutputFiles open_both(int folder, const std::string& stream, std::uint32_t owner) {
  OutputFiles files;
  for (int i = 0; i < most_tries; ++i) {
    const std::string now = fmt::format("{}.log", stream);
    files.now = open_output(folder, now, owner);
    files.old = open_output(folder, fmt::format("{}.old.log", stream), owner);
    struct stat facts {};
    const bool there = ::fstatat(folder, now.c_str(), &facts, AT_SYMLINK_NOFOLLOW) == 0;
    if (!files.now.file && !(there && S_ISREG(facts.st_mode))) break;
    if (files.now.file && there && facts.st_ino == files.now.inode && !files.now.same_as(files.old))
      break;
  }
  if (files.now.same_as(files.old)) files.old = {};
  return files;
}

void append(JobOutputPiece& piece, const OutputFile& from, std::int64_t file_offset,
            std::int64_t most_bytes) {
  const std::int64_t skip = std::max<std::int64_t>(piece.next() - file_offset, 0);
  const std::int64_t wanted =
      std::min(from.size - skip, most_bytes - static_cast<std::int64_t>(piece.bytes.size()));
  if (!from.file || wanted <= 0) return;
  const std::size_t before = piece.bytes.size();
  piece.bytes.resize(before + static_cast<std::size_t>(wanted));
  const auto got = read_at(from.file.number(), from.begin + skip, piece.bytes.data() + before,
                           static_cast<std::size_t>(wanted));
  piece.bytes.resize(before + static_cast<std::size_t>(got));
}

}  // namespace

Result<JobOutputPiece> read_job_output(const std::string& jobs_folder, const JobKey& key,
                                       std::uint32_t owner, const std::string& stream,
                                       std::int64_t offset, std::int64_t most_bytes) {
  const auto jobs = open_folder(jobs_folder);
  if (!jobs) return std::unexpected(jobs.error());
  const Descriptor folder(::openat(jobs->number(), directory_name(key).c_str(),
                                   O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!folder) {
    if (errno == ENOENT) return JobOutputPiece{};
    return system_error_at(directory_name(key), "cannot be opened as a folder");
  }
  const auto users = open_folder_in(folder.number(), user_folder);
  if (!users) return std::unexpected(users.error());
  const OutputFiles files = open_both(users->number(), stream, owner);
  const std::int64_t begin = files.old.file ? files.old.dropped : files.now.dropped;
  const std::int64_t middle = begin + files.old.size, end = middle + files.now.size;
  JobOutputPiece piece;
  piece.end = end;
  piece.offset =
      offset < 0 ? (offset < begin - end ? begin : end + offset) : std::clamp(offset, begin, end);
  // If the older file shrank while it was read, the piece ends there: it must not have a gap.
  if (piece.offset < middle) append(piece, files.old, begin, most_bytes);
  if (piece.next() >= middle) append(piece, files.now, middle, most_bytes);
  return piece;
}

}  // namespace cleave
