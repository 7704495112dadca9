#pragma once
// From a submission to a job that the loop takes: everything is checked here that can be checked
// without knowing the GPUs. The bounds of each field are in its row (model/job_spec.hpp).

#include <string_view>

#include "control/control.hpp"

namespace cleave {

/// Errors are bad_input, their place "submission: KEY".
[[nodiscard]] Result<NewJob> read_new_job(std::string_view body, JobOwner owner);

}  // namespace cleave
