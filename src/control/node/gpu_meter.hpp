#pragma once
// What is known of a GPU's use since its counter of energy was last read, and what is known beyond
// what has been noted for the store. Plain values; verdicts/use_verdicts.hpp divides what was used
// between two readings, loop/use_keeper.hpp reads and notes.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/time.hpp"
#include "control/job_record.hpp"
#include "control/usage_record.hpp"
#include "physics/energy_split.hpp"

namespace cleave {

/// A reading of the counter; without a value, it could not be read.
struct MeterReading {
  std::optional<std::uint64_t> millijoules;
  Instant at{};                    // wall clock
  std::optional<Duration> steady;  // empty: an earlier daemon read it
  friend bool operator==(const MeterReading&, const MeterReading&) = default;
};

/// An attempt, as long as it had an instance or a GPU.
struct Tenancy {
  std::string device;       // several may have one
  std::int64_t slices = 0;  // compute slices of it
  JobNumber job = 0;        // whose energy it is
  UseParty party;
  std::string user;
  Instant from{};
  std::optional<Instant> to;   // empty: it is still there
  std::optional<double> busy;  // of the device's processors; empty: not counted, taken as all
};

/// What was used of a GPU.
struct GpuUse {
  std::map<UsageKey, UsageRow> rows;
  std::map<JobNumber, JobEnergy> jobs;
  std::map<std::string, std::int64_t> devices;  // millijoules of jobs there
  void add(const GpuUse& more) {
    for (const auto& [key, row] : more.rows) add_row(rows, row);
    for (const auto& [job, energy] : more.jobs) jobs[job].add(energy);
    for (const auto& [device, energy] : more.devices) devices[device] += energy;
  }
};

/// Ended attempts that wait for a reading, at most: where the driver does not answer for long, the
/// oldest go uncounted.
inline constexpr std::size_t most_ended_tenancies = 10'000;

/// Of one GPU.
struct GpuMeter {
  std::optional<MeterReading> last;
  std::vector<Tenancy> ended;      // since then
  std::optional<Milliwatts> idle;  // the least that it drew while nothing ran on it
  GpuUse unnoted;                  // which the store does not get yet
  Duration note_at{};              // on the steady clock: then it does
  std::string doubt;               // why the counter was not believed last; for people

  void end(Tenancy tenancy) {
    if (ended.size() >= most_ended_tenancies) ended.erase(ended.begin());
    ended.push_back(std::move(tenancy));
  }
};

}  // namespace cleave
