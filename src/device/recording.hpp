#pragma once
// Recordings of the calls made through a door, and their replay. A recording is text, one JSON
// object per line: first what it is, then each call with its arguments and the driver's answer or
// refusal, in order, and last the number of calls. A recording of a real GPU documents its facts; a
// recording of a failure reproduces it.
//
//   {"recording": "cleave door", "version": 1}
//   {"call": "placements", "gpu": 0, "profile": 9, "answer": [{"start": 0, "size": 4}]}
//   {"call": "remaining", "gpu": 0, "profile": 9, "refusal": {"code": 3, "function": "nvml..."}}
//   {"calls": 2}

#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>

#include "base/json_fwd.hpp"
#include "device/wrapped_door.hpp"

namespace cleave {

struct DoorEntry;

/// Passes all calls on to `door` and writes them to `out`; both must outlive it.
class RecordingDoor final : public WrappedDoor {
 public:
  RecordingDoor(Door& door, std::ostream& out);
  /// Writes the last line.
  ~RecordingDoor() override;
  RecordingDoor(const RecordingDoor&) = delete;
  RecordingDoor& operator=(const RecordingDoor&) = delete;

 private:
  std::expected<AnyAnswer, Refusal> through(DoorCall which, const DoorArguments& arguments,
                                            const Call& call) override;
  void write(const Json& line);

  Door& door_;
  std::ostream& out_;
  std::uint64_t calls_ = 0;
};

/// Answers from a recording, in its order. A call that is not the recording's next one is refused
/// with `unknown`, and so are all later calls; `divergence` says which call was made and which was
/// expected.
class ReplayDoor final : public WrappedDoor {
 public:
  /// Fails with bad_input and the line if the recording is incomplete or damaged; `place` is the
  /// file's name.
  [[nodiscard]] static Result<std::unique_ptr<ReplayDoor>> parse(std::string_view text,
                                                                 std::string place);
  ~ReplayDoor() override;

  [[nodiscard]] const std::optional<Error>& divergence() const { return divergence_; }
  /// Whether every call of the recording was made.
  [[nodiscard]] bool at_end() const;

 private:
  ReplayDoor(std::vector<DoorEntry> entries, std::string place);
  std::expected<AnyAnswer, Refusal> through(DoorCall which, const DoorArguments& arguments,
                                            const Call& call) override;
  const DoorEntry* advance(DoorCall call, const DoorArguments& arguments);

  std::vector<DoorEntry> entries_;
  std::string place_;
  std::size_t next_ = 0;
  std::optional<Error> divergence_;
};

/// Makes every call that changes nothing, once, about all GPUs or only this one, and writes the
/// recording.
void record_reading(Door& door, std::ostream& out, std::optional<GpuIndex> only = {});

}  // namespace cleave
