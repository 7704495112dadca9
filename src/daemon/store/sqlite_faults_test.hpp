#pragma once
// For tests: a file system and an allocator of SQLite's that count their calls and let one of them
// fail, or all from one on.

#include <sqlite3.h>

#include <cstdint>

namespace cleave {

/// Which call fails.
struct Faults {
  std::int64_t calls = 0;  // so far
  std::int64_t at = -1;    // the first that fails, from 0; none where it is negative
  bool for_good = false;   // and all after it

  void begin(std::int64_t first, bool all_after) { *this = {0, first, all_after}; }
  void end() { *this = {}; }
  [[nodiscard]] bool next_fails() {
    const std::int64_t call = calls++;
    return at >= 0 && (for_good ? call >= at : call == at);
  }
};

/// While it lives, connections that are opened use both; there is at most one, and no connection is
/// open when it comes or goes.
class FaultySqlite {
 public:
  FaultySqlite();
  ~FaultySqlite();
  FaultySqlite(const FaultySqlite&) = delete;
  FaultySqlite& operator=(const FaultySqlite&) = delete;

  static Faults& files();
  static Faults& memory();

 private:
  sqlite3_vfs vfs_{};
  sqlite3_mem_methods before_{};
};

}  // namespace cleave
