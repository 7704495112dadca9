// What a stranger may send to the live page: a line each for method and target, Host, Origin,
// Sec-Fetch-Site, X-Cleave-Page, Cookie and Authorization.

#include "base/text.hpp"
#include "daemon/page/page_gate.hpp"
#include "fuzz.hpp"

namespace cleave::fuzz::page_request_target {
namespace {

PageKeys& no_keys() {
  static std::string remark;
  static PageKeys keys("nowhere", remark);
  return keys;
}

const PageGate& gate() {
  static const PageGate made({"127.0.0.1", 8790},
                             {no_keys(), [] { return Instant{}; }, [] { return Duration{}; },
                              [](const PageToken&) {
                                return HttpPeer{1, 1, 0};
                              },
                              [](const HttpWebHead&, std::uint32_t, int, const std::string&) {}});
  return made;
}

bool within(std::string_view part, std::string_view whole) {
  return part.empty() ||
         (part.data() >= whole.data() && part.data() + part.size() <= whole.data() + whole.size());
}

void check_parts(std::string_view cookie, std::string_view authorization) {
  if (const auto found = cookie_in(cookie, gate().cookie_name())) {
    require(within(*found, cookie) && found->find(';') == std::string_view::npos,
            "a cookie is a part of its header");
    require(!cookie_in(std::string(cookie) + "; " + std::string(cookie), gate().cookie_name()),
            "one that comes twice is none");
    const ShownSecret shown = parse_shown_secret(*found);
    require(shown.number == 0 || shown.secret.size() == 43, "secrets have 43 letters");
  }
  if (const auto token = bearer_in(authorization))
    require(within(*token, authorization), "a token is a part of its header");
}

bool read_input(const std::string& text) {
  auto lines = split(text, '\n');
  lines.resize(7);
  const auto word = [&](std::size_t line) {
    return lines[line].empty() ? std::optional<std::string>() : std::string(lines[line]);
  };
  const std::size_t space = lines[0].find(' ');
  HttpWebHead head;
  head.method = lines[0].substr(0, space);
  head.target = space == std::string_view::npos ? "" : lines[0].substr(space + 1);
  head.host = word(1);
  head.origin = word(2);
  head.fetch_site = word(3);
  head.page_mark = word(4);
  head.cookie = word(5);
  head.authorization = word(6);
  check_parts(lines[5], lines[6]);
  const HttpAdmission admission = gate().admit(head);
  require(!admission.pass, "nobody has a pass where no token was given out");
  require(admission.refusal || page_path(head.target) != PagePath::api,
          "without a pass the API is not reached");
  require(admission.refusal || lowercase(lines[1]) == "127.0.0.1:8790" ||
              lowercase(lines[1]) == "localhost:8790",
          "another Host is refused");
  return !admission.refusal;
}

}  // namespace
}  // namespace cleave::fuzz::page_request_target

CLEAVE_FUZZ_TARGET(page_request, counted)
