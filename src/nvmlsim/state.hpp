#pragma once
// The state of a simulated node as it lies in its file, which all programs that use the node map:
// plain numbers of fixed size, no pointers. Nothing in it is trusted: who reads it keeps every
// index in its bounds and tells a damaged record by `sound` (gpu_rules.hpp).
//
// A GPU's record is there twice. A change is made on the copy that is not in use, and one store
// makes that copy the record: a program killed in between leaves the old one, whole.

#include <array>
#include <atomic>
#include <cstdint>

#include "nvmlsim/client.hpp"
#include "nvmlsim/shared_lock.hpp"

namespace cleave::sim {

inline constexpr std::uint64_t state_magic = 0x65646f6e6d697363;  // "csimnode"
inline constexpr std::uint32_t state_version = 2;
/// Of GPU instances on a GPU, and of compute instances on a GPU: no model has more compute slices.
inline constexpr std::uint32_t instance_slots = 8;
inline constexpr std::uint32_t most_processes = 128;  // on one GPU
inline constexpr std::uint32_t most_clients = 512;    // programs with NVML open
inline constexpr std::uint32_t event_slots = 64;

/// 128 random-looking bits.
struct Uuid {
  std::uint64_t high = 0, low = 0;
  friend bool operator==(const Uuid&, const Uuid&) = default;
};

/// `serial` 0: none is there. Serials are given once in a node's life, to instances of both kinds.
struct GpuInstanceRecord {
  std::uint64_t serial;
  std::uint8_t placement;  // number in the model's Geometry of all its profiles
  std::array<std::uint8_t, 7> unused;
};

struct ComputeInstanceRecord {
  std::uint64_t serial;
  Uuid uuid;
  std::uint8_t gpu_instance;  // its slot
  std::uint8_t id, profile, start, slices;
  std::array<std::uint8_t, 3> unused;
};

struct ProcessRecord {
  Identity identity;
  std::uint64_t compute;  // serial of the compute instance; 0: the whole GPU
  std::uint64_t bytes;
  double busy;
};

struct GpuRecord {
  std::uint32_t mig_enabled, mig_wanted;  // they differ while a change of mode is pending
  std::uint32_t process_count, unused;
  double energy_j;        // until `since_ns`
  double power_w;         // from then on
  std::int64_t since_ns;  // of the clock that counts from boot
  std::array<GpuInstanceRecord, instance_slots> gpu_instances;
  std::array<ComputeInstanceRecord, instance_slots> compute_instances;
  std::array<ProcessRecord, most_processes> processes;
};

/// Kinds of fault, by their rows in faults.hpp.
enum class Fault : std::uint8_t {
  lost,
  slow_create,
  fail_create,
  fail_compute,
  fail_destroy,
  stuck_in_use,
  mig_pending,
};
inline constexpr std::size_t fault_kinds = 7;
inline constexpr std::uint32_t until_mended = 0xffffffff;

struct GpuCell {
  SharedLock state;   // held while the record is read or replaced: never for long
  SharedLock change;  // held by who creates or destroys, while the simulated time passes
  std::atomic<std::uint32_t> active;
  std::array<std::atomic<std::uint32_t>, fault_kinds + 1>
      faults;                  // calls left, until_mended, or 0: off
  std::array<char, 32> model;  // its key
  Uuid uuid;
  std::array<GpuRecord, 2> records;
};

/// A program with NVML open. `held`: for each GPU, the slots of compute instances whose MIG device
/// handle it got. Bits are set and looked at under that GPU's state lock, and mean something for
/// the holder only that was read before them: who takes a free place clears what the last one left
/// and then becomes the holder.
struct ClientRecord {
  std::atomic<Holder> holder;  // 0: free
  std::array<std::atomic<std::uint8_t>, most_sim_gpus> held;
};

/// Read without a lock while the next event but event_slots may be written over it: `number` is 0
/// meanwhile, and who reads looks at it before and after. The others are stored with release and
/// loaded with acquire, so that who sees one of the new values sees the 0, or the new number, as
/// well.
struct EventRecord {
  std::atomic<std::uint64_t> number;  // counts from 1; the slot is number % event_slots
  std::atomic<std::uint64_t> type, data;
  std::atomic<std::uint32_t> gpu;
  std::uint32_t unused;
};

struct NodeHeader {
  std::uint64_t magic;
  std::uint32_t version, gpus;
  std::uint64_t bytes;  // of the file
  std::uint64_t seed;
  std::uint32_t instant, check_root, numbering;
  std::atomic<std::uint32_t> alive;  // 0: the node was destroyed
  std::atomic<std::uint64_t> serials;
  SharedLock tables;  // of clients and events
  std::atomic<std::uint64_t> events;
  std::atomic<std::uint32_t> bell;  // a futex, rung at each event
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
