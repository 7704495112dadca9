#include "kubecontrol/kube_lease.hpp"

#include <chrono>

#include "base/format.hpp"
#include "base/json.hpp"
#include "kubecontrol/cluster_objects.hpp"

namespace cleave {

namespace {

/// As Kubernetes writes a MicroTime.
std::string micro_time(Instant now) {
  const auto day = std::chrono::floor<std::chrono::days>(now);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss time(std::chrono::floor<std::chrono::microseconds>(now - day));
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:06}Z", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                     time.hours().count(), time.minutes().count(), time.seconds().count(),
                     time.subseconds().count());
}

}  // namespace

KubeLease::KubeLease(KubeDoor& kube, const std::string& space, std::string name, std::string holder,
                     KubeLeaseTimes times)
    : kube_(kube),
      space_(space),
      name_(std::move(name)),
      target_(fmt::format("/apis/coordination.k8s.io/v1/namespaces/{}/leases", space)),
      holder_(std::move(holder)),
      times_(times) {}

bool KubeLease::held(Duration steady) const {
  return renewed_ && steady - *renewed_ < times_.acts_for;
}

Result<void> KubeLease::look(Duration steady, Instant now) {
  if (looked_ && steady - *looked_ < times_.renewed_every) return {};
  looked_ = steady;
  const auto there = kube_.ask("GET", fmt::format("{}/{}", target_, name_), nullptr);
  if (!there) return std::unexpected(there.error());
  if (there->status == 404) return write(nullptr, steady, now);
  if (!there->fine()) return fail(ErrorKind::infeasible, name_, there->message());
  const Json& lease = there->body;
  const std::string version = text_below(lease, {"metadata", "resourceVersion"});
  seen_holder_ = text_below(lease, {"spec", "holderIdentity"});
  if (version != seen_version_) {
    seen_version_ = version;
    changed_ = steady;
  }
  const bool ours = seen_holder_ == holder_, free = seen_holder_.empty();
  if (!ours) renewed_.reset();
  // A lease of our name that we did not renew is of this program before it was started again.
  if (ours || free || steady - changed_ > times_.lasts) return write(&lease, steady, now);
  return {};
}

Json KubeLease::body(const Json* there, Instant now, const std::string& holder) const {
  Json lease = there != nullptr ? *there
                                : Json{{"apiVersion", "coordination.k8s.io/v1"},
                                       {"kind", "Lease"},
                                       {"metadata", {{"name", name_}, {"namespace", space_}}},
                                       {"spec", Json::object()}};
  Json& spec = lease["spec"];
  if (text_below(lease, {"spec", "holderIdentity"}) != holder) {
    const Json& before = json_below(lease, {"spec", "leaseTransitions"});
    const std::int64_t transitions = before.is_number_integer() ? before.get<std::int64_t>() : 0;
    spec["leaseTransitions"] = there != nullptr ? transitions + 1 : 0;
    spec["acquireTime"] = micro_time(now);
  }
  spec["holderIdentity"] = holder;
  spec["leaseDurationSeconds"] =
      std::chrono::duration_cast<std::chrono::seconds>(times_.lasts).count();
  spec["renewTime"] = micro_time(now);
  return lease;
}

Result<void> KubeLease::write(const Json* there, Duration steady, Instant now) {
  const Json lease = body(there, now, holder_);
  const auto written = there == nullptr
                           ? kube_.ask("POST", target_, &lease)
                           : kube_.ask("PUT", fmt::format("{}/{}", target_, name_), &lease);
  if (!written) return std::unexpected(written.error());
  if (written->status == 409) {  // another was first
    renewed_.reset();
    return {};
  }
  if (!written->fine()) return fail(ErrorKind::infeasible, name_, written->message());
  seen_holder_ = holder_;
  seen_version_ = text_below(written->body, {"metadata", "resourceVersion"});
  changed_ = steady;
  renewed_ = steady;
  return {};
}

void KubeLease::release(Instant now) {
  if (!renewed_) return;
  renewed_.reset();
  const std::string target = fmt::format("{}/{}", target_, name_);
  const auto there = kube_.ask("GET", target, nullptr);
  if (!there || !there->fine() || text_below(there->body, {"spec", "holderIdentity"}) != holder_)
    return;
  const Json lease = body(&there->body, now, "");
  (void)kube_.ask("PUT", target, &lease);  // otherwise it runs out
}

}  // namespace cleave
