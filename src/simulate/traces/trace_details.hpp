#pragma once
// What records of traces say beside times and GPUs: the program that a job ran, by the columns that
// name it, whose job it was, and what it had of its host.

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/csv.hpp"
#include "base/result.hpp"
#include "model/job.hpp"
#include "simulate/traces/trace.hpp"

namespace cleave {

/// The columns of a file whose values together name the program that a job ran.
class NamingColumns {
 public:
  using Find = std::function<std::optional<std::size_t>(std::string_view name)>;
  /// Those that --application names, which the file must have; or else of `usual` those that it
  /// has, if the last one is among them. `find` finds a column.
  [[nodiscard]] static Result<NamingColumns> of(const TraceOptions& options,
                                                std::span<const std::string_view> usual,
                                                const Find& find, const std::string& place);

  /// "alice/train-7"; empty where one of the cells is, or is not fit for a name.
  template <class Row>
  [[nodiscard]] std::string name_in(const Row& row) const {
    std::string name;
    for (const std::size_t column : columns_)
      if (!append(name, std::string_view(row[column]))) return "";
    return name;
  }
  /// "User/JobName"; empty: jobs have no application.
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  static bool append(std::string& name, std::string_view cell);

  std::vector<std::size_t> columns_;
  std::string text_;
};

/// Finds columns of a CSV file, which must outlive it.
[[nodiscard]] NamingColumns::Find column_finder(const CsvReader& csv);

/// Names that differ by the number at their end alone, as sweeps give them, are one application,
/// unless a name has jobs enough to be known by itself.
class FoldedNames {
 public:
  static constexpr std::size_t jobs_of_a_known_name = 10;

  /// Of all jobs, before of() is asked.
  void count(const std::string& name);
  [[nodiscard]] std::string of(const std::string& name) const;

 private:
  std::map<std::string, std::size_t> jobs_;   // by name
  std::map<std::string, std::size_t> names_;  // by name without its number: the rare ones
};

/// Details of jobs; equal combinations, which are frequent, are stored once.
class TraceDetails {
 public:
  /// `workload` must outlive this.
  explicit TraceDetails(Workload& workload) : workload_(&workload) {}

  /// Of a record, of whose host each process has an equal part.
  struct Said {
    std::string application = {}, user = {}, account = {};  // empty: unknown
    std::optional<double> cpus = {};
    std::optional<MiB> memory = {};
    std::uint32_t processes = 1;
  };
  [[nodiscard]] std::uint32_t of(const Said& said);
  /// Notes how many applications there are, and by which columns.
  void note(const NamingColumns& columns) const;

 private:
  using Key = std::tuple<std::string, std::string, std::string, std::optional<double>,
                         std::optional<MiB>, std::uint32_t>;
  Workload* workload_;
  std::map<Key, std::uint32_t> numbers_;
};

}  // namespace cleave
