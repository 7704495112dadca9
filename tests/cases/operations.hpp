#pragma once
// The operations of the runner: one function for each operation of the cases, in a file for each
// module, and a row for each in one table. A function reads its `input`, calls the library and
// writes the answer in the words of the cases. It leaves errors of the input in the reader; its
// answer is then meaningless.

#include <string_view>

#include "base/json.hpp"

namespace cleave::cases {

/// A row of the table: module, name and function of an operation.
struct Operation {
  std::string_view module, op;
  Json (*answer)(JsonReader& in);
  /// Whether the input asks for a variant of the operation that the runner lacks; null: it has all.
  bool (*beyond)(const Json& input) = nullptr;
};

/// Null if the operation is unknown.
const Operation* find_operation(std::string_view module, std::string_view op);

namespace geometry {
Json table(JsonReader& in);
Json legal(JsonReader& in);
Json free_places(JsonReader& in);
Json counts(JsonReader& in);
Json states(JsonReader& in);
Json assumption1(JsonReader& in);
}  // namespace geometry

namespace reachability {
Json fcr(JsonReader& in);
Json all(JsonReader& in);
Json choose(JsonReader& in);
Json choose_size(JsonReader& in);
}  // namespace reachability

namespace fragmentation {
Json cost(JsonReader& in);
Json choose(JsonReader& in);
bool other_formula(const Json& input);
}  // namespace fragmentation

namespace online {
Json arrive(JsonReader& in);
Json depart(JsonReader& in);
}  // namespace online

namespace placement {
Json deploy(JsonReader& in);
Json compact(JsonReader& in);
Json reconfigure(JsonReader& in);
Json measure(JsonReader& in);
Json optimum(JsonReader& in);
Json partitions(JsonReader& in);
Json waste_of_model(JsonReader& in);
}  // namespace placement

namespace dynap {
Json choose_partitions(JsonReader& in);
Json throughput(JsonReader& in);
Json fragmentation_measure(JsonReader& in);
Json reconfigure_last(JsonReader& in);
Json best_batch(JsonReader& in);
}  // namespace dynap

namespace predictor {
Json fit(JsonReader& in);
Json predict(JsonReader& in);
Json run(JsonReader& in);
}  // namespace predictor

namespace schemes {
Json scheme_a(JsonReader& in);
Json scheme_b(JsonReader& in);
Json baseline(JsonReader& in);
}  // namespace schemes

namespace reward {
Json of_one(JsonReader& in);
Json best(JsonReader& in);
}  // namespace reward

namespace wasted {
Json table(JsonReader& in);
Json of_mix(JsonReader& in);
}  // namespace wasted

}  // namespace cleave::cases
