#pragma once
// One request of the API on its way to an answer: the user who asks, what the path and the query
// say, and where the answer goes.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_fwd.hpp"
#include "base/result.hpp"
#include "daemon/http/http_types.hpp"
#include "daemon/service/audit.hpp"

namespace cleave {

/// Which users may call a path.
enum class ApiAccess : std::uint8_t {
  everyone,   // all users that this daemon serves
  operators,  // root, the daemon's user, members of the operators' group
  local,      // everyone, over the unix socket only
};

/// A request, helpers to read its query, and the answer to it.
class ApiCall {
 public:
  /// `note` is called once with the answer of a call that changes something.
  ApiCall(HttpRequest asked, HttpAnswer to, std::function<void(const AuditLine&)> note)
      : request(std::move(asked)), answer_(std::move(to)), note_(std::move(note)) {}

  HttpRequest request;
  std::vector<std::string> parts;  // of the path, for each {} of its pattern
  std::string user;                // the user's name; may be empty
  bool operates = false;
  bool changes = false;  // a change; it is written to the audit log

  /// `result`: for the audit log.
  void reply(int status, const Json& document, std::string result = {});
  void reply(HttpResponse response, std::string result = {});
  /// Answers with the error, and `status` or the status of the error's kind.
  void refuse(const Error& error, std::optional<int> status = {});
  /// 404, the same whether it does not exist or belongs to another user.
  void no_such(std::string_view what, std::string_view which, std::string_view remedy = {});
  [[nodiscard]] bool gone() const { return answer_.gone(); }
  [[nodiscard]] bool fits(std::size_t bytes) const { return answer_.fits(bytes); }
  [[nodiscard]] std::string by() const;  // "user ada"

  // The query. Each call remembers the key as known, and the first error.

  [[nodiscard]] std::optional<std::string> text(std::string_view key);
  [[nodiscard]] std::optional<std::int64_t> integer(std::string_view key, std::int64_t least,
                                                    std::int64_t most);
  /// "1" or "true", "0" or "false".
  [[nodiscard]] bool flag(std::string_view key);
  /// One of these words; the first if the key is absent.
  [[nodiscard]] std::string word(std::string_view key, const std::vector<std::string>& words);
  /// True if every value was correct and every key known; otherwise the call has been refused.
  [[nodiscard]] bool query_is_fine();

 private:
  void wrong(std::string_view key, std::string message, std::string remedy = {});

  HttpAnswer answer_;
  std::function<void(const AuditLine&)> note_;
  std::set<std::string, std::less<>> asked_;
  std::optional<Error> error_;
};

using ApiCallPtr = std::shared_ptr<ApiCall>;

/// 400, 409 or 500.
[[nodiscard]] int http_status_of(ErrorKind kind);

/// The parts of `path` where `pattern` has a part in {}; nothing if the path does not match.
[[nodiscard]] std::optional<std::vector<std::string>> match_path(std::string_view pattern,
                                                                 std::string_view path);

}  // namespace cleave
