#pragma once
// Which profiles of a model may be used. Users write all, plain, five, four, or a list of names.
// The same choice applies to every model of a fleet; a name means the profile of that name, on
// models that have it.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "model/gpu_model.hpp"

namespace cleave {

/// One bit for each profile of a model, by its place in GpuModel::profiles.
using ProfileMask = std::uint16_t;

/// A user's choice of profiles, for any model.
class ProfileChoice {
 public:
  /// Every profile.
  ProfileChoice() = default;

  /// `all`; `plain`: without attribute; `five`: plain without the double-memory 1g; `four`: 1g, 2g,
  /// 3g and 4g of those; or names, MODEL:NAME for one model only, separated by commas. Names are
  /// checked by `check`.
  [[nodiscard]] static Result<ProfileChoice> parse(std::string_view text);
  static ProfileChoice plain();

  /// The chosen profiles of `model`; none when a list names none of them.
  [[nodiscard]] ProfileMask on(const GpuModel& model) const;

  /// Fails unless every name in a list is a profile of one of `models`, and each of these has at
  /// least one chosen profile.
  [[nodiscard]] Result<void> check(std::span<const GpuModel* const> models) const;

 private:
  enum class Family { all, plain, five, four, list };
  Family family_ = Family::all;
  std::vector<std::string> names_;
};

/// Whether `name`, perhaps written MODEL:NAME, means this profile of this model.
bool means_profile(std::string_view name, const GpuModel& model, const Profile& profile);

}  // namespace cleave
