// Operations of module `dynap`: the decisions of Dyna-P, one formula or algorithm each.

#include <algorithm>
#include <map>

#include "answer.hpp"
#include "base/format.hpp"
#include "base/text.hpp"
#include "engine/schedulers/batch_search.hpp"
#include "engine/schedulers/reconfigure_last.hpp"
#include "forecast/choice/choice_file.hpp"
#include "forecast/choice/fraction.hpp"
#include "input.hpp"
#include "operations.hpp"

namespace cleave::cases::dynap {

namespace {

constexpr std::int64_t most_slices = 32;   // far beyond any GPU; keeps searches short
constexpr std::size_t most_equal = 10000;  // batches that an answer may list
constexpr const char* too_long = "its numbers are too long for exact arithmetic in 64 bits";

/// A number of the input as its decimal; zero after an error.
Ratio decimal(JsonReader& in, std::string_view key, double number) {
  const auto ratio = Ratio::parse(fmt::format("{}", number));
  if (ratio) return *ratio;
  in.refuse(key, ratio.error().message, ratio.error().remedy);
  return {};
}

std::optional<Ratio> decimal_if(JsonReader& in, std::string_view key) {
  const auto number = in.number_if(key);
  if (!number) return std::nullopt;
  return decimal(in, key, *number);
}

Ratio need_decimal(JsonReader& in, std::string_view key) {
  const auto ratio = decimal_if(in, key);
  if (!ratio) in.refuse("", fmt::format("the key '{}' is missing", key));
  return ratio.value_or(Ratio());
}

/// A number above zero; one after an error.
Fraction need_positive(JsonReader& in, std::string_view key) {
  const Ratio ratio = need_decimal(in, key);
  if (ratio > Ratio()) return Fraction(ratio);
  in.refuse(key, "expected a number above zero");
  return Fraction(1);
}

void need_list(JsonReader& in, std::string_view key) {
  if (!in.has(key)) in.refuse("", fmt::format("the key '{}' is missing", key));
}

Json exact(JsonReader& in, const Fraction& fraction) {
  const auto ratio = fraction.ratio();
  if (!ratio) in.refuse("", too_long);
  return rational(ratio.value_or(Ratio()));
}

int read_slices(JsonReader& in, std::string_view key) {
  return static_cast<int>(in.integer(key, 1, most_slices));
}

// --- rlp ---

/// Seconds in the input, whole nanoseconds here: decimals have at most nine digits after the point.
Duration nanoseconds(Ratio seconds) {
  constexpr std::int64_t second = 1'000'000'000;
  return Duration(seconds.numerator() * (second / seconds.denominator()));
}

Duration need_time(JsonReader& in, std::string_view key) {
  return nanoseconds(need_decimal(in, key));
}

std::optional<Instant> deadline_of(JsonReader& in) {
  const auto seconds = decimal_if(in, "deadline");
  if (!seconds) return std::nullopt;
  return Instant(nanoseconds(*seconds));
}

Duration penalty_of(JsonReader& in) {
  return nanoseconds(decimal_if(in, "penalty").value_or(Ratio()));
}

Json seconds(Duration duration) {
  return rational(Ratio(duration.count(), 1'000'000'000));
}

// --- bnb ---

/// A queue of a case: what the search needs, and what the answer contains.
struct Queue {
  std::vector<std::string> ids;  // by JobId
  std::vector<PartitionRun<Fraction>> runs;
  std::vector<int> slices_of_kind;  // by kind; kinds without slices do not occur
  std::vector<QueuedJob> jobs;
};

/// The kind of a job by the slices it takes.
using KindOf = std::map<int, int>;

/// Each number of slices that occurs is a kind.
KindOf kinds_by_slices(const std::vector<PartitionRun<Fraction>>& runs) {
  KindOf kinds;
  for (const auto& run : runs) kinds.emplace(run.slices, static_cast<int>(kinds.size()));
  return kinds;
}

/// `profile_of`: the kind of a job is the profile that its number of slices stands for. Empty after
/// an error.
KindOf kinds_by_profile(JsonReader& in, const std::vector<PartitionRun<Fraction>>& runs,
                        const Geometry& geometry) {
  KindOf kinds;
  auto profiles = in.object_if("profile_of");
  if (!profiles) in.refuse("", "the key 'profile_of' is missing");
  if (!profiles) return kinds;
  std::map<int, int> slices_of;
  for (const auto& run : runs) {
    const std::string key = fmt::format("{}", run.slices), wanted = profiles->text(key);
    const auto all = geometry.profile_list();
    const auto found =
        std::ranges::find(all, wanted, [](const Profile* profile) { return profile->name; });
    if (found == all.end()) {
      profiles->refuse(key, fmt::format("the device has no profile '{}'", shown(wanted)),
                       suggestion(wanted, geometry.profile_names()));
      return {};
    }
    const int kind = static_cast<int>(*found - geometry.model().profiles.data());
    if (slices_of.emplace(kind, run.slices).first->second != run.slices)
      profiles->refuse(key, "another number of slices has the same profile");
    kinds[run.slices] = kind;
  }
  return kinds;
}

Queue read_queue(JsonReader& in) {
  Queue queue;
  need_list(in, "queue");
  for (JsonReader& job : in.objects("queue")) {
    queue.ids.push_back(job.text("id"));
    const Fraction full = need_positive(job, "jct_full");
    queue.runs.push_back({full, need_positive(job, "jct"), read_slices(job, "slices")});
  }
  return queue;
}

/// Gives each job its kind. Equal fractions make equal doubles, as the search requires.
void fill(JsonReader& in, Queue& queue, const KindOf& kinds) {
  for (const auto& [slices, kind] : kinds) {
    if (static_cast<std::size_t>(kind) >= queue.slices_of_kind.size())
      queue.slices_of_kind.resize(static_cast<std::size_t>(kind) + 1, 1);
    queue.slices_of_kind[static_cast<std::size_t>(kind)] = slices;
  }
  for (std::size_t i = 0; i < queue.runs.size(); ++i) {
    const auto& run = queue.runs[i];
    const auto relative = (run.jct_full / run.jct).ratio();
    if (!relative) in.refuse("queue", too_long);
    const double value = relative ? relative->value() : 1.0;
    queue.jobs.push_back({static_cast<JobId>(i), kinds.at(run.slices), value, {0, i}});
  }
}

/// The shapes that have a layout and are within the free slices, as the case counts both. A shape
/// may contain a kind without jobs; no batch uses it.
std::vector<BatchShape> layouts(const OneGpu& gpu, const Queue& queue, int free_slices) {
  LayoutShapes all(gpu.graph);
  std::vector<BatchShape> shapes;
  for (BatchShape shape : all.around(gpu.id())) {
    const auto known = [&](const BatchShape::Part& part) {
      return static_cast<std::size_t>(part.kind) < queue.slices_of_kind.size();
    };
    if (!std::ranges::all_of(shape.parts, known)) continue;
    shape.slices = 0;
    for (const auto& [kind, count] : shape.parts)
      shape.slices += count * queue.slices_of_kind[static_cast<std::size_t>(kind)];
    if (shape.slices <= free_slices) shapes.push_back(std::move(shape));
  }
  return shapes;
}

Json ids_of(const Queue& queue, const Batch& batch) {
  Json ids = Json::array();
  for (const QueuedJob& job : batch.jobs) ids.push_back(queue.ids[index(job.job)]);
  return ids;
}

Json search(JsonReader& in, const Queue& queue, std::span<const BatchShape> shapes, int total,
            int w) {
  BatchQueue jobs(static_cast<int>(queue.slices_of_kind.size()), w);
  for (const QueuedJob& job : queue.jobs) jobs.insert(job);
  const Batch best = cleave::best_batch(jobs, shapes, total, w);
  const auto equal = equal_best_batches(jobs, shapes, total, w, most_equal);
  if (!equal) {
    in.refuse("queue", fmt::format("more than {} batches are equally good", most_equal));
    return {};
  }
  std::vector<PartitionRun<Fraction>> runs;
  for (const QueuedJob& job : best.jobs) runs.push_back(queue.runs[index(job.job)]);
  Json list = Json::array();
  for (const Batch& batch : *equal) list.push_back(ids_of(queue, batch));
  const auto of_best = system_throughput(std::span<const PartitionRun<Fraction>>(runs), total);
  return {{"best", ids_of(queue, best)},
          {"throughput", exact(in, of_best.throughput)},
          {"equal_best", list}};
}

}  // namespace

Json choose_partitions(JsonReader& in) {
  const BatchQuestion question = read_batch_question(in);
  return to_json(question, cleave::choose_partitions(question));
}

Json throughput(JsonReader& in) {
  const int total = read_slices(in, "total_slices");
  std::vector<PartitionRun<Fraction>> runs;
  need_list(in, "jobs");
  for (JsonReader& job : in.objects("jobs")) {
    const Fraction full = need_positive(job, "jct_full");
    runs.push_back({full, need_positive(job, "jct"), read_slices(job, "slices")});
  }
  const auto result = system_throughput(std::span<const PartitionRun<Fraction>>(runs), total);
  return {{"m", exact(in, result.share)},
          {"throughput", exact(in, result.throughput)},
          {"inverse", exact(in, result.inverse)}};
}

Json fragmentation_measure(JsonReader& in) {
  const int total = read_slices(in, "total_slices");
  ComputeSlices allocated;
  need_list(in, "allocated");
  for (const std::int64_t slices : in.integers("allocated", 0, most_slices))
    allocated += ComputeSlices{static_cast<int>(slices)};
  return rational(cleave::fragmentation_measure(allocated, {std::max(total, 1)}));
}

Json reconfigure_last(JsonReader& in) {
  const Instant now{need_time(in, "now")};
  ReconfigureOptions options;
  options.alpha = need_time(in, "alpha");
  options.beta = need_time(in, "beta");
  std::vector<ActiveJob> active;
  need_list(in, "active");
  for (JsonReader& job : in.objects("active")) {
    const Instant start{need_time(job, "start")};
    active.push_back({start, need_time(job, "jct"), deadline_of(job), penalty_of(job)});
  }
  auto waiting_in = in.object_if("waiting");
  if (!waiting_in) {
    in.refuse("", "the key 'waiting' is missing");
    return {};
  }
  const WaitingJob waiting{need_time(*waiting_in, "jct"), deadline_of(*waiting_in),
                           penalty_of(*waiting_in)};
  const ReconfigureDecision decision = weigh_reconfiguration(now, active, waiting, options);
  return {{"cr", seconds(decision.reconfigure_cost)},
          {"cw", seconds(decision.waiting_cost)},
          {"deadlines_met", decision.deadlines_met},
          {"deadlines_met_with_overhead", decision.deadlines_met_with_overhead},
          {"reconfigure", decision.reconfigure}};
}

Json best_batch(JsonReader& in) {
  const int total = std::max(read_slices(in, "total_slices"), 1);
  const auto free_slices = static_cast<int>(in.integer("free_slices", 0, most_slices));
  const auto w = static_cast<int>(in.integer("w", 0, most_slices));
  Queue queue = read_queue(in);
  std::vector<BatchShape> shapes;
  if (in.has("device")) {
    const auto gpu = read_gpu(in);
    if (!gpu) return {};
    const KindOf kinds = kinds_by_profile(in, queue.runs, gpu->geometry());
    if (kinds.empty() && !queue.runs.empty()) return {};
    fill(in, queue, kinds);
    shapes = layouts(*gpu, queue, free_slices);
  } else {
    fill(in, queue, kinds_by_slices(queue.runs));
    shapes = shapes_by_slices(queue.slices_of_kind, free_slices, w);
  }
  return search(in, queue, shapes, total, w);
}

}  // namespace cleave::cases::dynap
