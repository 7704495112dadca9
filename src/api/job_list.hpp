#pragma once
// Long lists of jobs, straight to text and from it: the same bytes and the same jobs as by way of a
// JSON document (documents.hpp), which the tests hold both to, at a tenth of the time. Lists of ten
// thousand jobs are asked for again and again.

#include <string>
#include <string_view>
#include <vector>

#include "api/documents.hpp"

namespace cleave {

/// Appends the text of to_json(job, false).
void append_job_text(std::string& to, const ApiJob& job);

/// What read_jobs() makes of the text's document, with the same errors.
[[nodiscard]] Result<std::vector<ApiJob>> read_jobs_text(std::string_view text,
                                                         const std::string& place);

}  // namespace cleave
