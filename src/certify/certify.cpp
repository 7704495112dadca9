#include "certify/certify.hpp"

#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <iterator>

#include "base/format.hpp"
#include "base/work_folder.hpp"
#include "nvmlsim/sim_node.hpp"

namespace cleave::certify {

namespace {

std::string text_in(const Answers& answers, Topic topic, std::string_view function) {
  const Answer* answer = find(answers, topic, function);
  return answer != nullptr && answer->value.is_string() ? answer->value.get<std::string>() : "";
}

std::string now_text() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  ::gmtime_r(&now, &parts);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text.data();
}

std::string system_text() {
  utsname names{};
  ::uname(&names);
  return fmt::format("{} {} {}", names.sysname, names.release, names.machine);
}

Result<Facts> facts_of(const Answers& answers, const Subjects& subjects) {
  Facts facts;
  if (subjects.source.node) {
    const auto node = look_at_sim_node(*subjects.source.node);
    if (!node) return std::unexpected(node.error());
    facts.simulated = true;
    facts.instant = node->instant;
    facts.everybody = node->administrator == Administrator::everybody;
  }
  facts.at = now_text();
  facts.system = system_text();
  facts.library = subjects.source.file;
  facts.root = ::geteuid() == 0;
  facts.name = text_in(answers, Topic::identity, "nvmlDeviceGetName");
  facts.uuid = text_in(answers, Topic::identity, "nvmlDeviceGetUUID");
  facts.driver = text_in(answers, Topic::driver, "nvmlSystemGetDriverVersion");
  facts.nvml = text_in(answers, Topic::driver, "nvmlSystemGetNVMLVersion");
  if (const Answer* cuda = find(answers, Topic::driver, "nvmlSystemGetCudaDriverVersion_v2");
      cuda != nullptr && cuda->value.is_number_integer())
    facts.cuda = cuda->value.get<std::int64_t>();
  if (const Answer* mig = find(answers, Topic::identity, "nvmlDeviceGetMigMode");
      mig != nullptr && mig->value.is_object())
    facts.mig = mig->value.value("current", 0) == 1;
  return facts;
}

std::optional<std::uint32_t> number_in(const Json& json, const char* key) {
  if (!json.is_object() || !json.contains(key) || !json[key].is_number_unsigned()) return {};
  return json[key].get<std::uint32_t>();
}

std::optional<Span> span_in(const Json& json) {
  const auto start = number_in(json, "start"), size = number_in(json, "size");
  return start && size ? std::optional(Span{*start, *size}) : std::nullopt;
}

/// Makes the instances that the answers describe, as far as the door has the like.
void make_alike(Door& door, const Answers& answers) {
  constexpr GpuIndex gpu{0};
  for (const Answer& each : answers) {
    if (each.function != "nvmlDeviceGetGpuInstances" || !each.value.is_array()) continue;
    for (const Json& instance : each.value) {
      const auto profile = number_in(instance, "profile");
      const auto span = span_in(instance);
      if (!profile || !span) continue;
      const auto made = door.create_gpu_instance(gpu, ProfileId{*profile}, span);
      if (!made || !instance.contains("computes") || !instance["computes"].is_array()) continue;
      for (const Json& compute : instance["computes"])
        if (const auto number = number_in(compute, "profile"))
          (void)door.create_compute_instance(gpu, made->id, ProfileId{*number}, span_in(compute));
    }
  }
}

Result<const GpuModel*> model_of(const std::string& name, const GpuModel* wanted) {
  if (wanted != nullptr) return wanted;
  auto found = find_gpu_model(name);
  if (found) return found;
  return fail(ErrorKind::bad_input, shown(name), "there is no simulated GPU of this model",
              "name a model to compare it with: --model MODEL");
}

/// What an interrupted certification has left on the GPU.
Error interrupted(const Answers& lifecycle) {
  std::string left;
  if (const Answer* answer = find(lifecycle, Topic::lifecycle, what_is_left);
      answer != nullptr && answer->value.is_array())
    for (const Json& each : answer->value)
      left += fmt::format("{}{}", left.empty() ? "" : "; ", each.get<std::string>());
  return {ErrorKind::infeasible, "",
          left.empty() ? std::string("interrupted; the instances that were made are destroyed")
                       : fmt::format("interrupted, and instances are left: {}", left),
          left.empty() ? "" : "destroy them with `cleave destroy`"};
}

}  // namespace

Result<Answers> ask_simulated(const Bundle& bundle, const std::filesystem::path& library,
                              const std::vector<std::string>& busy,
                              const std::function<bool()>& enough) {
  const auto model = find_gpu_model(bundle.facts.model);
  if (!model) return std::unexpected(model.error());
  const auto folder = WorkFolder::make_temporary("certify");
  if (!folder) return std::unexpected(folder.error());
  SimNodeSpec spec;
  spec.gpus = {*model};
  spec.mig_enabled = bundle.facts.mig;
  spec.instant = bundle.facts.instant;
  const Source source{library.string(), folder->path() / "node"};
  if (const auto created = create_sim_node(*source.node, spec); !created)
    return std::unexpected(created.error());
  const bool as_root = bundle.facts.root || bundle.facts.everybody;
  Watch watch;
  watch.enough = enough;
  auto found = interview(source, GpuIndex{0}, watch, [&](Door& door) {
    make_alike(door, bundle.gpu);
    if (!as_root) (void)set_sim_administrator(*source.node, Administrator::nobody);
  });
  if (!found) return std::unexpected(found.error());
  const bool made = std::ranges::any_of(bundle.gpu, [](const Answer& each) {
    return each.topic == Topic::lifecycle && each.outcome == Outcome::answered;
  });
  if (!made) return std::move(found->answers);
  auto more = make_and_destroy(source, GpuIndex{0}, {folder->path() / "state", busy, 3, enough});
  if (enough && enough()) return fail(ErrorKind::infeasible, "", "interrupted");
  if (!more) return std::unexpected(more.error());
  std::ranges::move(more->answers, std::back_inserter(found->answers));
  return std::move(found->answers);
}

Result<Bundle> certify(const Subjects& subjects) {
  Watch watch;
  watch.enough = subjects.enough;
  watch.log = subjects.log;
  auto found = interview(subjects.source, subjects.gpu, watch);
  if (!found) return std::unexpected(found.error());
  auto facts = facts_of(found->answers, subjects);
  if (!facts) return std::unexpected(facts.error());
  const auto model = model_of(facts->name, subjects.model);
  if (!model) return std::unexpected(model.error());
  facts->model = std::string((*model)->key);
  if (subjects.consent) {
    auto more = make_and_destroy(subjects.source, subjects.gpu, *subjects.consent);
    if (!more) return std::unexpected(more.error());
    if (subjects.consent->enough && subjects.consent->enough())
      return std::unexpected(interrupted(more->answers));
    std::ranges::move(more->answers, std::back_inserter(found->answers));
  }
  Bundle bundle{std::move(*facts), std::move(found->answers), {}, std::move(found->recording)};
  auto simulated =
      ask_simulated(bundle, subjects.simulated, subjects.simulated_busy, subjects.enough);
  if (!simulated) return std::unexpected(simulated.error());
  bundle.simulated = std::move(*simulated);
  return bundle;
}

}  // namespace cleave::certify
