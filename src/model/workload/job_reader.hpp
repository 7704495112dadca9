#pragma once
// Jobs of a workload, each from its document, in either form of the file.

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/json.hpp"
#include "model/workload/alike_lines.hpp"
#include "model/workload/asked_request.hpp"
#include "model/workload/job_ids.hpp"

namespace cleave {

/// How a workload says when its jobs arrive: seconds from its beginning, or times of day without or
/// with a zone.
enum class Arrivals { unsaid, seconds, clock, zoned_clock };

/// Gathers jobs. A job that is refused leaves nothing behind, so that others may follow it.
class JobReader {
 public:
  explicit JobReader(const JobSizers& sizers) : sizers_(sizers) {}

  /// `place` names the document in errors.
  [[nodiscard]] Result<void> read(const Json& document, const std::string& place);
  /// Reads a line that says the same, but for id, arrival_s and duration_s, as one before that was
  /// told to `remember`. False, and nothing has happened, where it does not, or may be wrong.
  [[nodiscard]] bool read_alike(std::string_view line);
  /// The line is the one whose document was read last, without an error.
  void remember(std::string_view line);
  [[nodiscard]] bool is_empty() const { return workload_.jobs.empty(); }
  /// The workload; `place` is the file's name. Times of day become seconds from the earliest.
  [[nodiscard]] Result<Workload> finish(const std::string& place) &&;

 private:
  /// The indices of its tasks, where the line is an array; it says so to each of them.
  std::vector<std::int64_t> read_array(JsonReader& in, const std::string& id, JobDetails& details);
  Arrivals read_arrival(JsonReader& in, const Json& document, Job& job) const;

  void admit(Job job);

  Workload workload_;
  JobSizers sizers_;
  Arrivals arrivals_ = Arrivals::unsaid;
  double most_busy_ = 0;           // the largest gpu_util
  bool parts_of_percent_ = false;  // one of them is not whole
  JobIds ids_;
  std::size_t tasks_ = 0;  // of arrays that a line makes

  /// What the rest of a line came to.
  struct Alike {
    std::uint32_t request, speed;
  };
  static constexpr std::size_t most_alike = 4096;  // that are remembered
  std::unordered_map<std::string, Alike> alike_;   // by the rest
  LineParts parts_;                                // of the line last looked at
  std::size_t before_ = 0;                         // jobs before the document that was read last
};

}  // namespace cleave
