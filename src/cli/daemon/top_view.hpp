#pragma once
// The screen of `cleave top` as a pure function: what the daemon said, what was typed, and the size
// of the terminal make lines of text. Reading keys and drawing are in top_terminal.hpp.

#include <cstdint>
#include <string>
#include <vector>

#include "api/documents.hpp"
#include "base/time.hpp"

namespace cleave::cli {

/// What the daemon said, at one moment.
struct TopData {
  ApiStatus status;
  std::vector<ApiGpu> gpus;
  std::vector<ApiJob> jobs;
  Instant now{};
  bool with_user = false;    // jobs of several users may be among them
  std::string trouble = {};  // why this is older than it should be; empty: it is not
};

/// Columns and lines of the terminal.
struct ScreenSize {
  std::size_t width = 80, height = 24;
};

/// A key as it was typed.
struct Key {
  enum class Kind : std::uint8_t {
    character,
    up,
    down,
    page_up,
    page_down,
    home,
    end,
    enter,
    escape,
    backspace
  } kind = Kind::character;
  char character = 0;
  friend bool operator==(const Key&, const Key&) = default;
};
/// Takes the keys off the front of `bytes`; the beginning of an unfinished one stays. `complete`:
/// nothing more comes, so that a lone escape is the key.
[[nodiscard]] std::vector<Key> take_keys(std::string& bytes, bool complete);

/// What the user has chosen to see.
struct TopState {
  enum class Shows : std::uint8_t { both, gpus, jobs } shows = Shows::both;
  std::size_t first = 0;  // of the lines that scroll
  std::size_t order = 0;  // of the jobs: index into job_orders
  std::string filter;
  bool tasks = false;  // a line for each waiting job of an array
  bool typing = false, help = false, ends = false;
  friend bool operator==(const TopState&, const TopState&) = default;
};

/// How jobs can be sorted.
inline constexpr const char* job_orders[] = {"state", "time", "memory", "name", "user", "newest"};

[[nodiscard]] TopState after_key(TopState state, Key key, const TopData& data, ScreenSize size);

/// The lines, at most as many as there are on the screen, none wider than it.
[[nodiscard]] std::vector<std::string> top_screen(const TopState& state, const TopData& data,
                                                  ScreenSize size);

/// The first lines of every form of `cleave top`.
[[nodiscard]] std::string top_heading(const ApiStatus& status, Instant now);

}  // namespace cleave::cli
