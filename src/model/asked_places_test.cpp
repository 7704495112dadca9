// Jobs of several places, as they are asked for.

#include "model/asked_places.hpp"

#include <gtest/gtest.h>

namespace cleave {
namespace {

TEST(AskedPlaces, BecomeARequest) {
  const Request one{ByProfile{"1g.5gb"}, {}};
  EXPECT_EQ(request_of({}, one), one);
  const AskedPlaces four{{}, 4, Together::gpu};
  EXPECT_EQ(text(request_of(four, one)), "4 x 1g.5gb on one GPU");
  EXPECT_EQ(in_words(four, "1g.5gb"), "4 x 1g.5gb on one GPU");
  const AskedPlaces gpus{2, {}, Together::node};
  EXPECT_EQ(text(request_of(gpus, {Unknown{}, {}})), "2 whole GPUs on one node");
  EXPECT_EQ(in_words(gpus, "nothing"), "2 whole GPUs on one node");
  EXPECT_EQ(text(request_of({1, {}, {}}, {Unknown{}, {}})), "a whole GPU");
  EXPECT_EQ(in_words(AskedPlaces{1, {}, {}}, "nothing"), "1 whole GPU");
  EXPECT_EQ(in_words(AskedPlaces{{}, 1, {}}, "9 GiB"), "9 GiB");
}

TEST(AskedPlaces, WhatDoesNotGoTogetherIsRefused) {
  const auto wrong = [](const AskedPlaces& asked, bool sized, bool movable = false) {
    const auto found = wrong_places(asked, sized, movable);
    return std::string(found ? found->key : "");
  };
  using enum Together;
  EXPECT_EQ(wrong({}, false), "");
  EXPECT_EQ(wrong({}, true, true), "");
  EXPECT_EQ(wrong({4, {}, node}, false), "");
  EXPECT_EQ(wrong({4, {}, spread}, false), "");
  EXPECT_EQ(wrong({{}, 4, gpu}, true), "");
  EXPECT_EQ(wrong({4, 4, anywhere}, true), "gpus");
  EXPECT_EQ(wrong({4, {}, anywhere}, true), "gpus");
  EXPECT_EQ(wrong({{}, 4, anywhere}, false), "instances");
  EXPECT_EQ(wrong({{}, {}, gpu}, true), "together");
  EXPECT_EQ(wrong({{}, 1, spread}, true), "together");
  EXPECT_EQ(wrong({1, {}, node}, false), "together");
  EXPECT_EQ(wrong({4, {}, gpu}, false), "together");
  EXPECT_EQ(wrong({{}, 2, anywhere}, true, true), "movable");
  EXPECT_EQ(wrong({{}, 1, anywhere}, true, true), "");
}

}  // namespace
}  // namespace cleave
