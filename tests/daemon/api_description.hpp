#pragma once
// What of docs/openapi.json and docs/api.md follows from the tables of the records that go over the
// socket (api/documents.hpp, model/job_spec.hpp): `cleave-describe-api` writes it, a test holds the
// pages to it.

#include <string>
#include <string_view>

#include "base/json.hpp"

namespace cleave::trial {

/// The schemas of the records, by name. Schemas of lists and of other answers are not among them.
[[nodiscard]] Json table_schemas();

/// docs/openapi.json with these schemas in it, each in its place.
[[nodiscard]] std::string with_schemas(std::string_view openapi);

/// docs/api.md with a table of fields after each "<!-- fields: NAME -->", up to "<!-- end -->".
[[nodiscard]] std::string with_fields(std::string_view page);

}  // namespace cleave::trial
