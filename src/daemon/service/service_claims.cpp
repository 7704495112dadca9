// Claims of instances by somebody else's engine. The loop decides at once; the answer goes back
// when the decision is written, and the holder asks again until its instances are there.

#include "api/claim_documents.hpp"
#include "base/format.hpp"
#include "base/json.hpp"
#include "daemon/service/service.hpp"

namespace cleave {

namespace {

ApiClaimInstance instance_view(const ClaimPlace& place, const ClaimStatus::Place& seen) {
  ApiClaimInstance view;
  if (seen.gpu) view.gpu = *seen.gpu;
  view.gpu_uuid = place.gpu;
  view.profile = place.profile;
  view.start = place.start;
  view.compute_slices = seen.compute_slices;
  view.memory_slices = seen.memory_slices;
  view.memory = seen.memory;
  view.uuid = place.device;
  view.lost = place.lost;
  if (!seen.numbers) return view;
  view.gpu_instance = seen.numbers->gpu_instance;
  view.compute_instance = seen.numbers->compute_instance;
  return view;
}

ApiClaim claim_view(const ClaimStatus& status) {
  const Claim& claim = status.claim;
  ApiClaim view;
  view.key = claim.key;
  view.holder = claim.order.holder;
  view.uid = claim.order.uid;
  view.state = claim.state;
  view.why = claim.why;
  view.since = claim.since;
  std::vector<std::string> devices;
  for (std::size_t i = 0; i < claim.places.size(); ++i) {
    view.instances.push_back(instance_view(claim.places[i], status.places[i]));
    if (!claim.places[i].device.empty()) devices.push_back(claim.places[i].device);
  }
  view.environment.visible_devices = fmt::format("{}", fmt::join(devices, ","));
  return view;
}

}  // namespace

bool Service::has_claim_key(const ApiCallPtr& call) const {
  if (!call->query_is_fine()) return false;
  if (is_claim_key(call->parts[0])) return true;
  call->refuse(Error{ErrorKind::bad_input, "key", "this is not the key of a claim",
                     fmt::format("take letters, digits and ._:-, {} at most", longest_claim_key)});
  return false;
}

void Service::reply_with_claim(const ApiCallPtr& call, const std::string& result) {
  const auto found = doors_.control.claim(call->parts[0]);
  if (!found) return call->no_such("claim", call->parts[0], "`cleave claim list` shows them");
  call->reply(200, to_json(claim_view(*found)), result);
}

void Service::make_claim(const ApiCallPtr& call) {
  if (!has_claim_key(call)) return;
  const auto document = parse_json(call->request.body, "claim");
  if (!document) return call->refuse(document.error());
  auto order = read_claim_order(*document, "claim");
  if (!order) return call->refuse(order.error());
  if (order->uid < 0) order->uid = call->request.peer.uid;
  const std::string& key = call->parts[0];
  if (const auto taken = doors_.control.make_claim(key, *order, call->by(), doors_.now()); !taken)
    return call->refuse(taken.error());
  when_written(call,
               [this, call] { reply_with_claim(call, fmt::format("claim {}", call->parts[0])); });
}

void Service::show_claim(const ApiCallPtr& call) {
  if (has_claim_key(call)) reply_with_claim(call);
}

void Service::list_claims(const ApiCallPtr& call) {
  if (!call->query_is_fine()) return;
  Json list = Json::array();
  for (const ClaimStatus& each : doors_.control.claims()) list.push_back(to_json(claim_view(each)));
  call->reply(200, Json{{"claims", std::move(list)}});
}

/// One that is not there is as good as given back.
void Service::release_claim(const ApiCallPtr& call) {
  if (!has_claim_key(call)) return;
  doors_.control.release_claim(call->parts[0], call->by(), doors_.now());
  when_written(call, [this, call] {
    const std::string& key = call->parts[0];
    const auto left = doors_.control.claim(key);
    ApiClaim view = left ? claim_view(*left) : ApiClaim{};
    view.key = key;
    if (!left) view.state = ClaimState::released;
    call->reply(200, to_json(view), fmt::format("claim {}", key));
  });
}

void Service::show_room(const ApiCallPtr& call) {
  if (!call->query_is_fine()) return;
  const NodeRoom room = doors_.control.room();
  ApiRoom view;
  for (const NodeRoom::Gpu& each : room.gpus)
    view.gpus.push_back({each.index, each.uuid, each.profiles});
  view.profiles = room.profiles;
  call->reply(200, to_json(view));
}

}  // namespace cleave
