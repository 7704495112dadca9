#pragma once
// What `cleave simulate` and `cleave compare` say of single jobs: what became of each, a line of
// JSON each, and what the jobs of each user and account held and drew.

#include <cstdint>
#include <iosfwd>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_fwd.hpp"
#include "base/result.hpp"
#include "cli/command.hpp"
#include "engine/scheduler.hpp"
#include "model/job.hpp"
#include "model/run_summary.hpp"

namespace cleave::cli {

/// Jobs of one user, and what they drew.
struct UserEnergy {
  std::optional<std::string> user;  // empty: of jobs that name none
  std::size_t jobs = 0;
  double energy_j = 0;
};

/// By name, those without one last; nothing where power was left out or no job names a user.
std::vector<UserEnergy> energy_by_user(const Workload& workload,
                                       const std::vector<JobOutcome>& outcomes);
/// As in the answer to --json.
Json to_json(const std::vector<UserEnergy>& by_user);

/// Jobs of one user, or on one account, and the slices that they held.
struct SliceShare {
  std::optional<std::string> name;  // empty: of jobs that name none
  std::size_t jobs = 0;
  HeldSlices held;
  double share = 0;  // of all compute-slice seconds that jobs held; 0 where that is nothing
};

/// By name, those without one last; nothing where no job names one.
std::vector<SliceShare> slices_by_user(const Workload& workload,
                                       const std::vector<JobOutcome>& outcomes);
std::vector<SliceShare> slices_by_account(const Workload& workload,
                                          const std::vector<JobOutcome>& outcomes);
/// As in the answer to --json; `key` says what the names are of.
Json to_json(const std::vector<SliceShare>& shares, const char* key);

/// Which run the lines of a file are of, where it has those of several.
struct RunOfLine {
  std::string_view scheduler;
  std::uint64_t seed = 0;
  std::string_view option = {}, value = {};  // of a sweep, if there is one
};

/// What is written of each job: an object of JSON, or a row of CSV, which has a header.
enum class OutcomeForm { json_lines, csv };
/// CSV for a path that ends with .csv.
[[nodiscard]] OutcomeForm form_of(std::string_view path);

/// A line for each job, in the order of the workload.
void write_outcomes(std::ostream& out, const Workload& workload,
                    const std::vector<JobOutcome>& outcomes,
                    const std::optional<RunOfLine>& run = std::nullopt,
                    OutcomeForm form = OutcomeForm::json_lines);
/// The header that rows of CSV need; nothing for JSON. `run`: of the first line, as above.
void write_outcomes_header(std::ostream& out, const std::optional<RunOfLine>& run,
                           OutcomeForm form);

/// The outcomes of a comparison's runs: in one file, or in a folder as a file for each run.
class OutcomeFiles {
 public:
  /// `path` is that of a folder if there is one, or if it ends with a slash; it is made then.
  [[nodiscard]] static Result<std::unique_ptr<OutcomeFiles>> open(const std::string& path);

  /// From now on, runs are of this value of a sweep.
  void begin(const std::string& option, const std::string& value);
  /// Of one seed, by scheduler.
  [[nodiscard]] Result<void> write(std::uint64_t seed, const std::vector<SchedulerSpec>& specs,
                                   const Workload& workload,
                                   const std::vector<std::vector<JobOutcome>>& by_scheduler);
  /// One file has its name only from then on.
  [[nodiscard]] Result<void> finish();

 private:
  std::string folder_;               // empty: there is one file
  std::unique_ptr<WholeFile> file_;  // that one
  OutcomeForm form_ = OutcomeForm::json_lines;
  bool begun_ = false;
  std::string option_, value_;
};

}  // namespace cleave::cli
