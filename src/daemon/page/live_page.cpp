#include "daemon/page/live_page.hpp"

#include <spdlog/spdlog.h>

#include "base/format.hpp"
#include "base/text.hpp"

namespace cleave {

namespace {

constexpr Duration between_tries = std::chrono::seconds(5);

}  // namespace

LivePage::LivePage(PageAddress wanted, const std::filesystem::path& state, Doors doors)
    : wanted_(std::move(wanted)), doors_(std::move(doors)), keys_(state, remark_) {
  if (!remark_.empty()) spdlog::warn("{}", shown(remark_, 500));
}

/// As submissions would have it now. An account that has another name by now is another user's.
std::optional<HttpPeer> LivePage::user_of(const PageToken& token) const {
  if (doors_.own != 0 && token.uid != doors_.own) return std::nullopt;
  const auto& user = doors_.users.user(token.uid, doors_.now().steady);
  if (user && user->name != token.user) return std::nullopt;
  // A user without a group is in none that is an operators' or an allowed one.
  return HttpPeer{token.uid, user ? user->gid : UINT32_MAX, 0};
}

/// What a page without a session asks again and again is not of interest.
void LivePage::note_refusal(const HttpWebHead& head, std::uint32_t uid, int status,
                            std::string why) const {
  if (status == 401 && head.method == "GET" && !head.authorization) return;
  AuditLine line{{uid, 0, 0},
                 head.method,
                 head.target.substr(0, head.target.find('?')),
                 status,
                 std::move(why)};
  doors_.audit.write(line, doors_.now().wall);
}

void LivePage::open_gate(PageListener listener, HttpServer& server) {
  const auto user = [this](const PageToken& token) { return user_of(token); };
  gate_ = std::make_shared<PageGate>(
      listener.address,
      PageGate::Doors{
          keys_, [this] { return doors_.now().wall; }, [this] { return doors_.now().steady; }, user,
          [this](const HttpWebHead& head, std::uint32_t uid, int status, std::string why) {
            note_refusal(head, uid, status, std::move(why));
          }});
  site_.emplace(page_files(live_html_text(), live_js_text(), live_css_text()), gate_->cookie_name(),
                PageSite::Doors{
                    keys_, [this] { return doors_.now().wall; }, user, doors_.operates,
                    [this](const AuditLine& line) { doors_.audit.write(line, doors_.now().wall); },
                    doors_.api});
  // Later, so that the request that ended its own session is answered first.
  keys_.when_ended([this, &server](std::int64_t token, std::int64_t session) {
    doors_.later([&server, token, session] {
      server.end_passes([&](const HttpPass& pass) {
        return pass.token == token && (session == 0 || pass.session == session);
      });
    });
  });
  const auto gate = gate_;
  if (server.listen_over_tcp(
          listener.socket.number(),
          {[gate](const HttpWebHead& head) { return gate->admit(head); }, page_headers()}))
    address_ = listener.address;
}

void LivePage::look(HttpServer& server) {
  const Duration now = doors_.now().steady;
  if (address_ || now < next_) return;
  next_ = now + between_tries;
  auto listener = PageListener::listen(wanted_);
  if (listener) open_gate(std::move(*listener), server);
  std::string trouble = address_   ? ""
                        : listener ? "page: no descriptor is left for it"
                                   : listener.error().text();
  if (address_) spdlog::info("the page is at {}/; `cleave page` opens it", address_->origin());
  if (!trouble.empty() && trouble != trouble_) spdlog::error("{}", shown(trouble, 500));
  trouble_ = std::move(trouble);
}

void LivePage::serve(HttpRequest request, HttpAnswer answer) {
  if (site_) site_->serve(std::move(request), std::move(answer));
}

std::vector<std::string> LivePage::troubles() const {
  return trouble_.empty() ? std::vector<std::string>() : std::vector{trouble_};
}

}  // namespace cleave
