#pragma once
// The variables of the environment that the daemon sets for each run of a job, whatever the job's
// own environment says.

#include <array>
#include <string_view>

namespace cleave {

inline constexpr auto run_variables = std::to_array<std::string_view>(
    {"CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES", "CLEAVE_JOB", "CLEAVE_ATTEMPT",
     "CLEAVE_REPORT", "CLEAVE_JOB_MARK", "CLEAVE_RANK", "CLEAVE_PROCESSES", "CLEAVE_GANG",
     "CLEAVE_REPLICA", "CLEAVE_ARRAY_JOB", "CLEAVE_ARRAY_INDEX", "CLEAVE_ARRAY_COUNT"});

}  // namespace cleave
