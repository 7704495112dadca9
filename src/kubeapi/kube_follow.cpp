#include "kubeapi/kube_follow.hpp"

#include <algorithm>
#include <thread>

#include "base/format.hpp"

namespace cleave {

namespace {

constexpr int gone_status = 410, listed_at_once = 500, watched_seconds = 290;

std::string text_at(const Json& object, const char* first, const char* second) {
  const auto outer = object.find(first);
  if (outer == object.end() || !outer->is_object()) return {};
  const auto inner = outer->find(second);
  return inner == outer->end() || !inner->is_string() ? std::string() : inner->get<std::string>();
}

/// How a stretch of watching ended, as far as the next step goes.
enum class Next { watch_on, list_anew, stop };

/// Watches and lists by turns.
class Follower {
 public:
  Follower(KubeRest& rest, const KubeFollowing& what, const KubeListener& listener)
      : rest_(rest), what_(what), listener_(listener), pause_(what.shortest_pause) {}

  void run() {
    Next next = Next::list_anew;
    while (next != Next::stop && !what_.stop()) next = next == Next::list_anew ? list() : watch();
  }

 private:
  Next list() {
    auto all = list_all(rest_, what_.target, what_.query, what_.trim);
    if (!all) return troubled(all.error().text(), Next::list_anew);
    version_ = all->version;
    pause_ = what_.shortest_pause;
    listener_.replaced(all->items);
    return Next::watch_on;
  }

  Next watch() {
    const std::string target = fmt::format(
        "{}?watch=1&allowWatchBookmarks=true&timeoutSeconds={}&resourceVersion={}{}{}",
        what_.target, watched_seconds, version_, what_.query.empty() ? "" : "&", what_.query);
    forgotten_ = false;
    KubeAnswer refusal;
    const auto ended = rest_.stream(
        target, [&](const Json& line) { return take(line); }, &refusal);
    if (forgotten_ || (ended && *ended == KubeStreamEnd::gone)) return Next::list_anew;
    if (!ended) return troubled(ended.error().text(), Next::watch_on);
    if (*ended == KubeStreamEnd::refused) return troubled(refusal.message(), Next::list_anew);
    if (*ended == KubeStreamEnd::stopped) return Next::stop;
    return Next::watch_on;
  }

  /// False ends the stream: the server has forgotten the version, or the line is not one of its.
  bool take(const Json& line) {
    const auto type = line.find("type"), object = line.find("object");
    forgotten_ = true;
    if (type == line.end() || object == line.end() || !type->is_string() || !object->is_object())
      return false;
    const auto word = type->get<std::string>();
    if (word == "ERROR") return false;
    forgotten_ = false;
    pause_ = what_.shortest_pause;
    if (const std::string now = text_at(*object, "metadata", "resourceVersion"); !now.empty())
      version_ = now;
    if (word != "BOOKMARK") listener_.changed(*object, word == "DELETED");
    return !what_.stop();
  }

  /// Waits before the next try, longer each time.
  Next troubled(const std::string& what, Next next) {
    if (what_.stop()) return Next::stop;
    listener_.trouble(what);
    constexpr std::chrono::milliseconds slice{20};
    for (auto left = pause_; left.count() > 0 && !what_.stop(); left -= slice)
      std::this_thread::sleep_for(std::min(left, slice));
    pause_ = std::min(pause_ * 2, what_.longest_pause);
    return next;
  }

  KubeRest& rest_;
  const KubeFollowing& what_;
  const KubeListener& listener_;
  std::chrono::milliseconds pause_;
  std::string version_;
  bool forgotten_ = false;
};

}  // namespace

Result<KubeList> list_all(KubeRest& rest, const std::string& target, const std::string& query,
                          const std::function<void(Json&)>& trim) {
  KubeList list;
  std::string next;
  while (true) {
    const std::string page =
        fmt::format("{}?limit={}{}{}{}{}", target, listed_at_once,
                    next.empty() ? "" : "&continue=", next, query.empty() ? "" : "&", query);
    auto answer = rest.ask("GET", page);
    if (!answer) return std::unexpected(answer.error());
    if (answer->status == gone_status && !next.empty()) {  // it took too long: from the beginning
      list = {};
      next.clear();
      continue;
    }
    auto items = answer->body.is_object() ? answer->body.find("items") : answer->body.end();
    if (!answer->fine() || items == answer->body.end() || !items->is_array())
      return fail(ErrorKind::infeasible, target,
                  fmt::format("the API server does not list them: {}", answer->message()));
    for (Json& each : *items) {
      if (trim) trim(each);
      list.items.push_back(std::move(each));
    }
    list.version = text_at(answer->body, "metadata", "resourceVersion");
    next = text_at(answer->body, "metadata", "continue");
    if (next.empty()) return list;
  }
}

void follow(KubeRest& rest, const KubeFollowing& what, const KubeListener& listener) {
  Follower(rest, what, listener).run();
}

}  // namespace cleave
