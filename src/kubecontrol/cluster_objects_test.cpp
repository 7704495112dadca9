// Objects as the API server may never send them: no reader fails by them.

#include "kubecontrol/cluster_objects.hpp"

#include <gtest/gtest.h>

#include "base/json.hpp"
#include "kubecontrol/cluster_double_test.hpp"

namespace cleave {
namespace {

/// The object with another value at each place in turn.
std::vector<Json> with_odd_values(const Json& object) {
  std::vector<Json> all;
  const Json flat = object.flatten();
  std::set<std::string> places;
  for (const auto& [place, value] : flat.items())
    for (std::size_t at = place.size(); at != std::string::npos && at > 0;
         at = place.rfind('/', at - 1))
      places.insert(place.substr(0, at));
  for (const std::string& place : places)
    for (const Json& odd : {Json(5), Json("x"), Json(nullptr), Json(true), Json::array(),
                            Json::array({7}), Json::object(), Json{{"a", 1}}}) {
      Json changed = object;
      changed[Json::json_pointer(place)] = odd;
      all.push_back(std::move(changed));
    }
  return all;
}

TEST(ClusterObjects, AreReadWhateverTheyHold) {
  SmallCluster cluster(1);
  cluster.run("a", 0, "1g.5gb", 2);
  cluster.wait("big", "7g.40gb");
  cluster.budget(1);
  std::size_t tried = 0;
  const auto read_all = [&](const Json& object) {
    for (const Json& each : with_odd_values(object)) {
      EXPECT_NO_THROW({
        (void)read_control_pod(each);
        (void)read_control_claim(each);
        (void)read_control_node(each);
        (void)read_budget(each);
        (void)read_node_readiness(each);
        (void)has_compact_label(each);
      }) << each.dump();
      ++tried;
    }
  };
  for (const auto& [uid, object] : cluster.pods) read_all(object);
  for (const auto& [name, object] : cluster.claims) read_all(object);
  read_all(cluster.slice(0));
  for (const auto& [target, objects] : cluster.api.lists)
    for (const Json& each : objects) read_all(each);
  EXPECT_GT(tried, 300U);
}

}  // namespace
}  // namespace cleave
