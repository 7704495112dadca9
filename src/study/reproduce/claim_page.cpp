// Claims that were swept, as sections of a page.

#include "base/format.hpp"
#include "study/reproduce/claim_sweep.hpp"

namespace cleave {

std::string page_number(double value, int digits) {
  const std::string text = fmt::format("{:.{}f}", value, digits);
  return text.find_first_not_of("-0.") == std::string::npos ? fmt::format("{:.{}f}", 0.0, digits)
                                                            : text;
}

namespace {

/// " %" where the claim is in per cent.
std::string_view unit_of(const SweptClaim& claim) {
  return claim.claim.ends_with(", %") ? " %" : "";
}

std::string bounds_text(const Stated& stated) {
  if (!stated.most) return fmt::format("at least {:g}", *stated.least);
  if (!stated.least) return fmt::format("at most {:g}", *stated.most);
  if (*stated.least == -*stated.most) return fmt::format("within {:g}", *stated.most);
  return fmt::format("{:g} to {:g}", *stated.least, *stated.most);
}

std::string range_of(const OpenInput& input) {
  if (!input.words.empty()) return fmt::format("{}", fmt::join(input.words, ", "));
  return fmt::format("{:g}", fmt::join(input.values, ", "));
}

std::string usual_of(const OpenInput& input) {
  return input.words.empty() ? fmt::format("{:g}", input.values[input.usual])
                             : input.words[input.usual];
}

std::string claim_row(const SweptExperiment& experiment, const SweptClaim& claim) {
  const auto text = [&](double value) { return page_number(value, claim.digits); };
  const std::string verdict = claim.verdict();
  std::string nearest;
  if (verdict != "agrees")
    nearest = fmt::format("{}: {}", text(claim.nearest), inputs_text(experiment, claim.at));
  return fmt::format("| {} | {} | {} | {} ({} to {}) | {} to {} | {} | {} | {} |\n", claim.section,
                     claim.claim, paper_text(claim), text(claim.usual.median),
                     text(claim.usual.low), text(claim.usual.high), text(claim.least),
                     text(claim.most), verdict, nearest, verdict == "agrees" ? "" : claim.why);
}

/// Lines of at most a hundred columns.
std::string wrapped(std::string_view text) {
  constexpr std::size_t columns = 100;
  std::string lines;
  while (text.size() > columns) {
    const std::size_t space = text.rfind(' ', columns);
    lines += fmt::format("{}\n", text.substr(0, space));
    text.remove_prefix(space + 1);
  }
  return lines + std::string(text);
}

}  // namespace

std::string paper_text(const SweptClaim& claim) {
  if (claim.is_figure()) return claim.paper;
  return fmt::format("{}: {}{}", claim.paper, bounds_text(claim.stated), unit_of(claim));
}

std::string experiment_section(const SweptExperiment& experiment) {
  std::string text = fmt::format("\n## {}\n\n{}\n\n", experiment.name,
                                 wrapped(fmt::format("Given: {}.", experiment.known)));
  text += "| open input | usual | values | why |\n|---|---|---|---|\n";
  for (const OpenInput& input : experiment.inputs)
    text += fmt::format("| {} | {} | {} | {} |\n", input.name, usual_of(input), range_of(input),
                        input.why);
  text +=
      "\n| section | claim | paper | here | range | | nearest | why |\n"
      "|---|---|---|---|---|---|---|---|\n";
  for (const SweptClaim& claim : experiment.claims) text += claim_row(experiment, claim);
  if (!experiment.commands.empty())
    text += fmt::format("\n```sh\n{}\n```\n", fmt::join(experiment.commands, "\n"));
  return text;
}

std::string count_of_claims(const std::vector<SweptExperiment>& experiments) {
  std::map<std::string, int> counts;
  int all = 0;
  for (const SweptExperiment& experiment : experiments)
    for (const SweptClaim& claim : experiment.claims) {
      ++counts[claim.verdict()];
      ++all;
    }
  return fmt::format("\nOf {} claims {} agree, {} are in range and {} are outside.\n", all,
                     counts["agrees"], counts["in range"], counts["outside"]);
}

}  // namespace cleave
