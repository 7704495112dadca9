#pragma once
// The state of a simulated node as its file has it, which all programs that use the node map: plain
// numbers of fixed size, no pointers. Nothing in it is trusted: readers check every index and
// recognise a damaged record by `sound` (gpu_rules.hpp).
//
// There are two copies of a GPU's record. A change is made on the one that is not in use, and one
// store makes it the record: a program killed in between leaves the old one intact.

#include <array>
#include <atomic>
#include <cstdint>

#include "nvmlsim/shared_lock.hpp"
#include "nvmlsim/sim_node.hpp"

namespace cleave::sim {

inline constexpr std::uint64_t state_magic = 0x65646f6e6d697363;  // "csimnode"
inline constexpr std::uint32_t state_version = 5;
/// The most GPU instances, and the most compute instances, on a GPU: no model has more slices.
inline constexpr std::uint32_t instance_slots = 8;
inline constexpr std::uint32_t most_processes = 128;  // on one GPU
inline constexpr std::uint32_t most_clients = 512;    // programs with NVML open
inline constexpr std::uint32_t event_slots = 256;

/// 128 random-looking bits.
struct Uuid {
  std::uint64_t high = 0, low = 0;
  friend bool operator==(const Uuid&, const Uuid&) = default;
};

/// A GPU instance; serial 0: none. A node never reuses a serial, for instances of either kind.
struct GpuInstanceRecord {
  std::uint64_t serial;
  double busy_s;           // how long it has been busy, until the record's `since_ns`
  std::uint8_t placement;  // number in the model's Geometry of all its profiles
  std::array<std::uint8_t, 7> unused;
};

/// A compute instance; serial 0: none.
struct ComputeInstanceRecord {
  std::uint64_t serial;
  Uuid uuid;
  std::uint8_t gpu_instance;  // its slot
  std::uint8_t id, profile, start, slices;
  std::array<std::uint8_t, 3> unused;
};

/// A process on the GPU.
struct ProcessRecord {
  Identity identity;
  std::uint64_t compute;  // serial of the compute instance; 0: the whole GPU
  std::uint64_t bytes;
  double busy;
};

/// What administrators have set; zero: the driver's default.
struct GpuSettings {
  std::uint32_t power_limit_mw;
  std::uint32_t sm_least_mhz, sm_most_mhz;  // clocks of the processors are locked between them
  std::uint32_t sm_target_mhz;              // for applications
  std::uint32_t memory_locked;              // to the only clock that there is
  std::uint32_t persistence_off, compute_mode, unused;
};

/// Everything that changes about a GPU.
struct GpuRecord {
  std::uint32_t mig_enabled, mig_wanted;  // they differ while a change of mode is pending
  std::uint32_t process_count, unused;
  GpuSettings settings;
  double busy_s;          // how long the whole GPU has been busy, until `since_ns`
  double energy_j;        // until `since_ns`
  double power_w;         // from then on
  std::int64_t since_ns;  // by the clock that counts from boot
  std::array<GpuInstanceRecord, instance_slots> gpu_instances;
  std::array<ComputeInstanceRecord, instance_slots> compute_instances;
  std::array<ProcessRecord, most_processes> processes;
};

/// Kinds of fault; their table is in fault_kinds.cpp.
enum class Fault : std::uint8_t {
  lost,
  slow_create,
  fail_create,
  fail_compute,
  fail_destroy,
  stuck_in_use,
  mig_pending,
  rows_pending,
  rows_failed,
  silent,
};
inline constexpr std::size_t fault_kinds = 10;
inline constexpr std::uint32_t until_mended = 0xffffffff;

/// A GPU in the file: its locks, its faults and both copies of its record.
struct GpuCell {
  SharedLock state;   // held while the record is read or replaced: briefly
  SharedLock change;  // held while an instance is created or destroyed, for the simulated time
  std::atomic<std::uint32_t> active;
  /// For each fault the calls left, until_mended, or 0: off.
  std::array<std::atomic<std::uint32_t>, fault_kinds + 1> faults;
  std::atomic<std::uint32_t> recovery_action;  // that the driver asks for
  /// Uncorrected memory errors since the last reset: on the whole GPU, and on one instance by the
  /// serial of its compute instance.
  std::atomic<std::uint64_t> errors, errors_on, errors_there;
  std::atomic<std::uint64_t> corrected;  // memory errors that ECC corrected, since the last reset
  std::atomic<std::uint64_t> errors_ever, corrected_ever;
  std::array<char, 32> model;  // its key
  Uuid uuid;
  std::array<GpuRecord, 2> records;
};

/// A program with NVML open. `held` has for each GPU the slots of compute instances whose MIG
/// device handle the program got. Bits are set and read under that GPU's state lock and are valid
/// only for a holder that was read before them: a program that takes a free entry first clears the
/// bits that the last one left, and then becomes the holder.
struct ClientRecord {
  std::atomic<Holder> holder;  // 0: free
  std::array<std::atomic<std::uint8_t>, most_sim_gpus> held;
};

/// An event. It is read without a lock while a later event may overwrite it: `number` is 0 during
/// that, and readers check it before and after. The other members are stored with release and
/// loaded with acquire, so that a reader that sees a new value also sees the 0 or the new number.
struct EventRecord {
  std::atomic<std::uint64_t> number;  // counts from 1; the slot is number % event_slots
  std::atomic<std::uint64_t> type, data;
  std::atomic<std::uint32_t> gpu, gpu_instance, compute_instance;  // NVML's numbers, or none
};

/// The beginning of the file: everything about the node that belongs to no single GPU.
struct NodeHeader {
  std::uint64_t magic;
  std::uint32_t version, gpus;
  std::uint64_t bytes;  // of the file
  std::uint64_t seed;
  std::uint32_t instant;
  std::atomic<Administrator> administrator;
  std::uint32_t numbering;
  std::atomic<std::uint32_t> alive;  // 0: the node was destroyed
  std::atomic<std::uint64_t> serials;
  SharedLock tables;  // of clients and events
  std::atomic<std::uint64_t> events;
  std::atomic<std::uint32_t> bell;  // a futex, rung at each event
  /// Kinds of event that some program has registered for; the others need not be reported.
  std::atomic<std::uint64_t> wanted_events;
  std::atomic<std::uint32_t> clients_used;
  std::array<EventRecord, event_slots> ring;
  std::array<ClientRecord, most_clients> clients;
};

// GpuCells follow at the next multiple of 64 bytes.
inline constexpr std::size_t cells_offset = (sizeof(NodeHeader) + 63) / 64 * 64;
inline constexpr std::size_t cell_stride = (sizeof(GpuCell) + 63) / 64 * 64;
constexpr std::size_t state_bytes(std::uint32_t gpus) {
  return cells_offset + gpus * cell_stride;
}

static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

}  // namespace cleave::sim
