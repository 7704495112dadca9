#include "base/csv.hpp"

#include <algorithm>

#include "base/format.hpp"
#include "base/text.hpp"

namespace cleave {

std::string csv_cell(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + '"';
}

namespace {

/// What separates the cells of a table with this header.
char separator_of(std::string_view text) {
  const std::string_view header = text.substr(0, text.find('\n'));
  for (const char separator : {',', ';', '\t'})
    if (header.contains(separator)) return separator;
  return ',';
}

}  // namespace

Result<CsvReader> CsvReader::open(std::string_view text, std::string place) {
  CsvReader reader(without_byte_order_mark(text), std::move(place));
  reader.separator_ = separator_of(
      reader.rest_.substr(std::min(reader.rest_.find_first_not_of("\r\n"), reader.rest_.size())));
  if (trimmed(reader.rest_).starts_with("{\""))
    return fail(ErrorKind::bad_input, fmt::format("{}:1", reader.place_), "this is JSON",
                "a CSV with a header line is read here");
  const auto header = reader.read_row(reader.columns_);
  if (!header) return std::unexpected(header.error());
  if (!*header)
    return fail(ErrorKind::bad_input, reader.place_, "the file is empty",
                "expected a CSV header line");
  for (auto column = reader.columns_.begin(); column != reader.columns_.end(); ++column)
    if (std::find(reader.columns_.begin(), column, *column) != column)
      return fail(ErrorKind::bad_input, reader.place(),
                  fmt::format("the column '{}' occurs twice in the header", shown(*column)),
                  "keep one of the two");
  return reader;
}

Result<std::size_t> CsvReader::column(std::string_view name) const {
  const auto found = std::ranges::find(columns_, name);
  if (found == columns_.end())
    return fail(ErrorKind::bad_input, fmt::format("{}:1", place_),
                fmt::format("the column '{}' is missing", name),
                fmt::format("its columns are: {}",
                            shown(fmt::format("{}", fmt::join(columns_, ", ")), 100)));
  return static_cast<std::size_t>(found - columns_.begin());
}

std::string CsvReader::place() const {
  return fmt::format("{}:{}", place_, line_);
}

Result<bool> CsvReader::next(std::vector<std::string>& cells) {
  const auto read = read_row(cells);
  if (!read || !*read) return read;
  if (cells.size() != columns_.size())
    return fail(ErrorKind::bad_input, place(),
                fmt::format("the line has {} cells, the header {}", cells.size(), columns_.size()),
                "the line may be torn");
  return true;
}

Result<bool> CsvReader::read_row(std::vector<std::string>& cells) {
  cells.clear();
  while (rest_.starts_with('\n') || rest_.starts_with("\r\n")) {
    rest_.remove_prefix(rest_.front() == '\r' ? 2 : 1);
    ++next_line_;
  }
  line_ = next_line_;
  if (rest_.empty()) return false;
  std::size_t end = 0;
  const auto read = read_cells(cells, end);
  if (!read) {
    end = rest_.find('\n');
    next_line_ = line_;
  }
  ++next_line_;
  rest_.remove_prefix(end < rest_.size() ? end + 1 : rest_.size());
  if (!read) return std::unexpected(read.error());
  return true;
}

Result<void> CsvReader::read_cells(std::vector<std::string>& cells, std::size_t& i) {
  std::string cell;
  const auto at = [&](std::size_t position) {
    return position < rest_.size() ? rest_[position] : '\n';
  };
  for (;; ++i) {
    cell.clear();
    if (at(i) == '"') {
      for (++i;; ++i) {
        if (i >= rest_.size())
          return fail(ErrorKind::bad_input, place(), "a quoted cell does not end",
                      "the file may be cut off");
        if (rest_[i] == '\n') ++next_line_;
        if (rest_[i] != '"') {
          cell += rest_[i];
        } else if (at(i + 1) == '"') {
          cell += '"';
          ++i;
        } else {
          ++i;
          break;
        }
      }
      if (at(i) != separator_ && at(i) != '\n' && at(i) != '\r')
        return fail(ErrorKind::bad_input, place(), "text follows a quoted cell",
                    "a quote inside a quoted cell is written twice; is this file CSV?");
    }
    while (at(i) != separator_ && at(i) != '\n') cell += rest_[i++];
    const bool row_ends = at(i) == '\n';
    if (row_ends && cell.ends_with('\r')) cell.pop_back();
    if (!valid_utf8(cell))
      return fail(ErrorKind::bad_input, place(), "the line is not UTF-8 text",
                  "convert it, as `iconv -f LATIN1 -t UTF-8` does of Latin-1");
    cells.push_back(cell);
    if (row_ends) return {};
  }
}

}  // namespace cleave
