#include "cudatrace/dry/pretended.hpp"

#include <sys/mman.h>
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>

namespace cleave::cuda {

namespace {

constexpr std::uint64_t bytes_per_mebibyte = std::uint64_t{1} << 20U;
/// As `cleave forecast model` counts it; CLEAVE_CUDA_CONTEXT in bytes says otherwise.
constexpr std::uint64_t pretended_context = 615 * bytes_per_mebibyte;

/// Where no Linux puts anything of a program by itself; nothing is mapped there, so a program that
/// touches memory of the GPU dies of it as it would with one.
constexpr std::uint64_t first_address = 0x0A00'0000'0000, last_address = 0x5000'0000'0000;
constexpr std::uint64_t alignment = 512;

/// What was allocated, by address. Next fit: an address comes again late.
class Addresses {
 public:
  /// 0 if there is no room between the others.
  std::uint64_t take(std::uint64_t bytes, MemoryKind kind) {
    if (bytes > last_address - first_address) return 0;
    const std::uint64_t size = std::max((bytes + alignment - 1) / alignment * alignment, alignment);
    const std::lock_guard lock(mutex_);
    for (const bool again : {false, true}) {
      if (again) next_ = first_address;
      if (const std::uint64_t at = gap(size); at != 0) {
        places_[at] = {size, bytes, kind};
        next_ = at + size;
        return at;
      }
    }
    return 0;
  }
  void put(std::uint64_t at, std::uint64_t bytes, MemoryKind kind) {
    const std::lock_guard lock(mutex_);
    places_[at] = {bytes, bytes, kind};
  }
  bool remove(std::uint64_t at, std::uint64_t& bytes, MemoryKind& kind) {
    const std::lock_guard lock(mutex_);
    const auto found = places_.find(at);
    if (found == places_.end()) return false;
    bytes = found->second.bytes;
    kind = found->second.kind;
    places_.erase(found);
    return true;
  }
  std::optional<Place> find(std::uint64_t at) {
    const std::lock_guard lock(mutex_);
    auto found = places_.upper_bound(at);
    if (found == places_.begin()) return std::nullopt;
    --found;
    const auto& [begin, place] = *found;
    if (at - begin >= std::max<std::uint64_t>(place.bytes, 1)) return std::nullopt;
    return Place{pointer_to(begin), place.bytes, place.kind};
  }
  void clear() {
    const std::lock_guard lock(mutex_);
    std::erase_if(places_, [](const auto& each) {
      const auto& [begin, place] = each;
      if (!is_device_address(pointer_to(begin))) ::munmap(pointer_to(begin), place.bytes);
      return true;
    });
  }
  void lock() { mutex_.lock(); }
  void unlock() { mutex_.unlock(); }

