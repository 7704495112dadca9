#include "study/arena/kept_runs.hpp"

#include <charconv>
#include <filesystem>
#include <iterator>
#include <optional>
#include <system_error>

#include "base/format.hpp"
#include "base/json.hpp"
#include "base/json_line.hpp"
#include "base/random.hpp"
#include "base/read_text.hpp"
#include "base/text.hpp"

namespace cleave {

namespace {

/// The figures of a run as they are kept; the names are keys.
constexpr std::pair<std::string_view, double ArenaRun::*> figures[] = {
    {"turnaround_s", &ArenaRun::turnaround_s},     {"p95_slowdown", &ArenaRun::p95_slowdown},
    {"makespan_s", &ArenaRun::makespan_s},         {"disruptions", &ArenaRun::disruptions},
    {"longest_wait_s", &ArenaRun::longest_wait_s}, {"wait_s", &ArenaRun::wait_s},
    {"execution_s", &ArenaRun::execution_s},       {"seconds", &ArenaRun::seconds}};

/// FNV-1a, and then every bit mixed.
std::uint64_t hash_of(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return mixed_bits(hash);
}

std::string hex(std::uint64_t value) {
  return fmt::format("{:016x}", value);
}

std::optional<std::uint64_t> from_hex(const std::string& text) {
  std::uint64_t value = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  if (failed != std::errc() || end != text.data() + text.size() || text.size() != 16)
    return std::nullopt;
  return value;
}

/// A line of the file.
struct KeptLine {
  std::uint64_t key = 0, program = 0;
  ArenaRun run;
};

Result<KeptLine> parse_line(std::string_view line, const std::string& place) {
  const auto document = parse_json_line(line, place);
  if (!document) return std::unexpected(document.error());
  std::optional<Error> error;
  JsonReader in(*document, place, error);
  KeptLine kept;
  for (const auto& [name, value] : {std::pair("run", &kept.key), {"program", &kept.program}}) {
    const auto hash = from_hex(in.text(name));
    if (!hash) in.refuse(name, "it is no hash");
    *value = hash.value_or(0);
  }
  kept.run.finished = in.flag("finished", false);
  kept.run.shares = in.flag("shares", false);
  for (const auto& [name, member] : figures) {
    const auto value = in.number_if(name);
    if (!value) in.refuse(name, "it is missing");
    kept.run.*member = value.value_or(0);
  }
  if (error)
    return fail(error->kind, error->place, error->message,
                "this is no file of kept runs: name another, or remove it");
  return kept;
}

}  // namespace

Result<std::uint64_t> program_hash() {
  std::ifstream file("/proc/self/exe", std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  if (!file || bytes.empty())
    return fail(ErrorKind::infeasible, "/proc/self/exe", "this program cannot read its own file",
                "leave out --keep");
  return hash_of(bytes);
}

std::uint64_t arena_key(const OpenArenaCell& cell, std::size_t seed,
                        const ArenaContestant& contestant) {
  const auto spec = spec_in(contestant, cell.cell);
  return hash_of(fmt::format("{}\n{}\n{}", cell.inputs[seed], text(told_in(contestant, cell.cell)),
                             spec ? spec->text : ""));
}

Result<std::unique_ptr<KeptRuns>> KeptRuns::open(const std::string& path, std::uint64_t program) {
  auto kept = std::unique_ptr<KeptRuns>(new KeptRuns(path, program));
  std::error_code failed;
  bool cut = false;
  if (std::filesystem::exists(path, failed)) {
    const auto text = read_text(path);
    if (!text) return std::unexpected(text.error());
    cut = !text->empty() && text->back() != '\n';
    if (const auto read = kept->read(*text); !read) return std::unexpected(read.error());
  }
  kept->file_.open(path, std::ios::app);
  if (cut) kept->file_ << '\n';
  if (!kept->file_)
    return fail(ErrorKind::bad_input, shown(path, 200), "it cannot be written",
                "name a file for the results by --keep");
  return kept;
}

Result<void> KeptRuns::read(std::string_view text) {
  std::size_t number = 0;
  while (!text.empty()) {
    ++number;
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    const auto kept = parse_line(line, fmt::format("{}:{}", shown(path_, 200), number));
    if (end == std::string_view::npos) {
      if (kept) runs_[kept->key] = {kept->run, kept->program == program_};
      return {};
    }
    if (!kept) return std::unexpected(kept.error());
    runs_[kept->key] = {kept->run, kept->program == program_};
    text.remove_prefix(end + 1);
  }
  return {};
}

const KeptRuns::Kept* KeptRuns::find(std::uint64_t key) const {
  const auto found = runs_.find(key);
  return found == runs_.end() ? nullptr : &found->second;
}

void KeptRuns::add(std::uint64_t key, const ArenaRun& run) {
  Json line = {{"run", hex(key)}, {"program", hex(program_)}};
  line["finished"] = run.finished;
  line["shares"] = run.shares;
  for (const auto& [name, member] : figures) line[std::string(name)] = run.*member;
  const std::scoped_lock lock(writing_);
  file_ << fmt::format("{}\n", line.dump()) << std::flush;
}

Result<void> KeptRuns::written() const {
  if (file_) return {};
  return fail(ErrorKind::infeasible, shown(path_, 200), "a run could not be written",
              "is the disk full?");
}

}  // namespace cleave
