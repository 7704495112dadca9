// The page of `cleave reproduce migm`.

#include "base/format.hpp"
#include "study/reproduce/migm_study.hpp"

namespace cleave {

namespace {

constexpr std::string_view introduction =
    R"(# *MIGM*, its evaluation repeated

*Managing Multi Instance GPUs for High Throughput and Energy Savings*, sections 1 and 5.

`cleave reproduce migm --write docs/reproduction` writes this page; the same seeds give the same
bytes. {} seeds, the same for all schedulers; a figure is the median over the seeds of what one seed
gives, with the quartiles in parentheses.

The paper prints hardly any job's time, and no speeds on slices; it ran everything once. So each
part lists what is open there, with a range that does not come from the figures. *here* is what
comes out with the usual inputs; *range* is the least and most of all combinations. *nearest* is the
combination that comes nearest to the paper; inputs that it does not name are the usual ones. The
commands below a table run its usual inputs.

- **agrees**: a figure is within the quartiles; a sentence holds for the median.
- **in range**: a figure is between the least and the most; a sentence holds for some combination.
- **outside**: neither. Then *why* says what would have to be otherwise.

A range is wide where much is open, and a figure within it is possible, not confirmed. Where the
paper has a word, the bound behind the colon is ours; for what is better a tie is enough, and where
the schemes are much alike half a per cent less. The baseline is `full-gpu`; the schemes are
`scheme-a` and `scheme-b`, with the five profiles of the paper's 4.1. Workloads are those of
[workloads.md](../workloads.md). *times* and *%* say how much better a scheme is than the baseline
unless a claim says otherwise: a makespan, an energy or a turnaround of half is 2 times and 100 %.
Watts are a scenario ([simulated-world.md](../simulated-world.md#power)).
)";

/// A claim of the paper that no experiment has.
struct LeftOut {
  std::string_view section, claim, why;
};
constexpr LeftOut left_out[] = {
    {"table 3", "stages of a job, and 2.2 times for one of seven Needleman-Wunsch",
     "these are inputs here ([workloads.md](../workloads.md))"},
    {"5.1", "allocation slows among seven, and the link is shared equally",
     "[physics.md](../physics.md#co-runs) has the measured co-runs"},
    {"4.2", "reachability 7, 7, ..., 9 of the first 5 GB partition",
     "no reading of the published starts gives these; the last slice wins here as there, which "
     "tests hold"},
    {"5.2.1", "jobs of Ml2 hold 3.5 and 4.7 GB", "an input ([workloads.md](../workloads.md))"},
    {"figure 4", "bars without a number in the text", "the text that is at hand has no figures"},
    {"5.2.1", "DNNMem estimates the size of networks",
     "the estimator of `cleave forecast model` stands for it; "
     "[forecast-model.md](../forecast-model.md) has its errors on measured tasks"},
};

}  // namespace

std::string migm_page(const MigmStudy& study) {
  std::string page =
      fmt::format(fmt::runtime(introduction), study.seeds) + count_of_claims(study.experiments);
  for (const SweptExperiment& experiment : study.experiments)
    page += experiment_section(experiment);
  page += "\n## What is not worked out\n\n| section | claim | why |\n|---|---|---|\n";
  for (const LeftOut& each : left_out)
    page += fmt::format("| {} | {} | {} |\n", each.section, each.claim, each.why);
  return page;
}

}  // namespace cleave
