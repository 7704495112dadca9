// Method: the format's description in github.com/ggml-org/ggml, docs/gguf.md.

#include <algorithm>
#include <array>
#include <cstring>
#include <map>

#include "base/format.hpp"
#include "base/text.hpp"
#include "forecast/shape/model_file.hpp"
#include "forecast/shape/saturating.hpp"

namespace cleave {

namespace {

constexpr GgufType types[] = {
    {0, "F32", 1, 4},         {1, "F16", 1, 2},         {2, "Q4_0", 32, 18},
    {3, "Q4_1", 32, 20},      {6, "Q5_0", 32, 22},      {7, "Q5_1", 32, 24},
    {8, "Q8_0", 32, 34},      {9, "Q8_1", 32, 36},      {10, "Q2_K", 256, 84},
    {11, "Q3_K", 256, 110},   {12, "Q4_K", 256, 144},   {13, "Q5_K", 256, 176},
    {14, "Q6_K", 256, 210},   {15, "Q8_K", 256, 292},   {16, "IQ2_XXS", 256, 66},
    {17, "IQ2_XS", 256, 74},  {18, "IQ3_XXS", 256, 98}, {19, "IQ1_S", 256, 50},
    {20, "IQ4_NL", 32, 18},   {21, "IQ3_S", 256, 110},  {22, "IQ2_S", 256, 82},
    {23, "IQ4_XS", 256, 136}, {24, "I8", 1, 1},         {25, "I16", 1, 2},
    {26, "I32", 1, 4},        {27, "I64", 1, 8},        {28, "F64", 1, 8},
    {29, "IQ1_M", 256, 56},   {30, "BF16", 1, 2},       {34, "TQ1_0", 256, 54},
    {35, "TQ2_0", 256, 66},   {39, "MXFP4", 32, 17},
};

// Types of the values of keys.
enum Value : std::uint32_t {
  u8,
  i8,
  u16,
  i16,
  u32,
  i32,
  f32,
  boolean,
  string,
  array,
  u64,
  i64,
  f64,
  values
};
constexpr std::size_t value_bytes[] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};

constexpr std::uint64_t longest_name = 4096, most_dimensions = 4, least_tensor = 8 + 4 + 8 + 4 + 8;
constexpr std::uint64_t most_tensors = 1'000'000, most_keys = 10'000;
constexpr std::uint64_t most_kept = 1024;  // of the numbers of a list, such as KV heads by layer

constexpr std::string_view again = "the file is torn or altered: fetch it again";

/// Reads forward through the file, with one piece of it in memory.
class Cursor {
 public:
  explicit Cursor(const ByteSource& file) : file_(&file) {}

  [[nodiscard]] std::uint64_t at() const { return at_; }
  [[nodiscard]] std::uint64_t left() const { return file_->size - at_; }
  [[nodiscard]] const std::optional<Error>& error() const { return error_; }

  void refuse(std::string message, std::string_view remedy = again) {
    if (!error_)
      error_ = Error{ErrorKind::bad_input, fmt::format("{}: byte {}", file_->place, at_),
                     std::move(message), std::string(remedy)};
  }

  template <class Number>
  Number number() {
    Number value{};
    if (const char* bytes = take(sizeof(Number))) std::memcpy(&value, bytes, sizeof(Number));
    return value;
  }

  std::string text() {
    const auto length = number<std::uint64_t>();
    if (error_) return {};
    if (length > longest_name) {
      refuse(fmt::format("a name of {} bytes is too long", length));
      return {};
    }
    const char* bytes = take(static_cast<std::size_t>(length));
    return bytes == nullptr ? std::string() : std::string(bytes, static_cast<std::size_t>(length));
  }

  void skip(std::uint64_t length) {
    if (error_) return;
    if (length > left())
      return refuse(fmt::format("the file ends inside a value of {} bytes", length));
    at_ += length;
  }

