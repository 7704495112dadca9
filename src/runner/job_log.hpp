#pragma once
// One output of a job in files of bounded size: the newest bytes are kept, whatever the job writes
// and however full the disk is. NAME.log grows to half the limit, then it becomes NAME.old.log in
// place of the one before, and NAME.log begins anew, with a line that says how much was dropped in
// front of it:
//
//   [cleave:                 0 bytes before this line were dropped]
//
// 0 while the file before it is still there. Where the disk refused bytes a line in their place
// says how many.

#include <cstdint>
#include <string>
#include <string_view>

#include "runner/descriptor.hpp"

namespace cleave {

class JobLog {
 public:
  /// In this folder, which must stay open.
  JobLog(int folder, std::string name, std::int64_t limit);
  /// Never fails and never waits for anything but the disk.
  void append(std::string_view bytes);
  /// Bytes of the job's that no file has any more.
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
  bool marked_ = false;    // the file begins with the line
  std::int64_t size_ = 0;  // of the file
  std::int64_t from_job_ = 0,
               old_from_job_ = 0;  // bytes of the job's in the file and the one before
  std::int64_t dropped_ = 0, refused_ = 0, refused_in_all_ = 0;
  int refusal_ = 0;
};

}  // namespace cleave
