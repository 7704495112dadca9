#include "daemon/store/store_witness.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>

#include "base/format.hpp"
#include "base/text.hpp"

namespace cleave {

namespace {

constexpr std::size_t line_bytes = 128;

std::uint64_t sum_of(std::string_view text) {
  std::uint64_t sum = 0xcbf29ce484222325;  // FNV-1a
  for (const char each : text) sum = (sum ^ static_cast<unsigned char>(each)) * 0x100000001b3;
  return sum;
}

std::string line_of(const StoreProgress& progress) {
  const std::string words =
      fmt::format("batch {} job {} event {}", progress.batch, progress.job, progress.event);
  return fmt::format("{:<{}}\n", fmt::format("{} sum {:016x}", words, sum_of(words)),
                     line_bytes - 1);
}

std::optional<StoreProgress> parse_line(std::string_view line) {
  const auto words = split(line, ' ');
  if (words.size() < 8) return std::nullopt;
  const auto number = [&](std::size_t at) { return parse_integer(words[at]).value_or(-1); };
  const StoreProgress progress{number(1), number(3), number(5)};
  if (progress.batch < 0 || line_of(progress) != line) return std::nullopt;
  return progress;
}

}  // namespace

WitnessText parse_witness(std::string_view text) {
  WitnessText found;
  for (int each = 0; each < 2; ++each) {
    const std::size_t begins = static_cast<std::size_t>(each) * line_bytes;
    if (begins >= text.size()) break;
    const auto read = parse_line(text.substr(begins, line_bytes));
    if (!read || (found.seen && found.seen->batch > read->batch)) continue;
    found.seen = read;
    found.next_line = 1 - each;
  }
  found.damaged = !text.empty() && !found.seen;
  return found;
}

std::string witness_text(const StoreProgress& progress) {
  const std::string line = line_of(progress);
  return line + line;
}

std::string missing_batches(const StoreProgress& seen, const StoreProgress& there) {
  if (seen.batch <= there.batch) return {};
  const std::int64_t count = seen.batch - there.batch;
  std::string text =
      fmt::format("its latest {} missing, which had been on the disk",
                  count == 1 ? std::string("batch is") : fmt::format("{} batches are", count));
  if (seen.job == there.job + 1)
    text += fmt::format(": job {} was accepted and is not there", seen.job);
  else if (seen.job > there.job)
    text += fmt::format(": jobs {} to {} were accepted and are not there", there.job + 1, seen.job);
  return text;
}

bool numbers_agree(const std::optional<StoreProgress>& seen, const StoreProgress& there,
                   std::int64_t highest_job) {
  if (highest_job > there.job) return false;
  if (!seen || seen->batch > there.batch) return true;
  if (seen->batch == there.batch) return *seen == there;
  return seen->job <= there.job && seen->event <= there.event;
}

Result<StoreWitness> StoreWitness::open(const std::filesystem::path& path) {
  auto file = FileHandle::open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK);
  if (!file) return std::unexpected(file.error());
  const auto text = file->read_from(0, path);
  if (!text) return std::unexpected(text.error());
  StoreWitness witness(std::move(*file));
  witness.found_ = parse_witness(*text);
  return witness;
}

void StoreWitness::begin_at(const StoreProgress& progress) {
  note(progress);
  note(progress);
  sync();
}

void StoreWitness::note(const StoreProgress& progress) {
  const std::string line = line_of(progress);
  const auto at = static_cast<off_t>(static_cast<std::size_t>(found_.next_line) * line_bytes);
  if (::pwrite(file_.descriptor(), line.data(), line.size(), at) !=
      static_cast<ssize_t>(line.size()))
    return;
  found_.next_line = 1 - found_.next_line;
  noted_ = true;
}

void StoreWitness::sync() {
  if (noted_ && ::fdatasync(file_.descriptor()) == 0) noted_ = false;
}

bool StoreWitness::keep_readers_out() {
  while (::flock(file_.descriptor(), LOCK_EX | LOCK_NB) != 0)
    // Where the file system has no such locks there are no readers that wait for one.
    if (errno != EINTR) return errno != EWOULDBLOCK;
  return true;
}

void StoreWitness::let_readers_in() {
  while (::flock(file_.descriptor(), LOCK_UN) != 0 && errno == EINTR) {
  }
}

}  // namespace cleave
