#include "engine/queue/fair_share.hpp"

#include <cmath>
#include <numbers>

namespace cleave {

namespace {

constexpr double counts_ahead_s = 60;

}  // namespace

double FairShare::share_of(const std::string& name) const {
  const auto found = shares_->find(name);
  return found == shares_->end() ? 1 : found->second;
}

FairShare::Member FairShare::member(const std::string& account, const std::string& user) {
  const auto [known, fresh] = members_.try_emplace({account, user}, users_.size());
  if (!fresh) return known->second;
  const auto [number, new_account] = account_numbers_.try_emplace(account, accounts_.size());
  if (new_account) accounts_.push_back({.share = share_of(account)});
  account_of_.push_back(number->second);
  // The longer name says more.
  const std::string both = account + "/" + user;
  users_.push_back({.share = share_of(shares_->contains(both) ? both : user)});
  return known->second;
}

/// Use at a rate of 1 for t seconds counts h / ln 2 * (1 - 2^(-t/h)) at its end.
double FairShare::of_one_slice(Duration time) const {
  return half_life_s_ / std::numbers::ln2 * (1 - std::exp2(-in_seconds(time) / half_life_s_));
}

double FairShare::used(const Use& use, Instant now) const {
  const Duration time = now - use.since;
  return use.slice_seconds * std::exp2(-in_seconds(time) / half_life_s_) +
         static_cast<double>(use.held) * of_one_slice(time);
}

double FairShare::level(const Use& use, Instant now) const {
  return (used(use, now) + static_cast<double>(use.held) * counts_ahead_s) / use.share;
}

void FairShare::hold(Use& use, std::int64_t slices, Instant now) const {
  use.slice_seconds = used(use, now);
  use.since = now;
  use.held += slices;
}

void FairShare::hold(Member member, std::int64_t slices, Instant now) {
  hold(users_[member], slices, now);
  hold(accounts_[account_of_[member]], slices, now);
}

void FairShare::held(Member member, std::int64_t slices, Instant from, Instant to) {
  const double used_then = static_cast<double>(slices) * of_one_slice(to - from);
  for (Use* use : {&users_[member], &accounts_[account_of_[member]]}) {
    if (use->since < to) hold(*use, 0, to);
    use->slice_seconds += used_then * std::exp2(-in_seconds(use->since - to) / half_life_s_);
  }
}

std::pair<double, double> FairShare::level(Member member, Instant now) const {
  return {level(accounts_[account_of_[member]], now), level(users_[member], now)};
}

double FairShare::used(Member member, Instant now) const {
  return used(users_[member], now);
}

}  // namespace cleave
