#include "study/arena/arena_cell.hpp"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <limits>
#include <optional>
#include <set>
#include <utility>

#include "base/format.hpp"
#include "base/json.hpp"
#include "base/json_line.hpp"
#include "base/text.hpp"

namespace cleave {

namespace {

namespace fs = std::filesystem;

template <class Value>
using Words = std::vector<std::pair<std::string_view, Value>>;

/// The value of the word under `key`, which must be one of these.
template <class Value>
Value word(JsonReader& in, std::string_view key, const Words<Value>& words) {
  const std::string given = in.text(key);
  const auto found = std::ranges::find(words, given, &std::pair<std::string_view, Value>::first);
  if (found != words.end()) return found->second;
  in.refuse(key, fmt::format("'{}' is not a value of it", shown(given)),
            fmt::format("write {}",
                        any_of(names_of(words, [](const auto& each) { return each.first; }))));
  return words.front().second;
}

const Words<ArenaRequest> requests = {{"mem", ArenaRequest::memory},
                                      {"memory", ArenaRequest::memory},
                                      {"profile", ArenaRequest::profile},
                                      {"none", ArenaRequest::nothing}};
const Words<MayInterrupt> interruptions = {{"none", MayInterrupt::never},
                                           {"ckpt", MayInterrupt::checkpoint},
                                           {"checkpoint", MayInterrupt::checkpoint},
                                           {"all", MayInterrupt::all}};
/// As `--know` takes them: speeds that are unknown at first are learnt.
const Words<std::string_view> speeds = {{"known", "true"},    {"true", "true"},
                                        {"learn", "learn"},   {"learnt", "learn"},
                                        {"unknown", "learn"}, {"none", "none"}};
const Words<std::string_view> times = {
    {"known", "true"}, {"true", "true"}, {"noisy", "noise:0.7"}, {"unknown", "unknown"}};

/// A setting of a run that cells may name, by the name of the option without its dashes.
struct RunSetting {
  std::string_view name;
  std::string cli::RunArguments::*value;
  std::string_view physical;      // its value in the physical world; empty: as in the plain one
  std::string_view plain = {};    // its value in the plain world; empty: the usual one
  std::string_view choices = {};  // the words that it takes; empty: the run says
};
const RunSetting settings[] = {
    {"profiles", &cli::RunArguments::profiles, "", "plain"},
    {"checkpoint", &cli::RunArguments::checkpoint, "memory"},
    {"reconfiguration", &cli::RunArguments::reconfiguration, ""},
    {"process-start", &cli::RunArguments::process_start, ""},
    {"mig-switch", &cli::RunArguments::mig_switch, "5"},
    {"compaction", &cli::RunArguments::compaction, ""},
    {"link", &cli::RunArguments::link, "spread", "off", "spread|together|off"},
    {"allocation", &cli::RunArguments::allocation, "measured", "", "measured|off"},
    {"sharing", &cli::RunArguments::sharing, ""},
    {"power", &cli::RunArguments::power, "", "off"},
    {"power-cap", &cli::RunArguments::power_cap, ""},
    {"forecast", &cli::RunArguments::forecast, ""},
    {"faults", &cli::RunArguments::faults, ""},
};

void use_world(cli::RunArguments& run, ArenaWorld world) {
  for (const RunSetting& setting : settings) {
    const std::string_view value =
        world == ArenaWorld::physical && !setting.physical.empty() ? setting.physical
        : world == ArenaWorld::plain || setting.name == "profiles" ? setting.plain
                                                                   : std::string_view();
    if (!value.empty()) run.*setting.value = value;
  }
}

/// A value of a setting as the command line would have it; nothing where it is neither a number
/// nor a text, nor yes or no of what can be left out.
std::optional<std::string> setting_text(const RunSetting& setting, const Json& value) {
  const std::string_view off = "off";
  if (value.is_boolean() && (setting.plain == off || setting.choices.ends_with(off)))
    return std::string(value.get<bool>() ? setting.physical : off);
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number_integer()) return fmt::format("{}", value.get<std::int64_t>());
  if (value.is_number()) return fmt::format("{}", value.get<double>());
  return std::nullopt;
}

Result<void> set_one(const std::string& place, std::string key, const Json& value,
                     cli::RunArguments& run) {
  std::ranges::replace(key, '_', '-');
  const auto* const setting = std::ranges::find(settings, key, &RunSetting::name);
  if (setting == std::end(settings))
    return fail(ErrorKind::bad_input, place,
                fmt::format("'{}' is no setting of a cell's run", shown(key)),
                suggestion(key, names_of(settings)));
  const auto text = setting_text(*setting, value);
  if (!text)
    return fail(ErrorKind::bad_input, fmt::format("{}: {}", place, key),
                "it is neither a number nor a text",
                fmt::format("write it as `cleave simulate --{}` takes it", key));
  const auto choices = split(setting->choices, '|');
  if (!setting->choices.empty() && std::ranges::find(choices, *text) == choices.end())
    return fail(ErrorKind::bad_input, fmt::format("{}: {}", place, key),
                fmt::format("'{}' is not a value of it", shown(*text)),
                fmt::format("write {}", setting->choices));
  run.*setting->value = *text;
  return {};
}

/// Reads the cell on one line.
class CellReader {
 public:
  CellReader(const Json& line, std::string place, fs::path folder, ArenaWorld world)
      : line_(line), folder_(std::move(folder)), in_(line, place, error_) {
    cell_.place = std::move(place);
    use_world(cell_.run, world);
  }

