// The choices of the paper's figure 8 (VI-C), over everything that its text leaves open of the
// three applications, by each form of the reward.

#include <algorithm>
#include <array>

#include "base/format.hpp"
#include "forecast/choice/wasted_resources.hpp"
#include "physics/slice_law.hpp"
#include "simulate/generate/taming_applications.hpp"
#include "study/reproduce/reproduce_taming.hpp"

namespace cleave {

namespace {

constexpr std::string_view offload = "1g.12gb + host memory", two = "2g.24gb", whole = "7g.96gb",
                           no_offload = "anything but 1g.12gb + host memory";

constexpr std::array<RewardChoices, 3> choices = {{{"llama3", offload, no_offload, whole},
                                                   {"qiskit", two, no_offload, whole},
                                                   {"faiss", offload, offload, two}}};

/// What the text leaves open of one application.
struct Open {
  std::string_view application;
  std::vector<double> occupancy;  // on the whole GPU
  std::vector<double> peak_gib;   // of the larger variant
  std::vector<double> kept;       // of the speed on 1g without offload
};

const std::array<Open, 3>& open_inputs() {
  static const std::array<Open, 3> all = {{{"llama3", {0.1, 0.2, 0.4}, {16}, {0.25, 0.5, 0.75}},
                                           {"qiskit", {0.62}, {16}, {0.1, 0.25, 0.5}},
                                           {"faiss", {0.1}, {11.5, 13, 16}, {0.8, 0.9, 1}}}};
  return all;
}

/// One combination of them.
struct Drawn {
  double bound, occupancy, peak, kept;
  bool double_memory;  // whether 1g.24gb stands among the configurations
};

/// The application as it would be measured. Equal work keeps equal numbers of warps for equal
/// times, so that occupancy follows speed.
std::vector<MeasuredInstance> measured(const Drawn& drawn) {
  const GpuModel& gpu = **find_gpu_model(taming_gpu);
  const double sms = published_totals().sms.value_or(0);
  std::vector<MeasuredInstance> all;
  for (const PublishedWaste& row : published_waste()) {
    if (row.profile == "1g.24gb" && !drawn.double_memory) continue;
    const bool offloaded = row.profile == "1g.12gb";
    const double time = joined_time(1 - drawn.bound, drawn.bound,
                                    gpu_bound_time(gpu, *gpu.find(row.profile)), job_overlap);
    const double speed = (offloaded ? drawn.kept : 1) / time;
    MeasuredInstance one;
    one.name = row.profile;
    one.sms = row.sms;
    one.instance_occupancy = std::min(1.0, drawn.occupancy * speed * sms / row.sms);
    one.capacity = row.memory;
    one.peak = std::min(drawn.peak, row.memory);
    one.performance = speed;
    one.offloaded = offloaded;
    all.push_back(std::move(one));
  }
  return all;
}

bool is(const MeasuredInstance& chosen, std::string_view wanted) {
  if (wanted == offload) return chosen.offloaded;
  if (wanted == no_offload) return !chosen.offloaded;
  return chosen.name == wanted && !chosen.offloaded;
}

/// How many of the paper's three choices come out, in its order, for rising alphas up to 1.
std::size_t met(const RewardChoices& paper, const std::vector<MeasuredInstance>& instances,
                RewardForm form) {
  const RewardBasis basis{132, 1, 0, form};
  const std::vector<BestFrom> corners = best_by_alpha(instances, basis, 1);
  if (!is(instances[corners.front().instance], paper.at_zero)) return 0;
  const auto from = std::ranges::find_if(
      corners, [&](const BestFrom& each) { return is(instances[each.instance], paper.between); });
  if (from == corners.end()) return 1;
  const bool last = std::any_of(from, corners.end(), [&](const BestFrom& each) {
    return is(instances[each.instance], paper.at_most);
  });
  return last ? 3 : 2;
}

std::vector<Drawn> combinations(const Open& open) {
  std::vector<Drawn> all;
  for (const double bound : taming_application(open.application).scaling.bound)
    for (const double occupancy : open.occupancy)
      for (const double peak : open.peak_gib)
        for (const double kept : open.kept)
          for (const bool double_memory : {false, true})
            all.push_back({bound, occupancy, peak, kept, double_memory});
  return all;
}

std::string list(const std::vector<double>& values) {
  return fmt::format("{:.3g}", fmt::join(values, ", "));
}

}  // namespace

std::span<const RewardChoices> reward_choices() {
  return choices;
}

std::vector<RewardCount> count_rewards() {
  std::vector<RewardCount> counts;
  for (std::size_t i = 0; i < choices.size(); ++i)
    for (const RewardForm form : {RewardForm::mean, RewardForm::sum, RewardForm::convex}) {
      RewardCount count{std::string(choices[i].application), form};
      for (const Drawn& drawn : combinations(open_inputs()[i])) {
        const std::size_t steps = met(choices[i], measured(drawn), form);
        ++count.combinations;
        count.at_zero += steps >= 1 ? 1 : 0;
        count.between += steps >= 2 ? 1 : 0;
        count.as_paper += steps >= 3 ? 1 : 0;
      }
      counts.push_back(count);
    }
  return counts;
}

std::vector<std::vector<std::string>> reward_inputs() {
  std::vector<std::vector<std::string>> rows;
  for (const Open& open : open_inputs()) {
    const TamingApplication& application = taming_application(open.application);
    rows.push_back({std::string(application.title), list(application.scaling.bound),
                    list(open.occupancy), list(open.peak_gib), list(open.kept)});
  }
  return rows;
}

}  // namespace cleave
