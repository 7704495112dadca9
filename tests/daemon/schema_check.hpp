#pragma once
// Checks documents against the schemas of an OpenAPI 3.0 description, as far as docs/openapi.json
// uses them. An unknown keyword is an error too, so that nothing is left unchecked.

#include <string>
#include <string_view>
#include <vector>

#include "base/json.hpp"

namespace cleave::trial {

class SchemaCheck {
 public:
  /// `description` must outlive it.
  explicit SchemaCheck(const Json& description) : description_(description) {}

  /// What is wrong with `value`, one line each; empty: it matches `schema`.
  [[nodiscard]] std::vector<std::string> check(const Json& schema, const Json& value) const;

  /// The path of the description that matches this one, "/v1/jobs/{job}"; empty if there is none.
  [[nodiscard]] std::string path_of(std::string_view path) const;
  /// What is wrong with an answer of this status, type and body to a request.
  [[nodiscard]] std::vector<std::string> check_answer(const std::string& method,
                                                      std::string_view path, int status,
                                                      std::string type,
                                                      const std::string& body) const;
  /// The target of a `$ref`, through any number of them.
  [[nodiscard]] const Json& resolved(const Json& schema) const;

 private:
  void walk(const Json& schema, const Json& value, const std::string& at,
            std::vector<std::string>& findings) const;
  void walk_rules(const Json& schema, const Json& value, const std::string& at,
                  std::vector<std::string>& findings) const;
  void walk_object(const Json& schema, const Json& value, const std::string& at,
                   std::vector<std::string>& findings) const;
  const Json& description_;
};

}  // namespace cleave::trial
