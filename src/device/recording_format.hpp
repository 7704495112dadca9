#pragma once
// The text of recordings (recording.hpp): entries as lines of JSON and back. Each record that a
// door answers with is described once, for writing and reading.

#include <string>
#include <string_view>
#include <vector>

#include "base/json_fwd.hpp"
#include "device/wrapped_door.hpp"

namespace cleave {

/// A call with its answer.
struct DoorEntry {
  std::size_t line = 0;  // where it was read; 0: it was not read
  DoorCall call{};
  DoorArguments arguments;
  AnyAnswer answer;
};

Json recording_head();
Json recording_end(std::uint64_t calls);
/// The line of an entry.
Json entry_json(DoorEntry entry);
/// The line of an entry without its answer.
Json call_json(DoorCall call, DoorArguments arguments);

/// Fails with bad_input and the line if the text is incomplete, damaged or not a recording.
[[nodiscard]] Result<std::vector<DoorEntry>> parse_recording(std::string_view text,
                                                             const std::string& place);

}  // namespace cleave
