// The quick search for the best batch against Algorithm 3 as it is printed: every subset of the
// queue, by size and then by queue order, in exact arithmetic, with strict improvement.

#include "engine/schedulers/batch_search.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <numeric>

#include "base/random.hpp"

namespace cleave {
namespace {

/// A job of a small made-up queue; its times are whole numbers so that throughputs are exact.
struct Small {
  int kind, slices;
  std::int64_t full, part;
  std::int64_t key = 0;
};

using Ids = std::vector<std::size_t>;

struct Found {
  Ids best;
  std::vector<Ids> equal;
};

constexpr std::int64_t common = 5040;  // a multiple of all times below

/// Calls `look` with every subset of 0 .. n - 1 of this size, in lexicographic order.
void subsets(std::size_t n, std::size_t size, Ids& so_far,
             const std::function<void(const Ids&)>& look) {
  if (so_far.size() == size) return look(so_far);
  for (std::size_t i = so_far.empty() ? 0 : so_far.back() + 1; i < n; ++i) {
    so_far.push_back(i);
    subsets(n, size, so_far, look);
    so_far.pop_back();
  }
}

/// Algorithm 3; `fits` is R_req(B) <= R_avail. The queue stands in its order.
Found algorithm_three(const std::vector<Small>& queue, int w,
                      const std::function<bool(const Ids&)>& fits) {
  Found found;
  std::int64_t best = 0;  // slices * sum of RT * common
  for (std::size_t size = 1; size <= std::min(queue.size(), static_cast<std::size_t>(w)); ++size) {
    Ids so_far;
    subsets(queue.size(), size, so_far, [&](const Ids& batch) {
      if (!fits(batch)) return;
      std::int64_t slices = 0, sum = 0;
      for (const std::size_t job : batch) {
        slices += queue[job].slices;
        sum += queue[job].full * (common / queue[job].part);
      }
      if (slices * sum > best) {
        best = slices * sum;
        found = {batch, {batch}};
      } else if (slices * sum == best) {
        found.equal.push_back(batch);
      }
    });
  }
  return found;
}

QueuedJob queued(const Small& job, std::size_t number) {
  return {static_cast<JobId>(number),
          job.kind,
          static_cast<double>(job.full) / static_cast<double>(job.part),
          {job.key, number}};
}

Ids ids_of(const Batch& batch) {
  Ids ids;
  for (const QueuedJob& job : batch.jobs) ids.push_back(index(job.job));
  return ids;
}

std::vector<Ids> ids_of(const std::vector<Batch>& batches) {
  std::vector<Ids> all;
  for (const Batch& batch : batches) all.push_back(ids_of(batch));
  return all;
}

/// Few times, so that many throughputs are equal.
Small random_job(Random& random, std::span<const int> kinds, std::span<const int> slices_of_kind) {
  constexpr std::int64_t times[] = {1, 2, 3, 4, 6, 7, 9};
  const int kind = kinds[random.below(kinds.size())];
  const std::int64_t part = times[random.below(7)];
  return {kind, slices_of_kind[static_cast<std::size_t>(kind)],
          1 + static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(part))), part};
}

/// Fills a queue with more jobs than stay, in any order, so that erasing is tested too.
BatchQueue fill(Random& random, const std::vector<Small>& jobs, int kinds, int w) {
  BatchQueue queue(kinds, w);
  Ids order(jobs.size());
  std::iota(order.begin(), order.end(), 0U);
  for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);
  const QueuedJob passing{JobId{9999}, jobs.empty() ? 0 : jobs.front().kind, 1.0, {0, 9999}};
  queue.insert(passing);
  for (const std::size_t i : order) queue.insert(queued(jobs[i], i));
  queue.erase(passing);
  return queue;
}

void expect_same(const BatchQueue& queue, std::span<const BatchShape> shapes, int total, int w,
                 const Found& expected, int& ties) {
  EXPECT_EQ(ids_of(best_batch(queue, shapes, total, w)), expected.best);
  const auto equal = equal_best_batches(queue, shapes, total, w, 10000);
  ASSERT_TRUE(equal);
  EXPECT_EQ(ids_of(*equal), expected.equal);
  ties += expected.equal.size() > 1 ? 1 : 0;
}

TEST(BatchSearch, IsAlgorithmThreeBySlices) {
  constexpr int slices_of_kind[] = {1, 2, 3, 4, 7};
  constexpr int kinds[] = {0, 1, 2, 3, 4};
  Random random(1);
  int ties = 0;
  for (int round = 0; round < 20000 && !testing::Test::HasFailure(); ++round) {
    std::vector<Small> jobs;
    for (std::uint64_t n = random.below(11); n > 0; --n)
      jobs.push_back(random_job(random, kinds, slices_of_kind));
    const int free = 1 + static_cast<int>(random.below(7)),
              w = 1 + static_cast<int>(random.below(7));
    const auto fits = [&](const Ids& batch) {
      return std::accumulate(batch.begin(), batch.end(), 0, [&](int sum, std::size_t job) {
               return sum + jobs[job].slices;
             }) <= free;
    };
    const auto shapes = shapes_by_slices(slices_of_kind, free, w);
    expect_same(fill(random, jobs, 5, w), shapes, 7, w, algorithm_three(jobs, w, fits), ties);
  }
  EXPECT_GT(ties, 1000);
}

/// Whether the profiles of a batch find places one beside the other, tried out.
bool has_layout(const Geometry& geometry, PlacementSet state, std::span<const int> profiles) {
  if (profiles.empty()) return true;
  for (const PlacementId id : geometry.free(state) & geometry.of_profile(profiles.front()))
    if (has_layout(geometry, state | PlacementSet::of(id), profiles.subspan(1))) return true;
  return false;
}

