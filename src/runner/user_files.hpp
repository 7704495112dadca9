#pragma once
// Files of the job's user's into which its outputs go beside the logs. The job's process opens them
// once it is the user, with the rights of that user and no others, and hands them to its
// supervisor, which only writes what it reads from the job. They are regular files; /dev/null is
// taken for none.

#include <cstdint>
#include <memory>
#include <string_view>

#include "runner/descriptor.hpp"
#include "runner/launch.hpp"

namespace cleave {

/// Two connected ends, over which open files go from the job's process to the supervisor.
struct FileHandover {
  Descriptor supervisors, jobs;
};
[[nodiscard]] Result<FileHandover> make_file_handover();

/// In the job's process: opens the files of the launch, makes folders that are missing, and sends
/// what is open. The first attempt of a job begins a file anew; later ones write behind. On failure
/// errno says why.
[[nodiscard]] Result<void> hand_over_files(const Launch& launch, int end);

/// One such file, as the supervisor has it. Never fails, and waits for nothing but the disk.
class UserFile {
 public:
  explicit UserFile(Descriptor file) : file_(std::move(file)) {}
  /// Where the disk refused bytes, a line in their place says how many.
  void append(std::string_view bytes);

 private:
  /// Returns how many bytes were not written.
  std::size_t write(std::string_view bytes);

  Descriptor file_;
  std::int64_t refused_ = 0;
  int refusal_ = 0;
};

/// The files of a job's two outputs; both may be one.
struct UserFiles {
  std::shared_ptr<UserFile> out, err;
};
/// What has been sent, without waiting for it.
[[nodiscard]] UserFiles take_files(int end);

}  // namespace cleave