 private:
  /// The next bytes, or null after an error.
  const char* take(std::size_t length) {
    static constexpr std::uint64_t piece = 1U << 16;
    if (error_) return nullptr;
    if (length > left()) {
      refuse("the file ends in the middle of its header");
      return nullptr;
    }
    if (at_ < from_ || at_ + length > from_ + held_.size()) {
      auto read = file_->read(
          at_, static_cast<std::size_t>(std::min(std::max<std::uint64_t>(piece, length), left())));
      if (!read) {
        error_ = read.error();
        return nullptr;
      }
      held_ = std::move(*read);
      from_ = at_;
    }
    const char* bytes = held_.data() + (at_ - from_);
    at_ += length;
    return bytes;
  }

  const ByteSource* file_;
  std::uint64_t at_ = 0, from_ = 0;
  std::string held_;
  std::optional<Error> error_;
};

/// What is kept of the keys: whole numbers and short texts; of lists, their length and first
/// numbers.
struct Keys {
  std::map<std::string, std::vector<std::int64_t>, std::less<>> numbers;
  std::map<std::string, std::string, std::less<>> texts;
  std::map<std::string, std::uint64_t, std::less<>> lengths;

  [[nodiscard]] std::optional<std::int64_t> number(std::string_view key) const {
    const auto found = numbers.find(key);
    // Of a list by layer, the largest value, so that the memory suffices for all layers.
    if (found == numbers.end() || found->second.empty()) return std::nullopt;
    return *std::ranges::max_element(found->second);
  }
};

std::optional<std::int64_t> whole_number(Cursor& in, std::uint32_t type) {
  switch (type) {
    case u8:
      return in.number<std::uint8_t>();
    case i8:
      return in.number<std::int8_t>();
    case u16:
      return in.number<std::uint16_t>();
    case i16:
      return in.number<std::int16_t>();
    case u32:
      return in.number<std::uint32_t>();
    case i32:
      return in.number<std::int32_t>();
    case boolean:
      return in.number<std::uint8_t>();
    case u64:
      return static_cast<std::int64_t>(
          std::min<std::uint64_t>(in.number<std::uint64_t>(), INT64_MAX));
    case i64:
      return in.number<std::int64_t>();
    default:
      in.skip(type < values ? value_bytes[type] : 0);
      return std::nullopt;
  }
}

void read_list(Cursor& in, const std::string& key, Keys& keys) {
  const auto type = in.number<std::uint32_t>();
  const auto length = in.number<std::uint64_t>();
  if (in.error()) return;
  if (type >= values || type == array)
    return in.refuse(fmt::format("a list of values of type {} is not known", type));
  keys.lengths[key] = length;
  const std::uint64_t least = type == string ? 8 : value_bytes[type];
  if (saturating_multiply(length, least) > in.left())
    return in.refuse(
        fmt::format("a list of {} values does not fit into the rest of the file", length));
  if (type == string) {
    for (std::uint64_t i = 0; i < length && !in.error(); ++i) in.skip(in.number<std::uint64_t>());
  } else if (length > most_kept || type == f32 || type == f64) {
    in.skip(length * least);
  } else {
    std::vector<std::int64_t>& kept = keys.numbers[key];
    for (std::uint64_t i = 0; i < length && !in.error(); ++i)
      kept.push_back(whole_number(in, type).value_or(0));
  }
}

void read_key(Cursor& in, Keys& keys) {
  const std::string key = in.text();
  const auto type = in.number<std::uint32_t>();
  if (in.error()) return;
  if (type >= values) return in.refuse(fmt::format("a value of type {} is not known", type));
  if (type == array) return read_list(in, key, keys);
  if (type == string) {
    const auto length = in.number<std::uint64_t>();
    // Chat templates are long and say nothing about the shape.
    if (key == "general.architecture" && length <= 64 && length <= in.left()) {
      std::string text;
      for (std::uint64_t i = 0; i < length; ++i) text += in.number<char>();
      keys.texts[key] = text;
    } else {
      in.skip(length);
    }
    return;
  }
  if (const auto number = whole_number(in, type)) keys.numbers[key] = {*number};
}

struct Tensors {
  StoredWeights stored;
  std::map<std::string_view, StoredType> by_type;
  std::uint64_t ends = 0;                                       // after the start of the data
  std::vector<std::pair<std::uint64_t, std::uint64_t>> places;  // where each begins and ends
  bool has_output = false;
  std::optional<std::uint64_t> vocab;  // rows of the embedding
};

void read_tensor(Cursor& in, std::uint64_t alignment, Tensors& tensors) {
  const std::string name = in.text();
  const auto dimensions = in.number<std::uint32_t>();
  if (in.error()) return;
  if (dimensions > most_dimensions)
    return in.refuse(fmt::format("the tensor '{}' has {} dimensions", shown(name), dimensions));
  std::uint64_t parameters = 1, row = 1, last = 1;
  for (std::uint32_t i = 0; i < dimensions; ++i) {
    last = in.number<std::uint64_t>();
    if (i == 0) row = last;
    parameters = saturating_multiply(parameters, last);
  }
  const auto number = in.number<std::uint32_t>();
  const auto offset = in.number<std::uint64_t>();
  if (in.error()) return;
  const GgufType* type = gguf_type(number);
  if (type == nullptr)
    return in.refuse(fmt::format("the tensor '{}' has numbers of type {}, which is not known",
                                 shown(name), number));
  if (row % type->weights != 0 || offset % alignment != 0)
    return in.refuse(fmt::format("the tensor '{}' does not come out even in blocks of {}",
                                 shown(name), type->name));
  const std::uint64_t bytes = saturating_multiply(parameters / type->weights, type->bytes);
  tensors.ends = std::max(tensors.ends, saturating_add(offset, bytes));
  if (parameters == too_much || tensors.ends > in.left())
    return in.refuse(fmt::format("the tensor '{}' ends beyond the end of the file", shown(name)));
  tensors.places.emplace_back(offset, offset + bytes);
  StoredType& sum = tensors.by_type[type->name];
  ++sum.tensors;
  sum.parameters += parameters;
  sum.bytes += bytes;
  tensors.stored.parameters = saturating_add(tensors.stored.parameters, parameters);
  tensors.stored.bytes = saturating_add(tensors.stored.bytes, bytes);
  tensors.has_output = tensors.has_output || name == "output.weight";
  if (name == "token_embd.weight") tensors.vocab = last;
}

// What GGUF calls the families that have another name in the table of families.
constexpr std::pair<std::string_view, std::string_view> family_names[] = {
    {"qwen2moe", "qwen2_moe"}, {"qwen3moe", "qwen3_moe"}, {"phi2", "phi"},
    {"gptneox", "gpt_neox"},   {"gemma3", "gemma3_text"},
};

Result<ModelShape> shape_of(const Keys& keys, const Tensors& tensors, const std::string& place) {
  const auto named = keys.texts.find("general.architecture");
  if (named == keys.texts.end())
    return fail(ErrorKind::bad_input, place, "the key 'general.architecture' is missing");
  const std::string architecture = named->second;
  const auto other = std::ranges::find(family_names, std::string_view(architecture),
                                       &std::pair<std::string_view, std::string_view>::first);
  const auto family = find_model_family(
      other == std::end(family_names) ? std::string_view(architecture) : other->second);
  if (!family) return fail_at(place, family.error());
  const auto size = [&](std::string_view key, std::int64_t otherwise) {
    return keys.number(fmt::format("{}.{}", architecture, key)).value_or(otherwise);
  };
  ModelShape shape;
  shape.family = **family;
  shape.name = architecture;
  shape.layers = size("block_count", 0);
  shape.hidden = size("embedding_length", 0);
  shape.heads = size("attention.head_count", 0);
  shape.kv_heads = size("attention.head_count_kv", shape.heads);
  shape.head_dim = size("attention.key_length", shape.heads > 0 ? shape.hidden / shape.heads : 0);
  shape.ffn = size("feed_forward_length", 0);
  shape.positions = size("context_length", 0);
  shape.window = size("attention.sliding_window", 0);
  shape.experts = size("expert_count", 0);
  shape.active_experts = size("expert_used_count", 0);
  shape.expert_layers = shape.experts > 0 ? shape.layers : 0;
  shape.expert_ffn = shape.experts > 0 ? size("expert_feed_forward_length", shape.ffn) : 0;
  shape.shared_ffn = size("expert_shared_feed_forward_length", 0);
  const auto listed = keys.lengths.find("tokenizer.ggml.tokens");
  const std::uint64_t words =
      tensors.vocab.value_or(listed == keys.lengths.end() ? 0 : listed->second);
  shape.vocab = static_cast<std::int64_t>(std::min<std::uint64_t>(words, INT64_MAX));
  shape.tied = !tensors.has_output;
  if (const auto sound = check(shape, place); !sound) return std::unexpected(sound.error());
  return shape;
}

/// Tensors follow each other, each starting at the next multiple of the alignment, and fill the
/// file.
void check_places(Cursor& in, Tensors& tensors, std::uint64_t alignment, std::uint64_t bytes) {
  if (in.error()) return;
  const auto aligned = [&](std::uint64_t at) {
    return (at + alignment - 1) / alignment * alignment;
  };
  std::ranges::sort(tensors.places);
  std::uint64_t next = 0;
  for (const auto& [begin, end] : tensors.places) {
    if (begin != next)
      return in.refuse(fmt::format("a tensor begins at byte {} of the data, where byte {} was due",
                                   begin, next));
    next = aligned(end);
  }
  if (bytes > next)
    in.refuse(fmt::format("its tensors end at byte {} of {} bytes of data", tensors.ends, bytes));
}

void read_head(Cursor& in) {
  const auto magic = in.number<std::array<char, 4>>();
  const auto version = in.number<std::uint32_t>();
  if (in.error()) return;
  if (std::string_view(magic.data(), magic.size()) != "GGUF")
    return in.refuse("it does not begin with GGUF", "is this a GGUF file?");
  if (version != 2 && version != 3)
    return in.refuse(fmt::format("version {} of the format is not known", version),
                     "versions 2 and 3 are read, little endian");
}

}  // namespace

