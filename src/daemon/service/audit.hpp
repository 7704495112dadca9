#pragma once
// Who asked for which change, and what came of it: STATE/audit.jsonl, one JSON object a line,
// appended and never changed, 0600. It is not brought to the disk each time, and a disk that is
// full stops nobody: lines are lost then, and the next that can be written says how many.

#include <cstdint>
#include <string>

#include "base/time.hpp"
#include "daemon/http/http_types.hpp"
#include "runner/descriptor.hpp"

namespace cleave {

struct AuditLine {
  HttpPeer peer;
  std::string method, path;
  int status =
      0;  // of the answer: below 400 allowed, 400, 405 and 413 not understood, else refused
  std::string result;  // the job's number or the error's message; may be empty
};

class AuditFile {
 public:
  /// In this directory. A file that reaches `most_bytes` becomes audit.old.jsonl in place of the
  /// one before.
  explicit AuditFile(std::string directory, std::int64_t most_bytes = 64 << 20);
  void write(const AuditLine& line, Instant at);
  /// Lines that could not be written since the last that could.
  [[nodiscard]] std::int64_t lost() const { return lost_; }

 private:
  void open();
  void rotate();

  std::string directory_;
  std::int64_t most_bytes_, size_ = 0, lost_ = 0;
  Descriptor file_;
};

/// A line without its end.
[[nodiscard]] std::string audit_text(const AuditLine& line, Instant at);

}  // namespace cleave
