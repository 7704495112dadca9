// `cleave import smi`: the text of `nvidia-smi mig -lgi` and `-lci` as a fleet file that people
// complete.

#include <set>

#include "base/format.hpp"
#include "base/json.hpp"
#include "base/read_text.hpp"
#include "base/text.hpp"
#include "cli/command.hpp"
#include "model/smi_node.hpp"

namespace cleave::cli {

namespace {

struct Options {
  std::string node, model, profiles = "all";
  std::vector<std::string> files;
  std::optional<int> gpus;
  bool json = false;
};

std::string place_of(const std::string& file) {
  return file == "-" ? "standard input" : shown(file, 200);
}

Result<SmiListing> read_listings(const std::vector<std::string>& files) {
  SmiListing all;
  std::set<std::string> read;
  for (const std::string& file : files) {
    if (!read.insert(file).second)
      return fail(ErrorKind::bad_usage, place_of(file), "this file was given twice",
                  "name each file once");
    const auto text = read_text(file);
    if (!text) return std::unexpected(text.error());
    const auto listing = parse_smi(*text, place_of(file));
    if (!listing) return std::unexpected(listing.error());
    all.instances.insert(all.instances.end(), listing->instances.begin(), listing->instances.end());
    all.computes.insert(all.computes.end(), listing->computes.begin(), listing->computes.end());
    all.lists_computes = all.lists_computes || listing->lists_computes;
    all.mig_is_off = all.mig_is_off || listing->mig_is_off;
  }
  return all;
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
std::string fleet_text(const std::string& node, const std::vector<SmiGpu>& gpus,
                       const Geometry& geometry) {
  std::vector<std::string> lines;
  for (const SmiGpu& gpu : gpus) {
    std::vector<std::string> instances;
    for (const SmiGpuInstance& instance : gpu.instances)
      instances.push_back("\n      " + instance_text(instance, geometry));
    lines.push_back(fmt::format(R"(    {{"name": {}, "model": {}, "instances": [{}]}})",
                                json_text(fmt::format("{}/{}", node, gpu.index)),
                                json_text(geometry.model().key), fmt::join(instances, ",")));
  }
  return fmt::format("{{\n  \"gpus\": [\n{}\n  ]\n}}\n", fmt::join(lines, ",\n"));
}

/// What was found and what only a person can add, to people.
void advise(const Options& options, const SmiListing& listing, const std::vector<SmiGpu>& gpus) {
  std::size_t instances = 0, without_compute = 0;
  for (const SmiGpu& gpu : gpus)
    for (const SmiGpuInstance& instance : gpu.instances) {
      ++instances;
      without_compute += instance.computes.empty() ? 1 : 0;
    }
  fmt::print(stderr, "{} on {}\n", counted(instances, "instance"), counted(gpus.size(), "GPU"));
  if (instances > 0)
    fmt::print(stderr,
               "to complete: \"workload\": a name, for each instance in which something runs;\n"
               "             \"movable\": true, for each that may move or, without workload, be "
               "destroyed\n"
               "until then every command leaves them as they are\n");
  if (listing.lists_computes && without_compute > 0)
    fmt::print(stderr, "{} no compute instance listed, so nothing can run there\n",
               without_compute == 1 ? std::string("1 instance has")
                                    : fmt::format("{} instances have", without_compute));
  if (listing.mig_is_off)
    fmt::print(stderr, "a listing says that no GPU has MIG on: turn it on before using a plan\n");
  if (!options.gpus)
    fmt::print(stderr,
               "GPUs without instances are not listed: --gpus N, the number of GPUs in the node, "
               "adds them\n");
}

Result<int> import_smi(const Options& options) {
  if (!fit_for_a_name(options.node) || !valid_utf8(options.node))
    return fail(ErrorKind::bad_usage, "--node", "a node needs a name, without control characters");
  const auto chosen = choose_profiles(options.model, options.profiles, "--model");
  if (!chosen) return std::unexpected(chosen.error());
  const Geometry geometry(*chosen->model, chosen->profiles);
  const auto listing = read_listings(options.files);
  if (!listing) return std::unexpected(listing.error());
  const auto gpus = smi_gpus(*listing, geometry, options.gpus);
  if (!gpus) return std::unexpected(gpus.error());
  if (gpus->empty())
    return fail(ErrorKind::bad_input, place_of(options.files.front()),
                "nvidia-smi lists no GPU instance, and does not say how many GPUs there are",
                "give their number with --gpus N");
  fmt::print("{}", fleet_text(options.node, *gpus, geometry));
  std::fflush(stdout);
  advise(options, *listing, *gpus);
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
  command->add_option("--node", options.node, "The node's name; its GPUs are NODE/0, NODE/1, ...")
      ->required();
  command
      ->add_option("--model", options.model,
                   "Model of its GPUs: a key of `cleave gpu` or the driver's name")
      ->required();
  command
      ->add_option("FILE", options.files,
                   "Output of -lgi, -lci or both, one after the other; several files make one "
                   "node; - reads standard input")
      ->required();
  command
      ->add_option("--gpus", options.gpus,
                   "Number of GPUs of the node, including those without instances; by default only "
                   "those listed")
      ->check(whole_number(1))
      ->check(Check::range(1, most_gpus_in_node));
  add_profiles(*command, options.profiles);
  command->add_flag("--json", options.json, "Print errors as JSON too; the fleet is always JSON");
}

}  // namespace cleave::cli