 private:
  struct Taken {
    std::uint64_t size, bytes;
    MemoryKind kind;
  };
  /// From next_ on.
  std::uint64_t gap(std::uint64_t size) {
    std::uint64_t at = next_;
    auto behind = places_.lower_bound(at);
    if (behind != places_.begin()) {
      const auto before = std::prev(behind);
      at = std::max(at, before->first + before->second.size);
    }
    for (; at < last_address && size <= last_address - at; ++behind) {
      if (behind == places_.end() || behind->first >= at + size) return at;
      at = behind->first + behind->second.size;
    }
    return 0;
  }
  std::mutex mutex_;
  std::map<std::uint64_t, Taken> places_;
  std::uint64_t next_ = first_address;
};

/// Never destroyed: calls come until the very end.
Addresses& addresses() {
  static auto* const all = [] {
    auto* const made = new Addresses;
    ::pthread_atfork([] { addresses().lock(); }, [] { addresses().unlock(); },
                     [] { addresses().unlock(); });
    return made;
  }();
  return *all;
}

PretendedGpu read_gpu() {
  PretendedGpu gpu;
  const char* const text = std::getenv("CLEAVE_CUDA_GPU");
  if (text == nullptr) return gpu;
  PretendedGpu given;
  unsigned long long mib = 0;
  const int fields = std::sscanf(text, "%63s %d.%d %d %llu %d %d %d %d", given.name, &given.major,
                                 &given.minor, &given.sms, &mib, &given.warps_of_sm,
                                 &given.blocks_of_sm, &given.shared_of_sm, &given.shared_of_block);
  constexpr int all_fields = 9;
  given.memory = mib * bytes_per_mebibyte;
  return fields == all_fields ? given : gpu;
}

std::uint64_t context() {
  static const std::uint64_t bytes = [] {
    const char* const text = std::getenv("CLEAVE_CUDA_CONTEXT");
    return text == nullptr || *text == 0 ? pretended_context : std::strtoull(text, nullptr, 10);
  }();
  return bytes;
}

std::int64_t now_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::int64_t>(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
}

std::int64_t call_ns() {
  static const std::int64_t length = [] {
    const char* const text = std::getenv("CLEAVE_CUDA_CALL_US");
    constexpr long longest = 1'000'000;
    return text == nullptr ? 0 : std::clamp(std::strtol(text, nullptr, 10), 0L, longest) * 1000;
  }();
  return length;
}

thread_local constinit Status the_last_error = success;

std::uint64_t number(const void* pointer) {
  return reinterpret_cast<std::uintptr_t>(pointer);
}

/// Managed and pinned memory, which the host may touch. The kernel gives it when it is touched.
Status host_allocate(void** at, std::uint64_t bytes, MemoryKind kind) {
  void* const got = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (got == MAP_FAILED) return out_of_memory;
  addresses().put(number(got), bytes, kind);
  allocated(Space::address, number(got), bytes, kind);
  *at = got;
  return success;
}

}  // namespace

const PretendedGpu& pretended_gpu() {
  static const PretendedGpu gpu = read_gpu();
  return gpu;
}

std::uint64_t free_memory() {
  const std::uint64_t held =
      static_cast<std::uint64_t>(std::max<std::int64_t>(record().held.load(), 0)) +
      static_cast<std::uint64_t>(contexts()) * context();
  const std::uint64_t all = pretended_gpu().memory;
  return held < all ? all - held : 0;
}

DryCall::DryCall() : until_ns_(call_ns() == 0 ? 0 : now_ns() + call_ns()) {}

DryCall::~DryCall() {
  // Sleeping would take longer than the calls that are imitated.
  while (until_ns_ != 0 && now_ns() < until_ns_) {
  }
}

Status DryCall::done(Status status) {
  if (status != success) the_last_error = status;
  return status;
}

Status last_error(bool forget) {
  const Status status = the_last_error;
  if (forget) the_last_error = success;
  return status;
}

/// Also what was a dead process' is free.
static bool has_room(std::uint64_t bytes) {
  if (bytes <= free_memory()) return true;
  sweep_dead(record());
  return bytes <= free_memory();
}

Status dry_allocate(void** at, std::uint64_t bytes, MemoryKind kind) {
  if (at == nullptr) return invalid_value;
  *at = nullptr;
  if (bytes == 0) return success;
  if (on_gpu(kind) && kind != MemoryKind::managed && !has_room(bytes)) {
    refused(bytes);
    return out_of_memory;
  }
  if (kind == MemoryKind::managed || kind == MemoryKind::pinned)
    return host_allocate(at, bytes, kind);
  const std::uint64_t address = addresses().take(bytes, kind);
  if (address == 0) return out_of_memory;
  allocated(Space::address, address, bytes, kind);
  *at = pointer_to(address);
  return success;
}

Status dry_free(void* at) {
  if (at == nullptr) return success;
  const auto block = take(Space::address, number(at));
  if (!block) {
    unknown_free();
    return invalid_value;
  }
  std::uint64_t bytes = 0;
  MemoryKind kind{};
  if (addresses().remove(number(at), bytes, kind) && !is_device_address(at)) ::munmap(at, bytes);
  released(*block);
  return success;
}

void* new_handle() {
  return pointer_to(addresses().take(1, MemoryKind::pinned));
}

Status dry_make(Space space, void** handle, std::uint64_t bytes, MemoryKind kind) {
  if (handle == nullptr || bytes == 0) return invalid_value;
  if (on_gpu(kind) && !has_room(bytes)) {
    refused(bytes);
    return out_of_memory;
  }
  if (bytes > last_address - first_address) return out_of_memory;
  *handle = new_handle();
  if (*handle == nullptr) return out_of_memory;
  allocated(space, number(*handle), bytes, kind);
  return success;
}

Status dry_unmake(Space space, const void* handle) {
  if (handle == nullptr) return space == Space::array ? success : invalid_value;
  const auto block = take(space, number(handle));
  if (!block) {
    unknown_free();
    return invalid_value;
  }
  std::uint64_t bytes = 0;
  MemoryKind kind{};
  (void)addresses().remove(number(handle), bytes, kind);
  released(*block);
  return success;
}

Status dry_reserve(void** at, std::uint64_t bytes) {
  if (at == nullptr || bytes == 0) return invalid_value;
  *at = pointer_to(addresses().take(bytes, MemoryKind::device));
  return *at == nullptr ? out_of_memory : success;
}

std::optional<Place> place_of(const void* at) {
  return addresses().find(number(at));
}

bool is_device_address(const void* at) {
  return number(at) >= first_address && number(at) < last_address;
}

void dry_copy(void* to, const void* from, std::uint64_t bytes) {
  if (to == nullptr || is_device_address(to)) return;
  if (from == nullptr || is_device_address(from))
    std::memset(to, 0, bytes);
  else
    std::memmove(to, from, bytes);
}

void dry_fill(void* to, int value, std::uint64_t bytes) {
  if (to != nullptr && !is_device_address(to)) std::memset(to, value, bytes);
}

void dry_reset() {
  released_everything();
  addresses().clear();
}

Status dry_launch(const void* kernel, const LaunchShape& shape, Status if_impossible) {
  constexpr std::uint64_t most_threads = 1024;
  std::uint64_t threads = 1;
  for (const std::uint32_t n : shape.block) threads *= std::min<std::uint64_t>(n, most_threads + 1);
  const bool empty = std::ranges::count(shape.grid, 0U) > 0;
  constexpr std::uint32_t most_rows = 65535;
  if (empty || threads < 1 || threads > most_threads || shape.grid[1] > most_rows ||
      shape.grid[2] > most_rows ||
      shape.shared_bytes > static_cast<std::uint64_t>(pretended_gpu().shared_of_block))
    return if_impossible;
  launched(kernel, shape);
  return success;
}

Status unanswered(const char* name) {
  note_unanswered(record(), name);
  the_last_error = not_supported;
  return not_supported;
}

int attribute(int number) {
  const PretendedGpu& gpu = pretended_gpu();
  constexpr int threads_of_warp = 32, most_grid = 2147483647;
  struct Row {
    int number, value;
  };
  const Row rows[] = {{1, 1024},  // threads of a block, and its dimensions
                      {2, 1024},
                      {3, 1024},
                      {4, 64},
                      {5, most_grid},  // of a grid
                      {6, 65535},
                      {7, 65535},
                      {8, 48 << 10},  // shared memory of a block that asks for no more
                      {9, 64 << 10},  // constants
                      {10, threads_of_warp},
                      {11, most_grid},  // pitch
                      {12, 65536},      // registers of a block
                      {13, 1410000},    // kHz
                      {14, 512},        // alignment of textures
                      {15, 1},          // copies beside kernels
                      {16, gpu.sms},
                      {19, 1},  // host memory can be mapped
                      {31, 1},  // kernels side by side
                      {32, 1},  // ECC
                      {36, 1593000},
                      {37, 5120},  // bits of the memory's bus
                      {38, 40 << 20},
                      {39, gpu.warps_of_sm * threads_of_warp},
                      {40, 1},  // copy engines
                      {41, 1},  // one address space
                      {75, gpu.major},
                      {76, gpu.minor},
                      {78, 1},  // priorities of streams
                      {79, 1},
                      {80, 1},
                      {81, gpu.shared_of_sm},
                      {82, 65536},  // registers of an SM
                      {83, 1},      // managed memory
                      {89, 1},
                      {90, 1},
                      {95, 1},  // cooperative launches
                      {97, gpu.shared_of_block},
                      {102, 1},  // virtual memory management
                      {106, gpu.blocks_of_sm},
                      {111, 1024},  // shared memory that the system takes of a block
                      {115, 1}};    // memory pools
  const auto* const found = std::ranges::find(rows, number, &Row::number);
  return found == std::end(rows) ? 0 : found->value;
}

}  // namespace cleave::cuda
