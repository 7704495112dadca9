#include "model/node_list.hpp"

#include <algorithm>
#include <unordered_set>

#include "base/csv.hpp"
#include "base/format.hpp"
#include "base/json.hpp"
#include "base/text.hpp"

namespace cleave {

namespace {

constexpr std::int64_t most_gpus = 1024, most_node_cpus = 100'000;

/// Names that tables use for a board of which several exist: the one that clusters have.
constexpr std::pair<std::string_view, std::string_view> short_names[] = {
    {"H800", "H100-80GB-SXM5"}, {"H100", "H100-80GB-SXM5"}};

const GpuModel* model_of(const std::string& name) {
  for (const auto& [word, key] : short_names)
    if (name == word) return *find_gpu_model(key);
  for (const std::string& known : {name, fmt::format("NVIDIA {}", name)})
    if (const auto model = find_gpu_model(known)) return *model;
  return nullptr;
}

struct Columns {
  std::size_t model, gpus, cpus, name;
};

Result<Columns> find_columns(const CsvReader& csv) {
  Columns columns{};
  const std::pair<std::string_view, std::size_t*> wanted[] = {{"gpu_model", &columns.model},
                                                              {"gpu_capacity_num", &columns.gpus},
                                                              {"cpu_num", &columns.cpus},
                                                              {"node_name", &columns.name}};
  for (const auto& [name, where] : wanted) {
    const auto found = csv.column(name);
    if (!found) return std::unexpected(found.error());
    *where = *found;
  }
  return columns;
}

Result<std::int64_t> number(const std::string& cell, std::string_view name, std::int64_t most,
                            const std::string& place) {
  const auto value = parse_integer(trimmed(cell));
  if (value && *value >= 0 && *value <= most) return *value;
  return fail(
      ErrorKind::bad_input, place,
      fmt::format("{} is '{}', expected a whole number from 0 to {}", name, shown(cell), most),
      "correct the line or remove it");
}

}  // namespace

Result<NodeList> parse_node_list(std::string_view text, const std::string& place) {
  auto csv = CsvReader::open(text, place);
  if (!csv) return std::unexpected(csv.error());
  const auto columns = find_columns(*csv);
  if (!columns) return std::unexpected(columns.error());
  NodeList list;
  std::unordered_set<std::string> names;
  for (std::vector<std::string> row;;) {
    const auto more = csv->next(row);
    if (!more) return std::unexpected(more.error());
    if (!*more) break;
    const auto gpus = number(row[columns->gpus], "gpu_capacity_num", most_gpus, csv->place());
    if (!gpus) return std::unexpected(gpus.error());
    const auto cpus = number(row[columns->cpus], "cpu_num", most_node_cpus, csv->place());
    if (!cpus) return std::unexpected(cpus.error());
    // A table may number its nodes.
    std::string name(trimmed(row[columns->name]));
    if (parse_integer(name)) name = "n" + name;
    if (!fit_for_a_name(name) || name.find_first_of("/%") != std::string::npos)
      return fail(ErrorKind::bad_input, csv->place(),
                  fmt::format("'{}' is not a node's name", shown(name)),
                  "names have no '/', no '%' and no control characters");
    if (!names.insert(name).second)
      return fail(ErrorKind::bad_input, csv->place(),
                  fmt::format("there are two nodes named '{}'", shown(name)),
                  "remove one of the two");
    const std::string model(trimmed(row[columns->model]));
    const GpuModel* const known = model_of(model);
    if (known == nullptr || *gpus == 0) {
      NodeList::LeftOut& left_out = list.left_out[model.empty() ? "no GPU" : model];
      ++left_out.nodes;
      left_out.gpus += static_cast<std::size_t>(*gpus);
      continue;
    }
    list.gpus += static_cast<std::size_t>(*gpus);
    list.nodes.push_back({std::move(name), known, *gpus, *cpus});
  }
  if (list.nodes.empty())
    return fail(ErrorKind::bad_input, place, "no node has GPUs with MIG that are known here",
                "`cleave gpu` lists the models");
  return list;
}

std::string fleet_text(const NodeList& nodes) {
  std::vector<std::string> gpus, hosts;
  for (const ListedNode& node : nodes.nodes) {
    gpus.push_back(fmt::format(R"(    {{"name": {}, "model": {}, "count": {}}})",
                               Json(node.name + "/%d").dump(), Json(node.model->key).dump(),
                               node.gpus));
    if (node.cpus > 0)
      hosts.push_back(
          fmt::format(R"(    {{"name": {}, "cpus": {}}})", Json(node.name).dump(), node.cpus));
  }
  return fmt::format("{{\n  \"gpus\": [\n{}\n  ],\n  \"nodes\": [\n{}\n  ]\n}}\n",
                     fmt::join(gpus, ",\n"), fmt::join(hosts, ",\n"));
}

}  // namespace cleave
