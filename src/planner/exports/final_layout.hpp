#pragma once
// What a plan leaves on each GPU, by node and by the number of the GPU in its node.

#include <map>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "planner/planner.hpp"

namespace cleave {

/// One GPU in the end: how many instances of each profile, with those that are not Cleave's.
struct FinalGpu {
  int index = 0;  // in its node
  std::map<std::string, int> profiles;
};

/// One node in the end.
struct FinalNode {
  std::string name;
  std::vector<FinalGpu> gpus;  // by index
};

/// The node of a GPU and its number there: what stands before and behind the last slash of its
/// name. Fails where that is not a number, since no other program would know the GPU.
struct GpuAddress {
  std::string_view node;
  int index = 0;
};
[[nodiscard]] Result<GpuAddress> address_of(const PlanProblem& problem, GpuId gpu);

/// In the order of the fleet file. Fails where two GPUs have one address.
[[nodiscard]] Result<std::vector<FinalNode>> final_layout(const PlanProblem& problem,
                                                          const Plan& plan);

}  // namespace cleave
