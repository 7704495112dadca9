#include "certify/certify.hpp"

#include <sys/utsname.h>
#include <unistd.h>

#include <ctime>

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

Facts facts_of(const Answers& answers, const Subjects& subjects) {
  Facts facts;
  facts.at = now_text();
  facts.system = system_text();
  facts.library = subjects.source.file;
  facts.root = ::geteuid() == 0;
  facts.simulated = subjects.source.node.has_value();
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

}  // namespace

Result<Answers> ask_simulated(const Bundle& bundle, const std::filesystem::path& library,
                              bool everybody_may_change) {
  const auto model = find_gpu_model(bundle.facts.model);
  if (!model) return std::unexpected(model.error());
  const auto folder = WorkFolder::make_temporary("certify");
  if (!folder) return std::unexpected(folder.error());
  SimNodeSpec spec;
  spec.gpus = {*model};
  spec.mig_enabled = bundle.facts.mig;
  spec.check_root = !everybody_may_change;
  spec.instant = true;
  const std::filesystem::path node = folder->path() / "node";
  if (const auto made = create_sim_node(node, spec); !made) return std::unexpected(made.error());
  auto found = interview({library.string(), node}, GpuIndex{0},
                         [&](Door& door) { make_alike(door, bundle.gpu); });
  if (!found) return std::unexpected(found.error());
  return std::move(found->answers);
}

Result<Bundle> certify(const Subjects& subjects) {
  auto found = interview(subjects.source, subjects.gpu);
  if (!found) return std::unexpected(found.error());
  Bundle bundle;
  bundle.facts = facts_of(found->answers, subjects);
  bundle.gpu = std::move(found->answers);
  bundle.recording = std::move(found->recording);
  const auto model = model_of(bundle.facts.name, subjects.model);
  if (!model) return std::unexpected(model.error());
  bundle.facts.model = std::string((*model)->key);
  auto simulated = ask_simulated(bundle, subjects.simulated, subjects.everybody_may_change);
  if (!simulated) return std::unexpected(simulated.error());
  bundle.simulated = std::move(*simulated);
  return bundle;
}

}  // namespace cleave::certify
