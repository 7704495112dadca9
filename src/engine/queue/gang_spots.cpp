#include "engine/queue/gang_spots.hpp"

#include "engine/queue/least_in_the_way.hpp"

namespace cleave {

void GangSpots::changed(GpuId gpu) {
  if (kinds_.empty()) return;
  log_.push_back(gpu);
  if (log_.size() < 2 * gpus() + 64) return;
  // To make them anew takes no longer than to catch up.
  kinds_.clear();
  kind_of_request_.clear();
  log_.clear();
}

GangSpots::Kind& GangSpots::kind_of(RequestId request) {
  if (kind_of_request_.size() <= index(request)) kind_of_request_.resize(index(request) + 1);
  Kind*& known = kind_of_request_[index(request)];
  if (known != nullptr) return *known;
  const ResolvedRequest& asked = (*requests_)[request];
  Key key{asks_for_whole(asked.request), {}, asked.request.at_least};
  for (const auto* sets : {&asked.candidates, &asked.holds})
    for (const PlacementSet set : *sets) key.placements.push_back(set.bits());
  auto& kind = kinds_[std::move(key)];
  if (!kind) {
    kind = std::make_unique<Kind>(nodes_, fleet_->graphs().size());
    kind->told = SIZE_MAX;  // of no GPU
  }
  known = kind.get();
  return *known;
}

void GangSpots::look_at(Kind& kind, GpuId gpu, RequestId request, QueueHost& host) {
  const Room here = host.room(gpu, request);
  Room& offered = kind.offered[(*fleet_)[gpu].kind];
  offered.whole = offered.whole || here.whole;
  offered.placements = offered.placements | here.placements;
  const bool takes_work = host.takes_work(gpu);
  kind.room.set(gpu, takes_work ? most(gpu, free_on(gpu, here), held(gpu)) : 0);
}

const GangRoom& GangSpots::free(RequestId request, QueueHost& host) {
  Kind& kind = kind_of(request);
  if (kind.told == SIZE_MAX) {
    for (std::size_t i = 0; i < gpus(); ++i) look_at(kind, static_cast<GpuId>(i), request, host);
    kind.told = log_.size();
  }
  for (; kind.told < log_.size(); ++kind.told) look_at(kind, log_[kind.told], request, host);
  return kind.room;
}

Room GangSpots::free_on(GpuId gpu, Room room) const {
  if (room.whole && !holders_->free({gpu, std::nullopt})) room.whole = false;
  for (const PlacementId placement : room.placements)
    if (!holders_->free({gpu, placement})) room.placements.erase(placement);
  return room;
}

int GangSpots::most(GpuId gpu, const Room& spots, PlacementSet held) {
  if (spots.whole) return 1;
  if (spots.placements.empty()) return 0;
  return beside_.most((*fleet_)[gpu].kind, spots.placements, held | spots.theirs);
}

Room GangSpots::leaving(GpuId gpu, const Room& spots, PlacementSet held, int more) {
  if (spots.whole) return spots;
  return {false, beside_.leaving((*fleet_)[gpu].kind, spots.placements, held | spots.theirs, more),
          spots.theirs};
}

std::optional<std::vector<Spot>> GangSpots::least_in_the_way(
    const Request& request, const std::function<Room(GpuId)>& room) const {
  return cleave::least_in_the_way(*fleet_, *holders_, nodes_, request, room);
}

PlacementSet GangSpots::held(GpuId gpu) const {
  return holders_->held_at(gpu, Instant::min(), Instant{});
}

}  // namespace cleave
