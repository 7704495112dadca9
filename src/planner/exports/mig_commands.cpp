#include "base/format.hpp"
#include "base/shell_word.hpp"
#include "planner/exports/final_layout.hpp"
#include "planner/exports/plan_export.hpp"

namespace cleave {

namespace {

/// What every script begins with. Numbers of instances are the driver's own and are looked up when
/// an instance is destroyed.
constexpr std::string_view prologue = R"sh(#!/bin/sh
# Run with sh. NVIDIA_SMI is the program, ON what runs it on a node: "ssh" by default, "local" for
# a fleet of this node alone. Between the waves it waits until a line is read, unless READY is set.
set -eu
: "${NVIDIA_SMI:=nvidia-smi}" "${ON:=ssh}"
on() { # NODE WORD...
  node=$1; shift
  if [ "$ON" = local ]; then "$@"; else $ON "$node" "$@"; fi
}
create() { # NODE GPU PROFILE START
  on "$1" "$NVIDIA_SMI" mig -i "$2" -cgi "$3:$4" -C
}
destroy() { # NODE GPU PROFILE START
  id=$(on "$1" "$NVIDIA_SMI" mig -i "$2" -lgi |
    awk -v profile="$3" -v start="$4" '{ gsub(/\|/, " ")
      if ($2 == "MIG" && $3 == profile && index($6, start ":") == 1) print $5 }')
  if [ -z "$id" ]; then
    echo "there is no $3 at $4 on GPU $2 of $1: the plan was made for another state" >&2
    exit 1
  fi
  # The compute instances in it first; an instance without any is no reason to stop.
  on "$1" "$NVIDIA_SMI" mig -i "$2" -gi "$id" -dci || true
  on "$1" "$NVIDIA_SMI" mig -i "$2" -gi "$id" -dgi
}
ready() { # WHAT
  echo "now: $1"
  if [ -z "${READY:-}" ]; then printf 'when that is done, press return: '; read -r _; fi
}
)sh";

/// "4g.20gb at 0 on n0/1"
std::string place_of(const PlanProblem& problem, const Step& step) {
  const Placement& placement = problem.placement(step.seat);
  return fmt::format("{} at {} on {}", placement.profile->name, placement.start,
                     problem.gpus[index(step.seat.gpu)].name);
}

std::string line_of(const PlanProblem& problem, const Step& step, const GpuAddress& address) {
  const Placement& placement = problem.placement(step.seat);
  if (step.op == Op::create || step.op == Op::destroy)
    return fmt::format("{} {} {} {} {}\n", name(step.op), address.node, address.index,
                       placement.profile->name, placement.start);
  return fmt::format("ready {}\n", shell_word(fmt::format("{} '{}' in {}", name(step.op),
                                                          problem.workloads[step.workload].name,
                                                          place_of(problem, step))));
}

}  // namespace

Result<std::string> commands_text(const PlanProblem& problem, const Plan& plan) {
  std::string text(prologue);
  for (std::size_t w = 0; w < plan.moves.waves.size(); ++w) {
    text += fmt::format("\n# wave {} of {}\n", w + 1, plan.moves.waves.size());
    for (const Step& step : plan.moves.waves[w]) {
      const auto address = address_of(problem, step.seat.gpu);
      if (!address) return std::unexpected(address.error());
      text += line_of(problem, step, *address);
    }
  }
  if (plan.moves.waves.empty()) text += "\n# nothing has to change\n";
  return text;
}

}  // namespace cleave
