#pragma once
// The audit log, STATE/audit.jsonl: which user asked for which change, and the result. One JSON
// object per line, appended and never changed, mode 0600. Lines are not synced to the disk one by
// one. A full disk stops nothing: lines are lost, and the next line written says how many. Refusals
// have a budget for each user, so that none of them can flush out what others did: beyond it they
// are counted, and a line with their number follows.

#include <cstdint>
#include <map>
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
  std::string result;      // the job's number or the error's message; may be empty
  std::int64_t token = 0;  // by which it was asked over the page; 0: over the unix socket
};

/// How many refusals of a user are written: so many at once, and one more each second.
class RefusalBudget {
 public:
  static constexpr std::int64_t at_once = 100;
  /// Whether this one is to be written; otherwise it is counted.
  [[nodiscard]] bool take(std::uint32_t uid, Instant at);
  /// Those that were counted since the last call.
  [[nodiscard]] std::int64_t counted(std::uint32_t uid);

 private:
  struct User {
    std::int64_t left = at_once, counted = 0;
    Instant since{};  // when `left` was that
  };
  std::map<std::uint32_t, User> users_;
};

/// The file, opened for appending; made anew where it was moved away or removed.
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
  /// Whether the file is still the one of its name: another program may have moved it away.
  [[nodiscard]] bool is_there() const;
  void rotate();
  void append(std::string text, Instant at);

  std::string directory_;
  std::int64_t most_bytes_, size_ = 0, lost_ = 0;
  Descriptor file_;
  RefusalBudget refusals_;
};

/// The line, without a line break.
[[nodiscard]] std::string audit_text(const AuditLine& line, Instant at);

}  // namespace cleave
