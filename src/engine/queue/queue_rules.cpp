#include "engine/queue/queue_rules.hpp"

#include <cmath>

#include "base/format.hpp"
#include "base/text.hpp"

namespace cleave {

namespace {

/// In which order the keys count is fixed, so that it must be written so.
void read_order(OptionReader& in, QueueRules& rules) {
  bool last = false;
  for (const std::string_view key : split(in.text("order"), '+')) {
    const bool again = last || rules.by_deadline || (key == "fair-share" && rules.by_share);
    if (again && (key == "fair-share" || key == "deadline")) {
      in.refuse("order", "the keys go in this order: fair-share, deadline, submission");
    } else if (key == "fair-share") {
      rules.by_share = true;
    } else if (key == "deadline") {
      rules.by_deadline = true;
    } else if (key == "submission") {
      last = true;
    } else {
      in.refuse("order",
                fmt::format("'{}' is none of fair-share, deadline and submission", shown(key)));
    }
  }
}

void read_shares(OptionReader& in, QueueRules& rules) {
  const std::string& text = in.text("shares");
  if (text.empty()) return;
  for (const std::string_view each : split(text, '+')) {
    const std::size_t equals = each.rfind('=');
    const auto share =
        equals == std::string_view::npos ? std::nullopt : parse_number(each.substr(equals + 1));
    if (!share || !(*share > 0) || !(*share <= 1e6) || equals == 0)
      return in.refuse(
          "shares",
          fmt::format("'{}' is not NAME=NUMBER with a number above 0, at most 1e6", shown(each)));
    if (!rules.shares.emplace(each.substr(0, equals), *share).second)
      return in.refuse("shares", fmt::format("'{}' has two shares", shown(each.substr(0, equals))));
  }
  if (!rules.by_share) in.refuse("shares", "they need order=fair-share");
}

/// The lower of this option and what is there.
template <class Count>
void read_limit(OptionReader& in, const char* option, std::optional<Count>& limit) {
  if (in.is(option, "all")) return;
  const auto read = static_cast<Count>(in.count(option, 1, 1'000'000'000));
  limit = std::min(limit.value_or(read), read);
}

}  // namespace

Result<QueueRules> queue_rules(const OptionTexts& options, std::span<const GpuReservation> advance,
                               const UserLimits& most) {
  OptionReader in(options);
  QueueRules rules;
  rules.advance.assign(advance.begin(), advance.end());
  std::ranges::stable_sort(rules.advance, {}, &GpuReservation::from);
  read_order(in, rules);
  if (in.is("backfill", "easy")) rules.backfill = Backfill::easy;
  if (in.is("backfill", "conservative")) rules.backfill = Backfill::conservative;
  rules.depth = static_cast<std::size_t>(in.count("depth", 1, 1'000'000'000));
  rules.half_life = in.seconds("half-life", 1, 1e9);
  read_shares(in, rules);
  rules.user = most;
  read_limit(in, "user-jobs", rules.user.jobs);
  read_limit(in, "user-slices", rules.user.slices);
  rules.by_kind = in.is("kinds", "on");
  if (!in.is("evict", "off"))
    rules.evictions = static_cast<std::uint32_t>(in.count("evict", 1, 1'000'000));
  if (in.error()) return std::unexpected(*in.error());
  return rules;
}

}  // namespace cleave
