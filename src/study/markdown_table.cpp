#include "study/markdown_table.hpp"

#include "base/format.hpp"

namespace cleave {

std::string markdown_row(const std::vector<std::string>& cells) {
  return fmt::format("| {} |\n", fmt::join(cells, " | "));
}

}  // namespace cleave
