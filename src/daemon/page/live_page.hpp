#pragma once
// The live page put together: its keys, the socket it listens on, the gate and the site. Where the
// address is taken, as by another user's program while the daemon was away, the daemon runs without
// the page, says so, and tries again.

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "control/moment.hpp"
#include "daemon/http/http_server.hpp"
#include "daemon/page/page_gate.hpp"
#include "daemon/page/page_site.hpp"
#include "daemon/service/user_book.hpp"

namespace cleave {

/// The page of one daemon.
class LivePage {
 public:
  /// What the page uses; called on the server's loop only.
  struct Doors {
    std::function<Moment()> now;
    UserBook& users;
    AuditFile& audit;
    std::function<bool(const HttpPeer&)> operates;
    HttpHandler api;
    /// Calls it in a later turn of the loop.
    std::function<void(std::function<void()>)> later;
    /// The daemon's user: if not root, the only one whose tokens are good.
    std::uint32_t own = 0;
  };
  LivePage(PageAddress wanted, const std::filesystem::path& state, Doors doors);

  [[nodiscard]] PageKeys& keys() { return keys_; }
  /// Nothing while it cannot listen.
  [[nodiscard]] const std::optional<PageAddress>& address() const { return address_; }
  /// Listens if it does not yet, at once or after some seconds; writes news into the log.
  void look(HttpServer& server);
  /// A request that came over TCP.
  void serve(HttpRequest request, HttpAnswer answer);
  /// What is wrong at the moment, one line each.
  [[nodiscard]] std::vector<std::string> troubles() const;

 private:
  [[nodiscard]] std::optional<HttpPeer> user_of(const PageToken& token) const;
  void note_refusal(const HttpWebHead& head, std::uint32_t uid, int status, std::string why) const;
  void open_gate(PageListener listener, HttpServer& server);

  PageAddress wanted_;
  Doors doors_;
  std::string remark_;
  PageKeys keys_;
  std::optional<PageAddress> address_;
  std::shared_ptr<PageGate> gate_;
  std::optional<PageSite> site_;
  std::string trouble_;
  Duration next_{};
};

}  // namespace cleave
