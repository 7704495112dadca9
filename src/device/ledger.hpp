#pragma once
// The record of what Cleave made. NVML knows instances but not their owners, so Cleave writes every
// change to `ledger.jsonl` in the state directory, one JSON object per line: the intent before the
// change and the fact after it, each on the disk before the program continues. After a crash at any
// moment, the file has at least the intent for every instance that Cleave made.
//
//   {"act": "create", "number": 7, "at": "2026-05-04T10:11:12Z", "by": "cleave 4711",
//    "gpu": "GPU-...", "profile": "3g.20gb", "profile_id": 9, "start": 4}
//   {"act": "created", "number": 7, "at": ..., "by": ..., "gpu_instance": 2, "uuids": ["MIG-..."]}
//
// `create` ends in `created` or `not-created` (it was refused, or undone), `destroy` in `destroyed`
// or `not-destroyed`; `adopt` is a fact without an intent. Instances are identified by their MIG
// UUIDs, which are new at each creation; the driver reuses its own numbers.
//
// A crash can leave an incomplete last line, which is dropped with a remark. Any other damage is an
// error that names the line, and nothing is written to such a file.
//
// A ledger object is used by one thread; several programs may use the file at once. A program that
// writes about a GPU holds the GPU's lock (gpu_lock.hpp); the file has a lock of its own for
// appending.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "device/door.hpp"
#include "device/file_handle.hpp"

namespace cleave {

/// Where an instance is or will be: what an intent can say about it before it exists.
struct InstancePlace {
  std::string gpu;      // UUID
  std::string profile;  // name, for people
  ProfileId profile_id{};
  std::uint32_t start = 0;  // memory slice
  [[nodiscard]] bool same_as(const InstancePlace& other) const {
    return gpu == other.gpu && profile_id == other.profile_id && start == other.start;
  }
};

/// A GPU instance as the driver shows it.
struct InstanceSeen {
  InstancePlace place;
  GpuInstanceId id{};
  std::vector<std::string> uuids;  // of its compute instances
};

/// The owner of an instance.
enum class Ownership : std::uint8_t {
  ours,
  half_made,  // perhaps ours: Cleave was stopped before it knew the outcome
  foreign,
  unknown,  // the ledger could not be read
};
std::string_view name(Ownership ownership);

/// What a line says: an intent, or the fact that ends it.
enum class LedgerAct : std::uint8_t {
  create,
  created,
  not_created,
  destroy,
  destroyed,
  not_destroyed,
  adopt,
};

/// One line of the ledger.
struct LedgerLine {
  LedgerAct act{};
  std::uint64_t number = 0;  // the same for an intent and its fact
  std::string at, by;        // UTC; program and pid
  // Of create, destroy and adopt:
  InstancePlace place;
  // Of created, destroy and adopt:
  GpuInstanceId id{};
  std::vector<std::string> uuids;
};

std::string ledger_text(const LedgerLine& line);  // with its newline
/// Reads one line; `place` is for the error.
[[nodiscard]] Result<LedgerLine> parse_ledger_line(std::string_view text, const std::string& place);

/// What follows from the lines of a ledger: which instances are ours, and which intents are open.
class LedgerState {
 public:
  /// Takes the next line. Refuses a fact without an intent, and an intent whose number is taken. A
  /// fact may come late, after another line has ended its intent too.
  [[nodiscard]] Result<void> take(const LedgerLine& line, const std::string& place);

  /// By the first of these rules that applies:
  ///  - one of its UUIDs belongs to an instance that Cleave made or adopted with this profile at
  ///    this start: ours (the start matters because a simulated node created again from the same
  ///    seed repeats its UUIDs);
  ///  - it has no compute instance, and Cleave was about to destroy a GPU instance with this
  ///  number,
  ///    profile and start: ours, with its compute instances destroyed already (if another program
  ///    made exactly such an instance since, before Cleave looked, the two cannot be
  ///    distinguished);
  ///  - Cleave intended to create this profile at this start and does not know the outcome: half
  ///    made;
  ///  - it has no compute instance, and Cleave made one with this number, profile and start: half
  ///    made, because another program destroyed the compute instance;
  ///  - otherwise foreign.
  [[nodiscard]] Ownership owner(const InstanceSeen& seen) const;

  /// Intents without a fact, by number: what a crash left open.
  [[nodiscard]] std::vector<LedgerLine> open() const;
  /// The open intent to destroy this instance with its current compute instances.
  [[nodiscard]] std::optional<std::uint64_t> destroying(const InstanceSeen& seen) const;
  /// Facts for open intents on this GPU whose outcome the GPU shows: there is nothing where one was
  /// to be created, or the one to be destroyed is gone. Write the first and ask again, since one
  /// fact may end several intents.
  [[nodiscard]] std::vector<LedgerLine> answered(const std::string& gpu,
                                                 const std::vector<InstanceSeen>& live) const;
  /// The lines that still matter: facts about instances for which `exists` is true, open intents,
  /// and everything about GPUs for which `known` is false.
  [[nodiscard]] std::vector<LedgerLine> compact(
      const std::function<bool(const std::string& gpu)>& known,
      const std::function<bool(const std::string& uuid)>& exists) const;

