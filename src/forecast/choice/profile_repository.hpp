#pragma once
// The profile repository: what was measured of applications on profiles, kept as a file of one JSON
// object a line. *Dyna-P*, 3.1, has one that feeds its partition predictor and its estimate of
// completion times; here it also feeds the reward of the Taming paper
// (forecast/choice/profile_exports.hpp). Text in, text out: files are opened and replaced by
// whoever calls.
//
// A record is of one application, GPU model, batch, profile, and of data in host memory or not. A
// line about a record that is there already is merged into it, so that a log of measurements is a
// repository too:
//
//   mean     counters, times and rates: the mean weighted by the samples that have the measure; one
//   that one
//            of the two lacks is the other's. Peak memory and p98 latency: the larger, since
//            neither of two percentiles is the percentile of both.
//   replace  the later line stands alone.
//
// Under both the samples of a mean add up, the later date stays, and keys of the user's own (x-...)
// are kept, the later line's first.

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/quantity.hpp"
#include "base/result.hpp"

namespace cleave {

/// What a record is about. Orders the repository.
struct ProfileKey {
  std::string application;
  std::string gpu_model;  // key of a GPU model
  std::int64_t batch = 1;
  std::string profile;   // of that model, or "none": MIG off, the whole GPU
  bool offload = false;  // part of the data was in host memory

  friend auto operator<=>(const ProfileKey&, const ProfileKey&) = default;
};

/// The profile of a run without MIG.
inline constexpr std::string_view no_mig = "none";

struct ProfileRecord {
  ProfileKey key;
  /// Numbers by name, such as sm_activity, sm_occupancy, dram_activity, tensor_activity: shares of
  /// the instance from 0 to 1 where DCGM and GPM have them so. gpu_sm_occupancy is averaged over
  /// the whole GPU.
  std::map<std::string, double, std::less<>> counters;
  std::optional<double> time_s;                          // of the whole job
  std::optional<MiB> peak_memory;                        // resident on the GPU
  std::optional<double> tokens_per_s, throughput_per_s;  // tokens, and items or requests
  std::optional<double> p98_latency_s;
  std::int64_t samples = 1;
  /// By measure or counter, of how many samples it is the mean where these are fewer than
  /// `samples`.
  std::map<std::string, std::int64_t, std::less<>> measured_in;
  std::string date;  // "2025-03-31", perhaps with a time behind it; empty: not said
  /// Keys that begin with x-, each with its value as JSON text.
  std::map<std::string, std::string, std::less<>> extra;

  friend bool operator==(const ProfileRecord&, const ProfileRecord&) = default;
};

enum class MergeRule { mean, replace };
std::string_view name(MergeRule rule);
std::optional<MergeRule> merge_rule(std::string_view name);

/// `later` merged into `earlier`, which is about the same.
[[nodiscard]] ProfileRecord merged(const ProfileRecord& earlier, const ProfileRecord& later,
                                   MergeRule rule);

class ProfileRepository {
 public:
  using Records = std::map<ProfileKey, ProfileRecord>;

  void add(ProfileRecord record, MergeRule rule);
  [[nodiscard]] const Records& records() const { return records_; }
  /// Null when there is none.
  [[nodiscard]] const ProfileRecord* find(const ProfileKey& key) const;

 private:
  Records records_;
};

/// Reads the lines of a repository into one that may have records already; how many lines were
/// records. Bad lines are errors with file and line, and change nothing.
[[nodiscard]] Result<std::size_t> add_profiles(ProfileRepository& repository, std::string_view text,
                                               const std::string& place, MergeRule rule);

/// One record a line, in the order of their keys: equal repositories are equal texts, and reading
/// it again gives the same repository.
[[nodiscard]] std::string repository_text(const ProfileRepository& repository);

/// The names that counters may not have: the other columns of the training table.
[[nodiscard]] bool reserved_counter(std::string_view name);

}  // namespace cleave
