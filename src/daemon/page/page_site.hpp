#pragma once
// What is served over TCP: the page's files to everybody, /session, which opens, shows and ends a
// browser's session, and with one the API.

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/http/http_types.hpp"
#include "daemon/page/page_gate.hpp"
#include "daemon/page/page_keys.hpp"
#include "daemon/service/audit.hpp"

namespace cleave {

/// One file of the page, as it is sent.
struct PageFile {
  std::string path, type, text, small, tag;
};
/// From live.html, live.js and live.css.
[[nodiscard]] std::vector<PageFile> page_files(std::string_view html, std::string_view script,
                                               std::string_view style);

/// Serves requests that the gate admitted.
class PageSite {
 public:
  /// What the site uses.
  struct Doors {
    PageKeys& keys;
    std::function<Instant()> now;
    std::function<std::optional<HttpPeer>(const PageToken&)> user;  // as PageGate::Doors
    std::function<bool(const HttpPeer&)> operates;
    std::function<void(const AuditLine&)> note;
    HttpHandler api;
  };
  PageSite(std::vector<PageFile> files, std::string cookie_name, Doors doors);

  void serve(HttpRequest request, HttpAnswer answer);

 private:
  [[nodiscard]] HttpResponse file(const HttpRequest& request) const;
  [[nodiscard]] HttpResponse session(const HttpRequest& request);
  [[nodiscard]] HttpResponse open_session(const HttpRequest& request, AuditLine& line);
  [[nodiscard]] HttpResponse end_session(const HttpRequest& request);
  [[nodiscard]] HttpResponse describe(const PageToken& token, const HttpPeer& peer,
                                      const std::string& proof = {}) const;

  std::vector<PageFile> files_;
  std::string cookie_name_;
  Doors doors_;
};

// The texts of page/built at build time; empty where the page was not built.
std::string_view live_html_text();
std::string_view live_js_text();
std::string_view live_css_text();

}  // namespace cleave
