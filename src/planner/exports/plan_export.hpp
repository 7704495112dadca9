#pragma once
// A plan in the forms of other programs: what every GPU is to have in the end, as a configuration
// of nvidia-mig-parted or as Slurm's gres.conf, or how to get there, as commands of nvidia-smi in
// the order of the waves.

#include <span>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "planner/planner.hpp"

namespace cleave {

/// One form.
struct PlanExport {
  std::string_view name, what;
  Result<std::string> (*text)(const PlanProblem& problem, const Plan& plan);
};

/// mig-parted, gres and commands.
[[nodiscard]] std::span<const PlanExport> plan_exports();

/// A configuration of nvidia-mig-parted for each node, named after it. mig-parted chooses the
/// places of the instances itself.
[[nodiscard]] Result<std::string> mig_parted_text(const PlanProblem& problem, const Plan& plan);
/// Lines of gres.conf, and of slurm.conf as comments.
[[nodiscard]] Result<std::string> gres_text(const PlanProblem& problem, const Plan& plan);
/// A shell script. It waits where work has to be started or drained before it goes on.
[[nodiscard]] Result<std::string> commands_text(const PlanProblem& problem, const Plan& plan);

}  // namespace cleave
