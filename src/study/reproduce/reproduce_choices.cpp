// What *Optimal Workload Placement*, 5.1, leaves open of how its cases are drawn, and how much
// hangs on it.

#include <algorithm>
#include <cmath>

#include "base/format.hpp"
#include "study/reproduce/reproduce_optimal_placement.hpp"

namespace cleave {

namespace {

constexpr bool yes = true, no = false;

/// The first way tried; each of its choices changed alone, two of them, all three, which is the way
/// kept; that with +me, and that with running work at preferred starts.
constexpr struct {
  bool scattered, pass_target, pass_sixty, media, preferred;
} ways[] = {{yes, yes, yes, no, no}, {no, yes, yes, no, no}, {yes, no, yes, no, no},
            {yes, yes, no, no, no},  {no, no, yes, no, no},  {no, yes, no, no, no},
            {yes, no, no, no, no},   {no, no, no, no, no},   {no, no, no, yes, no},
            {no, no, no, no, yes}};

Result<void> deploy(const PaperCase& drawn, PendingCases& pending) {
  const FleetFile fleet = paper_fleet(drawn);
  const auto problem = PlanProblem::make(fleet, ProblemKind::deploy, "case");
  if (!problem) return std::unexpected(problem.error());
  for (std::size_t m = 0; m < compared_methods.size(); ++m) {
    PlanOptions options;
    options.method = compared_methods[m];
    const auto plan = make_plan(*problem, options);
    if (!plan) return std::unexpected(plan.error());
    if (plan->then.pending_size > 0) ++pending[m];
  }
  return {};
}

double apart(const ReproductionOptions& options, const OpenChoice& choice) {
  double sum = 0;
  for (std::size_t size = 0; size < options.gpus.size(); ++size)
    for (std::size_t m = 0; m < compared_methods.size(); ++m)
      if (const auto paper = pending_in_paper(options.gpus[size], m))
        sum += std::abs(100 * static_cast<double>(choice.pending[size][m]) /
                            static_cast<double>(options.cases) -
                        static_cast<double>(*paper));
  return sum;
}

}  // namespace

std::optional<std::size_t> pending_in_paper(std::size_t gpus, std::size_t method) {
  using Counts = std::array<std::optional<std::size_t>, compared_methods.size()>;
  static constexpr Counts at_8 = {1, 7, 100, 1}, at_80 = {0, std::nullopt, 100, 0};
  return gpus == 8 ? at_8[method] : gpus == 80 ? at_80[method] : std::nullopt;
}

Result<std::vector<OpenChoice>> try_choices(const ReproductionOptions& options) {
  std::vector<OpenChoice> choices;
  for (const auto& way : ways) {
    OpenChoice& choice = choices.emplace_back();
    choice.drawn.new_work = true;
    choice.drawn.scattered = way.scattered;
    choice.drawn.pass_target = way.pass_target;
    choice.drawn.pass_sixty = way.pass_sixty;
    choice.drawn.media = way.media;
    choice.drawn.preferred = way.preferred;
    for (const std::size_t gpus : options.gpus) {
      PendingCases& pending = choice.pending.emplace_back();
      for (std::uint64_t seed = 1; seed <= options.cases; ++seed) {
        PaperCase drawn = choice.drawn;
        drawn.gpus = gpus;
        drawn.seed = seed;
        if (const auto done = deploy(drawn, pending); !done) return std::unexpected(done.error());
      }
    }
    choice.from_paper = apart(options, choice);
  }
  return choices;
}

std::vector<std::string> choices_header(const Reproduction& reproduction) {
  std::vector<std::string> header = {"way", "allocated GPUs", "a GPU's target", "60 % of new work",
                                     "+me", "starts"};
  for (const std::size_t gpus : reproduction.options.gpus)
    for (const std::string_view method : compared_methods)
      header.push_back(fmt::format("{}, {}", method, gpus));
  header.emplace_back("from paper");
  return header;
}

std::vector<std::vector<std::string>> choices_rows(const Reproduction& reproduction) {
  std::vector<std::vector<std::string>> rows = {{"the paper, of 100", "", "", "", "", ""}};
  for (const std::size_t gpus : reproduction.options.gpus)
    for (std::size_t m = 0; m < compared_methods.size(); ++m) {
      const auto paper = pending_in_paper(gpus, m);
      rows[0].push_back(paper ? fmt::format("{}", *paper) : "");
    }
  rows[0].emplace_back("");
  for (const OpenChoice& choice : reproduction.choices) {
    const PaperCase& drawn = choice.drawn;
    const auto held = [](bool passed) { return passed ? "may be passed" : "not passed"; };
    const bool first = &choice == &reproduction.choices.front();
    std::vector<std::string> row = {first           ? "tried first"
                                    : choice.kept() ? "kept"
                                                    : "",
                                    drawn.scattered ? "drawn" : "lowest numbers",
                                    held(drawn.pass_target),
                                    held(drawn.pass_sixty),
                                    drawn.media ? "drawn too" : "left out",
                                    drawn.preferred ? "preferred" : "drawn"};
    for (const PendingCases& pending : choice.pending)
      for (const std::size_t count : pending) row.push_back(fmt::format("{}", count));
    row.push_back(fmt::format("{:.0f}", choice.from_paper));
    rows.push_back(std::move(row));
  }
  return rows;
}

namespace {

/// In the words of the table.
std::string way_text(const PaperCase& drawn) {
  const auto held = [](bool passed) { return passed ? "may be passed" : "not passed"; };
  return fmt::format("{} / {} / {} / {} / {}", drawn.scattered ? "drawn" : "lowest numbers",
                     held(drawn.pass_target), held(drawn.pass_sixty),
                     drawn.media ? "drawn too" : "left out",
                     drawn.preferred ? "preferred" : "drawn");
}

}  // namespace

std::string choices_remark(const Reproduction& reproduction) {
  const auto& choices = reproduction.choices;
  const auto nearest = std::ranges::min_element(choices, {}, &OpenChoice::from_paper);
  const bool kept = nearest->kept();
  std::string remark =
      fmt::format("The way kept is {}the one nearest to what the paper reports{}.",
                  kept ? "" : "not ", kept ? "" : fmt::format(": {} is", way_text(nearest->drawn)));
  for (std::size_t i = 0; i < reproduction.options.gpus.size(); ++i) {
    const auto [least, most] = std::ranges::minmax(
        choices, {}, [&](const OpenChoice& choice) { return choice.pending[i].back(); });
    remark += fmt::format(
        "\nDepending on the way, the optimum leaves work pending in {} to {} of {} cases at {} "
        "GPUs.",
        least.pending[i].back(), most.pending[i].back(), reproduction.options.cases,
        reproduction.options.gpus[i]);
  }
  return remark;
}

}  // namespace cleave
