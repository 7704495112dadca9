#pragma once
// What is asked of a service, and what a lease is for; docs/services.md says what they mean.

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/quantity.hpp"
#include "base/time.hpp"

namespace cleave {

/// A service: replicas that each serve a part of its requests, and its target.
struct ServiceTerms {
  /// Requests a second from that time after its arrival on.
  struct Step {
    Duration from{};
    double requests_per_s = 0;
    friend auto operator<=>(const Step&, const Step&) = default;
  };

  std::string id;
  std::uint32_t replicas = 1;
  std::vector<Step> load;            // by time; before the first nothing is asked
  double served_per_s = 0;           // by a replica on the whole GPU under MIG
  std::optional<Duration> latency;   // the mean that is wanted, waiting included
  std::optional<Duration> runs_for;  // after its arrival; empty: as long as other jobs do
  friend auto operator<=>(const ServiceTerms&, const ServiceTerms&) = default;
};

/// Requests a second that are asked of it so long after its arrival.
[[nodiscard]] double load_at(const ServiceTerms& service, Duration at);

/// Whether replicas that together serve `served` a second keep the target when `asked` come. The
/// load is split in proportion to what they serve; each is a queue with Poisson arrivals and
/// exponential service times (M/M/1), so that the mean latency is replicas / (served - asked).
[[nodiscard]] bool on_target(const ServiceTerms& service, double asked, double served,
                             std::size_t replicas);

/// A place for a person, in terms of the time since it began: where it pauses, that time does too.
struct LeaseTerms {
  enum class Then : std::uint8_t { give_back, shrink };
  struct Span {
    Duration from{}, to{};
    friend auto operator<=>(const Span&, const Span&) = default;
  };

  std::optional<Duration> starts_within;  // after its arrival
  std::optional<Duration> idle_after;     // without GPU work for so long; empty: never
  Then then = Then::give_back;            // once it is idle
  std::vector<Span> active;               // with GPU work, by time, apart from each other
  std::optional<MiB> idle_memory = {};    // what it holds while it is idle, to shrink to
  friend auto operator<=>(const LeaseTerms&, const LeaseTerms&) = default;
};

inline constexpr std::array<std::string_view, 2> words_of_then = {"give-back", "shrink"};

/// The lease becomes idle, or works again.
struct LeaseChange {
  Duration at{};
  bool idle = false;
  friend bool operator==(const LeaseChange&, const LeaseChange&) = default;
};
/// Of a lease that is wanted for `stay`: by time, idle and busy in turn, all before `stay`.
[[nodiscard]] std::vector<LeaseChange> changes_of(const LeaseTerms& lease, Duration stay);
/// How long it is held: `stay`, or until it is idle and given back.
[[nodiscard]] Duration held_for(const LeaseTerms& lease, Duration stay);

}  // namespace cleave
