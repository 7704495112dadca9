#pragma once
// The planning problem as a mixed-integer programme over counts: how many GPUs of each class end in
// each of its patterns, and how many workloads of each type take instances of each kind.

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "planner/mip.hpp"
#include "planner/patterns.hpp"
#include "planner/planner.hpp"

namespace cleave {

/// Instances of one profile that the same types may take, on GPUs of one class where a group is
/// among them.
struct SlotKind {
  std::vector<TypeIndex> takers;
  std::uint32_t owner = none;  // index into CountModel::families
};

/// Classes whose patterns are the same but for where in the layout things stand: one row, one set
/// of columns.
struct Family {
  std::vector<std::uint32_t> members;  // indices into Grouping::classes
  struct Choice {
    ProfileCounts slots;
    PatternCost cost;                // less what all have in common
    std::vector<std::uint8_t> kept;  // of each member
    int column;
  };
  std::vector<Choice> choices;
  std::vector<std::uint32_t>
      slot_of;  // of each profile: index into CountModel::slots, or none: no or one taker
  std::vector<TypeIndex> taker_of;  // of each profile: its only taker, or none
};

/// What a model is built for.
struct ModelPlan {
  Fineness fineness;
  PatternOrder order;
  std::size_t objectives = 5;          // so many of the problem's, from the first
  std::optional<PlanWeights> weights;  // one objective, the sum
};

struct CountModel {
  Grouping grouping;
  std::vector<ClassPatterns> patterns;  // of each class
  std::vector<PatternCost> common;      // of each class: what all its patterns cost
  std::vector<Family> families;
  std::vector<SlotKind> slots;
  std::vector<std::vector<int>> flow;  // of each slot kind: the column of each taker
  Mip mip{0};
  std::vector<std::int64_t> constants;  // of each objective: what all goals have in common
};

CountModel build_model(const PlanProblem& problem, const PatternMaker& maker, Grouping grouping,
                       const ModelPlan& plan);

/// The solution of the programme dealt out to GPUs and workloads (deal.cpp). Empty where replicas
/// of a group that the counts allow cannot be kept apart on the GPUs they were counted for.
std::optional<Goal> deal(const PlanProblem& problem, const PatternMaker& maker,
                         const CountModel& model, const std::vector<std::int64_t>& solution,
                         bool limits);

}  // namespace cleave
