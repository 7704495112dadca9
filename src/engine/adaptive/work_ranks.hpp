#pragma once
// What a unit of work on a job weighs, by how much all jobs have to do.
//
// Two answers are right in different situations. Where all jobs are there and speed grows with a
// part of the processors as its root, the mean time to the end is least if a job weighs
// sqrt(i^2 - (i-1)^2), with i the jobs that have at least as much to do (Berg, Vesilo,
// Harchol-Balter: heSRPT, 2020): whoever is done early is out of the way of all these. Where jobs
// keep coming, what counts is how soon one is out of the way of those: 1 over what it has to do.
// The weight is the geometric mean of both.

#include <cstddef>
#include <vector>

namespace cleave {

/// The rests of all jobs, as they were when they were looked at.
class WorkRanks {
 public:
  /// In seconds at full speed, in any order, of the jobs that share these GPUs.
  void set(std::vector<double> rests_s, std::size_t gpus);
  /// Of a job that has so much to do; above 0.
  [[nodiscard]] double weight(double rest_s) const;

 private:
  std::vector<double> sorted_;
  double gpus_ = 1;
};

}  // namespace cleave
