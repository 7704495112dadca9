#include "planner/exports/final_layout.hpp"

#include <algorithm>

#include "base/format.hpp"
#include "base/text.hpp"

namespace cleave {

Result<GpuAddress> address_of(const PlanProblem& problem, GpuId gpu) {
  const std::string_view name = problem.gpus[index(gpu)].name;
  const std::size_t slash = name.rfind('/');
  const auto number =
      slash == std::string_view::npos ? std::nullopt : parse_integer(name.substr(slash + 1));
  if (!number || *number < 0 || *number > 1023)
    return fail(ErrorKind::bad_input, problem.place,
                fmt::format("the GPU '{}' cannot be exported: its name does not end in its number",
                            shown(name)),
                "call GPUs NODE/0, NODE/1, ... by their index in the node");
  const std::string_view node = name.substr(0, slash);
  const bool plain = !node.empty() && std::ranges::all_of(node, [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '.' ||
           c == '-' || c == '_';
  });
  if (!plain)
    return fail(ErrorKind::bad_input, problem.place,
                fmt::format("'{}' is not a host's name", shown(node)),
                "nodes that are exported have letters, digits, '.', '-' and '_' in their names");
  return GpuAddress{node, static_cast<int>(*number)};
}

Result<std::vector<FinalNode>> final_layout(const PlanProblem& problem, const Plan& plan) {
  std::vector<FinalNode> nodes;
  const Target& end = plan.moves.reached;
  std::vector<PlacementSet> placed(problem.gpus.size());
  for (const auto& seat : end.goal)
    if (seat) placed[index(seat->gpu)].insert(seat->placement);
  for (std::size_t g = 0; g < problem.gpus.size(); ++g) {
    const auto id = static_cast<GpuId>(g);
    const auto address = address_of(problem, id);
    if (!address) return std::unexpected(address.error());
    auto node = std::ranges::find(nodes, address->node, &FinalNode::name);
    if (node == nodes.end()) {
      node = nodes.insert(nodes.end(), FinalNode());
      node->name = address->node;
    }
    if (std::ranges::find(node->gpus, address->index, &FinalGpu::index) != node->gpus.end())
      return fail(ErrorKind::bad_input, problem.place,
                  fmt::format("two GPUs of {} have the number {}", node->name, address->index));
    FinalGpu& gpu = node->gpus.emplace_back();
    gpu.index = address->index;
    const PlacementSet all = placed[g] | end.idle[g] | problem.gpus[g].walls;
    for (const PlacementId placement : all)
      ++gpu.profiles[std::string(problem.geometry(id)[placement].profile->name)];
  }
  for (FinalNode& node : nodes) std::ranges::sort(node.gpus, {}, &FinalGpu::index);
  return nodes;
}

}  // namespace cleave
