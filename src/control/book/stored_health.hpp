#pragma once
// What the store keeps of the health of GPUs, as values of settings: conditions by GPU, faults by
// job. Text there, typed values everywhere else.

#include <string>
#include <string_view>
#include <vector>

#include "control/node/gpu_conditions.hpp"

namespace cleave {

/// Empty where there are none.
[[nodiscard]] std::string conditions_text(const std::vector<GpuCondition>& conditions);
[[nodiscard]] std::string faults_text(const std::vector<JobFault>& faults);

/// What this program does not know, or cannot read, is left out.
[[nodiscard]] std::vector<GpuCondition> parse_conditions(std::string_view text);
[[nodiscard]] std::vector<JobFault> parse_job_faults(std::string_view text);

}  // namespace cleave
