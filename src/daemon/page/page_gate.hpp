#pragma once
// Which requests over TCP are served, and as whom, decided from their headers: the Host must be the
// page's own, which a name that leads here by DNS is not; another site's page may not act through a
// visitor's browser; and what is not for everybody needs a session's cookie or a token.

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/http/http_types.hpp"
#include "daemon/page/page_address.hpp"
#include "daemon/page/page_keys.hpp"

namespace cleave {

/// What a page's request has besides: a policy that lets it load from its own origin only.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> page_headers();

/// The value of a cookie in a Cookie header; nothing if it is not there, or twice.
[[nodiscard]] std::optional<std::string_view> cookie_in(std::string_view header,
                                                        std::string_view name);
/// The token of "Bearer TOKEN".
[[nodiscard]] std::optional<std::string_view> bearer_in(std::string_view header);

/// Meets the requests of one listener.
class PageGate {
 public:
  /// What the gate uses.
  struct Doors {
    PageKeys& keys;
    std::function<Instant()> now;
    std::function<Duration()> steady;
    /// The user as the system knows them now; nothing where the account is another's by now.
    std::function<std::optional<HttpPeer>(const PageToken&)> user;
    /// A request that was refused, with the user whose it was said to be.
    std::function<void(const HttpWebHead&, std::uint32_t uid, int status, std::string why)> note;
  };
  PageGate(const PageAddress& address, Doors doors);

  [[nodiscard]] HttpAdmission admit(const HttpWebHead& head) const;
  /// Of the session's cookie: browsers do not tell ports apart, so it has the port in its name.
  [[nodiscard]] const std::string& cookie_name() const { return cookie_name_; }

 private:
  [[nodiscard]] std::optional<HttpResponse> refusal_of(const HttpWebHead& head) const;
  [[nodiscard]] std::optional<PageKey> key_of(const HttpWebHead& head) const;
  [[nodiscard]] HttpResponse refused(const HttpWebHead& head, std::uint32_t uid, int status,
                                     std::string_view message, std::string_view remedy) const;

  Doors doors_;
  std::vector<std::string> hosts_;
  std::string cookie_name_;
};

/// What requests without a session may ask for.
enum class PagePath : std::uint8_t { file, session, api };
[[nodiscard]] PagePath page_path(std::string_view target);

}  // namespace cleave
