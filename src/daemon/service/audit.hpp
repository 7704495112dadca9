#pragma once
// The audit log, STATE/audit.jsonl: which user asked for which change, and the result. One JSON
// object per line, appended and never changed, mode 0600. Lines are not synced to the disk one by
// one. A full disk stops nothing: lines are lost, and the next line written says how many.

#include <cstdint>
#include <string>

#include "base/time.hpp"
#include "daemon/http/http_types.hpp"
#include "runner/descriptor.hpp"

namespace cleave {

/// One request that changes something.
struct AuditLine {
  HttpPeer peer;
  std::string method, path;
  /// Of the answer: below 400 allowed; 400, 405 and 413 not understood; otherwise refused.
  int status = 0;
  std::string result;  // the job's number or the error's message; may be empty
};

/// The file, opened for appending.
class AuditFile {
 public:
  /// In this directory. A file that reaches `most_bytes` is renamed to audit.old.jsonl, replacing
  /// the one before.
  explicit AuditFile(std::string directory, std::int64_t most_bytes = 64 << 20);
  void write(const AuditLine& line, Instant at);
  /// Lines lost since the last one that was written.
  [[nodiscard]] std::int64_t lost() const { return lost_; }

 private:
  void open();
  void rotate();

  std::string directory_;
  std::int64_t most_bytes_, size_ = 0, lost_ = 0;
  Descriptor file_;
};

/// The line, without a line break.
[[nodiscard]] std::string audit_text(const AuditLine& line, Instant at);

}  // namespace cleave
