#pragma once
// What the store is known to have held, in a file beside it, STATE/cleave.db.witness. SQLite takes
// a log that is damaged or cut for one that ends there, as after a power failure, and says nothing
// of what came after; the witness tells the two apart. It says less than what is on the disk, never
// more: it is written after each batch that was synced, and synced itself now and then.
//
// Two lines of the same length, written in turn, each with its checksum, so that one is whole
// whenever the other is being written.
//
// The file is also where programs agree that read the store beside a daemon (store_reader.hpp):
// while one of them has a shared lock on it, the daemon leaves the database file as it is and only
// adds to the log.

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "device/file_handle.hpp"

namespace cleave {

/// How far a store has come.
struct StoreProgress {
  std::int64_t batch = 0, job = 0, event = 0;  // the number of the last
  friend bool operator==(const StoreProgress&, const StoreProgress&) = default;
};

/// What the file says.
struct WitnessText {
  /// Empty where there is no text, and where nothing can be read in it.
  std::optional<StoreProgress> seen;
  int next_line = 0;  // of the two, the one to be written next
  bool damaged = false;
};
[[nodiscard]] WitnessText parse_witness(std::string_view text);
/// What a file says that was written whole, to this progress.
[[nodiscard]] std::string witness_text(const StoreProgress& progress);

/// In words, what a store lacks that is at `there`; empty where it lacks nothing that was seen.
[[nodiscard]] std::string missing_batches(const StoreProgress& seen, const StoreProgress& there);
/// Whether numbers of a store that lacks nothing can be those that were written: `highest_job` is
/// the highest number among its jobs.
[[nodiscard]] bool numbers_agree(const std::optional<StoreProgress>& seen,
                                 const StoreProgress& there, std::int64_t highest_job);
inline constexpr const char* wrong_numbers =
    "the highest numbers that were given are not what was written";

/// The file, for the one that has the store's lock.
class StoreWitness {
 public:
  /// Makes an empty one where there is none.
  [[nodiscard]] static Result<StoreWitness> open(const std::filesystem::path& path);

  /// Empty in a new file, and in one of which nothing can be read.
  [[nodiscard]] const std::optional<StoreProgress>& seen() const { return found_.seen; }
  [[nodiscard]] bool damaged() const { return found_.damaged; }
  /// From here on, whatever was seen before.
  void begin_at(const StoreProgress& progress);
  /// What fails here costs the next start some of its certainty, and nothing else.
  void note(const StoreProgress& progress);
  void sync();

  /// Keeps readers out, if there are none; false: there are. Until let_readers_in().
  [[nodiscard]] bool keep_readers_out();
  void let_readers_in();

 private:
  explicit StoreWitness(FileHandle file) : file_(std::move(file)) {}
  FileHandle file_;
  WitnessText found_;
  bool noted_ = false;
};

}  // namespace cleave
