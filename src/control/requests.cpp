#include "control/requests.hpp"

#include "base/format.hpp"

namespace cleave {

namespace {

/// Numbers that a job of it takes.
JobNumber width_of(const NewJob& job) {
  const std::int64_t replicas = job.spec.service ? job.spec.service->replicas : 1;
  return std::int64_t{job.spec.request.places} * replicas;
}

}  // namespace

std::vector<JobNumber> numbers_from(JobNumber first, std::span<const NewJob> jobs) {
  std::vector<JobNumber> numbers;
  for (const NewJob& job : jobs)
    for (std::size_t task = 0; task < job.tasks(); ++task) {
      numbers.push_back(first);
      first += width_of(job);
    }
  return numbers;
}

JobNumber number_after(JobNumber first, std::span<const NewJob> jobs) {
  for (const NewJob& job : jobs) first += static_cast<JobNumber>(job.tasks()) * width_of(job);
  return first;
}

std::vector<std::string> ranges_from(JobNumber first, std::span<const NewJob> jobs) {
  std::vector<std::string> ranges;
  for (const NewJob& job : jobs) {
    const JobNumber last = first + static_cast<JobNumber>(job.tasks() - 1) * width_of(job);
    ranges.push_back(first == last ? fmt::format("{}", first) : fmt::format("{}-{}", first, last));
    first = last + width_of(job);
  }
  return ranges;
}

}  // namespace cleave
