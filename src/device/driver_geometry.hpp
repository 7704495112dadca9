#pragma once
// The geometry of a GPU as its driver reports it: a GpuModel like those of the tables, whether the
// tables know the GPU or not. Reading and building are separate, so that building is a pure
// function.
//
// Names of profiles are the driver's. Older drivers do not give names, which are then made from the
// sizes by nvidia-smi's rule (NVIDIA/go-nvlib, pkg/nvlib/device/mig_profile.go).

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "device/door.hpp"
#include "model/geometry.hpp"

namespace cleave {

/// "1g.5gb+me": what nvidia-smi would call this profile on a GPU with this much memory. Without the
/// GPU's memory the name has the profile's own size.
std::string profile_name(const DriverProfile& profile,
                         std::optional<std::uint64_t> gpu_memory_bytes);

/// Everything a driver says about the profiles of one GPU.
struct DriverReading {
  struct Row {
    DriverProfile profile;
    std::vector<Span> placements;
  };
  GpuFacts gpu;
  std::optional<std::uint64_t> memory_bytes;  // of the whole GPU, if the caller may read it
  std::vector<Row> rows;                      // without profiles that have no placement
};
/// Leaves out profiles without placements. Any other refusal is returned: a profile that cannot be
/// read, or not now, must not look as if the GPU lacked it.
[[nodiscard]] DriverAnswer<DriverReading> read_profiles(Door& door, GpuIndex gpu);

/// A GPU model made from a driver's answers, and the data it refers to. Pointers into it stay valid
/// when it is moved.
class DriverGeometry {
 public:
  /// Without rows, the tables' model of this name is used instead. Fails with `infeasible` if there
  /// is none, and if the GPU has more placements than Geometry can hold.
  [[nodiscard]] static Result<DriverGeometry> build(const DriverReading& reading);

  [[nodiscard]] const GpuModel& model() const { return inside_->model; }
  /// Of all profiles.
  [[nodiscard]] const Geometry& geometry() const { return *inside_->geometry; }
  /// The tables' model with this driver's name; null for a GPU that they do not know.
  [[nodiscard]] const GpuModel* table() const { return inside_->table; }
  /// Whether all of it comes from the tables, because the driver said nothing (as with MIG off).
  [[nodiscard]] bool from_table() const { return inside_->from_table; }
  /// The profile with this id of the driver.
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
