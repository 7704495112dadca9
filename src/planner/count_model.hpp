#pragma once
// The planning problem as a mixed-integer programme over counts: how many GPUs of each class end in
// each of its patterns, and how many workloads of each type take instances of each kind.

#include <cstdint>
#include <optional>
#include <vector>

#include "planner/mip.hpp"
#include "planner/patterns.hpp"
#include "planner/planner.hpp"

namespace cleave {

/// Instances of one profile that the same types may take. If one of these types belongs to a group,
/// they are on GPUs of one class.
struct SlotKind {
  std::vector<TypeIndex> takers;
  std::uint32_t owner = none;  // index into CountModel::families
};

/// Classes whose patterns differ only in where in the layout instances stand: one row, one set of
/// columns.
struct Family {
  std::vector<std::uint32_t> members;  // indices into Grouping::classes
  /// One pattern of the family, and the column that counts its GPUs.
  struct Choice {
    ProfileCounts slots;
    PatternCost cost;                // less what all patterns have in common
    std::vector<std::uint8_t> kept;  // of each member
    int column;
  };
  std::vector<Choice> choices;
  /// For each profile, an index into CountModel::slots; none where at most one type takes it.
  std::vector<std::uint32_t> slot_of;
  std::vector<TypeIndex> taker_of;  // for each profile, its only taker, or none
};

/// What a model is built for.
struct ModelPlan {
  Fineness fineness;
  PatternOrder order;
  std::size_t objectives = 5;          // how many of the problem's objectives, from the first
  std::optional<PlanWeights> weights;  // one objective, the sum
};

/// The programme, with what is needed to read a goal out of its solution.
struct CountModel {
  Grouping grouping;
  std::vector<ClassPatterns> patterns;  // of each class
  std::vector<PatternCost> common;      // of each class: the cost that all its patterns have
  std::vector<Family> families;
  std::vector<SlotKind> slots;
  std::vector<std::vector<int>> flow;  // of each slot kind: the column of each taker
  Mip mip{0};
  std::vector<std::int64_t> constants;  // of each objective: the part that all goals have in common
};

CountModel build_model(const PlanProblem& problem, const PatternMaker& maker, Grouping grouping,
                       const ModelPlan& plan);

/// Turns the solution of the programme into a goal: GPUs get patterns, workloads get seats
/// (deal.cpp). Empty if replicas of a group that the counts allow cannot be kept apart on the GPUs
/// they were counted for.
std::optional<Goal> deal(const PlanProblem& problem, const PatternMaker& maker,
                         const CountModel& model, const std::vector<std::int64_t>& solution,
                         bool limits);

}  // namespace cleave
