#include "forecast/shape/vision_models.hpp"

#include <algorithm>
#include <array>

#include "base/format.hpp"
#include "base/options.hpp"
#include "base/text.hpp"

namespace cleave {

namespace {

// What follows a convolution. `kept_input`: an activation whose derivative needs its input.
enum class After : std::uint8_t { nothing, relu, kept_input };

struct Convolution {
  std::int64_t out = 0;
  std::int64_t high = 1, wide = 1;  // of the kernel
  std::int64_t stride = 1;
  bool padded = true;  // by half the kernel; with stride 1 the size is unchanged
  After after = After::relu;
  bool depthwise = false;
  bool norm = true;   // batch normalisation, else a bias
  bool bias = false;  // instead of the normalisation
};

/// Image sizes pass through the layers; each call adds one.
class Builder {
 public:
  struct Image {
    std::int64_t channels, high, wide;
    [[nodiscard]] std::uint64_t numbers() const {
      return static_cast<std::uint64_t>(channels * high * wide);
    }
  };

  explicit Builder(std::int64_t pixels) : image{3, pixels, pixels} {
    layers.push_back({0, image.numbers(), 0, 0});
  }

  void convolve(const Convolution& c) {
    const std::uint64_t in = image.numbers();
    const std::int64_t from = c.depthwise ? 1 : image.channels;
    const std::int64_t high = c.padded ? c.high / 2 : 0, wide = c.padded ? c.wide / 2 : 0;
    image = {c.out, (image.high + 2 * high - c.high) / c.stride + 1,
             (image.wide + 2 * wide - c.wide) / c.stride + 1};
    const std::uint64_t out = image.numbers();
    const std::int64_t parameters =
        c.out * from * c.high * c.wide + (c.norm ? 2 * c.out : 0) + (c.bias ? c.out : 0);
    const std::uint64_t times = (c.norm ? 1U : 0U) + 1U + (c.after == After::kept_input ? 1U : 0U);
    layers.push_back({static_cast<std::uint64_t>(parameters), times * out, 0, in + out});
  }
  void convolve(std::int64_t out, std::int64_t kernel, std::int64_t stride = 1,
                After after = After::relu) {
    convolve({.out = out, .high = kernel, .wide = kernel, .stride = stride, .after = after});
  }
  void unpadded(std::int64_t out, std::int64_t kernel, std::int64_t stride) {
    convolve({.out = out, .high = kernel, .wide = kernel, .stride = stride, .padded = false});
  }
  /// A convolution in one direction only: 1 x 7 and the like.
  void strip(std::int64_t out, std::int64_t high, std::int64_t wide) {
    convolve({.out = out, .high = high, .wide = wide});
  }
  void depthwise(std::int64_t kernel, std::int64_t stride, After after, bool norm = true) {
    convolve({.out = image.channels,
              .high = kernel,
              .wide = kernel,
              .stride = stride,
              .after = after,
              .depthwise = true,
              .norm = norm});
  }
  /// A shortcut beside a block that changes sizes: its result is added and not kept.
  void shortcut(const Image& from, std::int64_t out, std::int64_t stride) {
    const Image result = image;
    image = from;
    convolve(out, 1, stride, After::nothing);
    layers.back().kept /= 2;
    image = result;
  }
  void max_pool(std::int64_t kernel, std::int64_t stride, std::int64_t padding) {
    const std::uint64_t in = image.numbers();
    image.high = (image.high + 2 * padding - kernel) / stride + 1;
    image.wide = (image.wide + 2 * padding - kernel) / stride + 1;
    layers.push_back({0, image.numbers(), image.numbers(), in + image.numbers()});
  }
  /// An additional result of the image's size that is kept: a sum, an average, an out-of-place
  /// activation.
  void keep() { layers.push_back({0, image.numbers(), 0, 2 * image.numbers()}); }
  void gate(std::int64_t squeezed) {
    keep();
    layers.back().parameters =
        static_cast<std::uint64_t>(2 * image.channels * squeezed + squeezed + image.channels);
  }
  void connect(std::int64_t in, std::int64_t out) {
    layers.push_back({static_cast<std::uint64_t>(in * out + out), static_cast<std::uint64_t>(out),
                      0, static_cast<std::uint64_t>(in + out)});
  }
  /// Several branches from one image, with concatenated results.
  template <class... Way>
  void branch(Way... ways) {
    const Image from = image;
    std::int64_t channels = 0;
    const auto walk = [&](const auto& way) {
      image = from;
      way();
      channels += image.channels;
    };
    (walk(ways), ...);
    image.channels = channels;
    keep();
  }

