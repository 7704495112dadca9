#pragma once
// The command line, which follows nvidia-smi's: short options of several letters after one hyphen,
// long ones after two, values behind a space or an equals sign.

#include <chrono>
#include <expected>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "smi/mig.hpp"
#include "smi/query.hpp"

namespace cleave::smi {

/// What the command line asks for.
struct Request {
  enum class Kind { summary, list, query, log, xml, mig, set_mig, help, fields, version };
  Kind kind = Kind::summary;
  std::vector<std::string> gpus;  // indices, UUIDs, serial numbers or PCI addresses; none: all
  Query query;
  std::vector<std::string> displays;  // sections of the log
  MigRequest mig;
  bool mig_on = false;
  std::optional<std::chrono::milliseconds> every;  // again and again
  std::string file;                                // for the output; empty: stdout
};

/// The request, or what is wrong with the line.
[[nodiscard]] std::expected<Request, Outcome> parse_arguments(
    std::span<const std::string_view> words);

/// All options.
std::string help();

/// "0, 2": the GPUs with these names, or all of them; the error names the first that is unknown.
[[nodiscard]] std::expected<std::vector<std::uint32_t>, Outcome> find_gpus(
    Door& door, const nvml::EveryFunction& functions, const std::vector<std::string>& names);

}  // namespace cleave::smi
