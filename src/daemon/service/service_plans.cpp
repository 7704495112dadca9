// Plans: what may be planned with, and those that the daemon carries out. Planning itself is the
// client's, or that of a thread for clients that cannot: it may take a minute, and no step of the
// loop waits for it.

#include "api/plan_documents.hpp"
#include "base/format.hpp"
#include "base/json.hpp"
#include "base/text.hpp"
#include "daemon/service/plan_preview.hpp"
#include "daemon/service/service.hpp"

namespace cleave {

namespace {

constexpr std::int64_t most_plans_listed = 1000, plans_usually_listed = 100;
constexpr std::chrono::seconds longest_preview{50};

std::optional<std::int64_t> plan_meant(const ApiCallPtr& call) {
  const auto number = parse_integer(call->parts[0]);
  if (number && *number > 0) return number;
  call->no_such("plan", call->parts[0], "`cleave plans` shows those there are");
  return std::nullopt;
}

/// Kinds of which a plan needs nothing but the fleet.
constexpr ProblemKind previewed[] = {ProblemKind::compact, ProblemKind::reconfigure,
                                     ProblemKind::joint};

/// {"kind": "compact"}
Result<ProblemKind> kind_to_preview(const std::string& body) {
  const auto document = parse_json(body, "preview");
  if (!document) return std::unexpected(document.error());
  const bool has_kind = document->is_object() && document->size() == 1 &&
                        document->contains("kind") && (*document)["kind"].is_string();
  const std::string kind = has_kind ? (*document)["kind"].get<std::string>() : "";
  for (const ProblemKind each : previewed)
    if (name(each) == kind) return each;
  return fail(ErrorKind::bad_input, "preview", "it does not say what for",
              R"(send {"kind": "compact"}, or "reconfigure" or "joint")");
}

}  // namespace

void Service::show_fleet(const ApiCallPtr& call) {
  if (!call->query_is_fine()) return;
  const LiveFleet live = doors_.control.live_fleet();
  ApiFleet fleet;
  for (std::size_t i = 0; i < live.uuids.size(); ++i)
    fleet.gpus.push_back({live.fleet.gpus[i].name, live.uuids[i]});
  for (const LiveWorkload& each : live.work)
    fleet.work.push_back({each.workload, each.job, each.words,
                          std::string(move_way_names[static_cast<std::size_t>(each.way)]),
                          each.saves, each.starts});
  const auto times = [&](InstanceChange change) -> std::optional<ApiChangeTimes> {
    const auto factor = live.times.factor(change);
    if (!factor) return std::nullopt;
    return ApiChangeTimes{static_cast<std::int64_t>(live.times.count(change)), *factor};
  };
  fleet.creates = times(InstanceChange::create);
  fleet.destroys = times(InstanceChange::destroy);
  call->reply(200, to_json(fleet, live.fleet));
}

void Service::preview_plan(const ApiCallPtr& call) {
  if (!call->query_is_fine()) return;
  const auto kind = kind_to_preview(call->request.body);
  if (!kind) return call->refuse(kind.error());
  if (const auto other = preview_.lock(); other && !other->order())
    return call->refuse(Error{ErrorKind::infeasible, "", "another plan is being made",
                              "ask again in half a minute"},
                        409);
  const auto preview = PlanPreview::begin(doors_.control.live_fleet(), *kind);
  if (!preview) return call->refuse(preview.error(), 503);
  preview_ = *preview;
  wait({call, doors_.now().steady + longest_preview, false,
        [call, preview = *preview](bool time_is_up) {
          const auto order = preview->order();
          if (!order && !time_is_up) return false;
          if (!order)
            call->refuse(Error{ErrorKind::infeasible, "the plan", "it takes too long to be made",
                               "`cleave plan compact --live` may take longer"},
                         503);
          else if (!*order)
            call->refuse(order->error());
          else
            call->reply(200, to_json(**order));
          return true;
        }});
}

void Service::begin_plan(const ApiCallPtr& call) {
  if (!call->query_is_fine()) return;
  const auto document = parse_json(call->request.body, "plan");
  if (!document) return call->refuse(document.error());
  const auto order = read_plan_order(*document, "plan");
  if (!order) return call->refuse(order.error());
  const auto number = doors_.control.begin_plan(*order, call->by(), doors_.now());
  if (!number) return call->refuse(number.error());
  when_written(call, [this, call, begun = *number] {
    reply_with_plan(call, begun, 201, fmt::format("plan {}", begun));
  });
}

/// As the store has it; what the last step changed is written by then.
void Service::reply_with_plan(const ApiCallPtr& call, std::int64_t number, int status,
                              std::string result) {
  const auto found = doors_.store.plans(number + 1, 1);
  if (!found) return call->refuse(found.error(), 503);
  if (found->empty() || found->front().number != number)
    return call->no_such("plan", fmt::format("{}", number), "`cleave plans` shows those there are");
  call->reply(status, to_json(found->front()), std::move(result));
}

void Service::list_plans(const ApiCallPtr& call) {
  const auto before = call->integer("before", 1, INT64_MAX);
  const auto limit = call->integer("limit", 1, most_plans_listed);
  if (!call->query_is_fine()) return;
  const auto found = doors_.store.plans(
      before.value_or(INT64_MAX), static_cast<std::size_t>(limit.value_or(plans_usually_listed)));
  if (!found) return call->refuse(found.error(), 503);
  Json list = Json::array();
  for (const LivePlan& plan : *found) list.push_back(to_json(plan));
  call->reply(200, Json{{"plans", std::move(list)}});
}

void Service::show_plan(const ApiCallPtr& call) {
  if (!call->query_is_fine()) return;
  if (const auto number = plan_meant(call)) reply_with_plan(call, *number, 200, {});
}

void Service::pause_plan(const ApiCallPtr& call) {
  change_plan(call, PlanChange::pause);
}
void Service::resume_plan(const ApiCallPtr& call) {
  change_plan(call, PlanChange::resume);
}
void Service::cancel_plan(const ApiCallPtr& call) {
  change_plan(call, PlanChange::cancel);
}
void Service::change_plan(const ApiCallPtr& call, PlanChange change) {
  if (!call->query_is_fine()) return;
  const auto number = plan_meant(call);
  if (!number) return;
  const auto found = doors_.store.plans(*number + 1, 1);
  if (!found) return call->refuse(found.error(), 503);
  if (found->empty() || found->front().number != *number)
    return reply_with_plan(call, *number, 200, {});  // there is none
  if (const auto taken = doors_.control.change_plan(*number, change, call->by(), doors_.now());
      !taken)
    return call->refuse(taken.error());
  when_written(call, [this, call, which = *number] {
    reply_with_plan(call, which, 200, fmt::format("plan {}", which));
  });
}

}  // namespace cleave
