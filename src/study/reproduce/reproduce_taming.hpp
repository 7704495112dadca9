#pragma once
// `cleave reproduce taming`: what *Taming GPU Underutilization via Static Partitioning and
// Fine-grained CPU Offloading* claims in sections III to VI, beside what comes out here over the
// range of everything that the paper leaves open. Where a figure lies outside that range, which of
// the open inputs alone would have to be what. Nothing is fitted to the figure that it stands
// beside, and no time enters: the same program writes the same bytes.

#include <string>
#include <string_view>
#include <vector>

#include "forecast/choice/reward.hpp"
#include "study/reproduce/coruns.hpp"

namespace cleave {

/// A value of one open input, beyond its range, with which a figure agrees; all others have their
/// usual values, or those of the combination that comes nearest.
struct NeededValue {
  std::string input;
  double value = 0;
  bool others_usual = false;
};

/// A figure that no combination of the open inputs gives.
struct OutsideFigure {
  std::string experiment, figure;
  double nearest = 0;               // of all combinations
  double factor = 0;                // what the paper says, relative to the nearest
  std::vector<NeededValue> needed;  // one for each input that can do it alone
};

/// What figure 8 shows as chosen: at alpha 0, at one in between, at a large one.
struct RewardChoices {
  std::string_view application, at_zero, between, at_most;
};
std::span<const RewardChoices> reward_choices();

/// How often the choices come out, over all combinations of what the paper leaves open.
struct RewardCount {
  std::string application;
  RewardForm form = RewardForm::mean;
  std::size_t combinations = 0;
  std::size_t at_zero = 0;   // with the choice at alpha 0
  std::size_t between = 0;   // and with that at a larger one, at most 1
  std::size_t as_paper = 0;  // and with the last at a still larger one, at most 1
};

/// The whole comparison.
struct TamingReproduction {
  std::vector<CorunExperiment> coruns;
  std::vector<OutsideFigure> outside;
  std::vector<RewardCount> rewards;  // by application, then form
};
Result<TamingReproduction> reproduce_taming();

/// Of the co-runs' figures, those that agree with no combination.
Result<std::vector<OutsideFigure>> outside_figures(const std::vector<CorunExperiment>& predicted);
std::vector<RewardCount> count_rewards();
/// The open inputs of the counts, a row for each application: its title, GPU-bound parts,
/// occupancies, peaks, speeds with offload.
std::vector<std::vector<std::string>> reward_inputs();

/// A claim of the paper. Figures as text.
struct TamingClaim {
  std::string section, claim, paper;
  std::string here;     // by the usual inputs
  std::string range;    // over all open inputs; empty: nothing is open
  std::string verdict;  // "agrees", "in the range", "outside", "not modelled"
  std::string why;      // where it is outside or not modelled
};
std::vector<TamingClaim> taming_claims(const TamingReproduction& reproduction);

/// The page docs/reproduction/taming.md.
std::string taming_page(const TamingReproduction& reproduction);

}  // namespace cleave
