#pragma once
// JSON from outside, read with care. `parse_json` refuses broken text, repeated keys and absurd
// nesting. `JsonReader` walks a document and keeps the first thing that is wrong with it, place
// included, so that a reader is a list of plain assignments with one check at its end:
//
//   std::optional<Error> error;
//   JsonReader in(document, "fleet.json", error);
//   gpu.name = in.text("name");
//   gpu.model = in.text("model");
//   in.done();                      // refuses keys that were not asked for
//   if (error) return std::unexpected(*error);
//
// Without the last check a misspelt optional key such as "ownd": false would be ignored in silence.
// Keys that begin with "x-" belong to the user and are ignored.

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_fwd.hpp"
#include "base/quantity.hpp"
#include "base/result.hpp"
#include "base/time.hpp"

// Compiled once, in json.cpp, for every file that includes this.
extern template class nlohmann::basic_json<nlohmann::ordered_map>;

namespace cleave {

/// `place` names the document in errors, which add line and column.
[[nodiscard]] Result<Json> parse_json(std::string_view text, const std::string& place);

/// One JSON object under inspection. The document and `error` must outlive the reader. After the
/// first error all calls return empty values and change nothing.
class JsonReader {
 public:
  JsonReader(const Json& node, std::string place, std::optional<Error>& error);

  [[nodiscard]] const std::string& place() const { return place_; }
  [[nodiscard]] bool has(std::string_view key) const;
  /// Whether the key is there and its value is an object.
  [[nodiscard]] bool has_object(std::string_view key) const;

  std::string text(std::string_view key);
  std::optional<std::string> text_if(std::string_view key);
  /// A whole number in [least, most].
  std::int64_t integer(std::string_view key, std::int64_t least, std::int64_t most);
  std::optional<std::int64_t> integer_if(std::string_view key, std::int64_t least,
                                         std::int64_t most);
  std::optional<double> number_if(std::string_view key);
  bool flag(std::string_view key, bool otherwise);
  /// A time at or after zero.
  std::optional<Duration> seconds_if(std::string_view key);
  /// A number of MiB or a text with a unit.
  std::optional<MiB> size_if(std::string_view key);
  /// The elements of the array under `key`, all of them objects; empty when absent.
  std::vector<JsonReader> objects(std::string_view key);
  /// The same for an array of arrays of objects.
  std::vector<std::vector<JsonReader>> object_lists(std::string_view key);
  std::optional<JsonReader> object_if(std::string_view key);
  /// The texts of the array under `key`; empty when absent.
  std::vector<std::string> texts(std::string_view key);
  /// The whole numbers of the array under `key`, each in [least, most]; empty when absent.
  std::vector<std::int64_t> integers(std::string_view key, std::int64_t least, std::int64_t most);
  /// The numbers of the array under `key`; empty when absent.
  std::vector<double> number_list(std::string_view key);
  /// The keys of the object itself with their numbers, for tables whose keys are data; without
  /// those asked for before.
  std::vector<std::pair<std::string, double>> numbers();

  /// Refuses keys that were not asked for.
  void done();
  /// Records an error at this place, or at `key` in it, unless one is recorded already.
  void refuse(std::string_view key, std::string message, std::string remedy = {});

 private:
  const Json* find(std::string_view key);
  const Json* require(std::string_view key);
  [[nodiscard]] std::string place_of(std::string_view key) const;

  const Json* node_;
  std::string place_;
  std::optional<Error>* error_;
  std::vector<std::string> asked_;  // a few, so that a scan is quicker than a tree
};

}  // namespace cleave
