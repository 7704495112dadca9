#include "daemon/place_watch.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>

#include "base/format.hpp"
#include "base/text.hpp"

namespace cleave {

void PlaceWatch::look(bool now) {
  constexpr auto every = std::chrono::seconds(1);
  const auto time = std::chrono::steady_clock::now();
  if (time < next_ && !now) return;
  next_ = time + every;
  std::vector<std::string> troubles;
  look_at_socket(troubles);
  if (const auto there = store_->is_there(); !there)
    troubles.push_back(fmt::format("no job is accepted: {}", there.error().text()));
  for (const std::string& each : troubles)
    if (std::ranges::find(troubles_, each) == troubles_.end())
      spdlog::error("{}", shown(each, 500));
  if (troubles.empty() && !troubles_.empty())
    spdlog::info("the daemon's socket and store are in their places again");
  troubles_ = std::move(troubles);
}

void PlaceWatch::look_at_socket(std::vector<std::string>& troubles) {
  if (listens_ && socket_->is_there()) return;
  const std::string place = shown(socket_->path(), 200);
  const auto made = socket_->is_there() ? Result<void>() : socket_->renew();
  if (!made) {
    troubles.push_back(fmt::format("nobody can reach the daemon: its socket was removed, and {}",
                                   made.error().text()));
    return;
  }
  listens_ = listen_on_(socket_->number());
  if (listens_)
    spdlog::warn("{}: the socket was removed and is made anew", place);
  else
    troubles.push_back(
        fmt::format("{}: nobody can connect: the daemon has no descriptor left", place));
}

}  // namespace cleave
