#include "daemon/store/store_witness.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <string>
#include <string_view>

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

Result<StoreWitness> StoreWitness::open(const std::filesystem::path& path) {
  auto file = FileHandle::open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK);
  if (!file) return std::unexpected(file.error());
  const auto text = file->read_from(0, path);
  if (!text) return std::unexpected(text.error());
  StoreWitness witness(std::move(*file));
  for (int each = 0; each < 2; ++each) {
    const std::size_t begins = static_cast<std::size_t>(each) * line_bytes;
    if (begins >= text->size()) break;
    const auto read = parse_line(std::string_view(*text).substr(begins, line_bytes));
    if (!read || (witness.seen_ && witness.seen_->batch > read->batch)) continue;
    witness.seen_ = read;
    witness.next_line_ = 1 - each;
  }
  witness.damaged_ = !text->empty() && !witness.seen_;
  return witness;
}

void StoreWitness::begin_at(const StoreProgress& progress) {
  note(progress);
  note(progress);
  sync();
}

void StoreWitness::note(const StoreProgress& progress) {
  const std::string line = line_of(progress);
  const auto at = static_cast<off_t>(static_cast<std::size_t>(next_line_) * line_bytes);
  if (::pwrite(file_.descriptor(), line.data(), line.size(), at) !=
      static_cast<ssize_t>(line.size()))
    return;
  next_line_ = 1 - next_line_;
  noted_ = true;
}

void StoreWitness::sync() {
  if (noted_ && ::fdatasync(file_.descriptor()) == 0) noted_ = false;
}

}  // namespace cleave
