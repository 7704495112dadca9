// A libcuda.so.1 that hands out addresses, for the live form: calls take STUB_CALL_US, and there
// are STUB_MEMORY_MIB (4096) of memory.

#include <time.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>

namespace {

using Address = unsigned long long;

std::mutex mutex;
std::map<Address, std::size_t> blocks;
std::size_t used = 0;
Address next = 0x700000000;

constexpr int invalid_value = 1, context_is_destroyed = 709;
int the_context;

std::size_t number_in(const char* name, std::size_t otherwise) {
  const char* const text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

std::size_t memory() {
  static const std::size_t bytes = number_in("STUB_MEMORY_MIB", 4096) << 20U;
  return bytes;
}

long now_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1'000'000'000 + now.tv_nsec;
}

void take_time() {
  static const auto length = static_cast<long>(number_in("STUB_CALL_US", 0) * 1000);
  for (const long until = now_ns() + length; length > 0 && now_ns() < until;) {
  }
}

}  // namespace

extern "C" {

int cuInit(unsigned) {
  return 0;
}

int cuCtxGetCurrent(void** context) {
  *context = &the_context;
  return 0;
}

int cuMemAlloc_v2(Address* at, std::size_t bytes) {
  take_time();
  const std::lock_guard lock(mutex);
  if (bytes == 0) return 1;
  if (bytes > memory() - used) return 2;
  used += bytes;
  *at = next;
  blocks[next] = bytes;
  next += (bytes + 511) / 512 * 512;
  return 0;
}

int cuMemFree_v2(Address at) {
  take_time();
  const std::lock_guard lock(mutex);
  const auto found = blocks.find(at);
  if (found == blocks.end()) return 1;
  used -= found->second;
  blocks.erase(found);
  return 0;
}

int cuMemAllocManaged(Address* at, std::size_t bytes, unsigned) {
  const int status = cuMemAlloc_v2(at, bytes);
  if (status != 0) return status;
  // The host touches it.
  void* const place = std::calloc(1, bytes);
  const std::lock_guard lock(mutex);
  blocks.erase(*at);
  *at = reinterpret_cast<std::uintptr_t>(place);
  blocks[*at] = bytes;
  return 0;
}

int cuMemAllocHost_v2(void** at, std::size_t bytes) {
  *at = std::calloc(1, bytes);
  return 0;
}

int cuMemFreeHost(void* at) {
  std::free(at);
  return 0;
}

int cuMemAllocAsync(Address* at, std::size_t bytes, void*) {
  return cuMemAlloc_v2(at, bytes);
}

int cuMemFreeAsync(Address at, void*) {
  return cuMemFree_v2(at);
}

int cuMemCreate(Address* handle, std::size_t bytes, const void*, unsigned long long) {
  return cuMemAlloc_v2(handle, bytes);
}

int cuMemRelease(Address handle) {
  return cuMemFree_v2(handle);
}

int cuArrayCreate_v2(void** array, const void* descriptor) {
  struct Descriptor {
    std::size_t width, height;
    int format;
    unsigned channels;
  };
  const auto& asked = *static_cast<const Descriptor*>(descriptor);
  Address at = 0;
  const int status =
      cuMemAlloc_v2(&at, asked.width * (asked.height == 0 ? 1 : asked.height) * asked.channels * 4);
  *array = reinterpret_cast<void*>(at);
  return status;
}

int cuArrayDestroy(void* array) {
  return cuMemFree_v2(reinterpret_cast<std::uintptr_t>(array));
}

int cuMemGetInfo_v2(std::size_t* free, std::size_t* total) {
  const std::lock_guard lock(mutex);
  // A context of 300 MiB.
  *free = memory() - used - (std::size_t{300} << 20U);
  *total = memory();
  return 0;
}

int cuModuleLoadData(void** module, const void*) {
  static int any;
  *module = &any;
  return 0;
}

int cuModuleGetFunction(void** function, void*, const char* name) {
  *function = ::strdup(name);
  return 0;
}

int cuLaunchKernel(const void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                   unsigned, void*, void**, void**) {
  take_time();
  return 0;
}

int cuCtxSynchronize() {
  take_time();
  return 0;
}

/// From CUDA 13.0 on that is what the name means for whoever asks for entry points.
int cuCtxSynchronize_v2(const void* context) {
  if (context != &the_context) return context_is_destroyed;
  return cuCtxSynchronize();
}

int cuGetProcAddress_v2(const char* name, void** at, int, unsigned long long, int* result);

}  // extern "C"

namespace {

/// What the name may mean in a CUDA that is still to come.
int synchronize_later(unsigned flags, const void* context) {
  return flags == 1 ? cuCtxSynchronize_v2(context) : invalid_value;
}

struct Entry {
  const char* name;
  void* function;
  int since = 0;
};
#define STUB_ENTRY_SINCE(since, name, function) \
  { name, reinterpret_cast<void*>(function), since }
#define STUB_ENTRY(name, function) STUB_ENTRY_SINCE(0, name, function)
const Entry entries[] = {STUB_ENTRY("cuInit", cuInit),
                         STUB_ENTRY("cuCtxGetCurrent", cuCtxGetCurrent),
                         STUB_ENTRY("cuMemAlloc", cuMemAlloc_v2),
                         STUB_ENTRY("cuMemFree", cuMemFree_v2),
                         STUB_ENTRY("cuMemAllocManaged", cuMemAllocManaged),
                         STUB_ENTRY("cuMemAllocHost", cuMemAllocHost_v2),
                         STUB_ENTRY("cuMemFreeHost", cuMemFreeHost),
                         STUB_ENTRY("cuMemAllocAsync", cuMemAllocAsync),
                         STUB_ENTRY("cuMemFreeAsync", cuMemFreeAsync),
                         STUB_ENTRY("cuArrayCreate", cuArrayCreate_v2),
                         STUB_ENTRY("cuArrayDestroy", cuArrayDestroy),
                         STUB_ENTRY("cuMemGetInfo", cuMemGetInfo_v2),
                         STUB_ENTRY("cuMemCreate", cuMemCreate),
                         STUB_ENTRY("cuMemRelease", cuMemRelease),
                         STUB_ENTRY("cuModuleLoadData", cuModuleLoadData),
                         STUB_ENTRY("cuModuleGetFunction", cuModuleGetFunction),
                         STUB_ENTRY("cuLaunchKernel", cuLaunchKernel),
                         STUB_ENTRY("cuCtxSynchronize", cuCtxSynchronize),
                         STUB_ENTRY_SINCE(13000, "cuCtxSynchronize", cuCtxSynchronize_v2),
                         STUB_ENTRY_SINCE(14000, "cuCtxSynchronize", synchronize_later),
                         STUB_ENTRY("cuGetProcAddress", cuGetProcAddress_v2)};

}  // namespace

extern "C" int cuGetProcAddress_v2(const char* name, void** at, int version, unsigned long long,
                                   int* result) {
  *at = nullptr;
  for (const Entry& entry : entries)
    if (std::strcmp(entry.name, name) == 0 && version >= entry.since) *at = entry.function;
  if (result != nullptr) *result = *at == nullptr ? 1 : 0;
  return *at == nullptr ? 500 : 0;
}
