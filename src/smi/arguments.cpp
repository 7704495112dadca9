#include "smi/arguments.hpp"

#include <algorithm>
#include <array>

#include "base/format.hpp"
#include "base/text.hpp"
#include "smi/log.hpp"

namespace cleave::smi {

namespace {

constexpr int bad_usage = 2;

using Kind = Request::Kind;
using Wrong = std::string;  // what is wrong; empty: nothing

std::unexpected<Outcome> wrong_line(const std::string& message) {
  return std::unexpected(Outcome{bad_usage, message + "\n"});
}

std::vector<std::string> words_in(std::string_view list) {
  std::vector<std::string> words;
  for (const std::string_view each : split(list, ',')) words.emplace_back(trimmed(each));
  return words;
}

/// "1,2" as numbers.
Wrong read_numbers(std::string_view list, std::vector<std::uint32_t>& into) {
  for (const std::string& word : words_in(list)) {
    const auto number = parse_integer(word);
    if (!number || *number < 0 || *number > 9999)
      return fmt::format("Invalid instance ID '{}': expected numbers such as 1,2", shown(word));
    into.push_back(static_cast<std::uint32_t>(*number));
  }
  return {};
}

Wrong read_every(std::string_view value, std::int64_t unit_ms, Request& request) {
  const auto number = parse_integer(value);
  if (!number || *number < 1 || *number > 86'400'000 / unit_ms)
    return fmt::format("Invalid interval '{}': expected a whole number from 1", shown(value));
  request.every = std::chrono::milliseconds(*number * unit_ms);
  return {};
}

Wrong read_format(std::string_view value, Request& request) {
  bool csv = false;
  for (const std::string& word : words_in(value)) {
    if (word == "csv")
      csv = true;
    else if (word == "noheader")
      request.query.header = false;
    else if (word == "nounits")
      request.query.units = false;
    else
      return fmt::format("Invalid format '{}': expected csv, noheader or nounits", shown(word));
  }
  return csv ? "" : "The format must have csv in it, as in --format=csv,noheader";
}

Wrong read_mode(std::string_view value, Request& request) {
  const bool on = value == "1" || lowercase(value) == "enabled";
  if (!on && value != "0" && lowercase(value) != "disabled")
    return fmt::format("Invalid MIG mode '{}': expected 0 or 1", shown(value));
  request.kind = Kind::set_mig;
  request.mig_on = on;
  return {};
}

Wrong read_query(QueryOf of, std::string_view value, Request& request) {
  request.kind = Kind::query;
  request.query.of = of;
  request.query.fields = words_in(value);
  if (const auto unknown = unknown_field(request.query))
    return fmt::format("Field \"{}\" is not a valid field to query.\n", shown(*unknown));
  return {};
}

Wrong read_displays(std::string_view value, Request& request) {
  const std::vector<std::string> known = log_displays();
  for (std::string& word : words_in(value)) {
    std::ranges::transform(word, word.begin(), [](char c) {
      return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    });
    if (std::ranges::find(known, word) == known.end())
      return fmt::format("Invalid section '{}': expected {}", shown(word), any_of(known));
    request.displays.push_back(word);
  }
  return {};
}

/// Whether an option needs a value, and where it is written.
enum class Takes { nothing, value, perhaps };

/// An option and what it does. Those that take a value perhaps have it only behind an equals sign,
/// or in the next word if that begins with a digit.
struct OptionRow {
  const char *brief, *full;
  Takes takes;
  const char* what;
  Wrong (*act)(std::string_view value, Request& request);
};

Wrong make_it(Request& request, Kind kind) {
  request.kind = kind;
  return {};
}

constexpr OptionRow options[] = {
    {"-h", "--help", Takes::nothing, "Print this help",
     [](std::string_view, Request& request) { return make_it(request, Kind::help); }},
    {"", "--version", Takes::nothing, "Print the versions of the driver, NVML and CUDA",
     [](std::string_view, Request& request) { return make_it(request, Kind::version); }},
    {"-L", "--list-gpus", Takes::nothing, "List GPUs and MIG devices with their UUIDs",
     [](std::string_view, Request& request) { return make_it(request, Kind::list); }},
    {"-i", "--id", Takes::value, "Only these GPUs: indices, UUIDs, serial numbers or PCI addresses",
     [](std::string_view value, Request& request) -> Wrong {
       request.gpus = words_in(value);
       return {};
     }},
    {"-q", "--query", Takes::nothing, "Print everything about the GPUs",
     [](std::string_view, Request& request) {
       return make_it(request, request.kind == Kind::xml ? Kind::xml : Kind::log);
     }},
    {"-x", "--xml-format", Takes::nothing, "With -q: as XML",
     [](std::string_view, Request& request) { return make_it(request, Kind::xml); }},
    {"-d", "--display", Takes::value, "With -q: only these sections",
     [](std::string_view value, Request& request) { return read_displays(value, request); }},
    {"", "--query-gpu", Takes::value, "Print these fields of each GPU",
     [](std::string_view value, Request& request) {
       return read_query(QueryOf::gpus, value, request);
     }},
    {"", "--query-compute-apps", Takes::value, "Print these fields of each process",
     [](std::string_view value, Request& request) {
       return read_query(QueryOf::processes, value, request);
     }},
    {"", "--format", Takes::value, "Of these fields: csv, and noheader or nounits", read_format},
    {"", "--help-query-gpu", Takes::nothing, "List the fields of GPUs",
     [](std::string_view, Request& request) {
       request.query.of = QueryOf::gpus;
       return make_it(request, Kind::fields);
     }},
    {"", "--help-query-compute-apps", Takes::nothing, "List the fields of processes",
     [](std::string_view, Request& request) {
       request.query.of = QueryOf::processes;
       return make_it(request, Kind::fields);
     }},
    {"-l", "--loop", Takes::perhaps, "Print again every N seconds (default 5) until interrupted",
     [](std::string_view value, Request& request) {
       return read_every(value.empty() ? "5" : value, 1000, request);
     }},
    {"-lms", "--loop-ms", Takes::value, "The same in milliseconds",
     [](std::string_view value, Request& request) { return read_every(value, 1, request); }},
    {"-f", "--filename", Takes::value, "Write to this file",
     [](std::string_view value, Request& request) -> Wrong {
       request.file = value;
       return {};
     }},
    {"-mig", "--multi-instance-gpu", Takes::value, "Switch MIG on (1) or off (0)", read_mode},
};

Wrong make_it(Request& request, MigAction action) {
  request.kind = Kind::mig;
  request.mig.action = action;
  return {};
}

/// An option of `mig` that chooses what it does.
template <MigAction action>
Wrong choose(std::string_view value, Request& request) {
  if (!value.empty()) request.mig.profiles = words_in(value);
  return make_it(request, action);
}

constexpr OptionRow mig_options[] = {
    {"-h", "--help", Takes::nothing, "Print this help",
     [](std::string_view, Request& request) { return make_it(request, Kind::help); }},
    {"-i", "--id", Takes::value, "Only these GPUs",
     [](std::string_view value, Request& request) -> Wrong {
       request.gpus = words_in(value);
       return {};
     }},
    {"-gi", "--gpu-instance-id", Takes::value, "Only these GPU instances",
     [](std::string_view value, Request& request) {
       return read_numbers(value, request.mig.gpu_instances);
     }},
    {"-ci", "--compute-instance-id", Takes::value, "Only these compute instances",
     [](std::string_view value, Request& request) {
       return read_numbers(value, request.mig.compute_instances);
     }},
    {"-lgip", "--list-gpu-instance-profiles", Takes::nothing, "List profiles of GPU instances",
     choose<MigAction::list_gpu_profiles>},
    {"-lgipp", "--list-gpu-instance-possible-placements", Takes::nothing,
     "List placements of these profiles", choose<MigAction::list_placements>},
    {"-lcip", "--list-compute-instance-profiles", Takes::nothing,
     "List profiles of compute instances", choose<MigAction::list_compute_profiles>},
    {"-lgi", "--list-gpu-instances", Takes::nothing, "List GPU instances",
     choose<MigAction::list_gpu_instances>},
    {"-lci", "--list-compute-instances", Takes::nothing, "List compute instances",
     choose<MigAction::list_compute_instances>},
    {"-cgi", "--create-gpu-instance", Takes::value,
     "Create GPU instances of these profiles: 9, 3g.20gb, or with a start 9:4",
     choose<MigAction::create_gpu_instances>},
    {"-C", "--default-compute-instance", Takes::nothing,
     "With -cgi: create a compute instance in each",
     [](std::string_view, Request& request) -> Wrong {
       request.mig.with_compute = true;
       return {};
     }},
    {"-cci", "--create-compute-instance", Takes::perhaps,
     "Create compute instances of these profiles, or as large as the GPU instance",
     choose<MigAction::create_compute_instances>},
    {"-dgi", "--destroy-gpu-instance", Takes::nothing, "Destroy GPU instances",
     choose<MigAction::destroy_gpu_instances>},
    {"-dci", "--destroy-compute-instance", Takes::nothing, "Destroy compute instances",
     choose<MigAction::destroy_compute_instances>},
};

std::string listed(std::span<const OptionRow> rows) {
  std::string text;
  for (const OptionRow& row : rows) {
    const std::string names = *row.brief == '\0'
                                  ? fmt::format("      {}", row.full)
                                  : fmt::format("{:>5} {}", std::string(row.brief) + ",", row.full);
    text += fmt::format("  {}{}\n        {}\n", names, row.takes == Takes::nothing ? "" : "=...",
                        row.what);
  }
  return text;
}

/// Reads the options of one table, from left to right.
std::expected<Request, Outcome> parse(std::span<const std::string_view> words,
                                      std::span<const OptionRow> rows, Request request) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string_view word = words[i];
    const std::size_t equals = word.find('=');
    const std::string_view name = word.substr(0, equals);
    const auto row = std::ranges::find_if(rows, [&](const OptionRow& each) {
      return !name.empty() && (name == each.brief || name == each.full);
    });
    if (row == rows.end())
      return wrong_line(fmt::format("Invalid option: {}; --help lists all", shown(word)));
    std::string_view value = equals == std::string_view::npos ? "" : word.substr(equals + 1);
    const bool next = i + 1 < words.size() && equals == std::string_view::npos;
    if (row->takes == Takes::nothing && equals != std::string_view::npos)
      return wrong_line(fmt::format("Option {} takes no value", name));
    if (next && (row->takes == Takes::value ||
                 (row->takes == Takes::perhaps && words[i + 1].front() >= '0' &&
                  words[i + 1].front() <= '9')))
      value = words[++i];
    if (row->takes == Takes::value && value.empty())
      return wrong_line(fmt::format("Option {} needs a value", name));
    if (const Wrong wrong = row->act(value, request); !wrong.empty()) return wrong_line(wrong);
  }
  return request;
}

}  // namespace

