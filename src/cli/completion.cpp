// `cleave completion`: commands and options for the shell's Tab key.

#include "manual/completion.hpp"

#include <algorithm>
#include <functional>
#include <set>

#include "base/format.hpp"
#include "base/options.hpp"
#include "base/text.hpp"
#include "cli/command.hpp"
#include "cli/daemon/job_columns.hpp"
#include "cli/trace_arguments.hpp"
#include "engine/scheduler.hpp"
#include "forecast/memory/forecaster.hpp"
#include "forecast/shape/vision_models.hpp"
#include "model/gpu_model.hpp"
#include "placement/policy.hpp"
#include "simulate/generate/generate.hpp"

namespace cleave::cli {

namespace {

/// "online", "online:policy=", "online:policy=first-fit" and the like.
template <class Rows>
std::vector<std::string> with_options(const Rows& rows) {
  std::vector<std::string> all;
  for (const auto& row : rows) {
    all.emplace_back(row.name);
    for (const OptionRow& option : row.options) {
      const std::string name = fmt::format("{}:{}=", row.name, option.name);
      all.push_back(name);
      if (option.values.find('|') == std::string_view::npos) continue;
      for (const std::string_view value : split(option.values, '|'))
        all.push_back(name + std::string(value));
    }
  }
  return all;
}

std::vector<std::string> profile_names() {
  std::set<std::string> names;
  for (const GpuModel& model : gpu_models())
    for (const Profile& profile : model.profiles) names.emplace(profile.name);
  return {names.begin(), names.end()};
}

/// A fleet of each model, to be changed.
std::vector<std::string> fleets() {
  std::vector<std::string> all;
  for (const GpuModel& model : gpu_models()) all.push_back(fmt::format("4x{}", model.key));
  return all;
}

std::vector<std::string> traces() {
  std::vector<std::string> all;
  for (const std::string& form : trace_forms()) all.push_back(form.substr(0, form.find(':') + 1));
  return all;
}

/// Whose values are the names of a table, by the option's own name.
const std::pair<std::string_view, std::function<std::vector<std::string>()>> named[] = {
    {"--policy", [] { return with_options(policies()); }},
    {"--scheduler", [] { return with_options(schedulers()); }},
    {"--schedulers", [] { return with_options(schedulers()); }},
    {"SPEC", [] { return with_options(schedulers()); }},
    {"--forecaster", [] { return names_of(forecasters()); }},
    {"--forecast", [] { return names_of(forecasters()); }},
    {"--generate", [] { return with_options(generators()); }},
    {"MODEL", [] { return names_of(gpu_models(), &GpuModel::key); }},
    {"--fits", [] { return names_of(gpu_models(), &GpuModel::key); }},
    {"--fleet", fleets},
    {"--gpus", fleets},
    {"--profile", profile_names},
    {"PROFILE", profile_names},
    {"--profiles",
     [] {
       std::vector<std::string> all = profile_names();
       for (const char* set : {"all", "plain", "five", "four"}) all.emplace_back(set);
       return all;
     }},
    {"--trace", traces},
    {"--columns", job_column_names},
    {"--sweep", [] {
       return std::vector<std::string>{"compress=", "gpus="};
     }}};

/// Files of models, and the networks whose layers Cleave knows.
std::vector<std::string> model_names() {
  std::vector<std::string> all{"*.json", "*.safetensors", "*.gguf"};
  for (const VisionRow& row : vision_models()) all.push_back(fmt::format("vision:{}", row.name));
  return all;
}

std::vector<std::string> names_for(std::string_view command, const std::string& option) {
  // A model of what runs on a GPU, and not one of a GPU.
  if (command == "cleave forecast model" && option == "MODEL") return model_names();
  const auto found = std::ranges::find(named, option, [](const auto& each) { return each.first; });
  return found == std::end(named) ? std::vector<std::string>() : found->second();
}

}  // namespace

void add_completion(CommandLine& program, Run& run) {
  auto shell = std::make_shared<std::string>();
  CommandLine* command =
      add_command(program, "completion", "Print a shell's completion of commands and options",
                  "source <(cleave completion bash)");
  command->add_option("SHELL", *shell, "The shell")
      ->required()
      ->check(Check::one_of(completion_shells));
  command->callback([shell, &program, &run] {
    run = [shell, &program]() -> Result<int> {
      fmt::print("{}", completion(command_tree(program), *shell, names_for));
      return 0;
    };
  });
}

}  // namespace cleave::cli
