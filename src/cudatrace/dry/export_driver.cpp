// The functions of the CUDA driver that the dry library answers itself, and the ways on which
// programs get them.

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>

#include "cudatrace/dry/answered_calls.hpp"
#include "cudatrace/dry/pretended.hpp"

using namespace cleave::cuda;

/// CUdeviceptr and handles of physical memory.
using Address = unsigned long long;

namespace {

template <class T>
Status answer(T* at, T value) {
  if (at == nullptr) return invalid_value;
  *at = value;
  return success;
}

Status make_handle(void** at) {
  if (at == nullptr) return invalid_value;
  *at = new_handle();
  return success;
}

/// Unlike the runtime, the driver does not allocate nothing.
Status allocate(Address* at, std::size_t bytes, MemoryKind kind) {
  if (at == nullptr || bytes == 0) return invalid_value;
  void* pointer = nullptr;
  const Status status = dry_allocate(&pointer, bytes, kind);
  *at = reinterpret_cast<std::uintptr_t>(pointer);
  return status;
}

void* pointer(Address at) {
  return pointer_to(at);
}

/// Elements of several bytes, where the host can see them.
template <class Element>
Status fill(Address at, Element value, std::size_t count) {
  if (is_device_address(pointer(at))) return success;
  std::fill_n(static_cast<Element*>(pointer(at)), count, value);
  return success;
}

/// One for all threads: the primary one of the only device.
void* the_context() {
  static void* const context = new_handle();
  return context;
}

}  // namespace

// The device and its context.

CLEAVE_CUDA_EXPORT Status cuDriverGetVersion(int* version) {
  return answer(version, 13000);
}

CLEAVE_CUDA_EXPORT Status cuDeviceGet(int* device, int ordinal) {
  return ordinal == 0 ? answer(device, 0) : invalid_device;
}

CLEAVE_CUDA_EXPORT Status cuDeviceGetCount(int* count) {
  return answer(count, 1);
}

CLEAVE_CUDA_EXPORT Status cuDeviceGetName(char* name, int length, int) {
  if (name == nullptr || length < 1) return invalid_value;
  std::snprintf(name, static_cast<std::size_t>(length), "NVIDIA %s", pretended_gpu().name);
  return success;
}

CLEAVE_CUDA_EXPORT Status cuDeviceGetUuid(void* uuid, int) {
  std::memset(uuid, 0, 16);
  return success;
}

CLEAVE_CUDA_EXPORT Status cuDeviceGetUuid_v2(void* uuid, int device) {
  return cuDeviceGetUuid(uuid, device);
}

CLEAVE_CUDA_EXPORT Status cuDeviceTotalMem_v2(std::size_t* bytes, int) {
  return answer(bytes, static_cast<std::size_t>(pretended_gpu().memory));
}

CLEAVE_CUDA_EXPORT Status cuDeviceGetAttribute(int* value, int number, int) {
  return answer(value, attribute(number));
}

CLEAVE_CUDA_EXPORT Status cuDeviceComputeCapability(int* major, int* minor, int) {
  (void)answer(major, pretended_gpu().major);
  return answer(minor, pretended_gpu().minor);
}

CLEAVE_CUDA_EXPORT Status cuDeviceGetPCIBusId(char* id, int length, int) {
  if (id == nullptr || length < 1) return invalid_value;
  std::snprintf(id, static_cast<std::size_t>(length), "0000:00:00.0");
  return success;
}

CLEAVE_CUDA_EXPORT Status cuDevicePrimaryCtxRetain(void** context, int) {
  return answer(context, the_context());
}

CLEAVE_CUDA_EXPORT Status cuDevicePrimaryCtxGetState(int, unsigned* flags, int* active) {
  if (flags != nullptr) *flags = 0;
  return answer(active, 1);
}

CLEAVE_CUDA_EXPORT Status cuDevicePrimaryCtxReset_v2(int) {
  dry_reset();
  return success;
}

