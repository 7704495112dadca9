#pragma once
// A client of Kubernetes' API: JSON over HTTP/1.1 and TLS, one question at a time over a connection
// that is kept, and streams of changes. An answer is what the server says, whatever its status; an
// error is that it says nothing, or nothing that could be read. Nothing waits longer than it is
// told.
//
// Not for several threads: two questions at a time take two clients.

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/json.hpp"
#include "base/result.hpp"
#include "kubeapi/kube_server.hpp"

namespace cleave {

/// What the server answered.
struct KubeAnswer {
  int status = 0;
  Json body;         // null where it is not JSON
  std::string text;  // as it came, where it is not JSON: metrics
  [[nodiscard]] bool fine() const { return status >= 200 && status < 300; }
  /// What the server says is wrong.
  [[nodiscard]] std::string message() const;
};

/// How a stream ended, where nothing broke.
enum class KubeStreamEnd : std::uint8_t {
  over,     // the server ended it, as it does from time to time: go on from the latest version
  gone,     // that version is too old (410): list anew
  refused,  // with another status, such as 403
  stopped   // the callback had enough, or `stop` said so
};

/// One connection to the server.
class KubeRest {
 public:
  struct Settings {
    std::chrono::milliseconds patience = std::chrono::seconds(20);  // connection and answer
    std::chrono::milliseconds quiet = std::chrono::minutes(6);      // of a stream, at most
    std::size_t most_bytes = 64U << 20;                             // of an answer, or a line
    /// Asked ten times a second while it waits; true makes it fail at once.
    std::function<bool()> stop;
  };
  KubeRest(KubeServer server, Settings settings);
  ~KubeRest();
  KubeRest(KubeRest&&) noexcept;
  KubeRest& operator=(KubeRest&&) noexcept;

  /// Asks, and once more where a kept connection turns out to be closed; a POST is not repeated
  /// once any of it was sent. On 401 the token is read again, and where it is another one the
  /// question is asked again.
  [[nodiscard]] Result<KubeAnswer> ask(std::string_view method, const std::string& target,
                                       const Json* body = nullptr);

  /// Gives each whole line of the stream to `on_line` until that says false. A line that is cut off
  /// is not given. `refusal` gets the answer where the server does not begin to stream.
  [[nodiscard]] Result<KubeStreamEnd> stream(const std::string& target,
                                             const std::function<bool(const Json&)>& on_line,
                                             KubeAnswer* refusal = nullptr);

 private:
  class Connection;
  std::unique_ptr<Connection> connection_;
};

}  // namespace cleave
