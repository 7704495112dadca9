#pragma once
// Tables of the pages that cleave-study writes, in Markdown.

#include <string>
#include <vector>

#include "cli/columns.hpp"

namespace cleave {

/// "| a | b |", and the end of the line.
[[nodiscard]] std::string markdown_row(const std::vector<std::string>& cells);

/// Columns as commands print them: the first one to the left, the others to the right.
template <class Row, class Rows>
[[nodiscard]] std::string markdown_table(const cli::Columns<Row>& columns, const Rows& rows) {
  const std::vector<std::string> header = cli::headings(columns);
  std::string table = markdown_row(header) + "|---|";
  for (std::size_t i = 1; i < header.size(); ++i) table += "---:|";
  table += '\n';
  for (const Row& row : rows) table += markdown_row(cli::cells(columns, row));
  return table;
}

}  // namespace cleave
