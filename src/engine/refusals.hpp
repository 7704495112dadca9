#pragma once
// GPUs that refused a change rest: they take no work for a second, and twice as long each time that
// another refusal follows, up to five minutes. A refusal counts as a first one again when the GPU
// has made an instance since, or ten minutes after its last rest. It is kept apart from the engine,
// because engines are thrown away and made again, often because of a refusal.

#include <optional>
#include <vector>

#include "base/time.hpp"
#include "model/ids.hpp"

namespace cleave {

/// The GPUs that rest, by their number in the fleet. Times are those that the engine is told.
class Refusals {
 public:
  static constexpr Duration first_rest = std::chrono::seconds{1},
                            longest_rest = std::chrono::minutes{5},
                            forgiven_after = std::chrono::minutes{10};

  /// The GPU refused to make or to destroy an instance, or to change its mode. Returns until when
  /// it rests; a refusal while it rests changes nothing, since it belongs to the same change.
  Instant refused(GpuId gpu, Instant now);
  /// The GPU made an instance.
  void made(GpuId gpu);
  /// Until when the GPU rests; nullopt where it does not.
  [[nodiscard]] std::optional<Instant> rests_until(GpuId gpu, Instant now) const;

 private:
  /// The last rest of a GPU.
  struct Rest {
    Duration length{};  // zero: no refusal that counts
    Instant until{};
  };
  std::vector<Rest> rests_;  // by GPU, as far as any has refused
};

}  // namespace cleave
