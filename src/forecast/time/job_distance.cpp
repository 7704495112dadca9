#include "forecast/time/job_distance.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>

#include "base/format.hpp"
#include "base/json.hpp"
#include "base/text.hpp"

namespace cleave {

double FeatureRange::least_with(double margin) const {
  return logarithmic ? least / (1 + margin) : least - margin * (most - least);
}

double FeatureRange::most_with(double margin) const {
  return logarithmic ? most * (1 + margin) : most + margin * (most - least);
}

namespace {

FeatureRange range_of(const std::string& name, const NumberRows& rows, std::size_t feature) {
  std::vector<double> known;
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (!std::isnan(rows[i][feature])) known.push_back(rows[i][feature]);
  FeatureRange range{name, 0, 0, false, 0, known.size() < rows.size()};
  if (known.empty()) return range;
  range.least = std::ranges::min(known);
  range.most = std::ranges::max(known);
  range.logarithmic = range.least > 0;
  // Two passes, since the mean may be far from zero.
  if (range.logarithmic)
    std::ranges::transform(known, known.begin(), [](double each) { return std::log(each); });
  const auto count = static_cast<double>(known.size());
  double mean = 0, squares = 0;
  for (const double each : known) mean += each / count;
  for (const double each : known) squares += (each - mean) * (each - mean) / count;
  // A feature that never changes has no scale; rounding must not give it one.
  range.deviation = range.least == range.most ? 0 : std::sqrt(squares);
  return range;
}

}  // namespace

JobDistance::JobDistance(const std::vector<std::string>& features, const NumberRows& rows) {
  assert(rows.size() > 0 && features.size() == rows.width);
  for (std::size_t f = 0; f < features.size(); ++f)
    ranges_.push_back(range_of(features[f], rows, f));
  kept_.width = rows.width;
  const std::size_t count = std::min(rows.size(), most_kept);
  for (std::size_t i = 0; i < count; ++i) {
    given_.push_back(i * rows.size() / count);
    kept_.add(rows[given_.back()]);
  }
  scale_rows();
}

double JobDistance::scaled(double value, std::size_t feature) const {
  const FeatureRange& range = ranges_[feature];
  if (std::isnan(value)) return value;
  if (range.deviation <= 0) return 0;
  if (!range.logarithmic) return value / range.deviation;
  // Zero and below are far from everything.
  return (value > 0 ? std::log(value) : -1e3) / range.deviation;
}

void JobDistance::scale_rows() {
  scaled_.resize(kept_.cells.size());
  for (std::size_t i = 0; i < scaled_.size(); ++i)
    scaled_[i] = scaled(kept_.cells[i], i % kept_.width);
}

NearestJob JobDistance::nearest(std::span<const double> row) const {
  assert(row.size() == kept_.width);
  std::vector<double> here(row.size());
  for (std::size_t f = 0; f < row.size(); ++f) here[f] = scaled(row[f], f);
  NearestJob best{0, std::numeric_limits<double>::infinity(), 0};
  for (std::size_t i = 0; i < kept_.size(); ++i) {
    double sum = 0;
    std::size_t known = 0;
    for (std::size_t f = 0; f < here.size(); ++f) {
      const double apart = scaled_[i * here.size() + f] - here[f];
      if (std::isnan(apart)) continue;
      sum += apart * apart;
      ++known;
    }
    // A feature that one of the two lacks counts as the average of the others; with nothing in
    // common, they are very far apart.
    constexpr double nothing_in_common = 1e12;
    if (known < here.size())
      sum = known == 0 ? nothing_in_common
                       : sum * static_cast<double>(here.size()) / static_cast<double>(known);
    if (sum < best.distance) best = {i, sum, 0};
  }
  for (std::size_t f = 1; f < here.size(); ++f) {
    const auto apart = [&](std::size_t of) {
      const double distance = std::abs(scaled_[best.row * here.size() + of] - here[of]);
      return std::isnan(distance) ? 0 : distance;
    };
    if (apart(f) > apart(best.feature)) best.feature = f;
  }
  best.distance = std::sqrt(best.distance);
  return best;
}

Json JobDistance::to_json() const {
  Json features = Json::array(), jobs = Json::array();
  for (const FeatureRange& range : ranges_)
    features.push_back({{"name", range.name},
                        {"least", range.least},
                        {"most", range.most},
                        {"logarithmic", range.logarithmic},
                        {"deviation", range.deviation}});
  for (std::size_t f = 0; f < ranges_.size(); ++f)
    if (ranges_[f].may_miss) features[f]["may_miss"] = true;
  for (std::size_t i = 0; i < kept_.size(); ++i) {
    const auto row = kept_[i];
    jobs.push_back(std::vector<double>(row.begin(), row.end()));
  }
  return {{"features", std::move(features)}, {"jobs", std::move(jobs)}};
}

namespace {

Result<FeatureRange> read_range(JsonReader& in, std::optional<Error>& error) {
  FeatureRange range;
  range.name = in.text("name");
  if (!fit_for_a_name(range.name)) in.refuse("name", "this cannot be the name of a column");
  const auto number = [&](const char* key, double least) {
    const auto found = in.number_if(key);
    if (!found || *found < least || *found > largest_number)
      in.refuse(key, "a number is missing or unfit");
    return found.value_or(0);
  };
  range.least = number("least", -largest_number);
  range.most = number("most", range.least);
  range.logarithmic = in.flag("logarithmic", false);
  range.deviation = number("deviation", 0);
  range.may_miss = in.flag("may_miss", false);
  if (range.logarithmic && range.least <= 0)
    in.refuse("logarithmic", "the feature has values that are not above 0");
  in.done();
  if (error) return std::unexpected(*error);
  return range;
}

}  // namespace

Result<JobDistance> JobDistance::from_json(const Json& document, const std::string& place) {
  std::optional<Error> error;
  JsonReader in(document, place, error);
  JobDistance read;
  for (JsonReader& feature : in.objects("features")) {
    const auto range = read_range(feature, error);
    if (!range) return std::unexpected(range.error());
    for (const FeatureRange& other : read.ranges_)
      if (other.name == range->name) feature.refuse("name", "another feature has this name");
    read.ranges_.push_back(*range);
  }
  if (error) return std::unexpected(*error);
  const auto refuse = [&](std::string message) {
    return fail(ErrorKind::bad_input, place, std::move(message),
                "the model may be damaged: train it again");
  };
  if (read.ranges_.empty()) return refuse("there are no features");
  const auto jobs = document.find("jobs");
  if (jobs == document.end() || !jobs->is_array() || jobs->empty() || jobs->size() > most_kept)
    return refuse(fmt::format("a list 'jobs' of 1 to {} measured jobs is missing", most_kept));
  read.kept_.width = read.ranges_.size();
  for (std::size_t i = 0; i < jobs->size(); ++i) {
    const Json& row = (*jobs)[i];
    if (!row.is_array() || row.size() != read.kept_.width)
      return refuse(fmt::format("job {} has not one number for each feature", i));
    for (std::size_t f = 0; f < row.size(); ++f) {
      const FeatureRange& range = read.ranges_[f];
      const double cell = row[f].is_number() ? row[f].get<double>() : std::nan("");
      const bool missing = row[f].is_null() && range.may_miss;
      if (!missing && !(cell >= range.least && cell <= range.most))
        return refuse(fmt::format("job {} is outside the range of '{}'", i, shown(range.name)));
      read.kept_.cells.push_back(cell);
    }
    read.given_.push_back(i);
  }
  read.scale_rows();
  return read;
}

}  // namespace cleave
