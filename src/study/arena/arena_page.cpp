#include "study/arena/arena_page.hpp"

#include <cctype>

#include "base/format.hpp"
#include "base/text.hpp"
#include "study/arena/arena_report.hpp"
#include "study/arena/arena_rows.hpp"
#include "study/markdown_table.hpp"

namespace cleave {

namespace {

constexpr std::string_view introduction =
    R"(# The arena: a scheduler against the best of the others, cell by cell

`cleave arena CELLS --page docs/arena.md` writes this page. `cleave arena CELLS` prints the same
tables for one world; `--json` and `--csv` have the figures of each run. The answer does not depend
on the number of threads, and the same cells give the same bytes.

Which scheduler is best changes with the fleet, the load, what is known of the jobs and what may be
done with those that run. So a scheduler is measured in many **cells**, each against the one
baseline that is best *there*, in that metric. That baseline is chosen afterwards: luck is on its
side.

## Cells

A file has one cell a line, as JSON. Paths are relative to the file.

| key | value |
|---|---|
| `name` | a name of its own |
| `fleet` | in short, such as `4xA100-40GB`, or a fleet file |
| `workload` | a workload file for each seed, gzip or not |
| `seeds` | one for each workload; 1, 2, ... by default |
| `req` | what jobs say of their size: `mem`, `profile` or `none` |
| `speeds` | how times on profiles differ: `known`, to be learnt (`unknown`, `learn`), or `none` |
| `times` | run times: `known`, `noisy` (log-normal errors, sigma 0.7) or `unknown` |
| `mob` | what may be done with a job that runs: `none`, `ckpt`, or `all`, which is live moves too |
| `sim` | settings of the run, named as options of `cleave simulate`: `{{"checkpoint": 120}}` |
| `from` | where the cell is from; not read |

`speeds`, `times` and `mob` become `--know` and `--may`
([less than the truth](simulated-world.md#less-than-the-truth)), the same for every scheduler. Where
jobs say nothing of their size and speeds are not known, memory is not told either. Of the profiles
those without attributes are used. A cell that is wrong ends the command with its line.

Each cell can be run in two **worlds**. In the *plain* one jobs do not share links and power is left
out. In the *physical* one (`--world`) jobs share the link to the host, power is capped, checkpoints
and moves take what the memory of the job takes, processes allocate more slowly beside others, and
to switch MIG off or on takes 5 s (assumed: there is no measurement). What a cell says in `sim`
stands in both.

## Method

- **Baselines**: full-gpu, static, scheme-a, scheme-b, online, dyna-p and miso; full-gpu, static,
  scheme-b and online with EASY and conservative backfill besides. online moves jobs only where
  `mob` is `all`, miso runs where jobs may be stopped, and measures for 30 s where speeds are not
  known. `--baselines` names others.
- **Those that know the future** are shown, and are never the best baseline: static with the layout
  that is best for the very workload, and oracle. They are told everything.
- **Value** of a cell: the geometric mean over its seeds. A scheduler counts where it finishes every
  job with every seed; the one under test loses the cell otherwise.
- **Ratio**: value over that of the best baseline, below 1 is better. Behind it, ±, is twice the
  standard error of the mean of its logarithm, paired over the seeds. Of two or three seeds that is
  a rough guide, and of one there is none.
- **Lost** `a/b/c`: *a* cells have ratios above {:.2f} or are unfinished, *b* of these are more than
  two standard errors above 1, and *c* cells are above {:.2f}.
- **Why** a cell is lost: of a mean turnaround its two parts, each against that of the best baseline
  and in terms of its turnaround; a positive wait says that jobs waited longer for a place, a
  positive execution that they ran longer, on smaller instances or for what stops cost. Of another
  metric it says what the mean turnaround is in terms of the same baseline's: the price of a better
  mean is often a longer tail.
- **Times bound**: mean turnaround over the lower bound that no scheduler can beat
  ([comparing](comparing.md)).
- **Longest wait** of a scheduler is in terms of that of the scheduler under test, in the mean over
  the cells, where both count as 10 s at least.
- `--keep FILE` keeps the results of single runs, found again by a hash of everything that decides
  them. Those of another build of the program count for baselines alone, after one run of each was
  repeated and came out the same, and the answer says how many they are. This page uses none.
)";

std::string losses_section(const ArenaResults& results, std::size_t challenger) {
  std::string text = "### Cells lost\n\nAll ratios above 1 that three digits show.\n\n";
  for (const ArenaMetric& metric : arena_metrics()) {
    const auto losses = arena_losses(results, challenger, metric);
    text += fmt::format("{}{}: {}.\n\n", static_cast<char>(std::toupper(metric.words.front())),
                        metric.words.substr(1), counted(losses.size(), "cell"));
    if (!losses.empty()) text += fmt::format("{}\n", markdown_table(loss_columns(), losses));
  }
  return text;
}

std::string world_section(const ArenaResults& results, std::size_t challenger) {
  std::string text =
      fmt::format("{}\n{}\n{}### All schedulers\n\n{}\n",
                  markdown_table(group_columns(), arena_group_rows(results, challenger)),
                  disruptions_text(results, challenger), losses_section(results, challenger),
                  markdown_table(contestant_columns(), arena_contestant_rows(results, challenger)));
  const auto left_out = arena_left_out(results);
  if (!left_out.empty()) text += fmt::format("{}\n", markdown_table(left_out_columns(), left_out));
  return text + fmt::format("### All cells\n\n{}",
                            markdown_table(cell_columns(), arena_cell_rows(results, challenger)));
}

}  // namespace

std::string arena_page(const ArenaResults& plain, const ArenaResults& physical,
                       std::size_t challenger) {
  std::size_t runs = 0;
  for (const ArenaResults::Of& cell : plain.cells) runs += cell.cell.seeds.size();
  return fmt::format(
      "{}\n## `{}` in the plain world\n\n{}, {} of each scheduler.\n\n{}\n## `{}` in the physical "
      "world\n\n{}",
      fmt::format(fmt::runtime(introduction), lost_ratio, badly_lost_ratio),
      plain.contestants[challenger].spec, counted(plain.cells.size(), "cell"), counted(runs, "run"),
      world_section(plain, challenger), physical.contestants[challenger].spec,
      world_section(physical, challenger));
}

}  // namespace cleave
