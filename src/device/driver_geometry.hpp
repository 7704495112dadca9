#pragma once
// The geometry of a GPU as its driver tells it: a GpuModel like those of the tables, for GPUs that
// the tables know and for those they do not. Reading and building are apart, so that the building
// is a pure function.
//
// Names of profiles are the driver's; older drivers do not say them, and then they follow from the
// sizes by the rule of nvidia-smi (NVIDIA/go-nvlib, pkg/nvlib/device/mig_profile.go).

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "device/door.hpp"
#include "model/geometry.hpp"

namespace cleave {

/// "1g.5gb+me": what nvidia-smi would call this profile on a GPU of so much memory; without a
/// memory size, that of the profile alone is in the name.
std::string profile_name(const DriverProfile& profile,
                         std::optional<std::uint64_t> gpu_memory_bytes);

/// What a driver says of one GPU, in one piece.
struct DriverReading {
  struct Row {
    DriverProfile profile;
    std::vector<Span> placements;
  };
  GpuFacts gpu;
  std::optional<std::uint64_t> memory_bytes;  // of the whole GPU, where the caller may know it
  std::vector<Row> rows;                      // without profiles that have no placement
};
/// A profile of which the driver knows no placements is left out; any other refusal is the answer:
/// what may not be read, or not now, must not look as if it were not there.
[[nodiscard]] DriverAnswer<DriverReading> read_profiles(Door& door, GpuIndex gpu);

/// Owns what its model refers to; both stay where they are when it is moved.
class DriverGeometry {
 public:
  /// Without rows, the tables' model of this name takes their place. `infeasible` where there is
  /// none, and where a GPU has more than Geometry can hold.
  [[nodiscard]] static Result<DriverGeometry> build(const DriverReading& reading);

  [[nodiscard]] const GpuModel& model() const { return inside_->model; }
  /// Of all profiles.
  [[nodiscard]] const Geometry& geometry() const { return *inside_->geometry; }
  /// The row of the tables with this driver's name; empty for GPUs that they do not know.
  [[nodiscard]] const GpuModel* table() const { return inside_->table; }
  /// The driver said nothing, for one because MIG is off: everything is the tables'.
  [[nodiscard]] bool from_table() const { return inside_->from_table; }
  /// The profile that has this id with the driver.
  [[nodiscard]] const Profile* find(ProfileId id) const;

 private:
  struct Inside {
    std::string name;
    std::vector<std::string> profile_names;
    std::vector<Profile> profiles;
    std::string_view driver_name;  // of `name`, for the model's list
    GpuModel model;
    std::optional<Geometry> geometry;
    const GpuModel* table = nullptr;
    bool from_table = false;
  };
  explicit DriverGeometry(std::unique_ptr<Inside> inside) : inside_(std::move(inside)) {}

  std::unique_ptr<Inside> inside_;
};

/// Reads and builds; `place` of errors is "GPU 0".
[[nodiscard]] Result<DriverGeometry> driver_geometry(Door& door, GpuIndex gpu);

/// "GPU 3"
std::string place_of(GpuIndex gpu);

}  // namespace cleave
