// `cleave import smi`: the text of `nvidia-smi mig -lgi` and `-lci` as a fleet file that people
// complete.

#include <algorithm>
#include <map>
#include <memory>
#include <set>

#include "base/format.hpp"
#include "base/json.hpp"
#include "base/read_text.hpp"
#include "base/tell.hpp"
#include "base/text.hpp"
#include "cli/command.hpp"
#include "model/node_list.hpp"
#include "model/smi_node.hpp"
#include "model/smi_nodes.hpp"

namespace cleave::cli {

namespace {

struct ImportCommandOptions {
  std::string node, model, profiles = "all";
  std::vector<std::string> files;
  std::optional<int> gpus;
  bool json = false;
};

std::string place_of(const std::string& file) {
  return file == "-" ? "standard input" : shown(file, 200);
}

/// A node with all that is known of it.
struct Node {
  std::string name, file;  // the first file that has it
  SmiListing listing;
  std::optional<std::string> gpu_name;
  int gpus = 0;
  std::vector<SmiGpu> found;
  std::shared_ptr<const Geometry> geometry;
};

void add(const SmiNodeListing& more, Node& node) {
  SmiListing& all = node.listing;
  const SmiListing& one = more.listing;
  all.instances.insert(all.instances.end(), one.instances.begin(), one.instances.end());
  all.computes.insert(all.computes.end(), one.computes.begin(), one.computes.end());
  all.lists_computes = all.lists_computes || one.lists_computes;
  all.mig_is_off = all.mig_is_off || one.mig_is_off;
  node.gpus = std::max(node.gpus, more.gpus);
  if (more.gpu_name) node.gpu_name = more.gpu_name;
}

/// "n0=FILE", or a file alone.
std::pair<std::string, std::string> node_and_file(const std::string& word) {
  const std::size_t equals = word.find('=');
  if (equals == std::string::npos || word.substr(0, equals).find('/') != std::string::npos)
    return {"", word};
  return {word.substr(0, equals), word.substr(equals + 1)};
}

/// What the files say, by node in their order. Files that do not say of which node they are, are of
/// `--node`.
Result<std::vector<Node>> read_nodes(const ImportCommandOptions& options) {
  std::vector<Node> nodes;
  std::set<std::string> read;
  for (const std::string& word : options.files) {
    const auto [named, file] = node_and_file(word);
    if (!read.insert(file).second)
      return fail(ErrorKind::bad_usage, place_of(file), "this file was given twice",
                  "name each file once");
    const auto text = read_text(file);
    if (!text) return std::unexpected(text.error());
    const auto listings = parse_smi_nodes(*text, place_of(file));
    if (!listings) return std::unexpected(listings.error());
    for (const SmiNodeListing& listing : *listings) {
      if (!named.empty() && !listing.node.empty())
        return fail(ErrorKind::bad_usage, place_of(file),
                    "the file says itself which nodes it is of", "name it without NODE=");
      std::string name = !listing.node.empty() ? listing.node
                         : !named.empty()      ? named
                                               : options.node;
      if (!fit_for_a_name(name) || !valid_utf8(name))
        return fail(ErrorKind::bad_usage, options.node.empty() ? place_of(file) : "--node",
                    "a node needs a name, without control characters",
                    "give it with --node, or write NODE=FILE");
      auto node = std::ranges::find(nodes, name, &Node::name);
      if (node == nodes.end()) {
        node = nodes.insert(nodes.end(), Node());
        node->name = name;
        node->file = place_of(file);
      }
      add(listing, *node);
    }
  }
  return nodes;
}

/// The GPUs of each node, against the table of their model.
Result<void> find_gpus(const ImportCommandOptions& options, std::vector<Node>& nodes) {
  std::map<std::string, std::shared_ptr<const Geometry>> geometries;
  for (Node& node : nodes) {
    if (options.model.empty() && !node.gpu_name)
      return fail(ErrorKind::bad_usage, "--model",
                  fmt::format("of which model the GPUs of {} are is not known", shown(node.name)),
                  "name it, or save the output of `nvidia-smi -L` with the listing");
    const std::string model = options.model.empty() ? *node.gpu_name : options.model;
    auto& geometry = geometries[model];
    if (!geometry) {
      const auto chosen =
          choose_profiles(model, options.profiles, options.model.empty() ? node.file : "--model");
      if (!chosen) return std::unexpected(chosen.error());
      geometry = std::make_shared<const Geometry>(*chosen->model, chosen->profiles);
    }
    node.geometry = geometry;
    const auto count = options.gpus || node.gpus == 0 ? options.gpus : std::optional(node.gpus);
    auto gpus = smi_gpus(node.listing, *geometry, count);
    if (!gpus) return std::unexpected(gpus.error());
    node.found = *std::move(gpus);
  }
  return {};
}

std::string json_text(std::string_view text) {
  return Json(text).dump();
}

std::string instance_text(const SmiGpuInstance& instance, const Geometry& geometry) {
  const Placement& placement = geometry[instance.placement];
  std::string computes;
  for (const auto& [id, name] : instance.computes)
    computes += (computes.empty() ? "" : ", ") + json_text(name);
  if (!computes.empty()) computes = fmt::format(R"(, "compute_instances": [{}])", computes);
  return fmt::format(
      R"({{"profile": {}, "start": {}, "movable": false, "x-smi": {{"gpu_instance": {}{}}}}})",
      json_text(placement.profile->name), placement.start, instance.id, computes);
}

/// A fleet file with a line for each instance, to be edited by hand.
std::string fleet_text(const std::vector<Node>& nodes) {
  std::vector<std::string> lines;
  for (const Node& node : nodes)
    for (const SmiGpu& gpu : node.found) {
      std::vector<std::string> instances;
      for (const SmiGpuInstance& instance : gpu.instances)
        instances.push_back("\n      " + instance_text(instance, *node.geometry));
      lines.push_back(fmt::format(R"(    {{"name": {}, "model": {}, "instances": [{}]}})",
                                  json_text(fmt::format("{}/{}", node.name, gpu.index)),
                                  json_text(node.geometry->model().key),
                                  fmt::join(instances, ",")));
    }
  return fmt::format("{{\n  \"gpus\": [\n{}\n  ]\n}}\n", fmt::join(lines, ",\n"));
}

/// What was found and what only a person can add, to people.
void advise(const ImportCommandOptions& options, const std::vector<Node>& nodes) {
  std::size_t gpus = 0, instances = 0, without_compute = 0;
  bool mig_is_off = false, all_gpus_known = true;
  for (const Node& node : nodes) {
    gpus += node.found.size();
    mig_is_off = mig_is_off || node.listing.mig_is_off;
    all_gpus_known = all_gpus_known && (options.gpus || node.gpus > 0);
    for (const SmiGpu& gpu : node.found)
      for (const SmiGpuInstance& instance : gpu.instances) {
        ++instances;
        without_compute += node.listing.lists_computes && instance.computes.empty() ? 1 : 0;
      }
  }
  tell("{} on {}{}\n", counted(instances, "instance"), counted(gpus, "GPU"),
       nodes.size() == 1 ? "" : fmt::format(" of {} nodes", nodes.size()));
  if (instances > 0)
    tell(
        "to complete: \"workload\": a name, for each instance in which something runs;\n"
        "             \"movable\": true, for each that may move or, without workload, be "
        "destroyed\n"
        "until then every command leaves them as they are\n");
  if (without_compute > 0)
    tell("{} no compute instance listed, so nothing can run there\n",
         without_compute == 1 ? std::string("1 instance has")
                              : fmt::format("{} instances have", without_compute));
  if (mig_is_off) tell("a listing says that no GPU has MIG on: turn it on before using a plan\n");
  if (!all_gpus_known)
    tell(
        "GPUs without instances are not listed: --gpus N, the number of GPUs in the node, "
        "adds them\n");
}

Result<int> import_smi(const ImportCommandOptions& options) {
  auto nodes = read_nodes(options);
  if (!nodes) return std::unexpected(nodes.error());
  if (const auto found = find_gpus(options, *nodes); !found) return std::unexpected(found.error());
  if (std::ranges::all_of(*nodes, [](const Node& node) { return node.found.empty(); }))
    return fail(ErrorKind::bad_input, place_of(node_and_file(options.files.front()).second),
                "nvidia-smi lists no GPU instance, and does not say how many GPUs there are",
                "give their number with --gpus N");
  fmt::print("{}", fleet_text(*nodes));
  std::fflush(stdout);
  advise(options, *nodes);
  return 0;
}

struct NodesOptions {
  std::string file;
  bool json = false;
};

Result<int> import_nodes(const NodesOptions& options) {
  const auto text = read_text(options.file);
  if (!text) return std::unexpected(text.error());
  const auto nodes = parse_node_list(*text, place_of(options.file));
  if (!nodes) return std::unexpected(nodes.error());
  fmt::print("{}", fleet_text(*nodes));
  std::fflush(stdout);
  tell("{} in {}\n", counted(nodes->gpus, "GPU"), counted(nodes->nodes.size(), "node"));
  for (const auto& [model, left_out] : nodes->left_out)
    tell("left out: {} {} in {}: not a GPU with MIG that is known here\n", left_out.gpus,
         shown(model), counted(left_out.nodes, "node"));
  return 0;
}

}  // namespace

void add_import(CommandLine& program, Run& run) {
  CommandLine* group =
      program.add_subcommand("import", "Make fleet files from the output of other programs");
  group->require_subcommand();
  const auto [command, options] = add_command(
      *group, run, "smi",
      "Make a fleet file from the output of `nvidia-smi mig -lgi`, with or without `-lci`",
      "cleave import smi --node n0 --model A100-40GB examples/smi/a100-node.txt", import_smi);
  command->add_option(
      "--node", options.node,
      "The node of files that do not say which they are of; its GPUs are NODE/0, NODE/1, ...");
  command->add_option("--model", options.model,
                      "Model of the GPUs: a key of `cleave gpu` or the driver's name; that of "
                      "`nvidia-smi -L` if the files have its output too");
  command
      ->add_option("FILE", options.files,
                   "Output of -lgi, -lci or both, one after the other, of one node, or of many as "
                   "pdsh, clush and tail write it; NODE=FILE says of which node a file is; - reads "
                   "standard input")
      ->required();
  command
      ->add_option(
          "--gpus", options.gpus,
          "Number of GPUs of each node, including those without instances; by default only "
          "those listed")
      ->check(whole_number(1))
      ->check(Check::range(1, most_gpus_in_node));
  add_profiles(*command, options.profiles);
  command->add_flag("--json", options.json, "Print errors as JSON too; the fleet is always JSON");

  const auto [of_nodes, list] =
      add_command(*group, run, "nodes",
                  "Make a fleet file from a table of nodes: the columns gpu_model, "
                  "gpu_capacity_num, cpu_num and "
                  "node_name of Alibaba's cluster-trace-v2026-spot-gpu",
                  "cleave import nodes node_info_df.csv > fleet.json", import_nodes);
  of_nodes->add_option("FILE", list.file, "The table as CSV, gzip or not; - reads standard input")
      ->required();
  of_nodes->add_flag("--json", list.json, "Print errors as JSON too; the fleet is always JSON");
}

}  // namespace cleave::cli
