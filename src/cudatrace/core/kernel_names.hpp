#pragma once
// What kernels are called, by the address or handle that a launch names them by.

#include <cstdint>
#include <mutex>

namespace cleave::cuda {

/// The names that were told; they are never forgotten, and point to copies that stay.
class KernelNames {
 public:
  KernelNames() = default;
  ~KernelNames();
  KernelNames(const KernelNames&) = delete;
  KernelNames& operator=(const KernelNames&) = delete;
  void tell(const void* kernel, const char* name);
  /// "" if it was never told.
  [[nodiscard]] const char* find(const void* kernel);
  void lock() { mutex_.lock(); }
  void unlock() { mutex_.unlock(); }

 private:
  struct Row {
    const void* kernel;
    const char* name;
  };
  /// A name; all are kept, since a launch may be about to read one that was replaced.
  struct Copy {
    Copy* before;
    char text[1];  // and as many more as it needs
  };
  std::mutex mutex_;
  Copy* last_ = nullptr;
  Row* rows_ = nullptr;  // open addressing; a null kernel is an unused row
  std::size_t capacity_ = 0, used_ = 0;
  bool grow();
  static Row* slot(Row* rows, std::size_t capacity, const void* kernel);
};

}  // namespace cleave::cuda
