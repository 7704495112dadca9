#pragma once
// How much accounts and their users have used for their shares: compute-slice seconds, of which
// half counts after each half-life.
//
// What is held now counts a minute ahead, so that where much is free at one instant, not all of it
// goes to the user who had used least until then.

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/time.hpp"
#include "engine/queue/queue_rules.hpp"

namespace cleave {

/// The account of use.
class FairShare {
 public:
  explicit FairShare(const QueueRules& rules)
      : half_life_s_(in_seconds(rules.half_life)), shares_(&rules.shares) {}

  /// A user of an account; empty names are names too. The same number for the same names.
  using Member = std::size_t;
  [[nodiscard]] Member member(const std::string& account, const std::string& user);

  /// The member takes compute slices, or gives them back where the number is negative.
  void hold(Member member, std::int64_t slices, Instant now);
  void release(Member member, std::int64_t slices, Instant now) { hold(member, -slices, now); }
  /// The member held these from one time to the other, and no longer.
  void held(Member member, std::int64_t slices, Instant from, Instant to);

  /// Used for its share, of the account and of the user: the smaller is served first.
  [[nodiscard]] std::pair<double, double> level(Member member, Instant now) const;
  /// Compute-slice seconds that the member has used, those long ago counted less.
  [[nodiscard]] double used(Member member, Instant now) const;

 private:
  /// What one account or user has used until `since`, and holds from then on.
  struct Use {
    double slice_seconds = 0, share = 1;
    std::int64_t held = 0;
    Instant since{};
  };

  [[nodiscard]] double share_of(const std::string& name) const;
  [[nodiscard]] double used(const Use& use, Instant now) const;
  [[nodiscard]] double level(const Use& use, Instant now) const;
  void hold(Use& use, std::int64_t slices, Instant now) const;
  /// What one slice that is held for so long counts for at its end, in slice-seconds.
  [[nodiscard]] double of_one_slice(Duration time) const;

  double half_life_s_;
  const std::map<std::string, double, std::less<>>* shares_;
  std::vector<Use> accounts_, users_;    // users by member
  std::vector<std::size_t> account_of_;  // by member
  std::map<std::string, std::size_t> account_numbers_;
  std::map<std::pair<std::string, std::string>, Member> members_;
};

}  // namespace cleave
