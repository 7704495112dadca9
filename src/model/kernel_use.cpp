#include "model/kernel_use.hpp"

#include "base/format.hpp"

namespace cleave {

namespace {

/// Empty where they are not the sizes of one to three dimensions.
std::optional<std::int64_t> product(const std::vector<std::int64_t>& sizes) {
  if (sizes.empty() || sizes.size() > 3) return std::nullopt;
  std::int64_t all = 1;
  for (const std::int64_t each : sizes)
    if (__builtin_mul_overflow(all, each, &all)) return std::nullopt;
  return all;
}

}  // namespace

std::optional<std::string_view> wrong_dimensions(const StatedKernel& kernel) {
  if (!product(kernel.grid)) return "grid";
  if (!product(kernel.threads)) return "threads";
  return std::nullopt;
}

KernelUse use_of(const StatedKernel& kernel) {
  return {product(kernel.grid).value_or(1), product(kernel.threads).value_or(1), kernel.registers,
          kernel.shared_bytes};
}

std::string in_words(const StatedKernel& kernel) {
  std::string text = fmt::format("{} blocks of {} threads", fmt::join(kernel.grid, "x"),
                                 fmt::join(kernel.threads, "x"));
  if (kernel.registers > 0) text += fmt::format(", {} registers", kernel.registers);
  if (kernel.shared_bytes > 0)
    text += fmt::format(", {} bytes of shared memory", kernel.shared_bytes);
  return text;
}

}  // namespace cleave
