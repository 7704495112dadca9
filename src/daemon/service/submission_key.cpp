#include "daemon/service/submission_key.hpp"

#include <algorithm>
#include <vector>

#include "base/json.hpp"
#include "base/text.hpp"
#include "daemon/store/row_sum.hpp"

namespace cleave {

namespace {

constexpr std::size_t longest_key = 255;

void add_to(RowSum& sum, const Json& node);

void add_members(RowSum& sum, const Json& object) {
  std::vector<std::pair<std::string_view, const Json*>> members;
  for (const auto& [key, value] : object.items())
    if (!key.starts_with("x-")) members.emplace_back(key, &value);
  std::ranges::sort(members, {}, &std::pair<std::string_view, const Json*>::first);
  sum.add(std::ssize(members));
  for (const auto& [key, value] : members) {
    sum.add(key);
    add_to(sum, *value);
  }
}

/// Documents have a bound on their depth.
void add_to(RowSum& sum, const Json& node) {
  sum.add(static_cast<std::int64_t>(node.type()));
  if (node.is_object()) return add_members(sum, node);
  if (node.is_string()) {
    sum.add(node.get_ref<const std::string&>());
  } else if (node.is_array()) {
    sum.add(static_cast<std::int64_t>(node.size()));
    for (const Json& each : node) add_to(sum, each);
  } else {
    sum.add(node.dump());
  }
}

}  // namespace

Result<SubmissionKey> read_submission_key(std::string_view header, const Json& submission) {
  const bool quoted = header.size() >= 2 && header.starts_with('"') && header.ends_with('"');
  const std::string_view text = quoted ? header.substr(1, header.size() - 2) : header;
  const bool printable = std::ranges::all_of(text, [](char c) { return c >= 0x20 && c <= 0x7e; });
  if (text.empty() || text.size() > longest_key || !printable)
    return fail(ErrorKind::bad_input, key_header, "a key is 1 to 255 printable characters of ASCII",
                "a random UUID is a good one");
  RowSum sum;
  add_to(sum, submission);
  return SubmissionKey{std::string(text), sum.value()};
}

}  // namespace cleave
