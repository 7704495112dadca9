#pragma once
// Keys of submissions (the header Idempotency-Key): how one is written, and what makes a submission
// the same as another.

#include <string_view>

#include "base/json_fwd.hpp"
#include "base/result.hpp"
#include "control/job_record.hpp"

namespace cleave {

inline constexpr const char* key_header = "Idempotency-Key";

/// A key is 1 to 255 printable characters of ASCII, or these between quotes. Submissions are the
/// same whose documents say the same, in whichever order of keys; those that begin with "x-" do not
/// count.
[[nodiscard]] Result<SubmissionKey> read_submission_key(std::string_view header,
                                                        const Json& submission);

}  // namespace cleave
