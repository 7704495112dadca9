// Files of jobs for `cleave submit --file`.

#include "api/job_file.hpp"
#include "api/documents.hpp"
#include "base/json.hpp"
#include "fuzz.hpp"

namespace cleave::fuzz::job_file_target {
namespace {

/// Every job has a line of its own, later than that of the one before, and can be sent.
std::optional<Error> read_input(const std::string& text) {
  const auto jobs = parse_job_file(text, "jobs");
  if (!jobs) return jobs.error();
  std::size_t line = 0;
  for (const FileJob& each : *jobs) {
    require(each.line > line && each.keys.is_object(), "each job has a line of its own");
    line = each.line;
    Json whole{{"environment", Json::array()}, {"directory", "/"}};
    whole.update(each.keys);
    if (const auto read = read_submission(whole, "jobs"); !read)
      require(!read.error().message.empty(), "an error has a message");
  }
  return std::nullopt;
}

}  // namespace
}  // namespace cleave::fuzz::job_file_target

CLEAVE_FUZZ_TARGET(job_file, judged)
