#pragma once
// The simulated fleet: it carries out the engine's commands and refuses, as hardware would,
// whatever is not legal. It keeps its own account of what exists and trusts no scheduler's. Its
// refusals are errors of kind `internal`: a scheduler that causes one has a bug, and the run ends
// there.

#include <array>
#include <optional>
#include <vector>

#include "base/result.hpp"
#include "base/time.hpp"
#include "model/event.hpp"
#include "placement/fleet.hpp"
#include "simulate/simulated_hosts.hpp"

namespace cleave {

/// Whether a GPU can be partitioned. At the beginning it is as its first use wants it, unless it
/// has instances.
enum class WorldMigMode : std::uint8_t { unset, on, off };

/// One GPU: which instances exist, which of them run a job, and from when its driver is free to
/// change it again. GPUs are touched in no order: one is one cache line.
struct alignas(64) SimulatedGpu {
  std::uint16_t kind = 0;
  StateId existing = 0;                            // all instances, walls too
  StateId occupied = 0;                            // those held by work, and walls
  std::uint8_t held_compute = 0, held_memory = 0;  // slices
  bool whole = false;                              // MIG off, one job has it all
  bool absent = false;                             // lost, and not yet back
  std::uint16_t sharers = 0;                       // jobs on instances that may be shared
  PlacementSet idle;                               // exist, run nothing, ours
  Instant ready{};                                 // when the last change to its instances is done

  // A batch is one command of the driver: destroys, and the creates that follow them in one answer.
  PlacementSet destroyed;  // of a batch that has no create yet
  PlacementSet batch;      // created by the last batch, while it is open for more
  Instant batch_from{};    // when its creates begin
  Instant batch_at{};      // when it was commanded; a later create begins another
  PlacementSet fresh;      // created last: a job that starts there waits until `ready`
  PlacementSet pending;    // not to be used before the World's usable_from
  Instant cleared{};       // when what the batch destroys is no more in use
};
static_assert(sizeof(SimulatedGpu) == 64);

/// The GPUs of a simulation.
class World {
 public:
  /// Creating and destroying takes the time of physics/reconfiguration.hpp, one batch of a GPU
  /// after the other; or, where `each` is given, that time from now for each batch. With `jitter`,
  /// a seed, measured times are medians from which single batches stray. To switch MIG on or off
  /// takes `mig_switch`.
  explicit World(const Fleet& start, std::optional<Duration> each = std::nullopt,
                 std::optional<std::uint64_t> jitter = std::nullopt, Duration mig_switch = {});

  [[nodiscard]] const std::vector<SimulatedGpu>& gpus() const { return gpus_; }
  [[nodiscard]] const SimulatedGpu& operator[](GpuId gpu) const { return gpus_[index(gpu)]; }
  [[nodiscard]] const StateGraph& graph(const SimulatedGpu& gpu) const {
    return *graphs_[gpu.kind];
  }

  [[nodiscard]] Result<void> destroy(GpuId gpu, PlacementId placement, Instant now);
  [[nodiscard]] Result<void> create(GpuId gpu, PlacementId placement, Instant now);
  /// When the job begins to run: now on an instance that was there, after the create on one just
  /// made.
  [[nodiscard]] Result<Instant> start(GpuId gpu, PlacementId placement, Instant now);
  /// As start, and on an instance that others share already by the same means. Compute instances
  /// must fit side by side in theirs.
  [[nodiscard]] Result<Instant> start_shared(GpuId gpu, PlacementId placement, InstanceShare share,
                                             Instant now);
  /// On a GPU without instances; after the destroys in front of it.
  [[nodiscard]] Result<Instant> start_whole(GpuId gpu, Instant now);
  /// The instance is free, now or from `left` on; what comes after on it waits for that.
  void end(GpuId gpu, PlacementId placement, std::optional<Instant> left = std::nullopt);
  /// A job leaves a shared instance, which is free when the last one has left.
  void end_shared(GpuId gpu, PlacementId placement, InstanceShare share,
                  std::optional<Instant> left = std::nullopt);
  /// By what means the jobs share the instance; it is shared.
  [[nodiscard]] SharingMode sharing(GpuId gpu, PlacementId placement) const {
    return shared_[cell(gpu, placement)].mode;
  }
  void end_whole(GpuId gpu, std::optional<Instant> left = std::nullopt);

