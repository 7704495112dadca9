#pragma once
// `--query-gpu` and `--query-compute-apps`: chosen fields as CSV. Fields are rows of one table
// each.

#include <string>
#include <string_view>
#include <vector>

#include "smi/reading.hpp"

namespace cleave::smi {

/// What is asked for: GPUs, or the processes on them.
enum class QueryOf { gpus, processes };

/// A query, as the options say.
struct Query {
  QueryOf of = QueryOf::gpus;
  std::vector<std::string> fields;  // as given
  bool header = true, units = true;
};

/// The first of the fields that does not exist.
std::optional<std::string> unknown_field(const Query& query);
/// The answer, with a line's end after each line.
std::string answer(const Query& query, const NodeReading& node, bool with_header);
/// All fields, with what they are.
std::string list_of_fields(QueryOf of);

}  // namespace cleave::smi
