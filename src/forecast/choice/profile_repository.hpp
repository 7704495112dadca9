#pragma once
// The profile repository: measurements of applications on profiles, kept as a file with one JSON
// object a line. *Dyna-P*, 3.1, has one that feeds its partition predictor and its estimate of
// completion times; here it also feeds the reward of the Taming paper
// (forecast/choice/profile_exports.hpp). Text in, text out: the caller opens and replaces files.
//
// A record is about one application, GPU model, batch and profile, with or without offload to host
// memory. A line about a record that exists already is merged into it, so a log of measurements is
// a repository too:
//
// mean: counters, times and rates become the mean weighted by the samples that have the measure; a
// measure that one of the two lacks is taken from the other. Peak memory and p98 latency: the
// larger, since neither of two percentiles is the percentile of both.
// replace: the later line replaces the earlier.
//
// Under both rules the samples of a mean add up, the later date stays, and the user's own keys
// (x-...) are kept, with the later line's values.

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/quantity.hpp"
#include "base/result.hpp"

namespace cleave {

/// The identity of a record. Orders the repository.
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

/// All measurements of one application in one setting.
struct ProfileRecord {
  ProfileKey key;
  /// Numbers by name, such as sm_activity, sm_occupancy, dram_activity, tensor_activity: shares of
  /// the instance from 0 to 1 if DCGM and GPM report them so. gpu_sm_occupancy is averaged over the
  /// whole GPU.
  std::map<std::string, double, std::less<>> counters;
  std::optional<double> time_s;                          // of the whole job
  std::optional<MiB> peak_memory;                        // resident on the GPU
  std::optional<double> tokens_per_s, throughput_per_s;  // tokens, and items or requests
  std::optional<double> p98_latency_s;
  std::int64_t samples = 1;
  /// By measure or counter, how many samples it is the mean of, if these are fewer than `samples`.
  std::map<std::string, std::int64_t, std::less<>> measured_in;
  std::string date;  // "2025-03-31", optionally with a time; empty: unknown
  /// Keys that begin with x-, each with its value as JSON text.
  std::map<std::string, std::string, std::less<>> extra;

  friend bool operator==(const ProfileRecord&, const ProfileRecord&) = default;
};

/// What happens to a second record with the same key.
enum class MergeRule { mean, replace };
std::string_view name(MergeRule rule);
std::optional<MergeRule> merge_rule(std::string_view name);

/// `later` merged into `earlier`, which has the same key.
[[nodiscard]] ProfileRecord merged(const ProfileRecord& earlier, const ProfileRecord& later,
                                   MergeRule rule);

/// Records by key.
class ProfileRepository {
 public:
  using Records = std::map<ProfileKey, ProfileRecord>;

  void add(ProfileRecord record, MergeRule rule);
  /// Does nothing where there is no such record.
  void remove(const ProfileKey& key) { records_.erase(key); }
  [[nodiscard]] const Records& records() const { return records_; }
  /// Null if there is none.
  [[nodiscard]] const ProfileRecord* find(const ProfileKey& key) const;

 private:
  Records records_;
};

/// Reads the lines of a repository into one that may have records already; returns how many lines
/// were records. Bad lines are errors with file and line, and change nothing.
[[nodiscard]] Result<std::size_t> add_profiles(ProfileRepository& repository, std::string_view text,
                                               const std::string& place, MergeRule rule);

/// One record as a line, without the end of a line.
[[nodiscard]] std::string profile_text(const ProfileRecord& record);

/// One record a line, in the order of their keys: equal repositories give equal texts, and reading
/// the text gives the same repository.
[[nodiscard]] std::string repository_text(const ProfileRepository& repository);

/// A batch that a record may have is at most this.
inline constexpr std::int64_t most_measured_batch = 1'000'000'000;

/// The names that counters may not have: the other columns of the training table.
[[nodiscard]] bool reserved_counter(std::string_view name);

}  // namespace cleave