std::expected<Request, Outcome> parse_arguments(std::span<const std::string_view> words) {
  for (const std::string_view word : words)
    if (word.empty()) return wrong_line("Invalid option: an empty word");
  if (!words.empty() && words.front() == "mig") {
    Request request;
    request.kind = Kind::mig;
    if (words.size() == 1) return wrong_line("mig: expected an option, such as -lgi");
    return parse(words.subspan(1), mig_options, std::move(request));
  }
  auto request = parse(words, options, {});
  if (request && !request->displays.empty() && request->kind != Kind::log)
    return wrong_line("-d goes with -q only");
  return request;
}

std::string help() {
  return fmt::format(
      "Shows GPUs and MIG instances, and creates and destroys instances, through the NVML that "
      "the\nloader finds. Part of Cleave; its options are some of nvidia-smi's.\n\n"
      "nvidia-smi [OPTION]...\n{}\nnvidia-smi mig [OPTION]...\n{}",
      listed(options), listed(mig_options));
}

std::expected<std::vector<std::uint32_t>, Outcome> find_gpus(
    Door& door, const nvml::EveryFunction& nvml, const std::vector<std::string>& names) {
  const std::uint32_t count = door.gpu_count().value_or(0);
  std::vector<std::uint32_t> found;
  if (names.empty())
    for (std::uint32_t gpu = 0; gpu < count; ++gpu) found.push_back(gpu);
  for (const std::string& name : names) {
    const auto number = parse_integer(name);
    std::optional<std::uint32_t> index;
    if (number && *number >= 0 && *number < count) index = static_cast<std::uint32_t>(*number);
    for (const auto& find : {nvml.nvmlDeviceGetHandleByUUID, nvml.nvmlDeviceGetHandleByPciBusId_v2,
                             nvml.nvmlDeviceGetHandleBySerial}) {
      if (index) break;
      if (const auto device = ask<nvml::Device>(find, name.c_str()))
        index = ask<std::uint32_t>(nvml.nvmlDeviceGetIndex, *device);
    }
    if (!index)
      return std::unexpected(
          Outcome{static_cast<int>(nvml::Return::not_found), "No devices were found\n"});
    found.push_back(*index);
  }
  return found;
}

}  // namespace cleave::smi
