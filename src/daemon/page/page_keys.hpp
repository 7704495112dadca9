#pragma once
// Who may use the live page: tokens, which users ask for over the unix socket, and sessions, which
// browsers open with them. Only digests are kept, in STATE/page.json (mode 0600), so both outlive
// the daemon and neither can be read from there.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "base/time.hpp"
#include "daemon/page/secret.hpp"

namespace cleave {

/// What a token lets its user do.
enum class PageScope : std::uint8_t {
  view,  // look
  act,   // and submit, cancel, and what else the user may
};
[[nodiscard]] std::string_view name(PageScope scope);
[[nodiscard]] std::optional<PageScope> parse_page_scope(std::string_view text);

/// A token, without its secret.
struct PageToken {
  std::int64_t number = 0;
  std::uint32_t uid = 0;
  std::string user;  // the account's name when it was made; may be empty
  PageScope scope = PageScope::view;
  Instant made{}, until{};
  Digest digest{};
};

/// A browser's session. It ends with its token. Browsers send cookies to every port of a host, so
/// one is worth nothing without the proof, which only the page's own origin can read again.
struct PageSession {
  std::int64_t number = 0, token = 0;
  Instant made{};
  Digest digest{}, proof{};
};

/// What was found for a secret. `session` is 0 where it was a token's.
struct PageKey {
  PageToken token;
  std::int64_t session = 0;
};

/// A new token or session, with the only copy of its secret: "12.SECRET".
struct NewPageKey {
  std::string secret;
  std::string proof;  // a session's
  PageKey key;
};

/// All tokens and sessions. It has no clock: times are passed in.
class PageKeys {
 public:
  static constexpr std::size_t most_per_user = 32;  // tokens, and sessions
  static constexpr std::size_t most_tokens = 4096;  // of all users
  static constexpr Duration longest = std::chrono::hours(24 * 30);
  static constexpr Duration shortest = std::chrono::seconds(1);

  /// Reads what the daemon before left. A damaged file is one without keys, and `remark` says so.
  PageKeys(const std::filesystem::path& folder, std::string& remark);

  /// `ended` is told of keys that are no longer valid: all of a token's (session 0), or a session.
  void when_ended(std::function<void(std::int64_t token, std::int64_t session)> ended) {
    ended_ = std::move(ended);
  }

  [[nodiscard]] Result<NewPageKey> new_token(std::uint32_t uid, std::string user, PageScope scope,
                                             Duration lifetime, Instant now);
  /// Opens a session with the secret of a token. Nothing where there is no such token now. A user's
  /// oldest session makes room for a new one, unless that would be the 33rd within ten seconds.
  [[nodiscard]] Result<std::optional<NewPageKey>> new_session(std::string_view token, Instant now);
  [[nodiscard]] std::optional<PageKey> find_token(std::string_view secret, Instant now);
  [[nodiscard]] std::optional<PageKey> find_session(std::string_view secret, std::string_view proof,
                                                    Instant now);
  /// Those of one user, or of all, oldest first.
  [[nodiscard]] std::vector<PageToken> tokens(std::optional<std::uint32_t> uid, Instant now);
  [[nodiscard]] std::size_t sessions_of(std::int64_t token) const;
  /// Ends the token and its sessions; they have ended even where this cannot be written.
  [[nodiscard]] Result<void> revoke(std::int64_t token);
  [[nodiscard]] Result<void> end_session(std::int64_t session);

 private:
  Result<void> read();
  [[nodiscard]] Result<void> write();
  void drop_expired(Instant now);
  void forget_token(std::int64_t token);

  std::filesystem::path file_;
  std::map<std::int64_t, PageToken> tokens_;
  std::map<std::int64_t, PageSession> sessions_;
  std::int64_t next_ = 1;
  std::function<void(std::int64_t, std::int64_t)> ended_;
};

}  // namespace cleave