const GgufType* gguf_type(std::uint32_t number) {
  const auto found = std::ranges::find(types, number, &GgufType::number);
  return found == std::end(types) ? nullptr : found;
}

Result<ModelFile> read_gguf(const ByteSource& file) {
  Cursor in(file);
  Keys keys;
  Tensors tensors;
  read_head(in);
  const auto count = in.number<std::uint64_t>(), key_count = in.number<std::uint64_t>();
  if (!in.error() && (count > most_tensors || saturating_multiply(count, least_tensor) > in.left()))
    in.refuse(fmt::format("{} tensors do not fit into the file", count));
  if (!in.error() && (key_count > most_keys || saturating_multiply(key_count, 13) > in.left()))
    in.refuse(fmt::format("{} keys do not fit into the file", key_count));
  for (std::uint64_t i = 0; i < key_count && !in.error(); ++i) read_key(in, keys);
  const std::int64_t alignment = keys.number("general.alignment").value_or(32);
  if (!in.error() && (alignment < 1 || alignment > 1 << 20))
    in.refuse("this alignment is not possible");
  for (std::uint64_t i = 0; i < count && !in.error(); ++i)
    read_tensor(in, static_cast<std::uint64_t>(alignment), tensors);
  const auto step = static_cast<std::uint64_t>(std::max<std::int64_t>(alignment, 1));
  const std::uint64_t data = (in.at() + step - 1) / step * step;
  if (!in.error() && saturating_add(data, tensors.ends) > file.size)
    in.refuse(fmt::format("its tensors end at byte {}, and the file at {}",
                          saturating_add(data, tensors.ends), file.size));
  if (!in.error() && tensors.by_type.empty()) in.refuse("there is no tensor in it");
  check_places(in, tensors, step, file.size - std::min(data, file.size));
  if (!in.error() && keys.number("split.count").value_or(1) > 1)
    in.refuse(fmt::format("this is one of {} files, and holds a part of the weights only",
                          *keys.number("split.count")),
              "give the files merged into one, or the config.json with --precision");
  if (in.error()) return std::unexpected(*in.error());
  for (auto& [name, type] : tensors.by_type) {
    type.name = name;
    tensors.stored.types.push_back(type);
  }
  ModelFile result;
  auto shape = shape_of(keys, tensors, file.place);
  if (shape)
    result.shape = std::move(*shape);
  else
    result.why_no_shape = shape.error().message;
  result.stored = std::move(tensors.stored);
  return result;
}

}  // namespace cleave