CLEAVE_CUDA_EXPORT Status cuCtxCreate_v2(void** context, unsigned, int) {
  return answer(context, the_context());
}

CLEAVE_CUDA_EXPORT Status cuCtxCreate_v3(void** context, const void*, int, unsigned, int) {
  return answer(context, the_context());
}

CLEAVE_CUDA_EXPORT Status cuCtxGetCurrent(void** context) {
  return answer(context, the_context());
}

CLEAVE_CUDA_EXPORT Status cuCtxPopCurrent_v2(void** context) {
  if (context != nullptr) *context = the_context();
  return success;
}

CLEAVE_CUDA_EXPORT Status cuCtxGetDevice(int* device) {
  return answer(device, 0);
}

CLEAVE_CUDA_EXPORT Status cuCtxGetLimit(std::size_t* value, int) {
  return answer(value, std::size_t{8} << 20U);
}

CLEAVE_CUDA_EXPORT Status cuCtxGetApiVersion(void*, unsigned* version) {
  return answer(version, 3020U);
}

// Memory.

CLEAVE_CUDA_EXPORT Status cuMemGetInfo_v2(std::size_t* free, std::size_t* total) {
  (void)answer(free, static_cast<std::size_t>(free_memory()));
  return answer(total, static_cast<std::size_t>(pretended_gpu().memory));
}

CLEAVE_CUDA_EXPORT Status cuMemAlloc_v2(Address* at, std::size_t bytes) {
  DryCall call;
  return call.done(allocate(at, bytes, MemoryKind::device));
}

CLEAVE_CUDA_EXPORT Status cuMemAllocPitch_v2(Address* at, std::size_t* pitch, std::size_t width,
                                             std::size_t height, unsigned) {
  DryCall call;
  if (pitch == nullptr) return call.done(invalid_value);
  *pitch = pitch_of(width);
  return call.done(allocate(at, product(*pitch, height), MemoryKind::device));
}

CLEAVE_CUDA_EXPORT Status cuMemAllocManaged(Address* at, std::size_t bytes, unsigned) {
  DryCall call;
  return call.done(allocate(at, bytes, MemoryKind::managed));
}

CLEAVE_CUDA_EXPORT Status cuMemAllocHost_v2(void** at, std::size_t bytes) {
  DryCall call;
  return call.done(bytes == 0 ? invalid_value : dry_allocate(at, bytes, MemoryKind::pinned));
}

CLEAVE_CUDA_EXPORT Status cuMemHostAlloc(void** at, std::size_t bytes, unsigned) {
  return cuMemAllocHost_v2(at, bytes);
}

CLEAVE_CUDA_EXPORT Status cuMemAllocAsync(Address* at, std::size_t bytes, void*) {
  return cuMemAlloc_v2(at, bytes);
}

CLEAVE_CUDA_EXPORT Status cuMemAllocFromPoolAsync(Address* at, std::size_t bytes, void*, void*) {
  return cuMemAlloc_v2(at, bytes);
}

CLEAVE_CUDA_EXPORT Status cuMemFree_v2(Address at) {
  DryCall call;
  return call.done(dry_free(pointer(at)));
}

CLEAVE_CUDA_EXPORT Status cuMemFreeHost(void* at) {
  DryCall call;
  return call.done(dry_free(at));
}

CLEAVE_CUDA_EXPORT Status cuMemFreeAsync(Address at, void*) {
  return cuMemFree_v2(at);
}

CLEAVE_CUDA_EXPORT Status cuMemCreate(Address* handle, std::size_t bytes,
                                      const AllocationProperties* properties, unsigned long long) {
  DryCall call;
  if (handle == nullptr || properties == nullptr) return call.done(invalid_value);
  void* made = nullptr;
  const Status status = dry_make(
      Space::physical, &made, bytes,
      properties->location_type == location_device ? MemoryKind::device : MemoryKind::pinned);
  *handle = reinterpret_cast<std::uintptr_t>(made);
  return call.done(status);
}

