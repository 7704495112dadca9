#pragma once
// From what somebody sent to a job that the loop takes: everything is checked here that can be said
// without knowing the GPUs.

#include <string_view>

#include "api/documents.hpp"
#include "control/control.hpp"

namespace cleave {

/// The longest name, and how far other numbers go.
inline constexpr std::size_t longest_job_name = 256;
inline constexpr std::int64_t most_job_memory_mib = 1 << 24;

/// Errors are bad_input, their place "submission: KEY".
[[nodiscard]] Result<NewJob> read_new_job(std::string_view body, JobOwner owner);
[[nodiscard]] Result<NewJob> new_job(ApiSubmission submission, JobOwner owner);

}  // namespace cleave
