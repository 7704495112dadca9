#include "engine/schedulers/batch_search.hpp"

#include <algorithm>
#include <cassert>
#include <map>

namespace cleave {

namespace {

/// What differs by less, of the larger, is the same throughput.
constexpr double tolerance = 1e-9;

using Parts = std::vector<BatchShape::Part>;

bool by_rank(const QueuedJob& a, const QueuedJob& b) {
  return a.rank < b.rank;
}

/// The order in which Algorithm 3 looks at subsets; jobs of each stand in queue order.
bool earlier(const Batch& a, const Batch& b) {
  if (a.jobs.size() != b.jobs.size()) return a.jobs.size() < b.jobs.size();
  return std::ranges::lexicographical_compare(a.jobs, b.jobs, by_rank);
}

/// The throughput of the best jobs in this shape; zero when there are not enough of them.
double value(const BatchQueue& queue, const BatchShape& shape, double total_slices) {
  double sum = 0.0;
  for (const auto& [kind, count] : shape.parts) {
    const std::span<const double> sums = queue.sums(kind);
    if (static_cast<std::size_t>(count) >= sums.size()) return 0.0;
    sum += sums[static_cast<std::size_t>(count)];
  }
  return shape.slices / total_slices * sum;
}

struct Valued {
  const BatchShape* shape;
  double throughput;
};

/// The shapes of the highest throughput.
std::vector<Valued> best_shapes(const BatchQueue& queue, std::span<const BatchShape> shapes,
                                int total_slices, int w) {
  assert(w <= queue.widest() && total_slices > 0);
  std::vector<Valued> best;
  double most = 0.0;
  for (const BatchShape& shape : shapes) {
    if (shape.jobs > w) continue;
    const double throughput = value(queue, shape, total_slices);
    if (throughput <= 0.0 || throughput < most * (1.0 - tolerance)) continue;
    if (throughput * (1.0 - tolerance) > most) best.clear();
    most = std::max(most, throughput);
    best.push_back({&shape, throughput});
  }
  std::erase_if(best, [&](const Valued& one) { return one.throughput < most * (1.0 - tolerance); });
  return best;
}

/// The best jobs in this shape; of equal ones the first in the queue, which makes the first of
/// equal batches.
Batch first_batch(const BatchQueue& queue, const Valued& valued) {
  Batch batch{{}, valued.throughput};
  batch.jobs.reserve(static_cast<std::size_t>(valued.shape->jobs));
  for (const auto& [kind, count] : valued.shape->parts) {
    auto job = queue.jobs(kind).begin();
    for (int i = 0; i < count; ++i) batch.jobs.push_back(*job++);
  }
  std::ranges::sort(batch.jobs, by_rank);
  return batch;
}

/// Appends every way to take `count` of `jobs`, from `first` on, to what `chosen` holds.
void choose(std::span<const QueuedJob> jobs, std::size_t first, int count, Batch& chosen,
            std::size_t most, std::vector<Batch>& result) {
  if (result.size() > most) return;
  if (count == 0) {
    result.push_back(chosen);
    return;
  }
  for (std::size_t i = first; i + static_cast<std::size_t>(count) <= jobs.size(); ++i) {
    chosen.jobs.push_back(jobs[i]);
    choose(jobs, i + 1, count - 1, chosen, most, result);
    chosen.jobs.pop_back();
  }
}

/// The batches so far, each with the best `part.count` jobs of a kind, in every way in which these
/// are best: those with a higher RT than the last are all in, of those equal to it any may be.
std::vector<Batch> with_part(const std::vector<Batch>& batches, const BatchQueue::Jobs& jobs,
                             const BatchShape::Part& part, std::size_t most) {
  const double last = std::next(jobs.begin(), part.count - 1)->relative;
  std::vector<QueuedJob> sure, open;
  for (const QueuedJob& job : jobs) {
    if (job.relative < last) break;
    (job.relative > last ? sure : open).push_back(job);
  }
  std::vector<Batch> result;
  for (Batch batch : batches) {
    batch.jobs.insert(batch.jobs.end(), sure.begin(), sure.end());
    choose(open, 0, part.count - static_cast<int>(sure.size()), batch, most, result);
  }
  return result;
}

BatchShape shape_of(Parts parts, std::span<const int> slices_of_kind) {
  BatchShape shape{std::move(parts), 0, 0};
  for (const auto& [kind, count] : shape.parts) {
    shape.jobs += count;
    shape.slices += count * slices_of_kind[static_cast<std::size_t>(kind)];
  }
  return shape;
}

/// Appends `so_far` with every multiset of kinds from `kind` on that still fits.
void extend(Parts& so_far, int kind, std::span<const int> slices_of_kind, int free_slices,
            int widest, std::vector<BatchShape>& result) {
  for (; static_cast<std::size_t>(kind) < slices_of_kind.size(); ++kind) {
    const int each = slices_of_kind[static_cast<std::size_t>(kind)];
    for (int count = 1; count <= widest && count * each <= free_slices; ++count) {
      so_far.push_back({kind, count});
      result.push_back(shape_of(so_far, slices_of_kind));
      extend(so_far, kind + 1, slices_of_kind, free_slices - count * each, widest - count, result);
      so_far.pop_back();
    }
  }
}

/// The profiles of some placements as a multiset.
Parts parts_of(const Geometry& geometry, PlacementSet placements) {
  std::map<int, int> counts;
  for (const PlacementId id : placements) ++counts[geometry[id].profile_index];
  Parts parts;
  for (const auto& [kind, count] : counts) parts.push_back({kind, count});
  return parts;
}

}  // namespace

Ratio fragmentation_measure(ComputeSlices allocated, ComputeSlices total) {
  return {(total - allocated).value, total.value};
}

BatchQueue::BatchQueue(int kinds, int widest)
    : lanes_(static_cast<std::size_t>(kinds)), widest_(widest) {}

void BatchQueue::insert(const QueuedJob& job) {
  assert(job.relative > 0.0);
  Lane& lane = lanes_[static_cast<std::size_t>(job.kind)];
  [[maybe_unused]] const bool is_new = lane.jobs.insert(job).second;
  assert(is_new);
  ++size_;
  refresh(lane);
}

void BatchQueue::erase(const QueuedJob& job) {
  Lane& lane = lanes_[static_cast<std::size_t>(job.kind)];
  [[maybe_unused]] const std::size_t erased = lane.jobs.erase(job);
  assert(erased == 1);
  --size_;
  refresh(lane);
}

void BatchQueue::refresh(Lane& lane) const {
  lane.sums.resize(1);
  for (const QueuedJob& job : lane.jobs) {
    if (lane.sums.size() > static_cast<std::size_t>(widest_)) break;
    lane.sums.push_back(lane.sums.back() + job.relative);
  }
}

std::vector<BatchShape> shapes_by_slices(std::span<const int> slices_of_kind, int free_slices,
                                         int widest) {
  std::vector<BatchShape> result;
  Parts so_far;
  extend(so_far, 0, slices_of_kind, free_slices, widest, result);
  return result;
}

LayoutShapes::LayoutShapes(std::shared_ptr<const StateGraph> graph)
    : graph_(std::move(graph)), known_(static_cast<std::size_t>(graph_->size())) {}

const std::vector<BatchShape>& LayoutShapes::around(StateId occupied) {
  auto& known = known_[occupied];
  if (known) return *known;
  // Every state that contains this one is a layout for what it has more.
  const Geometry& geometry = graph_->geometry();
  std::set<Parts> found;
  std::vector<bool> seen(static_cast<std::size_t>(graph_->size()));
  std::vector<StateId> open{occupied};
  while (!open.empty()) {
    const StateId state = open.back();
    open.pop_back();
    if (state != occupied)
      found.insert(parts_of(geometry, graph_->state(state) - graph_->state(occupied)));
    for (const PlacementId placement : graph_->free(state)) {
      const StateId next = graph_->add(state, placement);
      if (seen[next]) continue;
      seen[next] = true;
      open.push_back(next);
    }
  }
  std::vector<int> slices;
  for (const Profile& profile : geometry.model().profiles) slices.push_back(profile.compute.value);
  std::vector<BatchShape> shapes;
  for (const Parts& parts : found) shapes.push_back(shape_of(parts, slices));
  known = std::make_unique<const std::vector<BatchShape>>(std::move(shapes));
  return *known;
}

Batch best_batch(const BatchQueue& queue, std::span<const BatchShape> shapes, int total_slices,
                 int w) {
  Batch best;
  for (const Valued& valued : best_shapes(queue, shapes, total_slices, w)) {
    Batch batch = first_batch(queue, valued);
    if (best.jobs.empty() || earlier(batch, best)) best = std::move(batch);
  }
  return best;
}

std::vector<Batch> batches_by_throughput(const BatchQueue& queue,
                                         std::span<const BatchShape> shapes, int total_slices,
                                         int w) {
  std::vector<Batch> all;
  for (const BatchShape& shape : shapes) {
    if (shape.jobs > w) continue;
    const double throughput = value(queue, shape, total_slices);
    if (throughput > 0.0) all.push_back(first_batch(queue, {&shape, throughput}));
  }
  // Sums that differ by rounding alone are ordered by it: exactness is for the best one.
  std::ranges::sort(all, [](const Batch& a, const Batch& b) {
    return a.throughput != b.throughput ? a.throughput > b.throughput : earlier(a, b);
  });
  return all;
}

std::optional<std::vector<Batch>> equal_best_batches(const BatchQueue& queue,
                                                     std::span<const BatchShape> shapes,
                                                     int total_slices, int w, std::size_t most) {
  std::vector<Batch> all;
  for (const Valued& valued : best_shapes(queue, shapes, total_slices, w)) {
    std::vector<Batch> batches{{{}, valued.throughput}};
    for (const BatchShape::Part& part : valued.shape->parts)
      batches = with_part(batches, queue.jobs(part.kind), part, most);
    all.insert(all.end(), batches.begin(), batches.end());
    if (all.size() > most) return std::nullopt;
  }
  for (Batch& batch : all) std::ranges::sort(batch.jobs, by_rank);
  std::ranges::sort(all, earlier);
  return all;
}

}  // namespace cleave