  [[nodiscard]] std::uint64_t next_number() const { return next_; }
  [[nodiscard]] std::size_t lines() const { return lines_; }

 private:
  using Intents = std::map<std::uint64_t, LedgerLine>;  // by number
  struct Intended {
    LedgerLine line;
    bool late = false;  // it was superseded before
  };
  /// The intent that this fact ends, if there is one.
  std::optional<Intended> closed(Intents& intents, std::uint64_t number, LedgerAct act);
  template <class Which>
  void supersede(Intents& intents, Which which);
  void made(const LedgerLine& line);
  void forget(const LedgerLine& gone);

  Intents creating_, destroying_;
  Intents superseded_;                        // ended by another's fact; their own may still come
  std::map<std::uint64_t, LedgerLine> made_;  // with place, id and UUIDs
  std::map<std::string, std::uint64_t, std::less<>> by_uuid_;
  std::uint64_t next_ = 1;
  std::size_t lines_ = 0;
};

/// The ledger file of a state directory.
class Ledger {
 public:
  /// Reads the file; a missing file is an empty ledger and is created with the first line.
  [[nodiscard]] static Result<Ledger> open(const std::filesystem::path& state_directory,
                                           std::string program);
  /// Reads what other programs have added since. A file that was removed since it was read is
  /// written anew, with what this program knows.
  [[nodiscard]] Result<void> refresh();
  /// Whether it was, since the last call.
  [[nodiscard]] bool take_rewritten() { return std::exchange(rewritten_, false); }

  [[nodiscard]] const LedgerState& state() const { return state_; }
  /// A remark about the file, such as a dropped line; may be empty.
  [[nodiscard]] const std::string& remark() const { return remark_; }
  [[nodiscard]] const std::filesystem::path& file() const { return file_; }

  // Callers of these hold the GPU's lock. The number leads from the intent to its fact.
  [[nodiscard]] Result<std::uint64_t> will_create(const InstancePlace& place);
  [[nodiscard]] Result<void> created(std::uint64_t number, GpuInstanceId id,
                                     std::vector<std::string> uuids);
  [[nodiscard]] Result<void> not_created(std::uint64_t number);
  /// An open intent for the same instance, as after a crash, is reused.
  [[nodiscard]] Result<std::uint64_t> will_destroy(const InstanceSeen& instance);
  [[nodiscard]] Result<void> destroyed(std::uint64_t number);
  [[nodiscard]] Result<void> not_destroyed(std::uint64_t number);
  [[nodiscard]] Result<void> adopt(const InstanceSeen& instance);
  /// Writes the facts for intents that a crash left open and whose outcome the GPU shows.
  [[nodiscard]] Result<void> settle(const std::string& gpu, const std::vector<InstanceSeen>& live);

  /// How many lines `compact` would leave.
  [[nodiscard]] std::size_t lines_that_matter(const std::vector<std::string>& known,
                                              const std::vector<InstanceSeen>& live) const;
  /// Replaces the file atomically by one with only the lines that matter (LedgerState::compact).
  /// `known` names the GPUs whose locks are held and whose instances were just read.
  [[nodiscard]] Result<void> compact(const std::vector<std::string>& known,
                                     const std::vector<InstanceSeen>& live);

 private:
  Ledger(std::filesystem::path directory, std::string program);
  [[nodiscard]] Result<void> append(LedgerLine line);
  [[nodiscard]] Result<void> append_locked(LedgerLine line);
  [[nodiscard]] Result<void> append_plain(LedgerAct act, std::uint64_t number);
  [[nodiscard]] Result<std::uint64_t> append_intent(LedgerLine line);
  [[nodiscard]] Result<std::uint64_t> append_seen(LedgerAct act, const InstanceSeen& instance);
  [[nodiscard]] std::vector<LedgerLine> what_matters(const std::vector<std::string>& known,
                                                     const std::vector<InstanceSeen>& live) const;
  [[nodiscard]] Result<void> take_text(std::string_view text);
  [[nodiscard]] Result<void> write_anew(const std::vector<LedgerLine>& lines,
                                        const std::filesystem::path& path) const;
  [[nodiscard]] Result<void> rewrite();

  std::filesystem::path directory_, file_;
  std::string by_, remark_;
  LedgerState state_;
  // How much of which file is in state_. The file is kept open so that a new one cannot get its
  // inode number.
  FileHandle opened_;
  std::uint64_t inode_ = 0;
  std::int64_t read_ = 0;
  bool rewritten_ = false;
};

}  // namespace cleave