TEST(BatchSearch, IsAlgorithmThreeWithALayout) {
  for (const std::string_view name :
       {"A30-24GB", "RTX-PRO-6000-BW-96GB", "A100-40GB", "A100-80GB", "H100-80GB-SXM5"}) {
    const GpuModel* model = *find_gpu_model(name);
    const auto graph = StateGraph::of(*model, ProfileChoice().on(*model));
    LayoutShapes layouts(graph);
    std::vector<int> kinds(model->profiles.size()), slices_of_kind;
    std::iota(kinds.begin(), kinds.end(), 0);
    for (const Profile& profile : model->profiles) slices_of_kind.push_back(profile.compute.value);
    const int total = model->largest().compute.value;
    Random random(2);
    int ties = 0;
    for (int round = 0; round < 3000 && !testing::Test::HasFailure(); ++round) {
      std::vector<Small> jobs;
      for (std::uint64_t n = random.below(8); n > 0; --n)
        jobs.push_back(random_job(random, kinds, slices_of_kind));
      auto state = static_cast<StateId>(random.below(static_cast<std::uint64_t>(graph->size())));
      while (random.below(6) > 0 && state != 0)
        state = graph->remove(state, graph->state(state).first());
      const int w = 1 + static_cast<int>(random.below(7));
      const auto fits = [&](const Ids& batch) {
        std::vector<int> profiles;
        for (const std::size_t job : batch) profiles.push_back(jobs[job].kind);
        return has_layout(graph->geometry(), graph->state(state), profiles);
      };
      expect_same(fill(random, jobs, static_cast<int>(kinds.size()), w), layouts.around(state),
                  total, w, algorithm_three(jobs, w, fits), ties);
    }
    EXPECT_GT(ties, 50) << name;
  }
}

TEST(BatchSearch, QueueOrderIsByKeyThenSequence) {
  constexpr int slices_of_kind[] = {1};
  const auto shapes = shapes_by_slices(slices_of_kind, 1, 7);
  BatchQueue queue(1, 7);
  queue.insert({JobId{0}, 0, 0.5, {20, 0}});
  queue.insert({JobId{1}, 0, 0.5, {10, 1}});
  queue.insert({JobId{2}, 0, 0.5, {10, 2}});
  queue.insert({JobId{3}, 0, 0.4, {0, 3}});
  EXPECT_EQ(ids_of(best_batch(queue, shapes, 4, 4)), (Ids{1}));
  EXPECT_EQ(ids_of(*equal_best_batches(queue, shapes, 4, 4, 10)),
            (std::vector<Ids>{{1}, {2}, {0}}));
  EXPECT_FALSE(equal_best_batches(queue, shapes, 4, 4, 2));
  EXPECT_DOUBLE_EQ(best_batch(queue, shapes, 4, 4).throughput, 0.125);
}

TEST(BatchSearch, NothingFitsNothing) {
  constexpr int slices_of_kind[] = {1, 4};
  BatchQueue queue(2, 4);
  EXPECT_TRUE(best_batch(queue, shapes_by_slices(slices_of_kind, 4, 4), 4, 4).jobs.empty());
  queue.insert({JobId{0}, 1, 1.0, {}});
  EXPECT_TRUE(best_batch(queue, shapes_by_slices(slices_of_kind, 3, 4), 4, 4).jobs.empty());
  EXPECT_TRUE(best_batch(queue, shapes_by_slices(slices_of_kind, 4, 4), 4, 0).jobs.empty());
  EXPECT_EQ(equal_best_batches(queue, shapes_by_slices(slices_of_kind, 3, 4), 4, 4, 10)->size(),
            0U);
  EXPECT_EQ(best_batch(queue, shapes_by_slices(slices_of_kind, 4, 4), 4, 4).jobs.size(), 1U);
}

TEST(BatchSearch, ALayoutIsNarrowerThanACount) {
  // Figure 7 at 30: two slices are free, at 1 and at 3 of an A30, and no 2g can be made of them.
  const GpuModel* model = *find_gpu_model("A30-24GB");
  const auto graph = StateGraph::of(*model, ProfileChoice().on(*model));
  const Geometry& geometry = graph->geometry();
  PlacementSet state;
  for (const int start : {0, 2}) state.insert(*geometry.find("1g.6gb", start));
  LayoutShapes layouts(graph);
  const int two = geometry[*geometry.find("2g.12gb", 0)].profile_index;
  for (const BatchShape& shape : layouts.around(graph->find(state)))
    for (const BatchShape::Part& part : shape.parts) EXPECT_NE(part.kind, two);
}

TEST(SystemThroughput, IsTheShareTimesTheSum) {
  const std::vector<PartitionRun<double>> jobs = {{20.0, 40.0, 1}, {30.0, 40.0, 2}};
  const auto both = system_throughput(std::span<const PartitionRun<double>>(jobs), 4);
  EXPECT_DOUBLE_EQ(both.share, 0.75);
  EXPECT_DOUBLE_EQ(both.throughput, 0.75 * 1.25);
  EXPECT_DOUBLE_EQ(both.inverse, 0.75 * (2.0 + 4.0 / 3.0));
  const auto none = system_throughput(std::span<const PartitionRun<double>>(), 4);
  EXPECT_EQ(none.throughput, 0.0);
  EXPECT_EQ(none.share, 0.0);
}

TEST(FragmentationMeasure, IsTheFreeShare) {
  EXPECT_EQ(fragmentation_measure({3}, {4}), Ratio(1, 4));
  EXPECT_EQ(fragmentation_measure({7}, {7}), Ratio(0, 1));
  EXPECT_EQ(fragmentation_measure({0}, {7}), Ratio(1, 1));
}

}  // namespace
}  // namespace cleave
