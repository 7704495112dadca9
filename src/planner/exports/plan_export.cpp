#include "planner/exports/plan_export.hpp"

#include "base/format.hpp"
#include "planner/exports/final_layout.hpp"

namespace cleave {

namespace {

constexpr PlanExport exports[] = {
    {"mig-parted", "a configuration of nvidia-mig-parted for each node", mig_parted_text},
    {"gres", "gres.conf of Slurm, with the lines of slurm.conf", gres_text},
    {"commands", "a shell script of nvidia-smi commands, wave by wave", commands_text}};

/// Those of a node that have the same layout.
struct AlikeGpus {
  std::map<std::string, int> profiles;
  std::vector<int> indices;
};

std::vector<AlikeGpus> alike_gpus(const FinalNode& node) {
  std::vector<AlikeGpus> groups;
  for (const FinalGpu& gpu : node.gpus) {
    auto group = groups.begin();
    while (group != groups.end() && group->profiles != gpu.profiles) ++group;
    if (group == groups.end()) group = groups.insert(groups.end(), {gpu.profiles, {}});
    group->indices.push_back(gpu.index);
  }
  return groups;
}

}  // namespace

std::span<const PlanExport> plan_exports() {
  return exports;
}

Result<std::string> mig_parted_text(const PlanProblem& problem, const Plan& plan) {
  const auto nodes = final_layout(problem, plan);
  if (!nodes) return std::unexpected(nodes.error());
  std::string text =
      "# nvidia-mig-parted apply -f FILE -c NODE, on each node. It chooses the places of the\n"
      "# instances itself, and recreates all instances of a GPU that has others.\n"
      "version: v1\n"
      "mig-configs:\n";
  for (const FinalNode& node : *nodes) {
    text += fmt::format("  \"{}\":\n", node.name);
    for (const AlikeGpus& group : alike_gpus(node)) {
      text += fmt::format("    - devices: [{}]\n", fmt::join(group.indices, ", "));
      text += "      mig-enabled: true\n";
      if (group.profiles.empty()) {
        text += "      mig-devices: {}\n";
        continue;
      }
      text += "      mig-devices:\n";
      for (const auto& [profile, count] : group.profiles)
        text += fmt::format("        \"{}\": {}\n", profile, count);
    }
  }
  return text;
}

Result<std::string> gres_text(const PlanProblem& problem, const Plan& plan) {
  const auto nodes = final_layout(problem, plan);
  if (!nodes) return std::unexpected(nodes.error());
  std::string text =
      "# gres.conf: the instances are found through NVML; types are the ends of the names that it\n"
      "# gives them. GPUs without an instance are not listed.\n"
      "AutoDetect=nvml\n";
  std::string of_slurm = "# slurm.conf:\n";
  for (const FinalNode& node : *nodes) {
    std::map<std::string, int> sums;
    for (const FinalGpu& gpu : node.gpus)
      for (const auto& [profile, count] : gpu.profiles) sums[profile] += count;
    std::string gres;
    for (const auto& [profile, count] : sums) {
      text += fmt::format("NodeName={} Name=gpu Type={} Count={}\n", node.name, profile, count);
      gres += fmt::format("{}gpu:{}:{}", gres.empty() ? "" : ",", profile, count);
    }
    if (!gres.empty()) of_slurm += fmt::format("# NodeName={} Gres={}\n", node.name, gres);
  }
  return text + of_slurm;
}

}  // namespace cleave
