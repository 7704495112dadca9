#pragma once
// Kept-alive HTTP connections to a daemon under measurement, all of them served by one thread, so
// that the client takes little of the machine that it measures on. It reads no more of HTTP than
// the daemon writes: answers with a Content-Length, and streams.

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace cleave {

/// The answer to one request, and when it came.
struct KeptAnswer {
  int status = 0;
  std::string body;
  std::chrono::nanoseconds first_byte{}, last_byte{};  // after the question was sent
};

/// A number of connections to one socket.
class KeptConnections {
 public:
  [[nodiscard]] static Result<std::unique_ptr<KeptConnections>> open(
      const std::filesystem::path& socket, std::size_t count);
  ~KeptConnections();
  KeptConnections(const KeptConnections&) = delete;
  KeptConnections& operator=(const KeptConnections&) = delete;

  /// On the first connection. Fails also where the status is 400 or more.
  [[nodiscard]] Result<KeptAnswer> ask(const std::string& method, const std::string& target,
                                       const std::string& body = {});
  /// Posts `count` bodies, as many at a time as there are connections, each when the answer before
  /// it on its connection has come; fails with the first refusal. The time from question to answer
  /// of each.
  [[nodiscard]] Result<std::vector<std::chrono::nanoseconds>> post_all(
      const std::string& target, std::size_t count,
      const std::function<std::string(std::size_t)>& body);
  /// Asks on every connection and does not wait for answers: for streams.
  [[nodiscard]] Result<void> ask_on_all(const std::string& target);
  /// Reads away what has come on the connections from `first` on; bytes.
  std::size_t drain(std::size_t first);

 private:
  struct One;
  KeptConnections();
  std::vector<One> all_;
};

}  // namespace cleave
