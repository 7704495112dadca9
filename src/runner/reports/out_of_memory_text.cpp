#include "runner/reports/out_of_memory_text.hpp"

#include <algorithm>
#include <cmath>

#include "base/format.hpp"
#include "base/text.hpp"

namespace cleave {

namespace {

/// A size as PyTorch writes it: two decimals in a suitable unit.
std::string torch_size(MiB size) {
  if (size.value >= 1024) return fmt::format("{:.2f} GiB", static_cast<double>(size.value) / 1024);
  return fmt::format("{}.00 MiB", size.value);
}

std::string cuda_message(const MemoryShortage&) {
  return "CUDA error: out of memory (cudaErrorMemoryAllocation, 2)\n";
}

std::string pytorch_message(const MemoryShortage& s) {
  return fmt::format(
      "Traceback (most recent call last):\n"
      "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate {}. GPU 0 has a total "
      "capacity of {} of "
      "which {} is free. Including non-PyTorch memory, this process has {} memory in use.\n",
      torch_size(s.requested), torch_size(s.capacity), torch_size(s.capacity - s.held),
      torch_size(s.held));
}

std::string tensorflow_message(const MemoryShortage& s) {
  return fmt::format(
      "Traceback (most recent call last):\n"
      "tensorflow.python.framework.errors_impl.ResourceExhaustedError: OOM when allocating tensor "
      "with "
      "shape[{},262144] and type float on /job:localhost/replica:0/task:0/device:GPU:0 by "
      "allocator "
      "GPU_0_bfc\n",
      s.requested.value);  // floats of four bytes: a row is a MiB
}

std::string jax_message(const MemoryShortage& s) {
  return fmt::format(
      "Traceback (most recent call last):\n"
      "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to "
      "allocate {} "
      "bytes.\n",
      s.requested.value * bytes_per_mib);
}

constexpr DyingWords frameworks[] = {
    {"cuda", 1, cuda_message},
    {"pytorch", 1, pytorch_message},
    {"tensorflow", 1, tensorflow_message},
    {"jax", 1, jax_message},
};

/// A line matches if it contains both texts; the requested size, in bytes or with a unit, comes
/// after `after`.
struct Mark {
  std::string_view framework, first, second, after;
};

// The first match counts. The allocator of TensorFlow and JAX reports every failed attempt and
// tries again with less: the rows for such lines come first and count as nothing.
constexpr std::string_view goes_on = "";
constexpr Mark marks[] = {
    {goes_on, "failed to allocate", "from device: CUDA_ERROR_OUT_OF_MEMORY", ""},
    {goes_on, "ran out of memory trying to allocate", "not a failure", ""},
    {"pytorch", "CUDA out of memory. Tried to allocate ", "", "Tried to allocate "},
    {"pytorch", "OutOfMemoryError: ", "CUDA out of memory", "Tried to allocate "},
    {"pytorch", "RuntimeError: CUDA error: out of memory", "", ""},
    {"pytorch", "CUBLAS_STATUS_ALLOC_FAILED", "cublasCreate", ""},
    {"pytorch", "HIP out of memory", "", "Tried to allocate "},
    {"tensorflow", "OOM when allocating tensor", "device:GPU", ""},
    {"tensorflow", "ResourceExhaustedError", "OOM when allocating tensor", ""},
    {"tensorflow", "ResourceExhaustedError", "failed to allocate memory", ""},
    {"jax", "RESOURCE_EXHAUSTED: Out of memory", "", "trying to allocate "},
    {"jax", "RESOURCE_EXHAUSTED: ", "Failed to allocate request for ", "request for "},
    {"cuda", "cudaErrorMemoryAllocation", "", ""},
    {"cuda", "CUDA_ERROR_OUT_OF_MEMORY", "", ""},
    {"cuda", "CUDA error: out of memory", "", ""},
    {"cuda", "CUDA error", "out of memory", ""},
    {"cuda", "cudaMalloc", "out of memory", ""},
    {"cuda", "thrust::system::system_error", "out of memory", ""},
    {"cuda", "CUBLAS_STATUS_ALLOC_FAILED", "", ""},
    {"cuda", "CUDNN_STATUS_ALLOC_FAILED", "", ""},
};

/// Sizes in bytes or in a unit of 1024: "4294967296 bytes", "2.00 GiB", "1.50GiB", "2.00G".
struct SizeUnit {
  std::string_view name;
  double mib;
};
constexpr SizeUnit size_units[] = {
    {"bytes", 1.0 / bytes_per_mib},
    {"KiB", 1.0 / 1024},
    {"MiB", 1},
    {"GiB", 1024},
    {"TiB", 1048576},
};

std::optional<MiB> size_after(std::string_view line, std::string_view words) {
  if (words.empty()) return std::nullopt;
  const std::size_t at = line.find(words);
  if (at == std::string_view::npos) return std::nullopt;
  std::string_view rest = line.substr(at + words.size());
  const std::size_t digits = std::min(rest.find_first_not_of("0123456789."), rest.size());
  const auto number = parse_number(rest.substr(0, digits));
  if (!number || *number < 0) return std::nullopt;
  rest.remove_prefix(digits);
  rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
  for (const SizeUnit& unit : size_units) {
    if (!rest.starts_with(unit.name)) continue;
    const double mib = std::ceil(*number * unit.mib);
    if (mib > 1e12) return std::nullopt;
    return MiB{static_cast<std::int64_t>(mib)};
  }
  return std::nullopt;
}

}  // namespace

std::span<const DyingWords> dying_words() {
  return frameworks;
}

const DyingWords* find_dying_words(std::string_view framework) {
  const auto found = std::ranges::find(frameworks, framework, &DyingWords::framework);
  return found == std::end(frameworks) ? nullptr : found;
}

std::optional<OutOfMemoryMark> recognise_out_of_memory(std::string_view line) {
  for (const Mark& mark : marks) {
    if (line.find(mark.first) == std::string_view::npos ||
        line.find(mark.second) == std::string_view::npos)
      continue;
    if (mark.framework == goes_on) return std::nullopt;
    return OutOfMemoryMark{mark.framework, size_after(line, mark.after)};
  }
  return std::nullopt;
}

}  // namespace cleave
