#include "model/workload/asked_request.hpp"

#include <algorithm>

#include "base/format.hpp"
#include "base/text.hpp"
#include "model/workload/known_profiles.hpp"

namespace cleave {

namespace {

/// The memory of the job's model, if it names one.
std::optional<MiB> size_of_model(JsonReader& in, const ModelSizer& sizer) {
  const auto shape = in.text_if("shape");
  if (!shape) {
    for (const char* key : {"context", "precision", "train"})
      if (in.has(key)) in.refuse(key, "this belongs to a job's model", "give its shape too");
    return std::nullopt;
  }
  ModelUse use;
  use.shape = *shape;
  use.precision = in.text_if("precision").value_or("");
  use.batch = in.integer_if("batch", 1, INT32_MAX).value_or(1);
  use.context = in.integer_if("context", 1, INT32_MAX).value_or(0);
  use.train = in.flag("train", false);
  if (!sizer) {
    in.refuse("shape", "models' files are not opened here", "give profile or memory_mib");
    return std::nullopt;
  }
  const auto size = sizer(use);
  if (size) return *size;
  in.refuse("shape", size.error().text(), "`cleave forecast model` shows what a model takes");
  return std::nullopt;
}

/// Raises the compute of the request to what the job's kernel needs.
void read_kernel(JsonReader& job, JsonReader& in, const KernelSizer& kernels, Request& request) {
  auto* const size = std::get_if<BySize>(&request.wanted);
  if (size == nullptr)
    return job.refuse("kernel", "a kernel says how much compute is asked for beside a size",
                      "give memory_mib or shape too");
  StatedKernel kernel;
  const auto sizes = [&](const char* key) {
    if (in.has(key)) return in.integers(key, 1, most_kernel_size);
    in.refuse("", fmt::format("the key '{}' is missing", key),
              "give grid and threads, each with one to three sizes");
    return std::vector<std::int64_t>{};
  };
  kernel.grid = sizes("grid");
  kernel.threads = sizes("threads");
  kernel.registers = in.integer_if("registers", 0, 255).value_or(0);
  kernel.shared_bytes = in.integer_if("shared_bytes", 0, most_kernel_size).value_or(0);
  in.done();
  if (const auto wrong = wrong_dimensions(kernel))
    return in.refuse(*wrong, std::string(wrong_dimensions_text));
  if (!kernels) return job.refuse("kernel", "no GPU model is known here to fit a kernel to");
  const auto slices = kernels(use_of(kernel));
  if (!slices)
    job.refuse("kernel", slices.error().message, slices.error().remedy);
  else
    size->compute = std::max(size->compute, *slices);
}

}  // namespace

Request read_request(JsonReader& in, const JobSizers& sizers) {
  Request request{Unknown{}, {}};
  const auto profile = in.text_if("profile");
  const auto asked = in.size_if("memory_mib");
  const auto sized = size_of_model(in, sizers.models);
  if (asked && sized) in.refuse("", "a job has a shape or memory_mib, not both");
  if (profile && sized) in.refuse("", "a job has a shape or a profile, not both");
  const auto memory = sized ? sized : asked;
  const auto compute = in.integer_if("compute_slices", 0, 99);
  if (profile && memory) in.refuse("", "a request names a profile or a size, not both");
  if (compute && !memory)
    in.refuse("compute_slices", "compute slices are asked for together with memory_mib or shape");
  if (profile) {
    if (!some_gpu_has(*profile))
      in.refuse("profile", fmt::format("no known GPU has a profile '{}'", shown(*profile)),
                "`cleave gpu MODEL` lists a model's profiles");
    request.wanted = ByProfile{*profile};
  } else if (memory) {
    request.wanted = BySize{*memory, {static_cast<int>(compute.value_or(0))}};
  }
  if (auto kernel = in.object_if("kernel")) read_kernel(in, *kernel, sizers.kernels, request);
  return request;
}

}  // namespace cleave
