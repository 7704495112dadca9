#pragma once
// The functions of the real runtime and driver that the live library stands before, and how they
// are found: behind it in the program's own order of libraries, else in whichever libcudart the
// program has loaded out of sight, as Python does, else in the driver's library.

#include <atomic>

namespace cleave::cuda {

/// Whose function it is.
enum class Interface { runtime, driver };

/// The C library's own dlsym.
void* plain_dlsym(void* handle, const char* name);

/// One real function. The first address that is found or told is kept.
class RealFunction {
 public:
  constexpr RealFunction(Interface interface, const char* name)
      : interface_(interface), name_(name) {}
  /// Null if there is none.
  [[nodiscard]] void* find();
  /// What the program itself would have called, if it was linked with one.
  void tell_next();
  void tell(void* address) {
    void* none = nullptr;
    address_.compare_exchange_strong(none, address);
  }
  /// Whether calls of the wrapper may go on to this function in place of `address`.
  [[nodiscard]] bool stands_before(const void* address) const {
    return interface_ == Interface::driver || address_.load() == address;
  }
  [[nodiscard]] const char* name() const { return name_; }

 private:
  Interface interface_;
  const char* name_;
  std::atomic<void*> address_{nullptr};
};

/// The same with its type.
template <class F>
class Real : public RealFunction {
 public:
  using RealFunction::RealFunction;
  [[nodiscard]] F* get() { return reinterpret_cast<F*>(find()); }
};

/// How deep this thread is in calls that are followed: what the runtime asks of the driver on the
/// way must not be counted again.
class Following {
 public:
  Following() { ++depth_; }
  ~Following() { --depth_; }
  Following(const Following&) = delete;
  Following& operator=(const Following&) = delete;
  [[nodiscard]] static bool outermost() { return depth_ == 1; }
  /// Outside of all.
  [[nodiscard]] static bool outside() { return depth_ == 0; }

 private:
  static thread_local constinit int depth_;
};

/// One function that the live library stands before.
struct Wrapped {
  const char* symbol;  // as the linker knows it
  void* wrapper;
  RealFunction* real;
};
/// The driver's, by symbol; ends with a null symbol.
extern const Wrapped wrapped_driver[];
/// The runtime's.
extern const Wrapped wrapped_runtime[];

/// What a program gets that asks for this symbol and would have got `found`.
[[nodiscard]] void* in_place_of(const char* symbol, void* found);
/// The same for cuGetProcAddress, which is asked for names without version or stream.
[[nodiscard]] void* in_place_of_entry(const char* name, int version, bool own_stream, void* found);

}  // namespace cleave::cuda
