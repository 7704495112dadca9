#include "smi/query.hpp"

#include <algorithm>
#include <span>

#include "base/format.hpp"
#include "smi/query_fields.hpp"

namespace cleave::smi {

namespace {

template <class Row>
const Row* find(std::span<const Row> rows, std::string_view name) {
  const auto found = std::ranges::find_if(
      rows, [&](const Row& row) { return name == row.name || name == row.other_name; });
  if (name.empty()) return nullptr;
  return found == rows.end() ? nullptr : &*found;
}

template <class Row>
std::string header(std::span<const Row* const> chosen) {
  std::vector<std::string> names;
  for (const Row* row : chosen)
    names.push_back(*row->unit == '\0' ? std::string(row->name)
                                       : fmt::format("{} [{}]", row->name, row->unit));
  return fmt::format("{}\n", fmt::join(names, ", "));
}

template <class Row, class... Of>
std::string line(std::span<const Row* const> chosen, bool units, const Of&... of) {
  std::vector<std::string> values;
  for (const Row* row : chosen) {
    const Text value = row->value(of...);
    values.push_back(!value                        ? "[N/A]"
                     : units && *row->unit != '\0' ? fmt::format("{} {}", *value, row->unit)
                                                   : *value);
  }
  return fmt::format("{}\n", fmt::join(values, ", "));
}

template <class Row>
std::vector<const Row*> chosen(std::span<const Row> rows, const Query& query) {
  std::vector<const Row*> list;
  for (const std::string& field : query.fields)
    if (const Row* row = find(rows, field)) list.push_back(row);
  return list;
}

template <class Row>
std::string described(std::span<const Row> rows) {
  std::string text;
  for (const Row& row : rows) {
    text += fmt::format("\"{}\"", row.name);
    if (*row.other_name != '\0') text += fmt::format(" or \"{}\"", row.other_name);
    text += fmt::format("\n{}{}\n\n", row.what,
                        *row.unit == '\0' ? std::string() : fmt::format(", in {}", row.unit));
  }
  return text;
}

}  // namespace

std::optional<std::string> unknown_field(const Query& query) {
  for (const std::string& field : query.fields) {
    const bool known = query.of == QueryOf::gpus ? find(gpu_fields(), field) != nullptr
                                                 : find(process_fields(), field) != nullptr;
    if (!known) return field;
  }
  return {};
}

std::string answer(const Query& query, const NodeReading& node, bool with_header) {
  std::string text;
  if (query.of == QueryOf::gpus) {
    const auto fields = chosen(gpu_fields(), query);
    if (with_header) text = header<GpuField>(fields);
    for (const GpuReading& gpu : node.gpus) text += line<GpuField>(fields, query.units, node, gpu);
    return text;
  }
  const auto fields = chosen(process_fields(), query);
  if (with_header) text = header<ProcessField>(fields);
  for (const GpuReading& gpu : node.gpus)
    for (const ProcessReading& process : gpu.processes)
      text += line<ProcessField>(fields, query.units, node, gpu, process);
  return text;
}

std::string list_of_fields(QueryOf of) {
  return of == QueryOf::gpus ? described(gpu_fields()) : described(process_fields());
}

}  // namespace cleave::smi
