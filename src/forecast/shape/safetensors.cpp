// Method: the format's description at github.com/huggingface/safetensors.

#include <algorithm>
#include <map>
#include <optional>

#include "base/format.hpp"
#include "base/json.hpp"
#include "base/text.hpp"
#include "forecast/shape/model_file.hpp"
#include "forecast/shape/saturating.hpp"

namespace cleave {

namespace {

struct Dtype {
  std::string_view name;
  std::uint64_t bits;
};

constexpr Dtype dtypes[] = {
    {"F64", 64},        {"F32", 32},        {"F16", 16},    {"BF16", 16},   {"I64", 64},
    {"I32", 32},        {"I16", 16},        {"I8", 8},      {"U64", 64},    {"U32", 32},
    {"U16", 16},        {"U8", 8},          {"BOOL", 8},    {"F8_E4M3", 8}, {"F8_E5M2", 8},
    {"F8_E8M0", 8},     {"F4", 4},          {"F6_E2M3", 6}, {"F6_E3M2", 6}, {"C64", 64},
    {"F8_E4M3FNUZ", 8}, {"F8_E5M2FNUZ", 8},
};

constexpr std::string_view again = "the file is torn or altered: fetch it again";
constexpr std::uint64_t length_bytes = 8;

std::unexpected<Error> torn(const std::string& place, std::string message) {
  return fail(ErrorKind::bad_input, place, std::move(message), std::string(again));
}

Result<std::uint64_t> header_length(const ByteSource& file) {
  if (file.size < length_bytes + 2)
    return torn(file.place,
                fmt::format("a file of {} bytes is too short for safetensors", file.size));
  const auto head = file.read(0, length_bytes);
  if (!head) return std::unexpected(head.error());
  std::uint64_t length = 0;
  for (std::size_t i = length_bytes; i-- > 0;)
    length = length << 8 | static_cast<unsigned char>((*head)[i]);
  if (length > file.size - length_bytes)
    return torn(file.place, fmt::format("the header should have {} bytes, and the file has {}",
                                        length, file.size));
  if (length > longest_safetensors_header)
    return fail(ErrorKind::bad_input, file.place,
                fmt::format("a header of {} bytes is too long; the limit is {}", length,
                            longest_safetensors_header),
                "is this a safetensors file?");
  return length;
}

/// A header as JSON takes many times its length in memory if it is nothing but brackets or commas.
/// A tensor has three brackets in at least 51 characters, and seven commas in 59 with four sizes of
/// one digit.
bool dense(std::string_view header) {
  std::uint64_t brackets = 0, commas = 0;
  bool inside = false;  // of a string
  for (std::size_t i = 0; i < header.size(); ++i) {
    const char c = header[i];
    if (inside && c == '\\') ++i;
    if (c == '"') inside = !inside;
    if (inside) continue;
    brackets += c == '[' || c == '{' ? 1 : 0;
    commas += c == ',' ? 1 : 0;
  }
  constexpr std::uint64_t slack = 64;
  return 16 * brackets > header.size() + slack || 4 * commas > header.size() + slack;
}

/// One tensor of the table: the product of its sizes, and its bytes.
struct Entry {
  NamedTensor tensor;
  const Dtype* dtype = nullptr;
  std::uint64_t parameters = 1, bytes = 0, begin = 0;
};

Result<Entry> read_entry(const std::string& name, JsonReader in, std::uint64_t data,
                         std::optional<Error>& error) {
  constexpr std::int64_t largest = INT64_MAX;
  Entry entry;
  entry.tensor.name = name;
  const std::string dtype = in.text("dtype");
  const auto sizes = in.integers("shape", 0, largest);
  const auto offsets = in.integers("data_offsets", 0, largest);
  if (error) return std::unexpected(*error);
  entry.dtype = std::ranges::find(dtypes, dtype, &Dtype::name);
  if (entry.dtype == std::end(dtypes))
    return fail(ErrorKind::bad_input, in.place(),
                fmt::format("no known type of number is called '{}'", shown(dtype)));
  for (const std::int64_t size : sizes) {
    entry.parameters = saturating_multiply(entry.parameters, static_cast<std::uint64_t>(size));
    entry.tensor.sizes.push_back(static_cast<std::uint64_t>(size));
  }
  if (!offsets.empty()) entry.begin = static_cast<std::uint64_t>(offsets[0]);
  const std::uint64_t bits = saturating_multiply(entry.parameters, entry.dtype->bits);
  entry.bytes = bits / 8;
  if (offsets.size() != 2 || offsets[0] > offsets[1])
    return torn(in.place(), "data_offsets should be where the tensor begins and where it ends");
  const auto held = static_cast<std::uint64_t>(offsets[1] - offsets[0]);
  if (bits == too_much || bits % 8 != 0 || held != entry.bytes)
    return torn(in.place(), fmt::format("a tensor of {} numbers of {} bits cannot take {} bytes",
                                        entry.parameters, entry.dtype->bits, held));
  if (static_cast<std::uint64_t>(offsets[1]) > data)
    return torn(in.place(),
                fmt::format("it ends at byte {} of {} bytes of data", offsets[1], data));
  return entry;
}

}  // namespace

Result<ModelFile> read_safetensors(const ByteSource& file) {
  const auto length = header_length(file);
  if (!length) return std::unexpected(length.error());
  const auto header = file.read(length_bytes, static_cast<std::size_t>(*length));
  if (!header) return std::unexpected(header.error());
  const std::string place = fmt::format("{}: header", file.place);
  if (dense(*header)) return torn(place, "it has more brackets or commas than a table of tensors");
  const auto document = parse_json(*header, place);
  if (!document) return std::unexpected(document.error());
  std::optional<Error> error;
  JsonReader in(*document, place, error);
  if (error) return std::unexpected(*error);
  const std::uint64_t data = file.size - length_bytes - *length;
  std::map<std::string_view, StoredType> types;
  std::vector<NamedTensor> tensors;
  StoredWeights stored;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> places;  // where each begins and ends
  for (const auto& [name, value] : document->items()) {
    if (name == "__metadata__") continue;
    auto entry = read_entry(
        name, JsonReader(value, fmt::format("{}.{}", place, shown(name)), error), data, error);
    if (!entry) return std::unexpected(entry.error());
    StoredType& type = types[entry->dtype->name];
    ++type.tensors;
    type.parameters += entry->parameters;
    type.bytes += entry->bytes;
    stored.parameters = saturating_add(stored.parameters, entry->parameters);
    stored.bytes = saturating_add(stored.bytes, entry->bytes);
    places.emplace_back(entry->begin, entry->begin + entry->bytes);
    tensors.push_back(std::move(entry->tensor));
  }
  if (tensors.empty()) return torn(place, "there is no tensor in it");
  if (stored.bytes != data)
    return torn(place, fmt::format("its tensors take {} bytes, and the file has {} for them",
                                   stored.bytes, data));
  std::ranges::sort(places);
  for (std::size_t i = 1; i < places.size(); ++i)
    if (places[i].first != places[i - 1].second)
      return torn(place,
                  fmt::format("a tensor begins at byte {} of the data, where byte {} was due",
                              places[i].first, places[i - 1].second));
  for (auto& [name, type] : types) {
    type.name = name;
    stored.types.push_back(type);
  }
  ModelFile result;
  auto shape = shape_from_names(tensors, file.place);
  if (shape)
    result.shape = std::move(*shape);
  else
    result.why_no_shape = shape.error().message;
  result.stored = std::move(stored);
  return result;
}

Result<ModelFile> read_safetensors_index(const ByteSource& file) {
  if (file.size > longest_safetensors_header)
    return fail(ErrorKind::bad_input, file.place,
                fmt::format("an index of {} bytes is too long", file.size),
                "is this a model.safetensors.index.json?");
  const auto text = file.read(0, static_cast<std::size_t>(file.size));
  if (!text) return std::unexpected(text.error());
  if (dense(*text))
    return torn(file.place, "it has more brackets or commas than an index of files");
  const auto document = parse_json(*text, file.place);
  if (!document) return std::unexpected(document.error());
  std::optional<Error> error;
  JsonReader in(*document, file.place, error);
  auto metadata = in.object_if("metadata");
  const std::int64_t bytes = metadata ? metadata->integer("total_size", 1, INT64_MAX) : 0;
  if (!metadata)
    in.refuse("", "the key 'metadata' is missing", "is this a model.safetensors.index.json?");
  if (error) return std::unexpected(*error);
  ModelFile model;
  model.why_no_shape = "an index of files does not tell the model's shape";
  model.stored = StoredWeights{{}, 0, static_cast<std::uint64_t>(bytes)};
  return model;
}

}  // namespace cleave