  Result<ArenaCell> read() {
    cell_.name = in_.text("name");
    if (!error_ && !fit_for_a_name(cell_.name)) in_.refuse("name", "it is no name", "write a word");
    cell_.run.fleet = beside(in_.text("fleet"));
    read_workloads();
    read_knowledge();
    static_cast<void>(in_.text_if("from"));
    static_cast<void>(in_.object_if("sim"));
    in_.done();
    if (error_) return std::unexpected(*error_);
    if (const auto set = read_settings(); !set) return std::unexpected(set.error());
    return std::move(cell_);
  }

 private:
  /// A path beside the file of cells, where something is there.
  [[nodiscard]] std::string beside(const std::string& path) const {
    std::error_code failed;
    const fs::path there = folder_ / path;
    return fs::exists(there, failed) ? there.string() : path;
  }

  void read_workloads() {
    const bool one =
        line_.is_object() && line_.contains("workload") && line_["workload"].is_string();
    const std::vector<std::string> paths =
        one ? std::vector{in_.text("workload")} : in_.texts("workload");
    if (paths.empty()) in_.refuse("workload", "there is none", "name a file for each seed");
    for (const std::string& path : paths) cell_.workloads.push_back((folder_ / path).string());
    for (const std::int64_t seed :
         in_.integers("seeds", 0, std::numeric_limits<std::int64_t>::max()))
      cell_.seeds.push_back(static_cast<std::uint64_t>(seed));
    if (!in_.has("seeds"))
      for (std::uint64_t seed = 1; seed <= paths.size(); ++seed) cell_.seeds.push_back(seed);
    if (cell_.seeds.size() != paths.size())
      in_.refuse("seeds",
                 fmt::format("{} for {}", counted(cell_.seeds.size(), "seed"),
                             counted(paths.size(), "workload")),
                 "name a workload for each seed");
    if (std::set(cell_.seeds.begin(), cell_.seeds.end()).size() != cell_.seeds.size())
      in_.refuse("seeds", "a seed occurs twice", "name each seed once");
  }

  void read_knowledge() {
    cell_.request = word(in_, "req", requests);
    const std::string_view of_speeds = word(in_, "speeds", speeds);
    // A table of speeds says on which profiles the job runs; without it only a stated size does.
    const bool size_known = of_speeds == "true" || cell_.request != ArenaRequest::nothing;
    cell_.run.know = fmt::format("speeds={};times={};memory={}", of_speeds,
                                 word(in_, "times", times), size_known ? "true" : "none");
    cell_.may = word(in_, "mob", interruptions);
    cell_.run.may = cleave::name(cell_.may);
  }

  Result<void> read_settings() {
    if (line_.contains("sim"))
      for (const auto& [key, value] : line_["sim"].items())
        if (const auto set = set_one(fmt::format("{}: sim", cell_.place), key, value, cell_.run);
            !set)
          return set;
    auto knowledge = parse_knowledge(cell_.run.know);
    if (!knowledge) return fail_at(cell_.place, knowledge.error());
    cell_.know = *knowledge;
    return {};
  }

  const Json& line_;
  fs::path folder_;
  std::optional<Error> error_;
  JsonReader in_;
  ArenaCell cell_;
};

}  // namespace

std::string_view name(ArenaWorld world) {
  return world == ArenaWorld::plain ? "plain" : "physical";
}

std::string settings_text(const cli::RunArguments& run) {
  std::string text;
  for (const RunSetting& setting : settings)
    text += fmt::format("{}={};", setting.name, run.*setting.value);
  return text;
}

Result<std::vector<ArenaCell>> parse_arena_cells(std::string_view text, const std::string& path,
                                                 ArenaWorld world) {
  std::vector<ArenaCell> cells;
  std::set<std::string> names;
  const std::string file = shown(path, 200);
  std::size_t number = 0;
  for (const std::string_view line : split(without_byte_order_mark(text), '\n')) {
    ++number;
    if (trimmed(line).empty()) continue;
    const std::string place = fmt::format("{}:{}", file, number);
    const auto document = parse_json_line(line, place);
    if (!document) return std::unexpected(document.error());
    auto cell = CellReader(*document, place, fs::path(path).parent_path(), world).read();
    if (!cell) return std::unexpected(cell.error());
    if (!names.insert(cell->name).second)
      return fail(ErrorKind::bad_input, place,
                  fmt::format("there is a cell '{}' before", shown(cell->name)),
                  "give each cell a name of its own");
    cells.push_back(*std::move(cell));
  }
  if (cells.empty())
    return fail(ErrorKind::bad_input, file, "there is no cell in it", "write one a line, as JSON");
  return cells;
}

}  // namespace cleave
