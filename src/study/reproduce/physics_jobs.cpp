// V1 to V3: a job's speed on a profile, from two or three others.

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <set>

#include "base/format.hpp"
#include "base/random.hpp"
#include "physics/slice_law.hpp"
#include "physics/speed_law.hpp"
#include "study/reproduce/reproduce_physics.hpp"

namespace cleave {

namespace {

using Times = std::array<double, a100_sizes>;  // by size; 0: not known

/// A way to predict a job's time on a size from the times that are known. It sees no other time.
struct JobForm {
  std::string name;
  std::function<double(const Times& known, std::size_t size)> time;
};

/// What is known of a job; predicted are the other sizes on which it ran.
using Known = std::function<std::vector<std::size_t>(const JobTimes& job)>;

std::vector<KnownTime> known_times(const Times& known, std::span<const double> gpu_bound) {
  std::vector<KnownTime> times;
  for (std::size_t size = 0; size < a100_sizes; ++size)
    if (known[size] > 0) times.push_back({gpu_bound[size], known[size]});
  return times;
}

JobForm law_form(std::string name, std::vector<double> gpu_bound, double overlap) {
  return {std::move(name),
          [gpu_bound = std::move(gpu_bound), overlap](const Times& known, std::size_t size) {
            const auto job = fit_slice_law(known_times(known, gpu_bound), overlap);
            return job ? time_on(job->law, gpu_bound[size]) : 0;
          }};
}

/// The overlap that explains the known times best, for each job.
JobForm law_form_by_job(std::string name, std::vector<double> gpu_bound) {
  return {std::move(name),
          [gpu_bound = std::move(gpu_bound)](const Times& known, std::size_t size) {
            std::optional<FittedJob> best;
            for (const double each : {2.5, 2.0, 3.0, 1.5, 4.0, 6.0}) {
              const auto job = fit_slice_law(known_times(known, gpu_bound), each);
              if (job && (!best || job->worst < best->worst)) best = job;
            }
            return best ? time_on(best->law, gpu_bound[size]) : 0;
          }};
}

std::vector<double> inverse_shares(const std::array<int, a100_sizes>& slices) {
  std::vector<double> times;
  for (const int each : slices) times.push_back(static_cast<double>(slices[a100_whole]) / each);
  return times;
}

double interpolated(const Times& known, std::size_t size) {
  std::optional<std::size_t> below, above;
  for (std::size_t each = 0; each < a100_sizes; ++each) {
    if (known[each] <= 0) continue;
    if (each < size) below = each;
    if (each > size && !above) above = each;
  }
  const auto slices = [](std::size_t each) { return static_cast<double>(a100_compute[each]); };
  if (!below || !above) {  // proportional, from the nearest
    const std::size_t nearest = below ? *below : *above;
    return known[nearest] * slices(nearest) / slices(size);
  }
  const double share = (slices(size) - slices(*below)) / (slices(*above) - slices(*below));
  return 1 / ((1 - share) / known[*below] + share / known[*above]);
}

double proportional(const Times& known, std::size_t size) {
  double log_scale = 0, count = 0;
  for (std::size_t each = 0; each < a100_sizes; ++each)
    if (known[each] > 0) {
      log_scale += std::log(known[each] * a100_compute[each]);
      ++count;
    }
  return std::exp(log_scale / count) / a100_compute[size];
}

std::vector<JobForm> lazy_forms() {
  return {law_form("Amdahl, compute share", inverse_shares(a100_compute), 1),
          law_form("Amdahl, memory share", inverse_shares(a100_memory), 1),
          {"interpolated speed", interpolated},
          {"proportional to slices", proportional}};
}

/// Which of the sizes to predict: all, or those between or beyond the known ones.
enum class Which { all, between, beyond };

std::vector<Prediction> predict(const std::vector<JobTimes>& jobs, std::size_t least_ran,
                                const Known& known, const JobForm& form, Which which = Which::all) {
  std::vector<Prediction> all;
  for (const JobTimes& job : jobs) {
    if (job.ran() < least_ran) continue;
    const std::vector<std::size_t> sizes = known(job);
    if (sizes.size() < 2) continue;
    Times times{};
    for (const std::size_t size : sizes) times[size] = job.seconds[size];
    const auto [first, last] = std::ranges::minmax(sizes);
    for (std::size_t size = 0; size < a100_sizes; ++size) {
      if (times[size] > 0 || job.seconds[size] <= 0) continue;
      const bool between = first < size && size < last;
      if (which != Which::all && between != (which == Which::between)) continue;
      all.push_back({job.model, form.time(times, size), job.seconds[size]});
    }
  }
  return all;
}

/// The smallest on which the job ran, and the whole GPU.
std::vector<std::size_t> smallest_and_whole(const JobTimes& job) {
  if (job.seconds[a100_whole] <= 0) return {};
  return {job.smallest(), a100_whole};
}

std::vector<std::size_t> three_sizes(const JobTimes& job) {
  for (const std::size_t size : {0U, 2U, 4U})
    if (job.seconds[size] <= 0) return {};
  return {0, 2, a100_whole};
}

std::vector<std::vector<double>> by_size(const std::vector<JobTimes>& jobs) {
  std::vector<std::vector<double>> all;
  for (const JobTimes& job : jobs)
    if (job.ran() > 1) all.emplace_back(job.seconds.begin(), job.seconds.end());
  return all;
}

/// h(1g): what jobs do not determine. The law of batches does, and gives this.
double first_time() {
  const GpuModel& a100 = **find_gpu_model("A100-80GB");
  return gpu_bound_time(a100, a100_profile(a100, 0));
}

std::vector<double> slice_times(const std::vector<JobTimes>& jobs) {
  return fit_slice_times(by_size(jobs), {}, first_time());
}

PhysicsCheck scored(PhysicsCheck check, const std::vector<JobTimes>& jobs, std::size_t least_ran,
                    const Known& known, const std::vector<JobForm>& forms) {
  for (const JobForm& form : forms)
    check.scores.push_back(score_of(form.name, predict(jobs, least_ran, known, form)));
  return check;
}

std::vector<JobForm> with_lazy(std::vector<JobForm> ours) {
  for (JobForm& form : lazy_forms()) ours.push_back(std::move(form));
  return ours;
}

/// One model's rows, changed.
std::vector<JobTimes> tripled(std::vector<JobTimes> jobs, const std::string& model) {
  for (JobTimes& job : jobs)
    if (job.model == model)
      for (double& seconds : job.seconds) seconds *= 3;
  return jobs;
}

std::vector<JobTimes> shuffled(std::vector<JobTimes> jobs, const std::string& model,
                               std::uint64_t seed) {
  Random random(seed);
  for (JobTimes& job : jobs)
    if (job.model == model)
      for (std::size_t i = a100_sizes; i-- > 1;) {
        const std::size_t other = random.below(i + 1);
        if (job.seconds[i] > 0 && job.seconds[other] > 0)
          std::swap(job.seconds[i], job.seconds[other]);
      }
  return jobs;
}

std::vector<Prediction> of_model(std::vector<Prediction> all, const std::string& model) {
  std::erase_if(all, [&](const Prediction& each) { return each.model != model; });
  return all;
}

PhysicsRefit refit(const std::string& check, const std::vector<JobTimes>& jobs, const JobForm& form,
                   std::uint64_t seed) {
  std::set<std::string> models;
  for (const Prediction& each : predict(jobs, 4, smallest_and_whole, form))
    models.insert(each.model);
  PhysicsRefit result{check, "", 0, 0, 0, 0};
  if (models.empty()) return result;
  Random random(seed);
  result.model =
      *std::next(models.begin(), static_cast<std::ptrdiff_t>(random.below(models.size())));
  const auto before = predict(jobs, 4, smallest_and_whole, form);
  const auto after = predict(tripled(jobs, result.model), 4, smallest_and_whole, form);
  for (std::size_t i = 0; i < before.size(); ++i) {
    const bool its = before[i].model == result.model;
    const double off = std::abs(after[i].predicted / before[i].predicted / (its ? 3 : 1) - 1);
    double& worst = its ? result.times_three : result.others;
    worst = std::max(worst, off);
  }
  const auto exchanged = predict(shuffled(jobs, result.model, seed), 4, smallest_and_whole, form);
  result.median = score_of("", of_model(before, result.model)).median;
  result.shuffled = score_of("", of_model(exchanged, result.model)).median;
  return result;
}

/// The fits that held rows out: each data set by itself, and each without one of its models.
std::vector<PhysicsConstant> job_constants(const std::vector<JobTimes>& miso,
                                           const std::vector<JobTimes>& inference) {
  const GpuModel& a100 = **find_gpu_model("A100-80GB");
  std::vector<std::vector<double>> held_out;
  for (const auto* jobs : {&miso, &inference}) {
    held_out.push_back(slice_times(*jobs));
    std::set<std::string> models;
    for (const JobTimes& job : *jobs) models.insert(job.model);
    for (const std::string& model : models) {
      std::vector<JobTimes> others = *jobs;
      std::erase_if(others, [&](const JobTimes& job) { return job.model == model; });
      if (!by_size(others).empty()) held_out.push_back(slice_times(others));
    }
  }
  // Both sets count the same.
  std::vector<std::vector<double>> all = by_size(miso), more = by_size(inference);
  std::vector<double> weights(all.size(), std::sqrt(1 / static_cast<double>(all.size())));
  weights.resize(all.size() + more.size(), std::sqrt(1 / static_cast<double>(more.size())));
  all.insert(all.end(), more.begin(), more.end());
  const std::vector<double> fitted = fit_slice_times(all, weights, first_time());
  std::vector<PhysicsConstant> constants;
  for (std::size_t size = 1; size < a100_whole; ++size) {
    PhysicsConstant each{"speed",
                         fmt::format("h {}", a100_names[size]),
                         gpu_bound_time(a100, a100_profile(a100, size)),
                         fitted[size],
                         held_out.front()[size],
                         held_out.front()[size]};
    for (const auto& fit : held_out) {
      each.least = std::min(each.least, fit[size]);
      each.most = std::max(each.most, fit[size]);
    }
    constants.push_back(each);
  }
  return constants;
}

/// Two of the sizes on which a job ran, drawn by seed and job.
Known drawn(std::uint64_t seed) {
  return [seed](const JobTimes& job) {
    std::vector<std::size_t> ran;
    for (std::size_t size = 0; size < a100_sizes; ++size)
      if (job.seconds[size] > 0) ran.push_back(size);
    std::uint64_t which = static_cast<std::uint64_t>(job.batch);
    for (const char letter : job.model)
      which = mixed_bits(which ^ static_cast<std::uint64_t>(static_cast<unsigned char>(letter)));
    Random random(mixed_bits(seed) ^ which);
    while (ran.size() > 2)
      ran.erase(ran.begin() + static_cast<std::ptrdiff_t>(random.below(ran.size())));
    return ran;
  };
}

PhysicsCheck hidden_choice(const std::vector<JobTimes>& miso,
                           const std::vector<JobTimes>& inference, const JobForm& for_miso,
                           const JobForm& for_inference, std::uint64_t seed) {
  PhysicsCheck check =
      check_of("hidden", fmt::format("two profiles of each job drawn by seed {}: the others", seed),
               "the two profiles; h of the other data set", {});
  const Known known = drawn(seed);
  struct Part {
    std::string name;
    const std::vector<JobTimes>* jobs;
    const JobForm* form;
  };
  const std::vector<JobForm> lazy = lazy_forms();
  for (const Part& part :
       {Part{"MISO", &miso, &for_miso}, {"ParvaGPU", &inference, &for_inference}})
    for (const Which which : {Which::between, Which::beyond})
      for (const JobForm* form : {part.form, &lazy[0], &lazy[2]})
        check.scores.push_back(score_of(fmt::format("{}, {} the two: {}", part.name,
                                                    which == Which::between ? "between" : "beyond",
                                                    form == part.form ? "p-norm" : form->name),
                                        predict(*part.jobs, 4, known, *form, which)));
  return check;
}

}  // namespace

JobStudy study_jobs(const PhysicsData& data, std::uint64_t seed) {
  JobStudy study;
  std::string missing = data.miso.missing;
  if (missing.empty()) missing = data.inference.missing;
  if (!missing.empty()) missing += "; each data set's constants come from the other";
  study.v1 = check_of("V1", "training (MISO): the other profiles",
                      "the smallest profile that fits and 7g; h of ParvaGPU, p = 2.5",
                      {.median = 0.045, .p90 = 0.09}, missing);
  study.v2 = check_of("V2", "inference (ParvaGPU), 1 process: the other profiles",
                      "the smallest profile that fits and 7g; h of MISO, p = 2.5",
                      {.median = 0.04, .p90 = 0.13}, missing);
  study.v3_training = check_of("V3", "training (MISO): 2g and 4g", "1g, 3g and 7g; h of ParvaGPU",
                               {.median = 0.025, .p90 = 0.07}, missing);
  study.v3_inference = check_of("V3", "inference (ParvaGPU), 1 process: 2g and 4g",
                                "1g, 3g and 7g; h of MISO", {.median = 0.03, .p90 = 0.09}, missing);
  study.hidden = check_of("hidden", "two profiles of each job drawn: the others", "", {}, missing);
  if (!missing.empty()) return study;
  const std::vector<JobTimes>&miso = data.miso.rows, inference = jobs_of(data.inference.rows);
  const std::vector<double> of_miso = slice_times(miso), of_inference = slice_times(inference);
  const JobForm for_miso = law_form("p-norm", of_inference, job_overlap);
  const JobForm for_inference = law_form("p-norm", of_miso, job_overlap);
  study.v1 = scored(study.v1, miso, 4, smallest_and_whole, with_lazy({for_miso}));
  study.v2 = scored(study.v2, inference, 4, smallest_and_whole, with_lazy({for_inference}));
  study.v1.scores.push_back(score_of("p-norm, also jobs that ran on three profiles",
                                     predict(miso, 3, smallest_and_whole, for_miso)));
  study.v2.scores.push_back(score_of("p-norm, also jobs that ran on three profiles",
                                     predict(inference, 3, smallest_and_whole, for_inference)));
  study.v3_training =
      scored(study.v3_training, miso, 4, three_sizes,
             with_lazy({law_form_by_job("p-norm, p by job", of_inference), for_miso}));
  study.v3_inference =
      scored(study.v3_inference, inference, 4, three_sizes,
             with_lazy({law_form_by_job("p-norm, p by job", of_miso), for_inference}));
  study.hidden = hidden_choice(miso, inference, for_miso, for_inference, seed);
  study.constants = job_constants(miso, inference);
  study.refits = {refit("V1", miso, for_miso, seed), refit("V2", inference, for_inference, seed)};
  return study;
}

}  // namespace cleave
