#pragma once
// Requests, resolved once per fleet: for each GPU model the placements that would satisfy the
// request. Jobs that ask for the same share one number, so that a decision never looks at text.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "model/geometry.hpp"
#include "model/ids.hpp"
#include "model/request.hpp"

namespace cleave {

/// A request, and the placements that satisfy it on each GPU model of the fleet.
struct ResolvedRequest {
  Request request;
  /// For each geometry, in the fleet's order; empty: not on this model. For whole GPUs those of the
  /// largest profile stand for the GPU.
  std::vector<PlacementSet> candidates;
  std::vector<PlacementSet> holds;  // those and all larger ones without attribute
  std::string impossible;           // why no GPU of the fleet can ever take it; empty where one can
  /// Smaller than what is asked for, but enough where the job offloads all it can. Where a model
  /// has nothing larger, the largest of them are its candidates.
  std::vector<PlacementSet> with_offload = {};
  /// The same request for the largest of these alone; empty where there are none.
  std::optional<RequestId> offloaded = {};
};

/// The requests of a fleet, each once. It only grows.
class RequestTable {
 public:
  explicit RequestTable(std::vector<Geometry> geometries) : geometries_(std::move(geometries)) {}

  /// The number of this request, the same for equal ones.
  RequestId intern(const Request& request);
  [[nodiscard]] const ResolvedRequest& operator[](RequestId id) const {
    return resolved_[index(id)];
  }
  [[nodiscard]] std::size_t size() const { return resolved_.size(); }

 private:
  void intern_offloaded(RequestId id);

  std::vector<Geometry> geometries_;
  std::map<Request, RequestId> known_;
  std::vector<ResolvedRequest> resolved_;
};

/// What the smallest instance that the request would be given on a GPU of the model `kind` lets
/// programs use; where the model has none, the smallest that holds what the job was found to need.
/// Empty where that is not known.
std::optional<MiB> usable_alone(const ResolvedRequest& request, std::size_t kind,
                                const Geometry& geometry);

/// A request against one fleet's models, without a table.
ResolvedRequest resolve(const Request& request, const std::vector<Geometry>& geometries);

}  // namespace cleave
