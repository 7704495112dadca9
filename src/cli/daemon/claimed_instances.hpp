#pragma once
// What commands that ask the driver learn from the daemon of this machine, where there is one:
// which instances claims hold.

#include <map>
#include <string>
#include <utility>

#include "base/json.hpp"
#include "device/gpu_view.hpp"

namespace cleave::cli {

/// The claims of instances, by the UUID of the GPU and the instance's first memory slice.
class ClaimedInstances {
 public:
  /// As the daemon says that commands on jobs would ask. None are known where none answers within a
  /// second.
  [[nodiscard]] static ClaimedInstances of_daemon();

  /// The key, empty where the claim is another user's; null where none has an instance there.
  [[nodiscard]] Json key(const LiveGpu& gpu, std::int64_t start) const;
  /// "3g.20gb@4 on GPU 0: claim slurm:12 (job 12 of ann)", a line for each claimed instance.
  [[nodiscard]] std::string lines(const LiveGpu& gpu) const;

 private:
  struct Claimed {
    std::string key, words;
  };
  [[nodiscard]] const Claimed* find(const LiveGpu& gpu, std::int64_t start) const;

  std::map<std::pair<std::string, std::int64_t>, Claimed> all_;
};

}  // namespace cleave::cli
