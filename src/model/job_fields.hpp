#pragma once
// All that can be said of a job, in one table for every form in which it is said: submissions with
// the options of `cleave submit`, workload files, and traces as readers fill them. It names the
// keys and what they mean; docs/job-fields.md is made from it. To add a field: its row here, beside
// where it is read (model/workload/, model/job_spec.hpp).

#include <span>
#include <string>
#include <string_view>

#include "base/record.hpp"

namespace cleave {

/// One thing that can be said. Where both forms have it, they mean the same by it.
struct JobField {
  std::string_view workload;    // its key in workload files; empty: only submissions have it
  std::string_view submission;  // its key in submissions; empty: only workload files have it
  std::string_view value;       // what is written: "seconds", "MiB", "text"
  std::string_view usual;       // what holds where it is absent; empty: nothing is said
  std::string_view traces;      // the formats whose readers fill it, separated by ", "
  std::string_view help;        // one sentence without its full stop; empty: that of the submission
  /// A value that a workload file may have, and other members that it needs there, as JSON.
  std::string_view example, beside = {};
};

[[nodiscard]] std::span<const JobField> job_fields();

/// The row of the submission that has the same meaning; null if there is none.
[[nodiscard]] const FieldInfo* submission_field(const JobField& field);
/// What the field means, in one sentence without its full stop.
[[nodiscard]] std::string_view help_of(const JobField& field);
/// The option of `cleave submit` that says it; empty if there is none.
[[nodiscard]] std::string_view option_of(const JobField& field);

/// The table of docs/job-fields.md.
[[nodiscard]] std::string job_fields_table();

}  // namespace cleave
