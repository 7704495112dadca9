#include "daemon/service/api_call.hpp"

#include <algorithm>

#include "api/documents.hpp"
#include "base/format.hpp"
#include "base/json.hpp"
#include "base/text.hpp"
#include "daemon/service/views.hpp"

namespace cleave {

int http_status_of(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::bad_usage:
    case ErrorKind::bad_input:
      return 400;
    case ErrorKind::infeasible:
      return 409;
    case ErrorKind::internal:
      break;
  }
  return 500;
}

std::optional<std::vector<std::string>> match_path(std::string_view pattern,
                                                   std::string_view path) {
  const auto wanted = split(pattern, '/'), given = split(path, '/');
  if (wanted.size() != given.size()) return std::nullopt;
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (wanted[i].starts_with('{')) {
      if (given[i].empty()) return std::nullopt;
      parts.emplace_back(given[i]);
    } else if (wanted[i] != given[i]) {
      return std::nullopt;
    }
  }
  return parts;
}

void ApiCall::reply(HttpResponse response, std::string result) {
  if (changes && note_)
    note_({request.peer, request.method, request.path, response.status, std::move(result),
           request.web && request.web->pass ? request.web->pass->token : 0});
  note_ = nullptr;
  answer_(std::move(response));
}

void ApiCall::reply(int status, const Json& document, std::string result) {
  HttpResponse response;
  response.status = status;
  response.body = api_text(document);
  response.body += '\n';
  reply(std::move(response), std::move(result));
}

void ApiCall::refuse(const Error& error, std::optional<int> status) {
  Error said = error;
  // What is wrong with a field is said by its place; which forms it has, the description says.
  if (said.remedy.empty() && said.kind == ErrorKind::bad_input && !said.place.empty())
    said.remedy = "GET /v1/openapi.json describes what is taken";
  reply(status.value_or(http_status_of(said.kind)), error_document(said), said.text());
}

void ApiCall::no_such(std::string_view what, std::string_view which, std::string_view remedy) {
  refuse(Error{ErrorKind::bad_input, "", fmt::format("there is no {} {}", what, shown(which)),
               std::string(remedy)},
         404);
}

std::string ApiCall::by() const {
  return user.empty() ? fmt::format("user {}", request.peer.uid) : fmt::format("user {}", user);
}

void ApiCall::wrong(std::string_view key, std::string message, std::string remedy) {
  if (!error_)
    error_ = Error{ErrorKind::bad_input, fmt::format("query: {}", key), std::move(message),
                   std::move(remedy)};
}

std::optional<std::string> ApiCall::text(std::string_view key) {
  asked_.emplace(key);
  const auto found = request.query.find(key);
  return found == request.query.end() ? std::nullopt : std::optional(found->second);
}

std::optional<std::int64_t> ApiCall::integer(std::string_view key, std::int64_t least,
                                             std::int64_t most) {
  const auto given = text(key);
  if (!given) return std::nullopt;
  const auto number = parse_integer(*given);
  if (number && *number >= least && *number <= most) return number;
  wrong(key, fmt::format("expected a whole number from {} to {}, found '{}'", least, most,
                         shown(*given)));
  return std::nullopt;
}

bool ApiCall::flag(std::string_view key) {
  const std::string value = word(key, {"0", "1", "false", "true"});
  return value == "1" || value == "true";
}

std::string ApiCall::word(std::string_view key, const std::vector<std::string>& words) {
  const auto given = text(key);
  if (!given) return words.front();
  if (std::ranges::find(words, *given) != words.end()) return *given;
  wrong(key, fmt::format("'{}' is not {}", shown(*given), any_of(words)));
  return words.front();
}

bool ApiCall::query_is_fine() {
  for (const auto& [key, value] : request.query)
    if (!asked_.contains(key)) {
      const std::vector<std::string> known(asked_.begin(), asked_.end());
      wrong(shown(key), "unknown key",
            known.empty() ? "this path takes no query" : suggestion(key, known));
    }
  if (error_) refuse(*error_);
  return !error_;
}

}  // namespace cleave
