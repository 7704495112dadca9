#include "case_file.hpp"

#include <optional>

namespace cleave::cases {

Result<CaseFile> parse_cases(std::string_view text, const std::string& place) {
  const auto document = parse_json(text, place);
  if (!document) return std::unexpected(document.error());
  std::optional<Error> error;
  JsonReader in(*document, place, error);
  CaseFile file;
  file.module = in.text("module");
  if (!in.has("cases")) in.refuse("", "the key 'cases' is missing");
  for (JsonReader& reader : in.objects("cases")) {
    Case next;
    next.id = reader.text("id");
    next.op = reader.text("op");
    if (!reader.object_if("expected")) reader.refuse("", "the key 'expected' is missing");
    if (error) break;
    const Json& written = (*document)["cases"][file.cases.size()];
    next.input = written.value("input", Json());
    next.expected = written["expected"];
    file.cases.push_back(std::move(next));
  }
  if (error) return std::unexpected(*error);
  return file;
}

}  // namespace cleave::cases
