// The claims of the Taming paper, section by section, with what comes out here.

#include <algorithm>
#include <array>
#include <cmath>

#include "base/format.hpp"
#include "forecast/choice/wasted_resources.hpp"
#include "physics/instance_sharing.hpp"
#include "physics/link.hpp"
#include "simulate/generate/taming_applications.hpp"
#include "study/reproduce/reproduce_taming.hpp"

namespace cleave {

namespace {

constexpr std::string_view agrees = "agrees", in_range = "in the range", outside = "outside",
                           input = "input", absent = "not modelled";

std::string verdict(bool yes, std::string_view good) {
  return std::string(yes ? good : outside);
}

// III-C, table II.

void add_waste(std::vector<TamingClaim>& claims) {
  const std::vector<WasteRow> rows = published_waste_table();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const PublishedWaste& printed = published_waste()[i];
    const WasteRow& row = rows[i];
    const double percent = row.as_printed.sms_percent.value_or(0),
                 gib = row.as_printed.memory.value_or(0);
    const bool same =
        printed.printed_sms.find(fmt::format("{:.0f}%", percent)) != std::string_view::npos &&
        std::abs(gib - printed.printed_memory) < 0.05;
    TamingClaim claim{"III-C, table II",
                      fmt::format("waste of a GPU filled with {}", printed.profile),
                      fmt::format("{} SMs, {} GiB", printed.printed_sms, printed.printed_memory),
                      fmt::format("{:.1f} %, {:.1f} GiB", percent, gib),
                      "",
                      verdict(same, agrees),
                      ""};
    if (row.printed_instances != row.achievable_instances)
      claim.why = fmt::format(
          "print counts {} instances; {} can exist, which waste {:.1f} % and {:.1f} GiB",
          row.printed_instances, row.achievable_instances, *row.achievable.sms_percent,
          *row.achievable.memory);
    claims.push_back(std::move(claim));
  }
}

// III-D, table IV.

void add_link(std::vector<TamingClaim>& claims) {
  const GpuModel& gpu = **find_gpu_model(taming_gpu);
  const HostLink& link = host_link(gpu);
  const auto rows = published_link_rates();
  const double whole = rows.back().direct.local;
  for (const PublishedLinkRates& row : rows.first(rows.size() - 1)) {
    const Profile& profile = *gpu.find(row.profile);
    const double share = static_cast<double>(profile.memory.value) / gpu.memory_slices.value,
                 measured = row.direct.local / whole;
    claims.push_back({"III-D, table IV", fmt::format("memory bandwidth of {}", row.profile),
                      fmt::format("{:.1f} % of the GPU's", 100 * measured),
                      fmt::format("{:.1f} %", 100 * share), "",
                      verdict(std::abs(share - measured) < 0.02, agrees),
                      "by memory slices; within 2 percentage points"});
  }
  claims.push_back({"III-D, table IV(a)", "host to device by copy engines, on any profile",
                    "13 % of the link", fmt::format("{:.1f} %", 100 * link.instance_share()), "",
                    std::string(input), "the link's table is the paper's"});
  claims.push_back({"III-D, table IV(b)", "host to device by kernels on 1g.12gb",
                    "207 of 337 GiB/s",
                    fmt::format("{:.0f} % of the link", 100 * link.direct_share({1})), "",
                    std::string(input), "the link's table is the paper's"});
  claims.push_back({"III-D, table IV(b)", "device to host by kernels on 1g.12gb",
                    "343 of 336 GiB/s", "-", "", std::string(absent),
                    "the link has one rate for both directions"});
}

// IV and V: the co-runs.

struct Place {
  std::string_view experiment, figure, section;
};
/// Where the text states a figure; those that are not listed are of V-A or V-B.
constexpr Place places[] = {{"NekRS", "gain of MPS", "IV-A, figure 2"},
                            {"NekRS", "gain of time slicing", "IV-A, figure 2"},
                            {"LAMMPS", "gain of time slicing", "IV-A, figure 2"},
                            {"llama3", "MPS over 1g", "IV-B, figure 3"},
                            {"llama3", "time slicing over 1g", "IV-B, figure 3"}};

std::string section_of(const std::string& experiment, const std::string& figure) {
  const auto* const found = std::ranges::find_if(places, [&](const Place& place) {
    return place.experiment == experiment && place.figure == figure;
  });
  if (found != std::end(places)) return std::string(found->section);
  if (figure.starts_with("energy")) return "V-B, figure 6";
  if (figure.starts_with("peak") || figure.starts_with("clock")) return "V-B1, figure 7";
  return "V-A, figure 5";
}

std::string stated_text(const CorunFigure& figure) {
  const auto text = [&](double value) { return fmt::format("{:.{}f}", value, figure.digits); };
  const Stated& stated = figure.measured;
  if (!stated.least) return "at most " + text(*stated.most);
  if (!stated.most) return "at least " + text(*stated.least);
  const std::string least = text(*stated.least), most = text(*stated.most);
  if (least == most) return least;
  return fmt::format("{}{}{} to {}", figure.word, figure.word.empty() ? "" : ": ", least, most);
}

std::string needed_text(const OutsideFigure& figure) {
  std::string text;
  for (const NeededValue& each : figure.needed)
    text += fmt::format("{}{} {:.3g}{}", text.empty() ? "would take " : ", or ", each.input,
                        each.value, each.others_usual ? "" : " at the nearest of the rest");
  if (!text.empty()) return text;
  return fmt::format("no single input; the paper's is {:.2f} times the nearest", figure.factor);
}

void add_coruns(std::vector<TamingClaim>& claims, const TamingReproduction& reproduction) {
  for (const CorunExperiment& experiment : reproduction.coruns)
    for (const CorunFigure& figure : experiment.figures) {
      if (!figure.measured.anything()) continue;
      const auto text = [&](double value) { return fmt::format("{:.{}f}", value, figure.digits); };
      const bool within = figure.measured.within(figure.least, figure.most);
      TamingClaim claim{section_of(experiment.name, figure.name),
                        experiment.name + ": " + figure.name,
                        stated_text(figure),
                        text(figure.predicted),
                        text(figure.least) + " to " + text(figure.most),
                        verdict(within, in_range),
                        ""};
      for (const OutsideFigure& each : reproduction.outside)
        if (each.experiment == experiment.name && each.figure == figure.name)
          claim.why = needed_text(each);
      claims.push_back(std::move(claim));
    }
}

/// Means over all applications of V but figure 7's run, which is one of them a second time.
CorunFigure mean_of(const TamingReproduction& reproduction, std::string_view table,
                    std::string_view scheme) {
  CorunFigure mean{.name = std::string(scheme)};
  double count = 0;
  for (const CorunExperiment& experiment : reproduction.coruns)
    for (const CorunFigure& figure : experiment.figures) {
      if (figure.table != table || experiment.name == "LLM training") continue;
      if (!scheme.empty() && figure.name != scheme) continue;
      mean.predicted += figure.predicted;
      mean.least += figure.least;
      mean.most += figure.most;
      ++count;
    }
  for (double* each : {&mean.predicted, &mean.least, &mean.most}) *each /= count;
  return mean;
}

void add_means(std::vector<TamingClaim>& claims, const TamingReproduction& reproduction) {
  struct Mean {
    std::string_view section, claim, table, scheme;
    double stated;
  };
  constexpr Mean means[] = {
      {"V-A, figure 5", "mean throughput gain of sharing", "throughput gain", "", 1.4},
      {"V-B, figure 6", "mean energy of sharing, of serial", "energy, of serial", "", 0.74},
      {"V-B, figure 6", "mean energy of 7 x 1g, of serial", "energy, of serial", "7 x 1g", 0.63}};
  for (const Mean& each : means) {
    const CorunFigure mean = mean_of(reproduction, each.table, each.scheme);
    const bool within = mean.least <= each.stated && each.stated <= mean.most;
    claims.push_back({std::string(each.section), std::string(each.claim),
                      fmt::format("{:.2f}", each.stated), fmt::format("{:.2f}", mean.predicted),
                      fmt::format("{:.2f} to {:.2f}", mean.least, mean.most),
                      verdict(within, in_range),
                      "over the seven applications of which the text states a figure"});
    if (!within)
      claims.back().why += fmt::format(
          "; the paper's is {:.2f} times the nearest",
          each.stated < mean.least ? each.stated / mean.least : each.stated / mean.most);
  }
}

// VI.

void add_rewards(std::vector<TamingClaim>& claims, const TamingReproduction& reproduction) {
  const MeasuredInstance qiskit{"2g.24gb", 32, 0.1, std::nullopt, 24, 16, 1, false};
  const double waste = reward(qiskit, {132, 1}).memory_waste;
  claims.push_back({"VI-A", "memory that Qiskit with 31 qubits leaves unused on 2g.24gb", "33 %",
                    fmt::format("{:.0f} %", 100 * waste), "",
                    verdict(std::lround(100 * waste) == 33, agrees), ""});
  for (const RewardChoices& paper : reward_choices())
    for (const RewardCount& count : reproduction.rewards) {
      if (count.application != paper.application || count.form != RewardForm::mean) continue;
      claims.push_back({"VI-C, figure 8",
                        fmt::format("what {} should run on at alpha 0, larger, largest",
                                    taming_application(paper.application).title),
                        fmt::format("{}; {}; {}", paper.at_zero, paper.between, paper.at_most),
                        "the same in some",
                        fmt::format("{} of {}", count.as_paper, count.combinations),
                        verdict(count.as_paper > 0, in_range), ""});
      if (count.as_paper == 0) claims.back().here = "never the same";
    }
}

void add_absent(std::vector<TamingClaim>& claims) {
  const auto add = [&](std::string section, std::string claim, std::string paper, std::string why) {
    claims.push_back({std::move(section), std::move(claim), std::move(paper), "-", "",
                      std::string(absent), std::move(why)});
  };
  add("IV-A, figure 2", "SM occupancy of AutoDock, shared", "1.9 times",
      "the tail of thread blocks; its scaling is open");
  add("IV-A, figure 2", "SM occupancy under MPS, less than on instances", "1 to 5 %",
      "occupancy follows speed here, and has no cause of its own");
  add("IV-A, figure 2", "SM occupancy under time slicing, of all schemes",
      "least, but for hotspot and Qiskit", "occupancy follows speed here");
  add("IV-B, figure 3", "memory that stays unused, less on slices", "in seven cases",
      "the text has no application's footprint but those of the table below");
  claims.push_back({"IV-C, figure 4", "how applications scale with the slice",
                    "Qiskit and hotspot best, NekRS and FAISS worst", "-", "", std::string(input),
                    "the ranges of the GPU-bound parts follow it"});
  add("IV-B, figure 3", "NekRS and Qiskit move more bytes under MPS", "more",
      "caches are not modelled");
  claims.push_back({"IV-B, figure 3",
                    "memory of seven contexts, beyond those on 1g: time slicing; MPS",
                    "7 x 540; 180 MB",
                    fmt::format("{}; {} MiB", sharing_memory(SharingMode::time_slicing, 7).value,
                                sharing_memory(SharingMode::mps, 7).value),
                    "", std::string(input), "the simulator's contexts are the paper's"});
}

}  // namespace

std::vector<TamingClaim> taming_claims(const TamingReproduction& reproduction) {
  std::vector<TamingClaim> claims;
  add_waste(claims);
  add_link(claims);
  add_absent(claims);
  add_coruns(claims, reproduction);
  add_means(claims, reproduction);
  add_rewards(claims, reproduction);
  std::ranges::stable_sort(claims, {}, &TamingClaim::section);
  return claims;
}

}  // namespace cleave
