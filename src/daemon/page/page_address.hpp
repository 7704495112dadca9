#pragma once
// Where the live page is: an address of this machine's loopback interface, and a socket there.

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "runner/descriptor.hpp"

namespace cleave {

/// "127.0.0.1:8790" or "[::1]:8790".
struct PageAddress {
  std::string host;  // as in a URL: "127.0.0.1", "[::1]"
  std::uint16_t port = 0;

  [[nodiscard]] std::string text() const;
  /// "http://127.0.0.1:8790"
  [[nodiscard]] std::string origin() const;
};

/// Errors have no place. "localhost" is 127.0.0.1; port 0 is any that is free.
[[nodiscard]] Result<PageAddress> parse_page_address(std::string_view text);

/// A socket that listens.
struct PageListener {
  Descriptor socket;
  PageAddress address;  // with the port that it has

  [[nodiscard]] static Result<PageListener> listen(const PageAddress& address);
};

}  // namespace cleave
