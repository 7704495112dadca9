#include "control/requests.hpp"

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

}  // namespace cleave
