#include "forecast/time/time_baselines.hpp"

#include <algorithm>

#include "base/format.hpp"
#include "base/options.hpp"
#include "base/text.hpp"

namespace cleave {

Result<LinearInSlices> LinearInSlices::make(const MeasuredJobs& jobs, const std::string& slices,
                                            const std::string& whole, double given) {
  const auto slices_at = jobs.feature(slices), whole_at = jobs.feature(whole);
  for (const auto& [name, at] : {std::pair(&slices, &slices_at), std::pair(&whole, &whole_at)})
    if (!*at) return std::unexpected(no_such("feature", *name, jobs.features));
  double total = given;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const double here = jobs.rows[i][*slices_at];
    if (!(here > 0))
      return fail(ErrorKind::bad_usage, "",
                  fmt::format("'{}' is {}, not above 0", shown(slices), here));
    if (!(jobs.rows[i][*whole_at] > 0))
      return fail(ErrorKind::bad_usage, "",
                  fmt::format("'{}' is not above 0 in every row", shown(whole)), "leave it out");
    if (given <= 0) total = std::max(total, here);
  }
  return LinearInSlices(*slices_at, *whole_at, total);
}

double LinearInSlices::seconds(std::span<const double> row) const {
  return row[whole_] * total_ / row[slices_];
}

NearestMeasuredJob::NearestMeasuredJob(const MeasuredJobs& jobs)
    : distance_(jobs.features, jobs.rows), seconds_(jobs.seconds) {}

double NearestMeasuredJob::seconds(std::span<const double> row) const {
  return seconds_[distance_.given(distance_.nearest(row).row)];
}

}  // namespace cleave