CLEAVE_CUDA_EXPORT Status cuMemRelease(Address handle) {
  DryCall call;
  return call.done(dry_unmake(Space::physical, pointer(handle)));
}

CLEAVE_CUDA_EXPORT Status cuMemAddressReserve(Address* at, std::size_t bytes, std::size_t, Address,
                                              unsigned long long) {
  void* place = nullptr;
  const Status status = dry_reserve(&place, bytes);
  return status != success ? status : answer(at, Address{reinterpret_cast<std::uintptr_t>(place)});
}

CLEAVE_CUDA_EXPORT Status cuMemGetAllocationGranularity(std::size_t* granularity, const void*,
                                                        int) {
  return answer(granularity, std::size_t{2} << 20U);
}

CLEAVE_CUDA_EXPORT Status cuArrayCreate_v2(void** array, const ArrayDescriptor* descriptor) {
  DryCall call;
  if (descriptor == nullptr) return call.done(invalid_value);
  return call.done(
      dry_make(Space::array, array,
               bytes_of_array(bytes_of_format(descriptor->format) * descriptor->channels,
                              descriptor->width, descriptor->height, 0),
               MemoryKind::array));
}

CLEAVE_CUDA_EXPORT Status cuArray3DCreate_v2(void** array, const Array3dDescriptor* descriptor) {
  DryCall call;
  if (descriptor == nullptr) return call.done(invalid_value);
  return call.done(
      dry_make(Space::array, array,
               bytes_of_array(bytes_of_format(descriptor->format) * descriptor->channels,
                              descriptor->width, descriptor->height, descriptor->depth),
               MemoryKind::array));
}

CLEAVE_CUDA_EXPORT Status cuArrayDestroy(void* array) {
  DryCall call;
  return call.done(dry_unmake(Space::array, array));
}

CLEAVE_CUDA_EXPORT Status cuMemHostGetDevicePointer_v2(Address* at, void* host, unsigned) {
  return answer(at, Address{reinterpret_cast<std::uintptr_t>(host)});
}

CLEAVE_CUDA_EXPORT Status cuMemGetAddressRange_v2(Address* begin, std::size_t* bytes, Address at) {
  const auto place = place_of(pointer(at));
  if (!place) return not_found;
  if (begin != nullptr) *begin = reinterpret_cast<std::uintptr_t>(place->begin);
  if (bytes != nullptr) *bytes = place->bytes;
  return success;
}

CLEAVE_CUDA_EXPORT Status cuMemcpy(Address to, Address from, std::size_t bytes) {
  DryCall call;
  moment();
  dry_copy(pointer(to), pointer(from), bytes);
  return call.done(success);
}

CLEAVE_CUDA_EXPORT Status cuMemcpyAsync(Address to, Address from, std::size_t bytes, void*) {
  return cuMemcpy(to, from, bytes);
}

CLEAVE_CUDA_EXPORT Status cuMemcpyHtoD_v2(Address to, const void* from, std::size_t bytes) {
  return cuMemcpy(to, reinterpret_cast<std::uintptr_t>(from), bytes);
}

CLEAVE_CUDA_EXPORT Status cuMemcpyHtoDAsync_v2(Address to, const void* from, std::size_t bytes,
                                               void*) {
  return cuMemcpyHtoD_v2(to, from, bytes);
}

CLEAVE_CUDA_EXPORT Status cuMemcpyDtoH_v2(void* to, Address from, std::size_t bytes) {
  return cuMemcpy(reinterpret_cast<std::uintptr_t>(to), from, bytes);
}

CLEAVE_CUDA_EXPORT Status cuMemcpyDtoHAsync_v2(void* to, Address from, std::size_t bytes, void*) {
  return cuMemcpyDtoH_v2(to, from, bytes);
}

CLEAVE_CUDA_EXPORT Status cuMemsetD8_v2(Address at, unsigned char value, std::size_t count) {
  return fill(at, value, count);
}

