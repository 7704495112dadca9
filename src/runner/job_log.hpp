#pragma once
// One output of a job in files of bounded size, which keep the newest bytes, whatever the job
// writes and however full the disk is. NAME.log grows to half the limit and then replaces
// NAME.old.log; a new NAME.log begins with a line that says how much was dropped before it:
//
//   [cleave:                 0 bytes before this line were dropped]
//
// It says 0 while NAME.old.log has those bytes. If the disk refused bytes, a line in their place
// says how many.

#include <cstdint>
#include <string>
#include <string_view>

#include "runner/descriptor.hpp"

namespace cleave {

/// The log of one output.
class JobLog {
 public:
  /// `folder` must stay open.
  JobLog(int folder, std::string name, std::int64_t limit);
  /// Never fails, and waits for nothing but the disk.
  void append(std::string_view bytes);
  /// Bytes of the job that neither file has any more.
  [[nodiscard]] std::int64_t dropped() const { return dropped_ + refused_in_all_; }

 private:
  void append_within_half(std::string_view bytes);
  void begin_next();
  bool open_fresh();
  bool write(std::string_view bytes, bool of_the_job);
  void say_what_was_refused();

  int folder_;
  std::string name_;
  std::int64_t half_;
  Descriptor file_;
  bool marked_ = false;                           // the file begins with the line
  std::int64_t size_ = 0;                         // of the file
  std::int64_t from_job_ = 0, old_from_job_ = 0;  // bytes of the job in the file and the older one
  std::int64_t dropped_ = 0, refused_ = 0, refused_in_all_ = 0;
  int refusal_ = 0;
};

}  // namespace cleave
