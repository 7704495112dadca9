// V4 and V5: the time of a batch by its size and by the processes that share an instance, on
// ParvaGPU's inference. Constants were fitted without the model that is scored.

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "base/format.hpp"
#include "base/random.hpp"
#include "physics/batch_law.hpp"
#include "physics/slice_law.hpp"
#include "study/reproduce/reproduce_physics.hpp"

namespace cleave {

namespace {

/// The rows that ran, with models by number.
struct Inference {
  std::vector<std::string> models;
  std::vector<MeasuredBatch> rows;
};

Inference inference_of(const std::vector<InferenceRow>& rows) {
  Inference all;
  for (const InferenceRow& row : rows) {
    auto model = std::ranges::find(all.models, row.model);
    if (model == all.models.end()) model = all.models.insert(model, row.model);
    if (row.seconds > 0)
      all.rows.push_back({static_cast<std::size_t>(model - all.models.begin()), row.size,
                          static_cast<double>(row.batch), row.processes, row.seconds});
  }
  return all;
}

/// What ships.
BatchLaws shipped_laws() {
  const GpuModel& gpu = **find_gpu_model("A100-80GB");
  BatchLaws laws;
  for (std::size_t size = 0; size < a100_sizes; ++size)
    laws.gpu_bound.push_back(gpu_bound_batch_time(gpu, a100_profile(gpu, size)));
  return laws;
}

/// Where fits begin: far from what ships, so that it does not lead to itself.
BatchLaws far_start() {
  return {{4, 0, 0}, {7, 3.5, 7.0 / 3, 7.0 / 4, 1}, {}};
}

/// Each model's constants from the others. `starts` has where each fit begins.
std::vector<BatchLaws> fits_without_each(const Inference& data,
                                         const std::vector<BatchLaws>& starts) {
  std::vector<BatchLaws> all;
  for (std::size_t model = 0; model < data.models.size(); ++model) {
    std::vector<MeasuredBatch> others = data.rows;
    std::erase_if(others, [&](const MeasuredBatch& row) { return row.application == model; });
    all.push_back(fit_batch_laws(others, starts[model], true).value_or(starts[model]));
  }
  return all;
}

/// A model's rows with one process.
std::vector<MeasuredBatch> alone(const Inference& data, std::size_t model) {
  std::vector<MeasuredBatch> rows;
  for (const MeasuredBatch& row : data.rows)
    if (row.application == model && row.processes == 1) rows.push_back(row);
  return rows;
}

/// 1g and 7g at batch 1, 8 and the largest that ran there.
std::vector<MeasuredBatch> six_rows(const std::vector<MeasuredBatch>& rows) {
  std::array<double, a100_sizes> largest{};
  for (const MeasuredBatch& row : rows) largest[row.size] = std::max(largest[row.size], row.batch);
  std::vector<MeasuredBatch> six;
  for (const MeasuredBatch& row : rows)
    if ((row.size == 0 || row.size == a100_whole) &&
        (row.batch == 1 || row.batch == 8 || row.batch == largest[row.size]))
      six.push_back(row);
  return six;
}

bool among(const std::vector<MeasuredBatch>& rows, const MeasuredBatch& row) {
  return std::ranges::any_of(rows, [&](const MeasuredBatch& each) {
    return each.size == row.size && each.batch == row.batch && each.processes == row.processes;
  });
}

/// Along the logarithms of batch, then of slices; beyond the known ones as between the nearest.
double log_bilinear(const std::vector<MeasuredBatch>& known, const MeasuredBatch& row) {
  const auto line = [](double x, double x0, double y0, double x1, double y1) {
    return x1 == x0 ? y0 : y0 + (y1 - y0) * (x - x0) / (x1 - x0);
  };
  std::array<double, 2> at{};
  for (const std::size_t end : {0U, 1U}) {
    std::map<double, double> curve;  // log batch to log time
    for (const MeasuredBatch& each : known)
      if (each.size == (end == 0 ? 0 : a100_whole))
        curve[std::log(each.batch)] = std::log(each.time);
    if (curve.empty()) return 0;
    const double x = std::log(row.batch);
    auto next = curve.lower_bound(x);
    if (next == curve.begin() && curve.size() > 1) ++next;
    if (next == curve.end()) --next;
    const auto before = next == curve.begin() ? next : std::prev(next);
    at[end] = line(x, before->first, before->second, next->first, next->second);
  }
  const double slices = std::log(static_cast<double>(a100_compute[row.size]));
  return std::exp(line(slices, 0, at[0], std::log(7.0), at[1]));
}

/// Predictions of one check, by method.
struct Methods {
  std::vector<Prediction> law, second, third;
};

Methods predict_batches(const Inference& data, const std::vector<BatchLaws>& without) {
  Methods methods;
  for (std::size_t model = 0; model < data.models.size(); ++model) {
    const BatchLaws& shared = without[model];
    const auto rows = alone(data, model), known = six_rows(rows);
    const auto law = fit_batch_law(known, shared.gpu_bound, shared.constants);
    if (!law) continue;
    for (const MeasuredBatch& row : rows) {
      if (among(known, row)) continue;
      methods.law.push_back(
          {data.models[model],
           batch_time(*law, row.batch, shared.gpu_bound[row.size], 1, shared.constants), row.time});
      methods.second.push_back({data.models[model], log_bilinear(known, row), row.time});
    }
  }
  return methods;
}

Methods predict_processes(const Inference& data, const std::vector<BatchLaws>& without) {
  Methods methods;
  for (std::size_t model = 0; model < data.models.size(); ++model) {
    const BatchLaws& shared = without[model];
    const auto known = alone(data, model);
    const auto law = fit_batch_law(known, shared.gpu_bound, shared.constants);
    if (!law) continue;
    for (const MeasuredBatch& row : data.rows) {
      if (row.application != model || row.processes == 1) continue;
      const double predicted =
          batch_time(*law, row.batch, shared.gpu_bound[row.size], row.processes, shared.constants);
      methods.law.push_back({data.models[model], predicted, row.time});
      for (const MeasuredBatch& one : known) {
        if (one.size != row.size || one.batch != row.batch) continue;
        methods.second.push_back({data.models[model], row.processes * one.time, row.time});
        methods.third.push_back({data.models[model], one.time, row.time});
      }
    }
  }
  return methods;
}

/// The constants that are compared, in the order of the page.
struct Named {
  std::string name;
  double (*value)(const BatchLaws&);
};
const std::array<Named, 7>& named_constants() {
  static const std::array<Named, 7> all = {
      {{"p", [](const BatchLaws& laws) { return laws.constants.overlap; }},
       {"h 1g", [](const BatchLaws& laws) { return laws.gpu_bound[0]; }},
       {"h 2g", [](const BatchLaws& laws) { return laws.gpu_bound[1]; }},
       {"h 3g", [](const BatchLaws& laws) { return laws.gpu_bound[2]; }},
       {"h 4g", [](const BatchLaws& laws) { return laws.gpu_bound[3]; }},
       {"ga", [](const BatchLaws& laws) { return laws.constants.floor_growth; }},
       {"ov", [](const BatchLaws& laws) { return laws.constants.work_growth; }}}};
  return all;
}

std::vector<PhysicsConstant> batch_constants_of(const BatchLaws& fitted,
                                                const std::vector<BatchLaws>& without) {
  std::vector<PhysicsConstant> constants;
  for (const Named& named : named_constants()) {
    PhysicsConstant each{"batches",
                         named.name,
                         named.value(shipped_laws()),
                         named.value(fitted),
                         named.value(without.front()),
                         named.value(without.front())};
    for (const BatchLaws& fit : without) {
      each.least = std::min(each.least, named.value(fit));
      each.most = std::max(each.most, named.value(fit));
    }
    constants.push_back(each);
  }
  return constants;
}

Inference tripled(Inference data, std::size_t model) {
  for (MeasuredBatch& row : data.rows)
    if (row.application == model) row.time *= 3;
  return data;
}

Inference shuffled(Inference data, std::size_t model, std::uint64_t seed) {
  Random random(seed);
  std::vector<MeasuredBatch*> rows;
  for (MeasuredBatch& row : data.rows)
    if (row.application == model) rows.push_back(&row);
  for (std::size_t i = rows.size(); i-- > 1;)
    std::swap(rows[i]->time, rows[random.below(i + 1)]->time);
  return data;
}

double median_of(const std::vector<Prediction>& all, const std::string& model) {
  std::vector<Prediction> its;
  for (const Prediction& each : all)
    if (each.model == model) its.push_back(each);
  return score_of("", its).median;
}

using Predict = Methods (*)(const Inference&, const std::vector<BatchLaws>&);

/// What the constants become is part of it: they are fitted again.
PhysicsRefit refit(const std::string& check, const Inference& data, std::size_t model,
                   const std::vector<BatchLaws>& without, const Inference& three,
                   const std::vector<BatchLaws>& without_three, Predict predict,
                   std::uint64_t seed) {
  const std::vector<Prediction> before = predict(data, without).law;
  const std::vector<Prediction> after = predict(three, without_three).law;
  PhysicsRefit result{check, data.models[model], 0, 0, 0, 0};
  for (std::size_t i = 0; i < before.size(); ++i) {
    const bool its = before[i].model == result.model;
    double& worst = its ? result.times_three : result.others;
    worst = std::max(worst, std::abs(after[i].predicted / before[i].predicted / (its ? 3 : 1) - 1));
  }
  result.median = median_of(before, result.model);
  result.shuffled = median_of(predict(shuffled(data, model, seed), without).law, result.model);
  return result;
}

}  // namespace

BatchStudy study_batches(const PhysicsData& data, std::uint64_t seed) {
  BatchStudy study;
  study.v4 = check_of("V4", "inference (ParvaGPU), 1 process: all other batches and profiles",
                      "1g and 7g at batch 1, 8 and the largest; constants of the other models",
                      {.median = 0.04, .p90 = 0.13}, data.inference.missing);
  study.v5 = check_of("V5", "inference (ParvaGPU), 2 to 5 MPS processes",
                      "the model's rows with 1 process; constants of the other models",
                      {.median = 0.05, .p90 = 0.14}, data.inference.missing);
  const Inference measured = inference_of(data.inference.rows);
  if (!data.inference.missing.empty()) return study;
  if (measured.models.size() < 2) {
    study.v4.missing = study.v5.missing = "constants come from other models, and there is only one";
    return study;
  }
  const std::vector<BatchLaws> without =
      fits_without_each(measured, std::vector(measured.models.size(), far_start()));
  const Methods batches = predict_batches(measured, without);
  const Methods processes = predict_processes(measured, without);
  study.v4.scores = {score_of("T(g, b, 1)", batches.law),
                     score_of("log-bilinear in slices and batch", batches.second)};
  study.v5.scores = {score_of("T(g, b, n)", processes.law),
                     score_of("equal sharing: n times the time of 1", processes.second),
                     score_of("no interference: the time of 1", processes.third)};
  study.constants = batch_constants_of(
      fit_batch_laws(measured.rows, far_start(), true).value_or(shipped_laws()), without);
  Random random(seed);
  const std::size_t model = random.below(measured.models.size());
  const Inference three = tripled(measured, model);
  const std::vector<BatchLaws> without_three = fits_without_each(three, without);
  study.refits = {
      refit("V4", measured, model, without, three, without_three, predict_batches, seed),
      refit("V5", measured, model, without, three, without_three, predict_processes, seed)};
  return study;
}

}  // namespace cleave
