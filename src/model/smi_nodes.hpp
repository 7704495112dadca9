#pragma once
// The output of nvidia-smi on many nodes in one text, as the tools write it that run a command on
// all of them: pdsh and clush put "NODE: " before each line, dshbak and `clush -b` a banner with
// one or several nodes above the lines, and `tail` and `head` "==> NODE <==".

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/smi_text.hpp"

namespace cleave {

/// What one node printed.
struct SmiNodeListing {
  std::string node;  // empty: the text does not say
  SmiListing listing;
  /// From `nvidia-smi -L`, if that is in the text too: the GPUs' name and their number.
  std::optional<std::string> gpu_name;
  int gpus = 0;
};

/// By node, in the order in which they appear. A text without marks is that of one node.
[[nodiscard]] Result<std::vector<SmiNodeListing>> parse_smi_nodes(std::string_view text,
                                                                  const std::string& place);

}  // namespace cleave
