#pragma once
// What Cleave made. NVML knows instances but not whose they are, so every change of Cleave's is
// written down in the state directory, `ledger.jsonl`, a JSON object a line: the intent before it
// is done and the fact after it, each on the disk before the program goes on. After a crash at any
// moment the file says of every instance that Cleave made at least that it meant to make it.
//
//   {"act": "create", "number": 7, "at": "2026-05-04T10:11:12Z", "by": "cleave 4711", "gpu":
//   "GPU-...",
//    "profile": "3g.20gb", "profile_id": 9, "start": 4}
//   {"act": "created", "number": 7, "at": ..., "by": ..., "gpu_instance": 2, "uuids": ["MIG-..."]}
//
// `create` ends in `created` or `not-created` (it was refused, or undone), `destroy` in `destroyed`
// or `not-destroyed`; `adopt` is a fact alone. Instances are known by their MIG UUIDs, which are
// new at each creation; the driver's own numbers are used again.
//
// A torn last line is what a crash leaves: it is dropped, with a remark. Any other damage is an
// error with its line, and nothing is written to such a file.
//
// A ledger is used by one thread; several programs may use the file at once. Who writes about a GPU
// holds its lock (gpu_lock.hpp); appending itself is guarded by a lock of the file's own.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "device/door.hpp"
#include "device/file_handle.hpp"

namespace cleave {

/// Where an instance is or is to be: what an intent can say of it before it exists.
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

/// Whose an instance is.
enum class Ownership : std::uint8_t {
  ours,
  half_made,  // perhaps ours: Cleave was stopped before it knew
  foreign,
  unknown,  // the ledger could not be read
};
std::string_view name(Ownership ownership);

enum class LedgerAct : std::uint8_t {
  create,
  created,
  not_created,
  destroy,
  destroyed,
  not_destroyed,
  adopt,
};

/// One line.
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
/// Reads one line; `place` is said in the error.
[[nodiscard]] Result<LedgerLine> parse_ledger_line(std::string_view text, const std::string& place);

/// What the lines of a ledger come to.
class LedgerState {
 public:
  /// Takes the next line; refuses a fact without its intent and an intent with a number that is
  /// used. A fact may come late: after another line has answered its intent too.
  [[nodiscard]] Result<void> take(const LedgerLine& line, const std::string& place);

  /// By these rules, the first that holds:
  ///  - one of its UUIDs is of an instance that Cleave made or adopted with this profile at this
  ///  start: ours
  ///    (a simulated node that is made anew from the same seed gives its UUIDs again);
  ///  - it has no compute instance, and Cleave was about to destroy a GPU instance of this number,
  ///  profile and
  ///    start: ours, with its compute instances gone already. (Somebody else who made one exactly
  ///    so after that, before any program of Cleave looked at the GPU, cannot be told from it.)
  ///  - Cleave meant to create one of this profile at this start and never knew that it had: half
  ///  made;
  ///  - it has no compute instance, and Cleave made one of this number, profile and start: half
  ///  made, since
  ///    somebody else took the compute instance away;
  ///  - otherwise foreign.
  [[nodiscard]] Ownership owner(const InstanceSeen& seen) const;

  /// Intents without a fact, in order of their numbers: what a crash left open.
  [[nodiscard]] std::vector<LedgerLine> open() const;
  /// The open intent to destroy this instance with all that is in it now.
  [[nodiscard]] std::optional<std::uint64_t> destroying(const InstanceSeen& seen) const;
  /// Open intents on this GPU that the GPU itself has answered: nothing is there where one was to
  /// be made, or the one that was to go is gone. The facts, of which the first is to be written and
  /// then asked again: one fact may answer several intents.
  [[nodiscard]] std::vector<LedgerLine> answered(const std::string& gpu,
                                                 const std::vector<InstanceSeen>& live) const;
  /// The lines that still matter: facts of instances that `exists` and open intents. Whatever is on
  /// a GPU that `known` does not know stays.
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
  /// The intent that this fact ends; empty where there was none.
  std::optional<Intended> closed(Intents& intents, std::uint64_t number, LedgerAct act);
  template <class Which>
  void supersede(Intents& intents, Which which);
  void made(const LedgerLine& line);
  void forget(const LedgerLine& gone);

  Intents creating_, destroying_;
  Intents superseded_;  // answered by another's fact; their own may still come
  std::map<std::uint64_t, LedgerLine> made_;  // with place, id and UUIDs
  std::map<std::string, std::uint64_t, std::less<>> by_uuid_;
  std::uint64_t next_ = 1;
  std::size_t lines_ = 0;
};

class Ledger {
 public:
  /// Reads what is there; a ledger that is not there is empty, and nothing is made before the first
  /// line.
  [[nodiscard]] static Result<Ledger> open(const std::filesystem::path& state_directory,
                                           std::string program);
  /// Reads what others have added since.
  [[nodiscard]] Result<void> refresh();

  [[nodiscard]] const LedgerState& state() const { return state_; }
  /// What there is to say about the file, such as a dropped line; empty: nothing.
  [[nodiscard]] const std::string& remark() const { return remark_; }
  [[nodiscard]] const std::filesystem::path& file() const { return file_; }

  // The GPU's lock is held by whoever calls these; the number goes from the intent to its fact.
  [[nodiscard]] Result<std::uint64_t> will_create(const InstancePlace& place);
  [[nodiscard]] Result<void> created(std::uint64_t number, GpuInstanceId id,
                                     std::vector<std::string> uuids);
  [[nodiscard]] Result<void> not_created(std::uint64_t number);
  /// An intent that is open for the same instance, as after a crash, serves again.
  [[nodiscard]] Result<std::uint64_t> will_destroy(const InstanceSeen& instance);
  [[nodiscard]] Result<void> destroyed(std::uint64_t number);
  [[nodiscard]] Result<void> not_destroyed(std::uint64_t number);
  [[nodiscard]] Result<void> adopt(const InstanceSeen& instance);
  /// Writes the facts of intents on this GPU that a crash left open and the GPU has answered.
  [[nodiscard]] Result<void> settle(const std::string& gpu, const std::vector<InstanceSeen>& live);

  /// How many lines `compact` would leave.
  [[nodiscard]] std::size_t lines_that_matter(const std::vector<std::string>& known,
                                              const std::vector<InstanceSeen>& live) const;
  /// Writes the file anew with only what matters (LedgerState::compact), whole and then in the
  /// place of the old one. `known` names GPUs whose locks are held and whose instances were just
  /// read.
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

  std::filesystem::path directory_, file_;
  std::string by_, remark_;
  LedgerState state_;
  // How much of which file state_ has. It is held open, so that a file written anew cannot have its
  // number.
  FileHandle opened_;
  std::uint64_t inode_ = 0;
  std::int64_t read_ = 0;
};

}  // namespace cleave
