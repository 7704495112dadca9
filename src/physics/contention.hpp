#pragma once
// How fast the jobs on one GPU make progress side by side, and what each of them draws.
//
// GPU instances have memory, caches and processors of their own; measured side by side they keep
// their speed within 0.25 %. Two things they share: the link to the host, and the power that the
// board may draw, which sets the clocks of all. A job's time is told apart accordingly:
//
//   time of all its work = transfer / x + ( fixed^p + (compute / clock + bandwidth)^p )^(1/p)
//
// with x the share of the link that it gets while it transfers. Shares of the link are max-min
// fair, and no instance gets more than its copy engines carry, or its processors where they read
// host memory themselves (physics/link.hpp); such reads are transfers too. Jobs that share an
// instance share its copy engines as all jobs share the link. Which transfers coincide is not known
// from averages, so there are two readings:
//
//   spread    transfers are spread over the time of each job, and never coincide while the link has
//             room: x is as large for all as the link allows on average. Neighbours are slowed
//             least.
//   together  all that transfer at all do so at once: x is an equal share among them. Neighbours
//             are slowed most.
//
// Work that fits neither is between them. From x follows how busy each job keeps its part of the
// GPU, from that its power (physics/power.hpp), and from the power the clock, which slows compute.
// Shares of the link are settled at full clocks: slower work transfers less, so the link is never
// overdrawn. Jobs that share one instance slow each other besides (instance_sharing.hpp), and
// together keep its processors, and its memory, busy all the time at most; beside them the link is
// settled at the clock that comes out.

#include <cstdint>
#include <optional>
#include <span>

#include "physics/instance_sharing.hpp"
#include "physics/power.hpp"

namespace cleave {

/// What all of a job's work takes on its instance when nothing slows it, by what it needs; in units
/// of its time on the largest profile of the model that it was timed on.
struct WorkParts {
  double fixed = 0;      // on the host and in launches: no slice shortens it
  double transfer = 0;   // over the host link by copy engines, at the link's full rate
  double compute = 0;    // on this instance's processors, at full clocks
  double bandwidth = 0;  // bound by this instance's memory
  double overlap = 1;    // p: how well the fixed part hides the others
  double direct = 0;     // over the host link by processors, at the link's full rate
};

/// A job on a GPU as its neighbours see it.
struct SharedLoad {
  WorkParts parts;
  double compute_share = 0, memory_share = 0;  // its instance's, of the GPU; it draws by these
  double kappa = 1;                            // see InstanceLoad
  double direct_link = 1;  // the share of the link that its processors reach, in (0, 1]
  /// Jobs that share an instance have the same number above 0; 0: it has one to itself.
  std::uint8_t instance = 0;
  SharingMode sharing = SharingMode::mps;  // how they share it, the same for all of them
  double part = 1;                         // of the instance's processors that it may use
};

/// How transfers share the link.
enum class LinkSharing : std::uint8_t { off, spread, together };

/// What the jobs of a GPU share.
struct SharedGpu {
  LinkSharing link = LinkSharing::spread;
  double instance_link = 1;  // the share that one instance's copy engines carry, in (0, 1]
  /// Empty: clocks never fall, and nothing is said of power.
  std::optional<PowerBounds> power = {};
  double beta = 1;  // see PowerOptions
  SharingOptions sharing = {};
};

/// How fast a job is, and what it draws.
struct Pace {
  double speed = 0;  // relative to the largest profile of the model that it was timed on
  double link = 0;   // the mean share of the link that it uses
  Milliwatts power;
};

/// The pace of each load, in their order; `paces` has as many. Returns the clock, at most 1.
double paces_of(const SharedGpu& gpu, std::span<const SharedLoad> loads, std::span<Pace> paces);

/// The pace of a job that has the GPU to itself.
[[nodiscard]] Pace pace_alone(const SharedGpu& gpu, const SharedLoad& load);

}  // namespace cleave
