#pragma once
// Other processes that a certification needs: one that holds a MIG device's handle, and a program
// that keeps an instance busy. Both end with this process, however that ends.

#include <sys/types.h>

#include <string>
#include <vector>

namespace cleave::certify {

/// A process that opens the library and keeps the handle of one MIG device. To be made before this
/// process opens the library: NVML does not outlive a fork.
class HandleHolder {
 public:
  explicit HandleHolder(const std::string& library);
  ~HandleHolder();
  HandleHolder(const HandleHolder&) = delete;
  HandleHolder& operator=(const HandleHolder&) = delete;

  /// True once it has the handle of the MIG device with this UUID.
  [[nodiscard]] bool hold(const std::string& uuid);
  /// Ends it, and with it what it holds.
  void release();

 private:
  pid_t child_ = -1;
  int orders_ = -1, answers_ = -1;
};

/// A program that runs until the object ends; its outputs go nowhere.
class BusyProgram {
 public:
  /// `visible` is its CUDA_VISIBLE_DEVICES.
  BusyProgram(const std::vector<std::string>& command, const std::string& visible);
  ~BusyProgram();
  BusyProgram(const BusyProgram&) = delete;
  BusyProgram& operator=(const BusyProgram&) = delete;

  [[nodiscard]] bool runs();

 private:
  pid_t child_ = -1, group_ = -1;
};

}  // namespace cleave::certify
