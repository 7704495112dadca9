#include "model/workload/asked_request.hpp"

#include <algorithm>
#include <cmath>

#include "base/format.hpp"
#include "base/text.hpp"
#include "model/asked_places.hpp"
#include "model/gpu_use.hpp"
#include "model/instances_text.hpp"
#include "model/job_spec.hpp"
#include "model/share_rule_text.hpp"
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

/// The memory of a model that was sized before, as submissions name it.
std::optional<MiB> size_of_sized_model(JsonReader& in) {
  auto model = in.object_if("model");
  if (!model) return std::nullopt;
  if (in.has("shape")) in.refuse("model", "shape says the same", "leave one of the two out");
  (void)model->text("name");
  const MiB memory{model->integer("memory_mib", 1, most_job_memory)};
  model->done();
  return memory;
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

/// How the job says what each of its places is; at most one of them.
struct StatedSize {
  std::optional<std::string> profile;
  std::optional<MiB> memory, model;
  std::optional<double> share;
};

void refuse_two_sizes(JsonReader& in, const StatedSize& size) {
  if (size.memory && size.model) in.refuse("", "a job has a shape or memory_mib, not both");
  if (size.profile && size.model) in.refuse("", "a job has a shape or a profile, not both");
  if (size.profile && size.memory) in.refuse("", "a request names a profile or a size, not both");
  if (size.share && (size.profile || size.memory || size.model))
    in.refuse("gpu_share", "a job asks for a share of a GPU or for a size, not both");
}

void check_profile(JsonReader& in, std::string_view key, std::string_view profile) {
  if (!some_gpu_has(profile))
    in.refuse(key, fmt::format("no known GPU has a profile '{}'", shown(profile)),
              "`cleave gpu MODEL` lists a model's profiles");
}

/// As traces record it.
ByShare read_share(JsonReader& in, double share) {
  const auto thousandths = static_cast<int>(std::lround(std::clamp(share, 0.0, 1.0) * 1000));
  if (thousandths < 1 || share > 1)
    in.refuse("gpu_share", fmt::format("a share of {} of a GPU is not possible", share),
              "give a number from 0.001 to 1; gpus and instances ask for several");
  const auto word = in.text_if("share_rule");
  const auto rule = word ? parse_share_rule(*word) : ShareRule::round_up;
  if (!rule)
    in.refuse("share_rule", fmt::format("'{}' is not a rule for shares", shown(*word)),
              "write round-up or nearest");
  return {thousandths, rule.value_or(ShareRule::round_up)};
}

/// What each place of the job is.
Request read_size(JsonReader& in, const JobSizers& sizers) {
  StatedSize size;
  size.profile = in.text_if("profile");
  size.memory = in.size_if("memory_mib");
  if (const auto used = in.size_if("gpu_memory")) {
    if (size.memory)
      in.refuse("gpu_memory", "memory_mib says the same", "leave one of the two out");
    size.memory = size_of_use(*used);
  }
  size.model = size_of_model(in, sizers.models);
  if (const auto sized = size_of_sized_model(in)) size.model = sized;
  size.share = in.number_if("gpu_share");
  refuse_two_sizes(in, size);
  const auto compute = in.integer_if("compute_slices", 0, 99);
  const auto memory = size.model ? size.model : size.memory;
  if (compute && !memory)
    in.refuse("compute_slices", "compute slices are asked for together with memory_mib or shape");
  Request request{Unknown{}, {}};
  if (size.profile) {
    check_profile(in, "profile", *size.profile);
    request.wanted = ByProfile{*size.profile};
  } else if (memory) {
    request.wanted = BySize{*memory, {static_cast<int>(compute.value_or(0))}};
  } else if (size.share) {
    request.wanted = read_share(in, *size.share);
  }
  if (!size.share && in.has("share_rule"))
    in.refuse("share_rule", "this is how a share becomes a profile", "give gpu_share too");
  return request;
}

/// How many instances: a number beside their size, or both as the text "4x1g.5gb".
std::optional<std::int64_t> read_instances(JsonReader& in, const Json& job, Request& each) {
  const auto text = job.find("instances");
  if (text == job.end() || !text->is_string()) return in.integer_if("instances", 1, most_places);
  const auto stated = parse_instances(in.text("instances"), in.place());
  if (!stated) {
    in.refuse("instances", stated.error().message, stated.error().remedy);
    return std::nullopt;
  }
  if (!std::holds_alternative<Unknown>(each.wanted))
    in.refuse("instances", "the job names the size of its instances twice",
              "give a number here, or leave the other size out");
  check_profile(in, "instances", stated->profile);
  each.wanted = ByProfile{stated->profile};
  return stated->places;
}

Together read_together(JsonReader& in) {
  const auto word = in.text_if("together");
  if (!word) return Together::anywhere;
  if (const auto known = parse_together(*word)) return *known;
  in.refuse("together", fmt::format("'{}' does not say where the places are", shown(*word)),
            "write gpu, node, spread or anywhere");
  return Together::anywhere;
}

}  // namespace

Request read_request(JsonReader& in, const Json& job, const JobSizers& sizers) {
  Request each = read_size(in, sizers);
  AskedPlaces places;
  places.gpus = in.integer_if("gpus", 1, most_places);
  places.instances = read_instances(in, job, each);
  places.together = read_together(in);
  const bool sized = !std::holds_alternative<Unknown>(each.wanted);
  if (const auto wrong = wrong_places(places, sized, in.flag("movable", false)))
    in.refuse(wrong->key, wrong->message, wrong->remedy);
  if (auto kernel = in.object_if("kernel")) read_kernel(in, *kernel, sizers.kernels, each);
  return request_of(places, each);
}

}  // namespace cleave