CLEAVE_CUDA_EXPORT Status cuMemsetD16_v2(Address at, unsigned short value, std::size_t count) {
  return fill(at, value, count);
}

CLEAVE_CUDA_EXPORT Status cuMemsetD32_v2(Address at, unsigned value, std::size_t count) {
  return fill(at, value, count);
}

CLEAVE_CUDA_EXPORT Status cuMemsetD8Async(Address at, unsigned char value, std::size_t count,
                                          void*) {
  return fill(at, value, count);
}

CLEAVE_CUDA_EXPORT Status cuMemsetD32Async(Address at, unsigned value, std::size_t count, void*) {
  return fill(at, value, count);
}

CLEAVE_CUDA_EXPORT Status cuDeviceGetDefaultMemPool(void** pool, int) {
  return make_handle(pool);
}

CLEAVE_CUDA_EXPORT Status cuMemPoolCreate(void** pool, const void*) {
  return make_handle(pool);
}

// Modules and kernels.

CLEAVE_CUDA_EXPORT Status cuModuleLoad(void** module, const char*) {
  return make_handle(module);
}

CLEAVE_CUDA_EXPORT Status cuModuleLoadData(void** module, const void*) {
  return make_handle(module);
}

CLEAVE_CUDA_EXPORT Status cuModuleLoadDataEx(void** module, const void*, unsigned, void*, void**) {
  return make_handle(module);
}

CLEAVE_CUDA_EXPORT Status cuModuleLoadFatBinary(void** module, const void*) {
  return make_handle(module);
}

CLEAVE_CUDA_EXPORT Status cuLibraryLoadData(void** library, const void*, void*, void**, unsigned,
                                            void*, void**, unsigned) {
  return make_handle(library);
}

CLEAVE_CUDA_EXPORT Status cuModuleGetFunction(void** function, void*, const char* name) {
  const Status status = make_handle(function);
  if (status == success) named(*function, name);
  return status;
}

CLEAVE_CUDA_EXPORT Status cuLibraryGetKernel(void** kernel, void* library, const char* name) {
  return cuModuleGetFunction(kernel, library, name);
}

CLEAVE_CUDA_EXPORT Status cuLibraryGetModule(void** module, void*) {
  return make_handle(module);
}

CLEAVE_CUDA_EXPORT Status cuKernelGetFunction(void** function, void* kernel) {
  return answer(function, kernel);
}

/// Its size is in the module's code, which is not read.
CLEAVE_CUDA_EXPORT Status cuModuleGetGlobal_v2(Address* at, std::size_t* bytes, void*,
                                               const char*) {
  void* place = nullptr;
  constexpr std::size_t some = 4096;
  if (const Status status = dry_reserve(&place, some); status != success) return status;
  if (bytes != nullptr) *bytes = some;
  if (at != nullptr) *at = reinterpret_cast<std::uintptr_t>(place);
  return success;
}

CLEAVE_CUDA_EXPORT Status cuFuncGetAttribute(int* value, int number, void*) {
  constexpr int registers = 4, registers_of_a_full_sm = 32;
  return answer(value, number == 0           ? attribute(1)
                       : number == registers ? registers_of_a_full_sm
                                             : 0);
}

