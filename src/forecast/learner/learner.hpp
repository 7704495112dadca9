#pragma once
// What forecast/time/boosted_trees.cpp calls of the library that holds the learner.

#include <span>
#include <string>

#include "forecast/time/boosted_trees.hpp"

namespace cleave {

inline constexpr const char* learner_library = "libcleave-learner.so";
inline constexpr const char* learner_function = "cleave_learn";

/// What XGBoost made of the rows.
struct Learnt {
  std::string model;    // in its own JSON
  std::string failure;  // empty, or why there is no model
};

}  // namespace cleave

/// Grows trees by these options on rows and targets of the same number.
extern "C" void cleave_learn(const cleave::NumberRows& rows, std::span<const float> targets,
                             const cleave::BoostingOptions& options, cleave::Learnt& learnt);
