#pragma once
// A job of a list as JSON, written straight to text: the same bytes as of to_json(job, false),
// which the tests hold it to, at a tenth of the time. Lists of ten thousand jobs are asked for
// again and again.

#include <string>

#include "api/documents.hpp"

namespace cleave {

/// Appends the document of `job`, without command, directory and history.
void append_job_text(std::string& to, const ApiJob& job);

}  // namespace cleave
