#pragma once
// Holds documents against the schemas of an OpenAPI 3.0 description: what docs/openapi.json uses of
// them and no more. A word that it does not know is a finding too, so that nothing is left
// unchecked.

#include <string>
#include <string_view>
#include <vector>

#include "base/json.hpp"

namespace cleave::trial {

class SchemaCheck {
 public:
  /// Must outlive it.
  explicit SchemaCheck(const Json& description) : description_(description) {}

  /// What is wrong with `value`, one line each; none: it is as `schema` says.
  [[nodiscard]] std::vector<std::string> check(const Json& schema, const Json& value) const;

  /// The path of the description that this one is of, "/v1/jobs/{job}"; empty where there is none.
  [[nodiscard]] std::string path_of(std::string_view path) const;
  /// What is wrong with an answer of this status, type and body to a request.
  [[nodiscard]] std::vector<std::string> check_answer(const std::string& method,
                                                      std::string_view path, int status,
                                                      std::string type,
                                                      const std::string& body) const;
  /// What a `$ref` stands for, however many there are.
  [[nodiscard]] const Json& resolved(const Json& schema) const;

 private:
  void walk(const Json& schema, const Json& value, const std::string& at,
            std::vector<std::string>& findings) const;
  void walk_object(const Json& schema, const Json& value, const std::string& at,
                   std::vector<std::string>& findings) const;
  const Json& description_;
};

}  // namespace cleave::trial
