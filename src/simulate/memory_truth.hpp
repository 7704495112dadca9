#pragma once
// How much memory a job of the workload really holds while it runs, and what it reports of it: what
// grows by iteration (model/memory_growth.hpp), or what it asked for. The iterations share its work
// evenly.

#include <cstdint>
#include <optional>

#include "model/job.hpp"

namespace cleave {

/// The memory of the jobs of one workload.
class MemoryTruth {
 public:
  MemoryTruth(const Workload& workload, std::uint64_t seed) : workload_(&workload), seed_(seed) {}

  /// Whether anything is known of the job's memory.
  [[nodiscard]] bool grows(const Job& job) const;
  /// Held during an iteration with the context, the first is 1; the job must grow.
  [[nodiscard]] MiB during(std::size_t job, std::int64_t iteration) const;
  /// What the job reports at the end of the iteration; it must grow.
  [[nodiscard]] MemoryReport report(std::size_t job, std::int64_t iteration) const;
  [[nodiscard]] std::int64_t iterations(const Job& job) const;
  /// The first iteration from `from` on that needs more than `capacity`; nullopt when none does.
  [[nodiscard]] std::optional<std::int64_t> first_beyond(std::size_t job, MiB capacity,
                                                         std::int64_t from) const;
  /// The most that it holds at any time; nullopt when nothing is known.
  [[nodiscard]] std::optional<MiB> most_held(std::size_t job) const;
  /// Mean MiB held over this part of its work; nullopt when nothing is known.
  [[nodiscard]] std::optional<double> mean_held(const Job& job, double from_share,
                                                double to_share) const;

 private:
  [[nodiscard]] const MemoryGrowth& growth(std::size_t job) const;

  const Workload* workload_;
  std::uint64_t seed_;
};

}  // namespace cleave
