// Growing trees with XGBoost: the library lib/cleave/libcleave-learner.so, so that programs load
// XGBoost only when they learn.

#include <xgboost/c_api.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <string_view>
#include <vector>

#include "base/format.hpp"
#include "forecast/learner/learner.hpp"

namespace cleave {

namespace {

struct FreeMatrix {
  void operator()(void* handle) const { XGDMatrixFree(handle); }
};
struct FreeBooster {
  void operator()(void* handle) const { XGBoosterFree(handle); }
};
using Matrix = std::unique_ptr<void, FreeMatrix>;
using Booster = std::unique_ptr<void, FreeBooster>;

/// Empty where XGBoost fails.
Matrix make_matrix(const NumberRows& rows, std::span<const float> targets) {
  std::vector<float> cells(rows.cells.size());
  std::ranges::transform(rows.cells, cells.begin(),
                         [](double cell) { return static_cast<float>(cell); });
  DMatrixHandle handle = nullptr;
  if (XGDMatrixCreateFromMat_omp(cells.data(), rows.size(), rows.width,
                                 std::numeric_limits<float>::quiet_NaN(), &handle, 1) != 0)
    return nullptr;
  Matrix matrix(handle);
  if (XGDMatrixSetFloatInfo(handle, "label", targets.data(), targets.size()) != 0) return nullptr;
  return matrix;
}

/// Empty where XGBoost fails.
Booster make_booster(void* matrix, const BoostingOptions& options) {
  BoosterHandle handle = nullptr;
  if (XGBoosterCreate(&matrix, 1, &handle) != 0) return nullptr;
  Booster booster(handle);
  const std::pair<const char*, std::string> parameters[] = {
      {"objective", "reg:squarederror"},
      {"base_score", "0"},  // the mean is subtracted beforehand, in double precision
      {"tree_method", "hist"},
      {"nthread", "1"},  // sums in one order: the same bytes each time
      {"verbosity", "0"},
      {"seed", fmt::format("{}", options.seed & 0x7fffffff)},
      {"max_depth", fmt::format("{}", options.depth)},
      {"eta", fmt::format("{}", options.learning_rate)},
      {"subsample", fmt::format("{}", options.row_share)},
      {"colsample_bytree", fmt::format("{}", options.column_share)},
      {"min_child_weight", fmt::format("{}", options.least_weight)},
      {"lambda", fmt::format("{}", options.shrinkage)},
  };
  for (const auto& [name, value] : parameters)
    if (XGBoosterSetParam(handle, name, value.c_str()) != 0) return nullptr;
  return booster;
}

/// False where XGBoost fails.
bool grow(const NumberRows& rows, std::span<const float> targets, const BoostingOptions& options,
          std::string& model) {
  const Matrix matrix = make_matrix(rows, targets);
  if (!matrix) return false;
  const Booster booster = make_booster(matrix.get(), options);
  if (!booster) return false;
  for (int round = 0; round < options.rounds; ++round)
    if (XGBoosterUpdateOneIter(booster.get(), round, matrix.get()) != 0) return false;
  bst_ulong length = 0;
  const char* bytes = nullptr;
  if (XGBoosterSaveModelToBuffer(booster.get(), R"({"format": "json"})", &length, &bytes) != 0)
    return false;
  model.assign(bytes, length);
  return true;
}

/// XGBoost's message about its last failure: its first line, since a stack trace follows.
std::string why_it_failed() {
  const std::string_view all = XGBGetLastError(), line = all.substr(0, all.find('\n'));
  return line.empty() ? "it gives no reason" : std::string(line);
}

}  // namespace

}  // namespace cleave

extern "C" __attribute__((visibility("default"))) void cleave_learn(
    const cleave::NumberRows& rows, std::span<const float> targets,
    const cleave::BoostingOptions& options, cleave::Learnt& learnt) {
  if (!cleave::grow(rows, targets, options, learnt.model)) learnt.failure = cleave::why_it_failed();
}
