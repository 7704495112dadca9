#pragma once
// What a followed program did on the GPU, as counters in memory that its processes and the command
// that watches them share: a file, mapped by all. So nothing is lost however a process ends, and
// forks and their children count together.
//
// Everything in it is atomic and constructible from zeros; a fresh file is a record of nothing.

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>
#include <string_view>

namespace cleave::cuda {

/// What memory is allocated as. Pinned memory is the host's and no part of what the GPU holds.
enum class MemoryKind : std::uint8_t { device, managed, array, variables, pinned };
inline constexpr std::size_t memory_kinds = 5;
inline constexpr std::array<std::string_view, memory_kinds> memory_kind_names = {
    "device", "managed", "array", "variables", "pinned"};
constexpr bool on_gpu(MemoryKind kind) {
  return kind != MemoryKind::pinned;
}

/// A kernel in one launch shape.
struct LaunchShape {
  std::array<std::uint32_t, 3> grid{1, 1, 1}, block{1, 1, 1};
  std::uint64_t shared_bytes = 0;  // dynamic
  friend bool operator==(const LaunchShape&, const LaunchShape&) = default;
};

/// A number that grows to the largest it is given.
class HighWater {
 public:
  void reach(std::int64_t value) {
    std::int64_t seen = most_.load(std::memory_order_relaxed);
    while (seen < value && !most_.compare_exchange_weak(seen, value, std::memory_order_relaxed)) {
    }
  }
  [[nodiscard]] std::int64_t value() const { return most_.load(std::memory_order_relaxed); }
  /// Begins again at that number; returns what was reached.
  std::int64_t restart(std::int64_t at) { return most_.exchange(at, std::memory_order_relaxed); }

 private:
  std::atomic<std::int64_t> most_{0};
};

/// The launches of one kernel in one shape.
struct LaunchRow {
  enum State : std::uint32_t { unused, being_written, written };
  std::atomic<std::uint32_t> state{unused};
  LaunchShape shape;
  std::array<char, 128> name{};  // as the compiler mangled it, cut; ends with a zero
  std::atomic<std::uint64_t> launches{0};
};

/// A process that holds memory. What it held is taken off when it is found dead.
struct ProcessRow {
  std::atomic<std::int32_t> pid{0};
  /// When it started, as the kernel counts: its number may be given again. 0: not known.
  std::atomic<std::uint64_t> started{0};
  std::array<std::atomic<std::int64_t>, memory_kinds> held{};
};

/// A call that the dry form lacks, by name.
struct UnansweredRow {
  std::atomic<std::uint32_t> state{LaunchRow::unused};
  std::array<char, 48> name{};  // ends with a zero
};

/// What could not be followed or answered.
enum class Blind : std::uint32_t {
  private_tables = 1,  // cuGetExportTable, through which the static runtime reaches the driver
  shapes_full = 2,     // more launch shapes than there are rows
  processes_full = 4,  // more processes than there are rows
  table_full = 8       // no memory for the table of allocations
};

/// The whole record.
struct Record {
  static constexpr std::uint64_t of_this_version = 0x31'61'64'75'63'6c'63'04;
  static constexpr std::size_t shapes = 512, processes = 256, unanswered_names = 16;

  std::atomic<std::uint64_t> version{0};
  /// On the GPU, of all processes: now, at most, and at most since the last report.
  std::atomic<std::int64_t> held{0};
  HighWater peak, window;
  /// How many processes have a context there, now and at most; and the most that they held with
  /// their contexts, and with what was refused.
  std::atomic<std::int64_t> contexts{0};
  HighWater most_contexts, peak_with_contexts, refused_with_contexts;
  std::array<std::atomic<std::int64_t>, memory_kinds> held_of{};
  std::array<HighWater, memory_kinds> peak_of;
  HighWater refused;  // held and asked for together, where the GPU had no room
  std::atomic<std::uint64_t> allocations{0}, frees{0}, unknown_frees{0}, refusals{0};
  std::atomic<std::uint64_t> launches{0}, graph_launches{0}, processes_seen{0}, reports{0};
  std::atomic<std::uint32_t> blind{0};
  /// Of the reports: when the next is due (ms of the monotonic clock), the most that was told.
  std::atomic<std::int64_t> first_ms{0}, due_ms{0}, told{0};
  std::atomic<std::uint32_t> outgrown{0};
  std::array<UnansweredRow, unanswered_names> unanswered;  // the first of them
  std::array<ProcessRow, processes> process;
  std::array<LaunchRow, shapes> launch;

  void see(Blind what) { blind.fetch_or(static_cast<std::uint32_t>(what)); }
  [[nodiscard]] bool saw(Blind what) const {
    return (blind.load() & static_cast<std::uint32_t>(what)) != 0;
  }
};

/// The environment variable that names the record's file.
inline constexpr const char* record_variable = "CLEAVE_CUDA_RECORD";

/// Maps the record in this file, which is made if it is not there. Null if it cannot be mapped or
/// is of another version: the file's errors are in errno.
[[nodiscard]] Record* map_record(const char* path);
/// A record of this process alone, and of the children that it forks.
[[nodiscard]] Record* private_record();
void unmap_record(Record* record);

/// Keeps the name of a call that has no answer, once, from any thread and process. Names beyond
/// those that there are rows for are dropped.
void note_unanswered(Record& record, const char* name);

/// When a process started; 0 if it is gone, or has ended and only was not waited for yet. Empty if
/// it cannot be found out.
[[nodiscard]] std::optional<std::uint64_t> start_of(std::int32_t pid);

/// Takes off what dead processes held. Only while no process can begin or end beside it, or from
/// one of them.
void sweep_dead(Record& record);

}  // namespace cleave::cuda