CLEAVE_CUDA_EXPORT Status cuLaunchKernel(const void* kernel, unsigned grid_x, unsigned grid_y,
                                         unsigned grid_z, unsigned block_x, unsigned block_y,
                                         unsigned block_z, unsigned shared, void*, void**, void**) {
  DryCall call;
  if (kernel == nullptr) return call.done(invalid_handle);
  return call.done(dry_launch(
      kernel, {{grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared}, invalid_value));
}

CLEAVE_CUDA_EXPORT Status cuLaunchCooperativeKernel(const void* kernel, unsigned grid_x,
                                                    unsigned grid_y, unsigned grid_z,
                                                    unsigned block_x, unsigned block_y,
                                                    unsigned block_z, unsigned shared, void* stream,
                                                    void** arguments) {
  return cuLaunchKernel(kernel, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared, stream,
                        arguments, nullptr);
}

CLEAVE_CUDA_EXPORT Status cuLaunchKernelEx(const DriverLaunchConfig* config, const void* kernel,
                                           void** arguments, void** extra) {
  if (config == nullptr) return invalid_value;
  const DriverLaunchConfig& c = *config;
  return cuLaunchKernel(kernel, c.grid[0], c.grid[1], c.grid[2], c.block[0], c.block[1], c.block[2],
                        c.shared_bytes, c.stream, arguments, extra);
}

// Streams and events.

CLEAVE_CUDA_EXPORT Status cuStreamCreate(void** stream, unsigned) {
  return make_handle(stream);
}

CLEAVE_CUDA_EXPORT Status cuStreamCreateWithPriority(void** stream, unsigned, int) {
  return make_handle(stream);
}

CLEAVE_CUDA_EXPORT Status cuStreamIsCapturing(void*, int* status) {
  return answer(status, 0);
}

CLEAVE_CUDA_EXPORT Status cuLaunchHostFunc(void*, void (*function)(void*), void* data) {
  function(data);
  return success;
}

CLEAVE_CUDA_EXPORT Status cuEventCreate(void** event, unsigned) {
  return make_handle(event);
}

CLEAVE_CUDA_EXPORT Status cuEventElapsedTime(float* ms, void*, void*) {
  return answer(ms, 1.0F);
}

CLEAVE_CUDA_EXPORT Status cuGetErrorName(Status status, const char** name) {
  return answer(name, status == success         ? "CUDA_SUCCESS"
                      : status == out_of_memory ? "CUDA_ERROR_OUT_OF_MEMORY"
                                                : "CUDA_ERROR_INVALID_VALUE");
}

CLEAVE_CUDA_EXPORT Status cuGetErrorString(Status status, const char** text) {
  return answer(text, status == success         ? "no error"
                      : status == out_of_memory ? "out of memory"
                                                : "invalid argument");
}

/// The static runtime asks for tables that NVIDIA has not published: it cannot run here.
CLEAVE_CUDA_EXPORT Status cuGetExportTable(const void** table, const void*) {
  record().see(Blind::private_tables);
  if (table != nullptr) *table = nullptr;
  return not_found;
}

// What they are called in programs whose threads have default streams of their own.

#define CLEAVE_CUDA_ALSO(name, suffix) \
  CLEAVE_CUDA_EXPORT __attribute__((alias(#name))) decltype(name) name##suffix
CLEAVE_CUDA_ALSO(cuMemAllocAsync, _ptsz);
CLEAVE_CUDA_ALSO(cuMemAllocFromPoolAsync, _ptsz);
CLEAVE_CUDA_ALSO(cuMemFreeAsync, _ptsz);
CLEAVE_CUDA_ALSO(cuLaunchKernel, _ptsz);
CLEAVE_CUDA_ALSO(cuLaunchCooperativeKernel, _ptsz);
CLEAVE_CUDA_ALSO(cuLaunchKernelEx, _ptsz);
CLEAVE_CUDA_ALSO(cuMemcpyAsync, _ptsz);
CLEAVE_CUDA_ALSO(cuMemcpyHtoDAsync_v2, _ptsz);
CLEAVE_CUDA_ALSO(cuMemcpyDtoHAsync_v2, _ptsz);
CLEAVE_CUDA_ALSO(cuMemcpy, _ptds);
CLEAVE_CUDA_ALSO(cuMemcpyHtoD_v2, _ptds);
CLEAVE_CUDA_ALSO(cuMemcpyDtoH_v2, _ptds);
CLEAVE_CUDA_ALSO(cuLaunchHostFunc, _ptsz);
#undef CLEAVE_CUDA_ALSO
