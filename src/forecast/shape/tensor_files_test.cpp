// Headers of safetensors and GGUF files: made here, read completely, cut at every byte, and with
// false lengths. The source counts the bytes read, to show that no large read is attempted.

#include <gtest/gtest.h>

#include <algorithm>

#include "base/format.hpp"
#include "forecast/shape/model_file.hpp"
#include "forecast/shape/tensor_file_maker_test.hpp"

namespace cleave {
namespace {

using namespace made_up;

TEST(Safetensors, BytesAndShapeAreExact) {
  const std::string file = small_llama();
  const auto model = read_safetensors(source(file));
  ASSERT_TRUE(model) << model.error().text();
  ASSERT_TRUE(model->stored);
  ASSERT_EQ(model->stored->types.size(), 2U);
  EXPECT_EQ(model->stored->types[0].name, "BF16");
  EXPECT_EQ(model->stored->types[1].name, "F32");
  ASSERT_TRUE(model->shape) << model->why_no_shape;
  EXPECT_EQ(model->shape->layers, 2);
  EXPECT_EQ(model->shape->hidden, 16);
  EXPECT_EQ(model->shape->ffn, 24);
  EXPECT_EQ(model->shape->vocab, 40);
  EXPECT_EQ(model->shape->query_width(), 16);
  EXPECT_EQ(model->shape->kv_width(), 8);
  EXPECT_FALSE(model->shape->heads_known);
  EXPECT_FALSE(model->shape->tied);
  // The shape agrees with the file.
  EXPECT_EQ(parameters(*model->shape), model->stored->parameters);
  EXPECT_EQ(model->stored->bytes, 2 * model->stored->parameters + 2 * 16) << "one norm has 32 bits";
}

TEST(Safetensors, UnknownNamesLeaveTheBytes) {
  const std::string file = safetensors({{"conv.weight", "F16", {3, 5}}, {"packed", "F4", {7, 2}}});
  const auto model = read_safetensors(source(file));
  ASSERT_TRUE(model) << model.error().text();
  EXPECT_FALSE(model->shape);
  EXPECT_FALSE(model->why_no_shape.empty());
  EXPECT_EQ(model->stored->bytes, 30U + 7U);
}

TEST(Safetensors, TheSmallestTablesAreNotTakenForBrackets) {
  std::vector<Tensor> tensors;
  for (int i = 0; i < 200; ++i) tensors.push_back({fmt::format("{}", i), "F4", {2, 1, 1, 1}});
  EXPECT_TRUE(read_safetensors(source(safetensors(tensors))));
  std::string header = "{";
  for (int i = 0; i < 200; ++i)
    header += fmt::format("{}\"{}\":{{\"dtype\":\"I8\",\"shape\":[0],\"data_offsets\":[0,0]}}",
                          i == 0 ? "" : ",", i);
  header += R"(,"__metadata__":{"x":"[[[[[[[[[[[[,,,,,,,,,,,,,,,,,,,,,,\",,,,,,,"}})";
  const std::string whole = with_length(header);
  const auto model = read_safetensors(source(whole));
  EXPECT_TRUE(model) << model.error().text();
}

TEST(Safetensors, TornAnywhereIsAnError) {
  const std::string whole = small_llama();
  for (std::size_t length = 0; length < whole.size(); ++length) {
    const std::string torn = whole.substr(0, length);
    const auto model = read_safetensors(source(torn));
    ASSERT_FALSE(model) << length;
    ASSERT_FALSE(model.error().message.empty());
    ASSERT_TRUE(model.error().place.starts_with("file")) << model.error().text();
  }
  EXPECT_FALSE(read_safetensors(source(whole + "x"))) << "and so is a byte too many";
}

TEST(Safetensors, LengthsAreHeldAgainstTheFile) {
  std::string file = small_llama();
  for (const int top : {0x00, 0x01, 0x7f, 0xff}) {
    file[7] = static_cast<char>(top);
    file[4] = static_cast<char>(1);
    const auto model = read_safetensors(source(file));
    ASSERT_FALSE(model);
    EXPECT_NE(model.error().message.find("the header should have"), std::string::npos);
  }
  // A file that is large enough for the length it claims: nothing of it is read.
  ByteSource vast{"file", std::uint64_t{1} << 40,
                  [](std::uint64_t, std::size_t length) -> Result<std::string> {
                    EXPECT_LE(length, 8U);
                    return std::string("\0\0\0\0\1\0\0\0", 8);
                  }};
  EXPECT_NE(read_safetensors(vast).error().message.find("too long"), std::string::npos);
}

TEST(Safetensors, TablesThatContradictThemselvesAreRefused) {
  const auto refused = [](const std::string& header, std::size_t data) {
    const auto model = read_safetensors(source(with_length(header) + std::string(data, 'x')));
    EXPECT_FALSE(model) << header;
    return model ? std::string() : model.error().text();
  };
  EXPECT_NE(refused(R"({"a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 9]}})", 9)
                .find("cannot take 9"),
            std::string::npos);
  EXPECT_NE(
      refused(R"({"a": {"dtype": "F99", "shape": [2], "data_offsets": [0, 8]}})", 8).find("F99"),
      std::string::npos);
  EXPECT_NE(
      refused(R"({"a": {"dtype": "F32", "shape": [9223372036854775807, 9223372036854775807], )"
              R"("data_offsets": [0, 8]}})",
              8)
          .find("cannot take"),
      std::string::npos);
  EXPECT_NE(refused(R"({"a": {"dtype": "F32", "shape": [2], "data_offsets": [8, 0]}})", 8)
                .find("data_offsets"),
            std::string::npos);
  EXPECT_NE(refused(R"({"a": {"dtype": "F32", "shape": [2], "data_offsets": [-8, 0]}})", 8)
                .find("whole numbers"),
            std::string::npos);
  EXPECT_NE(refused(R"({"a": {"dtype": "F32", "shape": [-2], "data_offsets": [0, 8]}})", 8)
                .find("whole numbers"),
            std::string::npos);
  std::string brackets = "{\"a\": [";
  for (int i = 0; i < 100; ++i) brackets += "[],";
  EXPECT_NE(refused(brackets + "1]}", 0).find("more brackets"), std::string::npos);
  EXPECT_NE(
      refused(
          R"({"a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}, "b": {"dtype": "F32", )"
          R"("shape": [2], "data_offsets": [4, 12]}})",
          16)
          .find("begins at byte 4 of the data, where byte 8 was due"),
      std::string::npos)
      << "they overlap, and four bytes are nobody's";
  EXPECT_NE(refused(R"({"__metadata__": {}})", 0).find("no tensor"), std::string::npos);
  EXPECT_NE(refused(R"([1, 2])", 0).find("expected an object"), std::string::npos);
}

TEST(Safetensors, AnIndexTellsTheBytesOfAllFiles) {
  const std::string index = R"({"metadata": {"total_size": 4096}, )"
                            R"("weight_map": {"a": "model-00001-of-00002.safetensors"}})";
  const auto model = read_safetensors_index(source(index));
  ASSERT_TRUE(model) << model.error().text();
  EXPECT_EQ(model->stored->bytes, 4096U);
  EXPECT_FALSE(model->shape);
  for (std::size_t length = 0; length < index.size(); ++length) {
    const std::string torn = index.substr(0, length);
    EXPECT_FALSE(read_safetensors_index(source(torn))) << length;
  }
  EXPECT_FALSE(read_safetensors_index(source(R"({"metadata": {"total_size": -1}})")));
  EXPECT_FALSE(read_safetensors_index(source("{}")));
}

TEST(Gguf, KeysTensorsAndBytesAreExact) {
  const std::string file = small_gguf();
  const auto model = read_gguf(source(file));
  ASSERT_TRUE(model) << model.error().text();
  ASSERT_TRUE(model->shape) << model->why_no_shape;
  EXPECT_EQ(model->shape->layers, 2);
  EXPECT_EQ(model->shape->heads, 8);
  EXPECT_EQ(model->shape->kv_heads, 4) << "of a list by layer, the most";
  EXPECT_EQ(model->shape->head_dim, 32);
  EXPECT_EQ(model->shape->vocab, 3);
  EXPECT_EQ(model->shape->positions, 4096);
  EXPECT_TRUE(model->shape->tied);
  ASSERT_EQ(model->stored->types.size(), 2U);
  EXPECT_EQ(model->stored->types[0].name, "F32");
  EXPECT_EQ(model->stored->types[1].name, "Q4_K");
  EXPECT_EQ(model->stored->types[1].bytes, 3U * 144) << "three blocks of 256";
  EXPECT_EQ(model->stored->bytes, 3U * 144 + 4 * 32);
}

TEST(Gguf, TornAnywhereIsAnError) {
  const std::string whole = small_gguf();
  for (std::size_t length = 0; length < whole.size(); ++length) {
    const std::string torn = whole.substr(0, length);
    const auto model = read_gguf(source(torn));
    ASSERT_FALSE(model) << length << " of " << whole.size();
    ASSERT_FALSE(model.error().message.empty());
    ASSERT_TRUE(model.error().place.starts_with("file: byte ")) << model.error().text();
  }
}

TEST(Gguf, CountsAreHeldAgainstTheFile) {
  const std::string whole = small_gguf();
  const auto refused = [&](std::size_t at, std::uint64_t value) {
    std::string file = whole;
    for (std::size_t i = 0; i < 8; ++i) file[at + i] = static_cast<char>(value >> 8 * i & 0xff);
    const auto model = read_gguf(source(file));
    EXPECT_FALSE(model);
    return model ? std::string() : model.error().text();
  };
  for (const std::uint64_t value : {std::uint64_t{1} << 20, std::uint64_t{1} << 40, UINT64_MAX}) {
    EXPECT_NE(refused(8, value).find("tensors do not fit"), std::string::npos);
    EXPECT_NE(refused(16, value).find("keys do not fit"), std::string::npos);
    EXPECT_NE(refused(24, value).find("too long"), std::string::npos) << "the first key's name";
  }
  EXPECT_NE(
      read_gguf(source("GGML" + whole.substr(4))).error().text().find("does not begin with GGUF"),
      std::string::npos);
  std::string old = whole;
  old[4] = 1;
  EXPECT_NE(read_gguf(source(old)).error().text().find("version 1"), std::string::npos);
}

TEST(Gguf, OnlyPiecesAreRead) {
  // The same header before a terabyte that belongs to no tensor.
  const std::string whole = small_gguf();
  std::size_t most = 0;
  ByteSource file = source(whole);
  const auto read = file.read;
  file.read = [&](std::uint64_t offset, std::size_t length) {
    most = std::max(most, length);
    std::string bytes(length, '\0');
    if (offset < whole.size())
      std::copy_n(whole.data() + offset, std::min<std::uint64_t>(length, whole.size() - offset),
                  bytes.data());
    return Result<std::string>(bytes);
  };
  file.size = std::uint64_t{1} << 40;
  EXPECT_NE(read_gguf(file).error().message.find("its tensors end at byte 576"), std::string::npos);
  EXPECT_LE(most, 1U << 16);
  EXPECT_GT(most, 0U);
}

TEST(Gguf, TensorsFillTheFile) {
  const std::string whole = small_gguf();
  EXPECT_TRUE(read_gguf(source(whole)));
  const std::string zeros = whole + std::string(64, '\0');
  EXPECT_NE(read_gguf(source(zeros)).error().message.find("its tensors end"), std::string::npos);
  // The second tensor over the end of the first, and a gap behind the first.
  const std::size_t at = whole.find("output_norm.weight") + 18 + 4 + 8 + 4;
  for (const std::uint64_t offset : {416U, 480U}) {
    std::string moved = whole;
    moved.replace(at, 8, number<std::uint64_t>(offset));
    if (offset > 448) moved += std::string(32, 'w');
    EXPECT_NE(read_gguf(source(moved)).error().message.find("where byte 448 was due"),
              std::string::npos)
        << read_gguf(source(moved)).error().text();
  }
}

TEST(Gguf, TypesHoldWholeBlocks) {
  EXPECT_EQ(gguf_type(4), nullptr) << "withdrawn";
  EXPECT_EQ(gguf_type(99), nullptr);
  for (std::uint32_t number = 0; number < 64; ++number)
    if (const GgufType* type = gguf_type(number)) {
      EXPECT_GT(type->weights, 0U);
      EXPECT_LE(type->bytes, 8 * type->weights);
      EXPECT_GE(8 * type->bytes, type->weights) << "at least one bit a weight: " << type->name;
    }
}

}  // namespace
}  // namespace cleave
