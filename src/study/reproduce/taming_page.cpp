// The page of `cleave reproduce taming`.

#include <algorithm>

#include "base/format.hpp"
#include "base/text.hpp"
#include "simulate/generate/taming_applications.hpp"
#include "study/reproduce/reproduce_taming.hpp"

namespace cleave {

namespace {

constexpr std::string_view introduction =
    R"(# *Taming GPU Underutilization*, sections III to VI, repeated

`cleave reproduce taming --write docs/reproduction` writes this page; the same program gives the
same bytes. It needs no data: all that the paper states is in the program.

The paper measured an H100 with 96 GB of a GH200. Its text gives few figures and no tables of runs,
so most of what a simulator needs is open. Each open input has a usual value and a range, listed
[below](#what-the-paper-leaves-open). *here* is what comes out with the usual values, *range* is
over all combinations. Nothing is fitted to the figure that it stands beside. A wide range that
holds the paper's figure says little; a figure outside every combination says that something is
missing or wrong, here or in the reading.

- *agrees*: nothing is open, and the figures are equal as printed, or as near as the last column
  says.
- *in the range*: some combination gives what the paper states.
- *outside*: none does. The last column says which input alone would have to be what.
- *input*: Cleave takes the fact from the paper.
- *not modelled*: the simulator has nothing that would answer.

*at least 1.00* and *at most 1.00* stand for "more" and "less", so that a tie is enough. Other
bounds are the paper's or follow from its figures, but those behind a word and a colon are ours.

)";

constexpr std::string_view reading =
    R"(
## What lies outside, and what that says

For each figure outside its range: the nearest that any combination comes, and the paper's figure
relative to it. These inputs were also tried alone, beyond their ranges: the GPU-bound part from 0
to 1, the power factor from 0 to 2, watts alone from 150 to 700, the idle factor from 1 to 4. A
value is listed if it brings the figure within half a per cent of the paper's. One that contradicts
what the text says of the application (a small GPU-bound part for work that scales with the slice)
does not explain the figure.

)";

constexpr std::string_view causes =
    R"(
- **Energy of 7 x 1g is not the least here.** Seven on 1g lose 20 of 132 SMs (table II), so equal
  work takes longer than on compute instances of the whole GPU while the board draws the same. The
  paper finds the opposite in every workload. For that, instances would have to draw less power than
  compute instances of the same size, or sharing without isolation would have to slow work down.
- **1g is faster than 1c.7g in the paper for most applications.** The law gives GPU-bound work on 1g
  7.2 times the time of the whole GPU, on a seventh of the processors 7 times. The reverse order
  takes a cost of sharing caches and bandwidth, for which the paper has no figure.
- **Mean energy.** In the paper seven on 1g need 0.63 of the serial energy on average; here no
  combination needs so little. The paper names idle periods between tasks that run one after
  another. Here they follow each other without a gap, because the text does not say how long the
  gaps are.
- **NekRS gains more than its occupancy.** Its SM occupancy rises 1.85 to 2.08 times, its throughput
  2.4 times. Both can hold only if its warps run faster when seven share the GPU.
)";

constexpr std::string_view rewards =
    R"(
## Reward

VI-C states choices (figure 8) and hardly any measurement, and of alpha only that it is from 0 to 1.
The table counts combinations of the open inputs for which `cleave recommend` chooses as the paper
does: at alpha 0; then also at a larger alpha; then also the last choice at a still larger one, up
to 1. Occupancy follows speed (equal work keeps equal numbers of warps for equal times), speed
follows the law of slices, and 1g.24gb is among the configurations or not; by the law it has a
higher occupancy than 2g.24gb, which the paper says is Qiskit's highest.

*sum* takes the wastes' sum, *mean* their mean, *convex* (1 - alpha) times the sum. Every form gives
the paper's choices for some combinations, *mean* for more than *sum*. *convex* gives them for most,
but above alpha 1 it would reward waste, and the text says that larger alphas only favour
performance further. So `mean` is the default of `cleave recommend`.

)";

void add_table(std::string& text, const std::vector<std::string>& header,
               const std::vector<std::vector<std::string>>& rows) {
  text += fmt::format("| {} |\n|{}\n", fmt::join(header, " | "), [&] {
    std::string marks;
    for (std::size_t i = 0; i < header.size(); ++i) marks += "---|";
    return marks;
  }());
  for (const auto& row : rows) text += fmt::format("| {} |\n", fmt::join(row, " | "));
}

