// The functions that a simulated GPU does not support. Like all others they say first that NVML is
// not open, then which argument is wrong, and only then NOT_SUPPORTED.

#include "nvmlsim/exports/exported.hpp"
#include "nvmlsim/exports/unsupported.hpp"

namespace cleave::nvml {

using namespace cleave::sim;
using enum Return;

namespace {

constexpr std::size_t most_arguments = 6;
using Arguments = std::array<std::uint64_t, most_arguments>;

/// Whether every pointer that must be given is.
Return check_pointers(std::string_view shape, const Arguments& given) {
  for (std::size_t i = 0; i < shape.size(); ++i)
    if (shape[i] == 'P' && given[i] == 0) return invalid_argument;
  return not_supported;
}

Return refuse(std::string_view shape, const Arguments& given) {
  if (shape.starts_with('D'))
    return on_device(std::bit_cast<Device>(given[0]),
                     [&](const Call&, GpuAccess&, std::uint32_t, std::optional<std::size_t>) {
                       return check_pointers(shape, given);
                     });
  if (shape.starts_with('G'))
    return on_instance(HandleKind::gpu_instance, std::bit_cast<GpuInstance>(given[0]),
                       [&](const Call&, GpuAccess&, std::uint32_t, std::size_t) {
                         return check_pointers(shape, given);
                       });
  const Call call;
  return call.status() == uninitialized ? uninitialized : check_pointers(shape, given);
}

}  // namespace

// Callers pass as many arguments as the shape has; on the machines that there are drivers for, the
// first six are in registers, and the rest of these are not looked at.
#define CLEAVE_NVML_STUB(name, shape)                                                      \
  static_assert(std::string_view(shape).size() <= most_arguments);                         \
  extern "C" __attribute__((visibility("default"))) Return name(                           \
      std::uint64_t a, std::uint64_t b, std::uint64_t c, std::uint64_t d, std::uint64_t e, \
      std::uint64_t f) {                                                                   \
    return refuse(shape, {a, b, c, d, e, f});                                              \
  }
CLEAVE_NVML_UNSUPPORTED(CLEAVE_NVML_STUB)
#undef CLEAVE_NVML_STUB

}  // namespace cleave::nvml
