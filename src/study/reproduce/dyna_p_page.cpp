// The page of `cleave reproduce dyna-p`.

#include "base/format.hpp"
#include "study/reproduce/dyna_p_study.hpp"

namespace cleave {

namespace {

constexpr std::string_view introduction =
    R"(# *Dyna-P*, its evaluation repeated

`cleave reproduce dyna-p --write docs/reproduction` writes this page; the same seeds give the same
bytes. {} seeds, the same for all schedulers; a figure is the median over the seeds of what one seed
gives, with the quartiles in parentheses.

The paper prints neither its jobs' times nor their arrivals and deadlines, nor alpha, beta and
lambda, and ran everything once. So each part lists what is open there, with a range that does not
come from the figures. *here* is what comes out with the usual inputs; *range* is the least and most
of all combinations. *nearest* is the combination that comes nearest to the paper; inputs that it
does not name are the usual ones.

- **agrees**: a figure is within the quartiles; a sentence holds for the median.
- **in range**: a figure is between the least and the most; a sentence holds for some combination.
- **outside**: neither.

Where the paper has a word, the bound behind the colon is ours: *comparable* is within 10 %,
*slightly* from 0 to 10 %, and for what is better, lower or reduced a tie is enough.

Schedulers are `dyna-p`, `oracle`, `miso:measure=0` (the paper's MISO has profiled its jobs
beforehand), `static` (StaCon) and `full-gpu` (Baseline), with their defaults unless an input says
otherwise. Workloads are those of [workloads.md](../workloads.md).

What is assumed besides: times that `dyna-p` is told are off by up to 10 %, drawn for each job and
profile (its default, `time-error=0.1`), as the paper's regressor errs; `oracle` is told the true
ones. Figure 12's "original execution" is that of `oracle`, and its error of 15 % is
`dyna-p:time-error=0.15`. *checkpoint* is MISO's alone: Dyna-P starts stopped jobs over. *JCT* is
open in the tables with a claim of one; makespans, throughput and waits do not depend on it.
)";

/// A claim of the paper that no experiment has.
struct LeftOut {
  std::string_view section, claim, why;
};
constexpr LeftOut left_out[] = {
    {"1, figure 1", "jobs that ask for small shares of a GPU wait in Alibaba's cluster",
     "a trace has waits, and nothing of this method comes into it"},
    {"2.1, figure 2",
     "throughput falls and latency rises beyond a batch size; larger partitions help",
     "these are inputs here: the generated latencies have that form "
     "([workloads.md](../workloads.md))"},
    {"2.1, figure 2", "peak power rises with batches and partitions",
     "an input too: what draws power here are the slices that jobs hold"},
    {"3.1.2", "XGBoost predicts times",
     "[forecast-time.md](../forecast-time.md) has its errors on other measurements"},
    {"4.1, figure 8f", "an eighth of a second for a merge or a split",
     "an input: the example of figure 7 has it, all else the times measured on an A100"},
    {"4.1, figure 9", "32.5 % of memory in use, slightly less under ORACLE and MISO",
     "the models' resident memory is not printed, and the generator has none"},
    {"4.1, figure 9", "99.8 % and 97.05 % of SMs in use",
     "compute slices that jobs hold stand for them: how busy SMs are within a slice is not known"},
    {"4.1, figure 10", "a reduction of the makespan by caps, 50.3 and 53.89 %",
     "caps cannot shorten it; it is taken for an increase"},
    {"4.2, figure 11", "throughput and makespan comparable to MISO's",
     "two paragraphs earlier they are better, and that is judged"},
    {"4.3", "1,120 jobs at once on the cluster", "seven on each of 160 GPUs, by arithmetic"},
};

std::string not_worked_out() {
  std::string text = "\n## What is not worked out\n\n| section | claim | why |\n|---|---|---|\n";
  for (const LeftOut& each : left_out)
    text += fmt::format("| {} | {} | {} |\n", each.section, each.claim, each.why);
  return text;
}

std::string spread(const SeedSpread& of, int digits) {
  return fmt::format("{} ({} to {})", page_number(of.median, digits), page_number(of.low, digits),
                     page_number(of.high, digits));
}

std::string changes(const DynaPStudy& study) {
  std::string text = R"(
## What the options do

First row: weights relative to the same partition, the longest losses alone and no bound on
overtaking, as the paper prints them, with all waiting jobs at once. Then each of Cleave's other
ways alone (`window=auto` is nearer to the paper, which considers W jobs at a time), the defaults,
and the defaults without each of them. Turnaround and makespan are relative to the first row;
deadlines missed, reconfigurations and jobs restarted are counted. `miso` measures its jobs first
and takes 30 s for a checkpoint.
)";
  for (const ChangeTable& table : study.changes) {
    text += fmt::format(
        "\n`{}` on {}\n\n"
        "| scheduler | mean turnaround | makespan | deadlines missed | reconfigurations | restarts "
        "|\n|---|---|---|---|---|---|\n",
        table.workload, table.fleet);
    for (const ChangeRow& row : table.rows)
      text += fmt::format("| `{}` | {} | {} | {} | {} | {} |\n", row.scheduler,
                          spread(row.turnaround, 2), spread(row.makespan, 2), spread(row.misses, 0),
                          spread(row.reconfigurations, 0), spread(row.restarts, 0));
  }
  return text;
}

}  // namespace

std::string dyna_p_page(const DynaPStudy& study) {
  std::string page =
      fmt::format(fmt::runtime(introduction), study.seeds) + count_of_claims(study.experiments);
  for (const SweptExperiment& experiment : study.experiments)
    page += experiment_section(experiment);
  return page + not_worked_out() + changes(study);
}

}  // namespace cleave
