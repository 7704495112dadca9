#pragma once
// Files of jobs for `cleave submit --file`: a JSON object a line, with the keys of submissions or
// of workload files, or a command of the shell a line.

#include <string>
#include <string_view>
#include <vector>

#include "base/json.hpp"
#include "base/result.hpp"

namespace cleave {

/// One job of a file.
struct FileJob {
  std::size_t line = 0;
  Json keys = {};       // of a submission; without what is said for all jobs
  std::string id = {};  // by which other lines may name it, as by its name; may be empty

  [[nodiscard]] std::string name() const;
};

/// Lines of JSON where the first begins with a brace; blank lines, and in files of commands those
/// that begin with #, are passed over. Errors are bad_input, their place "FILE:LINE" and perhaps a
/// key. That what they say is a submission is not checked here.
[[nodiscard]] Result<std::vector<FileJob>> parse_job_file(std::string_view text,
                                                          const std::string& file);

/// Has what lines wait for of other lines, "ok:ID" or "any:NAME", as a submission says it: "ok:#3",
/// of the third of them. Other words stay; a name that several lines have is refused, and so are
/// lines that wait for one another in a circle, with their numbers.
[[nodiscard]] Result<void> link_lines(std::vector<FileJob>& jobs, const std::string& file);

}  // namespace cleave
