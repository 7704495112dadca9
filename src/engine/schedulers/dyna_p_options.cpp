#include "engine/schedulers/dyna_p_options.hpp"

#include "engine/schedulers/dyna_p.hpp"

namespace cleave {

namespace {

constexpr OptionRow dyna_p_rows[] = {
    {"w", "NUMBER", "auto",
     "largest number of jobs in a batch; auto: the GPU's number of compute slices"},
    {"window", "NUMBER", "auto",
     "how many waiting jobs, in their order, are considered at a time: a number, all, or auto, the "
     "GPU's number of compute slices"},
    {"overtakes", "NUMBER", "auto",
     "how many later jobs may start before the one that waits longest; from then on the place "
     "where "
     "it can end first is kept free for it: a number, auto, four times the fleet's number of "
     "compute "
     "slices, or any, without a limit"},
    {"layout", "inside|after", "inside",
     "whether the search for a batch looks at layouts, or slices alone"},
    {"order", "deadline|arrival", "deadline",
     "which of equally good jobs goes first, and the order of the window: the earliest deadline or "
     "the earliest arrival"},
    {"place", "first|end", "first",
     "which of equally good places: the first, or beside jobs that end at about the same time"},
    {"lambda", "NUMBER", "0.5",
     "partition choice: weight of latency against throughput; 1: latency only, 0: throughput only"},
    {"margin", "TIME", "0", "time that must remain before a deadline"},
    {"base", "own|full|priced", "priced",
     "partition choice: relative to each partition's largest batch, to one for all, or to the "
     "whole "
     "GPU less what the slices cost jobs that wait"},
    {"alpha", "TIME", "5", "cost of reconfiguring a GPU, beside lost work"},
    {"beta", "TIME", "0", "reconfigure if stopping costs at most this much more than waiting"},
    {"penalty", "TIME", "0", "what a missed deadline adds to the cost of waiting"},
    {"losses", "every|largest", "every",
     "what counts when jobs would be stopped: the time of every job, or the longest time as in "
     "Equation 11"},
    {"waiting-cost", "remaining|literal", "remaining",
     "how the cost of waiting is read, with losses=largest"},
    {"condition", "text|listing", "text",
     "whether costs are compared as in Equation 11 or in Algorithm 2"},
    {"deadline-test", "jct|with-alpha", "jct",
     "whether restarted jobs must meet deadlines alpha later"},
    {"reconfigure", "on|off", "on", "off: running jobs are never stopped"},
    {"time-error", "SHARE", "0.1",
     "predicted times are off by up to this share, drawn from the seed"},
};
constexpr std::size_t options_of_oracle = std::size(dyna_p_rows) - 1;  // all but time-error

WindowOption read_window(OptionReader& in) {
  constexpr std::int64_t most_jobs = 1'000'000;
  if (in.is("window", "all")) return {.all = true, .jobs = {}};
  if (in.is("window", "auto")) return {};
  return {.all = false, .jobs = static_cast<std::size_t>(in.count("window", 1, most_jobs))};
}

std::optional<std::size_t> read_overtakes(OptionReader& in) {
  constexpr std::int64_t most_jobs = 1'000'000'000;
  if (in.is("overtakes", "any")) return SIZE_MAX;
  if (in.is("overtakes", "auto")) return std::nullopt;
  return static_cast<std::size_t>(in.count("overtakes", 0, most_jobs));
}

}  // namespace

std::span<const OptionRow> dyna_p_options() {
  return dyna_p_rows;
}

std::span<const OptionRow> oracle_options() {
  return std::span(dyna_p_rows).first(options_of_oracle);
}

Result<DynaPOptions> read_dyna_p_options(const OptionTexts& given, std::uint64_t seed,
                                         bool true_times) {
  constexpr double longest_s = 1e9, most_error = 0.99;
  constexpr std::int64_t most_jobs = 32;
  OptionReader in(given);
  DynaPOptions options;
  if (!in.is("w", "auto")) options.w = static_cast<int>(in.count("w", 1, most_jobs));
  options.window = read_window(in);
  options.overtakes = read_overtakes(in);
  options.layout_inside = in.is("layout", "inside");
  options.by_deadline = in.is("order", "deadline");
  options.by_end = in.is("place", "end");
  options.reconfigure = in.is("reconfigure", "on");
  options.partition = {{in.number("lambda", 0, 1), in.number("margin", 0, longest_s),
                        in.is("base", "full") ? BatchBase::full : BatchBase::own},
                       in.is("base", "priced"),
                       true_times ? 0.0 : in.number("time-error", 0, most_error),
                       seed};
  options.losses = in.is("losses", "every") ? Losses::every : Losses::largest;
  options.cost = {in.seconds("alpha", 0, longest_s), in.seconds("beta", -longest_s, longest_s),
                  in.is("waiting-cost", "literal") ? WaitingCost::literal : WaitingCost::remaining,
                  in.is("condition", "listing") ? CostCondition::listing : CostCondition::text,
                  in.is("deadline-test", "with-alpha")};
  options.penalty = in.seconds("penalty", 0, longest_s);
  if (in.error()) return std::unexpected(*in.error());
  return options;
}

}  // namespace cleave
