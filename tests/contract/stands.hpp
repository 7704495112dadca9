#pragma once
// The doors that the contract is checked against, each made ready for one check.

#include <filesystem>
#include <functional>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "device/door.hpp"
#include "model/gpu_model.hpp"
#include "nvmlsim/sim_node.hpp"

namespace cleave::contract {

/// A simulated node in a folder of its own, and the environment that names it, for as long as this
/// lives.
class SimNode {
 public:
  explicit SimNode(const SimNodeSpec& spec);
  ~SimNode();
  SimNode(const SimNode&) = delete;
  SimNode& operator=(const SimNode&) = delete;
  [[nodiscard]] const std::filesystem::path& directory() const { return directory_; }

 private:
  std::filesystem::path directory_;
};

/// The library that this build made.
std::string simulated_library();

/// Which door a check runs on.
enum class DoorKind { simulated, faultless, replayed, real };

/// One door for one GPU model.
struct StandCase {
  DoorKind kind;
  const GpuModel* model;  // empty for a real GPU
};
/// For names of tests: letters and digits.
std::string name_of(const StandCase& stand);
/// What GoogleTest shows of the case beside its name.
inline void PrintTo(const StandCase& stand, std::ostream* out) {
  *out << (stand.model ? stand.model->key : "whatever is there");
}
std::vector<StandCase> all_stands();

/// A door with one GPU on which a check may do as it likes, or only look.
struct Stand {
  Door& door;
  GpuIndex gpu{};
  const GpuModel* model = nullptr;
  bool may_change = true;
  /// The node behind it; empty where there is none, as in a replay: what was done to it then is
  /// done.
  std::optional<std::filesystem::path> node;
};
using Check = std::function<void(Stand&)>;

/// Runs the check on a fresh stand; a recording is made first and then checked in its turn. The
/// answer is why it cannot be run here.
std::optional<std::string> run_on(const StandCase& stand, const Check& check);

}  // namespace cleave::contract
