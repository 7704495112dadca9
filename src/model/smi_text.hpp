#pragma once
// What `nvidia-smi mig -lgi` and `nvidia-smi mig -lci` print, read as text. Drivers differ in the
// width of their tables and in whether compute instances have a placement, and people save the text
// with prompts, other tables and other line ends around it; all of that is skipped. Incomplete
// listings and those of other commands are refused with their line, because half of a listing looks
// like a GPU with free space.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace cleave {

/// Where an instance is: in memory slices for a GPU instance, in the slices of its GPU instance for
/// a compute instance.
struct SmiPlacement {
  int start = 0, size = 0;
};

/// A row of `-lci`.
struct SmiCompute {
  std::string place;  // of the row: "smi.txt: line 7"
  int gpu = 0;
  int gpu_instance = 0;
  std::string name;  // "3g.20gb" for all of its GPU instance, "1c.3g.20gb" for a share
  int profile_id = 0;
  int id = 0;
  std::optional<SmiPlacement> placement;  // older drivers print none
};

/// A row of `-lgi`.
struct SmiInstance {
  std::string place;  // of the row
  std::string table;  // where its table begins
  int gpu = 0;
  std::string profile;  // "3g.20gb", "1g.24gb+me.all"
  int profile_id = 0;
  int id = 0;
  SmiPlacement placement;
};

/// All rows of a text.
struct SmiListing {
  std::vector<SmiInstance> instances;
  std::vector<SmiCompute> computes;
  bool lists_computes = false;  // the text has output of `-lci`, perhaps without rows
  bool mig_is_off = false;      // "No MIG-enabled devices found."
};

/// The most GPUs in a node; a higher number in a row is taken for a mistake.
inline constexpr int most_gpus_in_node = 1024;

/// Reads every listing in the text; `place` is the file's name. Errors name the line.
[[nodiscard]] Result<SmiListing> parse_smi(std::string_view text, const std::string& place);

}  // namespace cleave
