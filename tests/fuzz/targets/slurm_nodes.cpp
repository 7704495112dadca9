// What `scontrol -o -d show node` prints.

#include "fuzz.hpp"
#include "slurm/slurm_records.hpp"

namespace cleave::fuzz::slurm_nodes_target {
namespace {

std::optional<Error> read_input(const std::string& text) {
  const auto nodes = parse_scontrol_nodes(text);
  if (!nodes) return error_of(nodes);
  for (const SlurmNode& node : *nodes) {
    require(!node.name.empty(), "a node has a name");
    require(node.cpus >= 0 && node.cpus_used >= 0, "CPUs are not negative");
    require(parse_gres(gres_text(node.has)) == node.has, "what is written is read");
  }
  return std::nullopt;
}

}  // namespace
}  // namespace cleave::fuzz::slurm_nodes_target

CLEAVE_FUZZ_TARGET(slurm_nodes, judged)
