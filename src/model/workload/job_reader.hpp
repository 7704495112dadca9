#pragma once
// Jobs of a workload, each from its document, in either form of the file.

#include <optional>
#include <string>
#include <unordered_set>

#include "base/json.hpp"
#include "model/workload/asked_request.hpp"

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
  [[nodiscard]] bool is_empty() const { return workload_.jobs.empty(); }
  /// The workload; `place` is the file's name. Times of day become seconds from the earliest.
  [[nodiscard]] Result<Workload> finish(const std::string& place) &&;

 private:
  Arrivals read_arrival(JsonReader& in, const Json& document, Job& job) const;

  Workload workload_;
  JobSizers sizers_;
  Arrivals arrivals_ = Arrivals::unsaid;
  double most_busy_ = 0;           // the largest gpu_util
  bool parts_of_percent_ = false;  // one of them is not whole
  std::unordered_set<std::string> ids_;
};

}  // namespace cleave