  // The hosts of nodes, where the fleet limits them.

  [[nodiscard]] bool limits_hosts() const { return hosts_.limited(); }
  /// What a process gets of the host there that asks for this; without a placement, with the GPU.
  [[nodiscard]] HostAmount host_part(const HostAsk& ask, GpuId gpu,
                                     std::optional<PlacementId> placement) const;
  /// A process has this of the GPU's host from the time that is returned on: when those that leave
  /// have given back enough.
  [[nodiscard]] Result<Instant> take_host(GpuId gpu, const HostAmount& amount, Instant now) {
    return hosts_.take(gpu, amount, now);
  }
  /// It gives it back, now or from `left` on.
  void free_host(GpuId gpu, const HostAmount& amount, std::optional<Instant> left) {
    hosts_.free(gpu, amount, left);
  }

  /// It moves on its node, and has this besides until then.
  void linger_on_host(GpuId gpu, const HostAmount& amount, Instant until) {
    hosts_.linger(gpu, amount, until);
  }

  void lose(GpuId gpu);
  void recover(GpuId gpu, Instant now);

  /// The GPU changes soon: has the memory fetch what that needs.
  void expect(GpuId gpu) const {
    __builtin_prefetch(&gpus_[index(gpu)], 1);
    __builtin_prefetch(&usable_from_[index(gpu) * width_], 1);
  }

  [[nodiscard]] std::size_t creates() const { return creates_; }
  [[nodiscard]] std::size_t destroys() const { return destroys_; }
  [[nodiscard]] std::size_t batches() const { return batches_; }

 private:
  SimulatedGpu& at(GpuId gpu) { return gpus_[index(gpu)]; }
  /// Until it is switched, from the other mode; zero where it is in this one.
  Duration switched(GpuId gpu, WorldMigMode mode);
  [[nodiscard]] Duration create_batch_time(GpuId gpu) const;
  [[nodiscard]] Duration destroy_batch_time(GpuId gpu) const;
  /// A time that strays from its median, for each batch of a GPU anew.
  [[nodiscard]] Duration strayed(Duration median, GpuId gpu, bool creates) const;
  /// Instances that exist side by side start at different slices.
  [[nodiscard]] std::size_t cell(GpuId gpu, PlacementId placement) const {
    const int start = graph((*this)[gpu]).geometry()[placement].start;
    return index(gpu) * width_ + static_cast<std::size_t>(start);
  }
  /// From when the instance can be used: a process that is being checkpointed or replaced may still
  /// use it, or its create is not yet done.
  [[nodiscard]] Instant when_free(GpuId gpu, PlacementId placement, Instant now) const;
  /// A process that leaves the instance uses it until then.
  void in_use_until(GpuId gpu, PlacementId placement, Instant left);
  void hold(SimulatedGpu& gpu, PlacementId placement);
  void release(SimulatedGpu& gpu, PlacementId placement);

  std::vector<std::shared_ptr<const StateGraph>> graphs_;
  SimulatedHosts hosts_;
  std::optional<Duration> each_;
  std::optional<std::uint64_t> jitter_;
  Duration mig_switch_;
  std::vector<WorldMigMode> modes_;        // by GPU; empty where switching takes no time
  std::vector<std::uint32_t> batches_of_;  // by GPU; empty without jitter
  /// What one instance takes to create and to destroy: nearly every batch is of one.
  struct Takes {
    Duration create{}, destroy{};
  };
  /// An instance that several jobs may use.
  struct Shared {
    Instant from{};  // when the first of them could begin
    PlacementId instance = 0;
    SharingMode mode = SharingMode::mps;
    std::uint8_t jobs = 0;    // 0: it is not shared
    std::uint8_t slices = 0;  // of all their compute instances
  };

  std::vector<std::array<Takes, PlacementSet::most>> takes_;  // by GPU model and placement
  std::size_t width_ = 0;  // memory slices of the model that has most
  std::vector<SimulatedGpu> gpus_;
  std::vector<Instant> usable_from_;  // by GPU and start; of those that are pending
  std::vector<Shared> shared_;        // by GPU and start; empty until one is shared
  std::size_t creates_ = 0, destroys_ = 0, batches_ = 0;
};

}  // namespace cleave
