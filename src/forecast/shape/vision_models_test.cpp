#include "forecast/shape/vision_models.hpp"

#include <gtest/gtest.h>

#include <string>

namespace cleave {
namespace {

TEST(VisionModels, PublishedParametersAreCountedExactly) {
  for (const VisionRow& row : vision_models()) {
    const auto network = vision_network(row.name);
    ASSERT_TRUE(network);
    EXPECT_EQ(network->parameters(), row.published_parameters) << row.name;
    EXPECT_EQ(network->pixels, row.pixels);
  }
}

TEST(VisionModels, KeptNumbersOfASmallNetworkByHand) {
  // ResNet-18 on 32 x 32: the image, the first convolution (16 x 16 x 64, kept before and after its
  // normalisation), the pool (8 x 8 x 64), four convolutions of that size, and stages of 4, 2 and 1
  // pixels of four convolutions and a shortcut each.
  const auto network = vision_network("resnet18:32:10");
  ASSERT_TRUE(network);
  const std::uint64_t stem = 3 * 32 * 32 + 2 * 64 * 16 * 16 + 64 * 8 * 8;
  const std::uint64_t stages =
      4 * 2 * 64 * 8 * 8 + (4 * 2 + 1) * (128 * 4 * 4 + 256 * 2 * 2 + 512 * 1 * 1);
  EXPECT_EQ(network->kept(), stem + stages + 10);
  EXPECT_EQ(network->indices(), 64U * 8 * 8);
  EXPECT_EQ(network->most_moved(), 64U * 16 * 16 + 64 * 8 * 8) << "the pool's input and output";
}

TEST(VisionModels, LargerImagesKeepMoreAndHaveTheSameParameters) {
  for (const VisionRow& row : vision_models()) {
    std::uint64_t kept = 0;
    for (const int pixels : {75, 96, 128, 224, 299, 512}) {
      const auto network = vision_network(std::string(row.name) + ":" + std::to_string(pixels));
      ASSERT_TRUE(network);
      EXPECT_GT(network->kept(), kept) << row.name << " at " << pixels;
      EXPECT_EQ(network->parameters(), row.published_parameters);
      kept = network->kept();
    }
  }
}

TEST(VisionModels, UnknownSpecsAreRefused) {
  EXPECT_EQ(vision_network("resnet51").error().text(),
            "there is no network for images 'resnet51'; did you mean 'resnet50'?");
  for (const char* spec : {"", ":", "resnet50:", "resnet50:31", "resnet50:9999", "resnet50:32:0",
                           "resnet50:32:10:1", "inception_v3:32", "resnet50:-1", "resnet50:1e3"})
    EXPECT_FALSE(vision_network(spec)) << spec;
}

}  // namespace
}  // namespace cleave
