#include "study/reproduce/physics_scores.hpp"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "base/format.hpp"

namespace cleave {

double Prediction::error() const {
  return std::abs(measured / predicted - 1);
}

namespace {

Score from_errors(std::string method, std::vector<double> errors) {
  std::ranges::sort(errors);
  Score score{std::move(method), std::move(errors), 0, 0, 0, 0};
  const std::size_t n = score.errors.size();
  if (n == 0) return score;
  score.median = (score.errors[(n - 1) / 2] + score.errors[n / 2]) / 2;
  score.p90 = score.errors[(9 * n + 9) / 10 - 1];
  score.worst = score.errors.back();
  score.within_tenth =
      static_cast<double>(std::ranges::upper_bound(score.errors, 0.1) - score.errors.begin()) /
      static_cast<double>(n);
  return score;
}

}  // namespace

Score score_of(std::string method, std::span<const Prediction> predictions) {
  std::vector<double> errors;
  for (const Prediction& each : predictions) errors.push_back(each.error());
  return from_errors(std::move(method), std::move(errors));
}

Score pooled(std::string method, std::span<const Score> scores) {
  std::vector<double> errors;
  for (const Score& each : scores)
    errors.insert(errors.end(), each.errors.begin(), each.errors.end());
  return from_errors(std::move(method), std::move(errors));
}

std::string text(const PhysicsTarget& target) {
  std::vector<std::string> parts;
  const auto share = [&](std::string_view name, const std::optional<double>& most) {
    if (most) parts.push_back(fmt::format("{} at most {:g} %", name, 100 * *most));
  };
  share("median", target.median);
  share("p90", target.p90);
  share("worst", target.worst);
  if (target.wrong) parts.push_back(fmt::format("at most {} wrong", *target.wrong));
  if (target.wrong_fits)
    parts.push_back(fmt::format("at most {} of these said to fit", *target.wrong_fits));
  if (!target.also.empty()) parts.push_back(target.also);
  return parts.empty() ? "none" : fmt::format("{}", fmt::join(parts, ", "));
}

PhysicsCheck check_of(std::string id, std::string what, std::string known, PhysicsTarget target,
                      std::string missing) {
  PhysicsCheck check;
  check.id = std::move(id);
  check.what = std::move(what);
  check.known = std::move(known);
  check.target = std::move(target);
  check.missing = std::move(missing);
  return check;
}

bool PhysicsCheck::met() const {
  const auto within = [](const auto& most, auto value) { return !most || value <= *most; };
  if (!scores.empty()) {
    const Score& law = scores.front();
    return law.count() > 0 && within(target.median, law.median) && within(target.p90, law.p90) &&
           within(target.worst, law.worst) && also_met;
  }
  if (fits.empty()) return false;
  const FitScore& law = fits.front();
  return law.cases > 0 && within(target.wrong, law.wrong) &&
         within(target.wrong_fits, law.wrong_fits) && also_met;
}

}  // namespace cleave