  Image image;
  std::vector<VisionLayer> layers;
};

// *Deep Residual Learning for Image Recognition*, table 1.
void resnet(Builder& b, bool bottleneck, std::array<int, 4> blocks, std::int64_t classes) {
  b.convolve(64, 7, 2);
  b.max_pool(3, 2, 1);
  std::int64_t width = 64;
  for (std::size_t stage = 0; stage < blocks.size(); ++stage, width *= 2)
    for (int i = 0; i < blocks[stage]; ++i) {
      const std::int64_t stride = stage > 0 && i == 0 ? 2 : 1, out = bottleneck ? 4 * width : width;
      const Builder::Image from = b.image;
      if (bottleneck) b.convolve(width, 1);
      b.convolve(width, 3, stride);
      b.convolve(out, bottleneck ? 1 : 3);
      if (stride == 2 || from.channels != out) b.shortcut(from, out, stride);
    }
  b.connect(b.image.channels, classes);
}
void resnet18(Builder& b, std::int64_t classes) {
  resnet(b, false, {2, 2, 2, 2}, classes);
}
void resnet34(Builder& b, std::int64_t classes) {
  resnet(b, false, {3, 4, 6, 3}, classes);
}
void resnet50(Builder& b, std::int64_t classes) {
  resnet(b, true, {3, 4, 6, 3}, classes);
}

// *Very Deep Convolutional Networks for Large-Scale Image Recognition*, table 1, D. Smaller images
// are pooled to 7 x 7 before the first connected layer.
void vgg16(Builder& b, std::int64_t classes) {
  constexpr std::pair<std::int64_t, int> stages[] = {
      {64, 2}, {128, 2}, {256, 3}, {512, 3}, {512, 3}};
  for (const auto& [width, count] : stages) {
    for (int i = 0; i < count; ++i)
      b.convolve({.out = width, .high = 3, .wide = 3, .norm = false, .bias = true});
    b.max_pool(2, 2, 0);
  }
  b.connect(512 * 7 * 7, 4096);
  b.connect(4096, 4096);
  b.connect(4096, classes);
}

/// Blocks that widen, convolve each channel, and narrow again.
struct InvertedStage {
  std::int64_t widen, out;
  int count;
  std::int64_t stride, kernel;
};

// *MobileNetV2: Inverted Residuals and Linear Bottlenecks*, table 2.
constexpr InvertedStage mobilenet_v2_stages[] = {
    {1, 16, 1, 1, 3}, {6, 24, 2, 2, 3},  {6, 32, 3, 2, 3},  {6, 64, 4, 2, 3},
    {6, 96, 3, 1, 3}, {6, 160, 3, 2, 3}, {6, 320, 1, 1, 3},
};
// *EfficientNet: Rethinking Model Scaling for Convolutional Neural Networks*, table 1.
constexpr InvertedStage efficientnet_b0_stages[] = {
    {1, 16, 1, 1, 3},  {6, 24, 2, 2, 3},  {6, 40, 2, 2, 5},  {6, 80, 3, 2, 3},
    {6, 112, 3, 1, 5}, {6, 192, 4, 2, 5}, {6, 320, 1, 1, 3},
};

void inverted(Builder& b, std::span<const InvertedStage> stages, bool gates, std::int64_t classes) {
  b.convolve(32, 3, 2, After::kept_input);
  for (const InvertedStage& stage : stages)
    for (int i = 0; i < stage.count; ++i) {
      const std::int64_t from = b.image.channels;
      if (stage.widen > 1) b.convolve(from * stage.widen, 1, 1, After::kept_input);
      b.depthwise(stage.kernel, i == 0 ? stage.stride : 1, After::kept_input);
      if (gates) b.gate(std::max<std::int64_t>(from / 4, 1));
      b.convolve(stage.out, 1, 1, After::nothing);
    }
  b.convolve(1280, 1, 1, After::kept_input);
  b.connect(1280, classes);
}
void mobilenet_v2(Builder& b, std::int64_t classes) {
  inverted(b, mobilenet_v2_stages, false, classes);
}
void efficientnet_b0(Builder& b, std::int64_t classes) {
  inverted(b, efficientnet_b0_stages, true, classes);
}

// *Searching for MobileNetV3*, table 2.
void mobilenet_v3_small(Builder& b, std::int64_t classes) {
  struct Row {
    std::int64_t kernel, wide, out;
    bool gate;
    After after;
    std::int64_t stride;
  };
  constexpr After relu = After::relu, swish = After::kept_input;
  constexpr Row rows[] = {
      {3, 16, 16, true, relu, 2},   {3, 72, 24, false, relu, 2},  {3, 88, 24, false, relu, 1},
      {5, 96, 40, true, swish, 2},  {5, 240, 40, true, swish, 1}, {5, 240, 40, true, swish, 1},
      {5, 120, 48, true, swish, 1}, {5, 144, 48, true, swish, 1}, {5, 288, 96, true, swish, 2},
      {5, 576, 96, true, swish, 1}, {5, 576, 96, true, swish, 1},
  };
  b.convolve(16, 3, 2, swish);
  for (const Row& row : rows) {
    if (row.wide != b.image.channels) b.convolve(row.wide, 1, 1, row.after);
    b.depthwise(row.kernel, row.stride, row.after);
    // A quarter, in multiples of eight.
    if (row.gate) b.gate(std::max<std::int64_t>(8, (row.wide / 4 + 4) / 8 * 8));
    b.convolve(row.out, 1, 1, After::nothing);
  }
  b.convolve(576, 1, 1, swish);
  b.connect(576, 1024);
  b.connect(1024, classes);
}

void inception_stem(Builder& b) {
  b.unpadded(32, 3, 2);
  b.unpadded(32, 3, 1);
  b.convolve(64, 3);
  b.max_pool(3, 2, 0);
  b.convolve(80, 1);
  b.unpadded(192, 3, 1);
  b.max_pool(3, 2, 0);
}

void averaged(Builder& b, std::int64_t out) {
  b.keep();
  b.convolve(out, 1);
}

void inception_a(Builder& b, std::int64_t pooled) {
  b.branch([&] { b.convolve(64, 1); }, [&] { b.convolve(48, 1), b.convolve(64, 5); },
           [&] { b.convolve(64, 1), b.convolve(96, 3), b.convolve(96, 3); },
           [&] { averaged(b, pooled); });
}

void inception_c(Builder& b, std::int64_t width) {
  b.branch([&] { b.convolve(192, 1); },
           [&] { b.convolve(width, 1), b.strip(width, 1, 7), b.strip(192, 7, 1); },
           [&] {
             b.convolve(width, 1);
             b.strip(width, 7, 1), b.strip(width, 1, 7);
             b.strip(width, 7, 1), b.strip(192, 1, 7);
           },
           [&] { averaged(b, 192); });
}

void inception_e(Builder& b) {
  const auto split = [&] { b.branch([&] { b.strip(384, 1, 3); }, [&] { b.strip(384, 3, 1); }); };
  b.branch([&] { b.convolve(320, 1); }, [&] { b.convolve(384, 1), split(); },
           [&] { b.convolve(448, 1), b.convolve(384, 3), split(); }, [&] { averaged(b, 192); });
}

// *Rethinking the Inception Architecture for Computer Vision*, table 1, figures 5 to 7.
void inception_v3(Builder& b, std::int64_t classes) {
  inception_stem(b);
  for (const std::int64_t pooled : {32, 64, 64}) inception_a(b, pooled);
  b.branch([&] { b.unpadded(384, 3, 2); },
           [&] { b.convolve(64, 1), b.convolve(96, 3), b.unpadded(96, 3, 2); },
           [&] { b.max_pool(3, 2, 0); });
  for (const std::int64_t width : {128, 160, 160, 192}) inception_c(b, width);
  b.branch(
      [&] { b.convolve(192, 1), b.unpadded(320, 3, 2); },
      [&] { b.convolve(192, 1), b.strip(192, 1, 7), b.strip(192, 7, 1), b.unpadded(192, 3, 2); },
      [&] { b.max_pool(3, 2, 0); });
  inception_e(b);
  inception_e(b);
  b.connect(2048, classes);
}

/// Each channel by itself, then all channels of each point.
void separable(Builder& b, std::int64_t out) {
  b.depthwise(3, 1, After::nothing, false);
  b.convolve(out, 1);
}

// *Xception: Deep Learning with Depthwise Separable Convolutions*, figure 5.
void xception(Builder& b, std::int64_t classes) {
  b.unpadded(32, 3, 2);
  b.unpadded(64, 3, 1);
  const auto smaller = [&](std::int64_t first, std::int64_t out, bool activated) {
    const Builder::Image from = b.image;
    if (activated) b.keep();
    separable(b, first);
    separable(b, out);
    b.max_pool(3, 2, 1);
    b.shortcut(from, out, 2);
    b.keep();
  };
  smaller(128, 128, false);
  smaller(256, 256, true);
  smaller(728, 728, true);
  for (int i = 0; i < 8; ++i) {
    b.keep();
    for (int j = 0; j < 3; ++j) separable(b, 728);
    b.keep();
  }
  smaller(728, 1024, true);
  separable(b, 1536);
  separable(b, 2048);
  b.connect(2048, classes);
}

struct Maker {
  VisionRow row;
  void (*make)(Builder& builder, std::int64_t classes);
};

// Published parameters: torchvision's table of models, timm's for Xception, minus Inception's
// auxiliary output.
constexpr Maker makers[] = {
    {{"resnet18", 224, 11'689'512}, resnet18},
    {{"resnet34", 224, 21'797'672}, resnet34},
    {{"resnet50", 224, 25'557'032}, resnet50},
    {{"vgg16", 224, 138'357'544}, vgg16},
    {{"mobilenet_v2", 224, 3'504'872}, mobilenet_v2},
    {{"mobilenet_v3_small", 224, 2'542'856}, mobilenet_v3_small},
    {{"efficientnet_b0", 224, 5'288'548}, efficientnet_b0},
    {{"inception_v3", 299, 23'834'568}, inception_v3},
    {{"xception", 299, 22'855'952}, xception},
};

std::uint64_t sum(const std::vector<VisionLayer>& layers, std::uint64_t VisionLayer::*what) {
  std::uint64_t total = 0;
  for (const VisionLayer& layer : layers) total += layer.*what;
  return total;
}

}  // namespace

std::uint64_t VisionNetwork::parameters() const {
  return sum(layers, &VisionLayer::parameters);
}
std::uint64_t VisionNetwork::kept() const {
  return sum(layers, &VisionLayer::kept);
}
std::uint64_t VisionNetwork::indices() const {
  return sum(layers, &VisionLayer::indices);
}
std::uint64_t VisionNetwork::most_moved() const {
  return layers.empty() ? 0 : std::ranges::max_element(layers, {}, &VisionLayer::moved)->moved;
}

std::span<const VisionRow> vision_models() {
  static const std::vector<VisionRow> rows = [] {
    std::vector<VisionRow> all;
    for (const Maker& maker : makers) all.push_back(maker.row);
    return all;
  }();
  return rows;
}

Result<VisionNetwork> vision_network(std::string_view spec) {
  const auto words = split(spec, ':');
  const auto row = find_row(vision_models(), words.front(), "network for images");
  if (!row) return std::unexpected(row.error());
  const Maker* found = &makers[*row - vision_models().data()];
  const auto pixels = words.size() > 1 ? parse_integer(words[1]) : found->row.pixels;
  const auto classes = words.size() > 2 ? parse_integer(words[2]) : 1000;
  // Inception's first layers leave nothing of images below 75 pixels.
  const std::int64_t least = found->row.name == "inception_v3" ? 75 : 32;
  if (words.size() > 3 || !pixels || !classes || *pixels < least || *pixels > 4096 ||
      *classes < 1 || *classes > 1'000'000)
    return fail(
        ErrorKind::bad_usage, "", fmt::format("'{}' is not understood", shown(spec)),
        fmt::format("write {}:PIXELS:CLASSES with {} to 4096 pixels", found->row.name, least));
  Builder builder(*pixels);
  found->make(builder, *classes);
  return VisionNetwork{found->row.name, *pixels, *classes, std::move(builder.layers)};
}

}  // namespace cleave