std::string claims_text(const TamingReproduction& reproduction) {
  std::string text = "## The claims\n\n";
  std::vector<std::vector<std::string>> rows;
  std::vector<std::pair<std::string, int>> verdicts;
  for (const TamingClaim& claim : taming_claims(reproduction)) {
    rows.push_back({claim.section, claim.claim, claim.paper, claim.here, claim.range, claim.verdict,
                    claim.why});
    auto found = std::ranges::find(verdicts, claim.verdict, &std::pair<std::string, int>::first);
    if (found == verdicts.end()) found = verdicts.insert(verdicts.end(), {claim.verdict, 0});
    ++found->second;
  }
  std::vector<std::string> counted;
  for (const auto& [verdict, count] : verdicts)
    counted.push_back(fmt::format("{} {}", count, verdict));
  text += fmt::format("{} claims: {}.\n\n", rows.size(), fmt::join(counted, ", "));
  text +=
      "In V, *of serial* is relative to the same jobs one after another, and *1g over MPS* the "
      "throughput\nof seven jobs on 1g each, relative to seven under MPS.\n"
      "*energy, of least other* is that of seven on 1g, relative to the least of the other "
      "schemes.\n\n";
  add_table(text, {"section", "claim", "paper", "here", "range", "verdict", "why"}, rows);
  return text;
}

std::string outside_text(const TamingReproduction& reproduction) {
  std::string text(reading);
  std::vector<std::vector<std::string>> rows;
  for (const OutsideFigure& each : reproduction.outside) {
    std::string needed;
    for (const NeededValue& value : each.needed)
      needed += fmt::format("{}{} {:.3g} ({})", needed.empty() ? "" : "; ", value.input,
                            value.value, value.others_usual ? "others usual" : "others nearest");
    rows.push_back({each.experiment, each.figure, fmt::format("{:.2f}", each.nearest),
                    fmt::format("{:.2f}", each.factor), needed.empty() ? "none alone" : needed});
  }
  add_table(text, {"experiment", "figure", "nearest", "paper / nearest", "would have to be"}, rows);
  return text + std::string(causes);
}

std::string rewards_text(const TamingReproduction& reproduction) {
  std::string text(rewards);
  std::vector<std::vector<std::string>> rows;
  for (const RewardCount& count : reproduction.rewards)
    rows.push_back({count.application, std::string(name(count.form)),
                    fmt::format("{}", count.combinations), fmt::format("{}", count.at_zero),
                    fmt::format("{}", count.between), fmt::format("{}", count.as_paper)});
  add_table(text, {"application", "form", "combinations", "at 0", "and between", "and at most 1"},
            rows);
  text += "\nOpen, in every combination:\n\n";
  add_table(text,
            {"application", "GPU-bound part", "SM occupancy of the whole GPU", "peak, GiB",
             "speed with offload, of 1g without"},
            reward_inputs());
  return text;
}

std::string value_text(const OpenInput& input, std::size_t at) {
  return input.words.empty() ? fmt::format("{:.3g}", input.values[at]) : input.words[at];
}

std::string inputs_text(const TamingReproduction& reproduction) {
  std::string text = "\n## What the paper leaves open\n\n";
  std::vector<std::vector<std::string>> rows;
  for (const CorunExperiment& experiment : reproduction.coruns)
    for (const OpenInput& input : experiment.inputs) {
      std::vector<std::string> values;
      for (std::size_t i = 0; i < input.values.size(); ++i) values.push_back(value_text(input, i));
      std::vector<std::string> row = {input.name, value_text(input, input.usual),
                                      fmt::format("{}", fmt::join(values, ", ")), input.why,
                                      experiment.name};
      const auto same = std::ranges::find_if(rows, [&](const std::vector<std::string>& other) {
        return std::equal(row.begin(), row.end() - 1, other.begin());
      });
      if (same == rows.end())
        rows.push_back(std::move(row));
      else
        same->back() += ", " + experiment.name;
    }
  add_table(text, {"input", "usual", "values", "why", "of"}, rows);
  return text;
}

std::string applications_text() {
  std::string text =
      "\n## The applications\n\n`cleave workload generate taming` makes the mixes of V from the "
      "same rows.\n\n";
  std::vector<std::vector<std::string>> rows;
  for (const TamingApplication& each : taming_applications()) {
    std::vector<std::string> bounds;
    for (const double bound : each.scaling.bound) bounds.push_back(fmt::format("{:.3g}", bound));
    rows.push_back(
        {fmt::format("`{}`", each.name), std::string(each.title), std::string(each.input),
         std::string(each.pipelines), fmt::format("{}", fmt::join(bounds, ", ")),
         fmt::format("{}: {}", each.memory.value, each.memory_from),
         each.larger ? fmt::format("{}: {}", each.larger->input, each.larger->memory_from) : ""});
  }
  add_table(
      text,
      {"name", "application", "input", "pipelines", "GPU-bound part", "MiB", "larger variant"},
      rows);
  return text;
}

}  // namespace

std::string taming_page(const TamingReproduction& reproduction) {
  return std::string(introduction) + claims_text(reproduction) + outside_text(reproduction) +
         rewards_text(reproduction) + inputs_text(reproduction) + applications_text();
}

}  // namespace cleave
