#include "cli/forecast/model_input.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <map>

#include "base/format.hpp"
#include "base/text.hpp"
#include "forecast/shape/hf_config.hpp"
#include "forecast/shape/model_memory.hpp"

namespace cleave::cli {

namespace {

constexpr std::uint64_t longest_text = 1U << 20;  // of a description; published ones are a few KiB

class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() { ::close(number_); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  [[nodiscard]] Result<std::string> read(const std::string& place, std::uint64_t offset,
                                         std::size_t length) const {
    std::string bytes(length, '\0');
    for (std::size_t done = 0; done < length;) {
      const ssize_t got =
          ::pread(number_, bytes.data() + done, length - done, static_cast<off_t>(offset + done));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return fail(ErrorKind::bad_input, place, std::strerror(errno));
      if (got == 0)
        return fail(ErrorKind::bad_input, place, "the file became shorter while it was being read",
                    "try again");
      done += static_cast<std::size_t>(got);
    }
    return bytes;
  }

 private:
  int number_;
};

Result<std::string> whole_text(const ByteSource& file) {
  if (file.size > longest_text)
    return fail(ErrorKind::bad_input, file.place,
                fmt::format("{} bytes are too many for a model description", file.size),
                "give a config.json, a .safetensors or a .gguf file");
  return file.read(0, static_cast<std::size_t>(file.size));
}

Result<ModelShape> shape_in(const std::string& path) {
  const auto file = open_bytes(path);
  if (!file) return std::unexpected(file.error());
  const auto text = whole_text(*file);
  if (!text) return std::unexpected(text.error());
  return parse_hf_config(*text, file->place);
}

/// A safetensors file or index with the shape that stands beside it, if there is one.
Result<ModelFile> with_config_beside(Result<ModelFile> model, const std::string& path) {
  const std::filesystem::path config = std::filesystem::path(path).parent_path() / "config.json";
  std::error_code failed;
  if (!model || !std::filesystem::is_regular_file(config, failed)) return model;
  auto shape = shape_in(config.string());
  if (!shape) return std::unexpected(shape.error());
  model->shape = std::move(*shape);
  return model;
}

/// One of the files of a model in several, by its name: m-00001-of-00002.safetensors.
Result<void> check_whole(const std::string& path, const std::string& place) {
  const std::string name = std::filesystem::path(path).stem().string();
  const std::size_t of = name.rfind("-of-");
  if (of == std::string::npos) return {};
  const std::size_t mark = name.rfind('-', of - 1);
  if (of == 0 || mark == std::string::npos) return {};
  const auto number = parse_integer(std::string_view(name).substr(mark + 1, of - mark - 1)),
             count = parse_integer(std::string_view(name).substr(of + 4));
  if (!number || !count || *count < 2) return {};
  return fail(
      ErrorKind::bad_input, place,
      fmt::format("this is file {} of {}, and holds only a part of the weights", *number, *count),
      "give the model.safetensors.index.json beside it, or the config.json with --precision");
}

/// Where FILE#NAME has its '#'; npos for a file alone.
std::size_t name_mark(const std::string& model) {
  const std::size_t mark = model.rfind('#');
  return mark != std::string::npos && ::access(model.c_str(), F_OK) == 0 ? std::string::npos : mark;
}

Result<MiB> size_of(const ModelUse& use, const std::filesystem::path& folder) {
  MemoryOptions options;
  options.batch = use.batch;
  options.context = use.context;
  options.train = use.train;
  if (!use.precision.empty()) {
    const auto precision = find_precision(use.precision);
    if (!precision) return std::unexpected(precision.error());
    options.weights = *precision;
  }
  Result<MemoryForecast> forecast;
  if (use.shape.starts_with(vision_prefix)) {
    const auto network = vision_network(std::string_view(use.shape).substr(vision_prefix.size()));
    if (!network) return std::unexpected(network.error());
    forecast = forecast_memory(*network, options);
  } else {
    const auto model = load_model((folder / use.shape).string());
    if (!model) return std::unexpected(model.error());
    forecast = forecast_memory(*model, options, shown(use.shape, 200));
  }
  if (!forecast) return std::unexpected(forecast.error());
  return forecast->needed();
}

}  // namespace

ModelSizer model_sizer(const std::string& workload) {
  const std::filesystem::path folder =
      workload == "-" ? std::filesystem::path() : std::filesystem::path(workload).parent_path();
  auto known = std::make_shared<std::map<ModelUse, Result<MiB>>>();
  return [folder, known](const ModelUse& use) {
    const auto found = known->find(use);
    if (found != known->end()) return found->second;
    return known->emplace(use, size_of(use, folder)).first->second;
  };
}

Result<ByteSource> open_bytes(const std::string& path) {
  const std::string place = shown(path, 200);
  const int number = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (number < 0)
    return fail(ErrorKind::bad_input, place, std::strerror(errno),
                errno == ENOENT ? "check the name" : "");
  auto descriptor = std::make_shared<const Descriptor>(number);
  struct stat status {};
  if (::fstat(number, &status) != 0 || !S_ISREG(status.st_mode))
    return fail(ErrorKind::bad_input, place, "this is not a plain file",
                "give a file, not a folder or a pipe");
  return ByteSource{place, static_cast<std::uint64_t>(status.st_size),
                    [descriptor, place](std::uint64_t offset, std::size_t length) {
                      return descriptor->read(place, offset, length);
                    }};
}

Result<ModelFile> load_model(const std::string& model) {
  const std::size_t mark = name_mark(model);
  const std::string path = model.substr(0, mark);
  const auto file = open_bytes(path);
  if (!file) return std::unexpected(file.error());
  if (mark == std::string::npos && (path.ends_with(".safetensors") || path.ends_with(".gguf")))
    if (const auto whole = check_whole(path, file->place); !whole)
      return std::unexpected(whole.error());
  if (mark == std::string::npos && path.ends_with(".safetensors"))
    return with_config_beside(read_safetensors(*file), path);
  if (mark == std::string::npos && path.ends_with(".safetensors.index.json"))
    return with_config_beside(read_safetensors_index(*file), path);
  if (mark == std::string::npos && path.ends_with(".gguf")) return read_gguf(*file);
  const auto text = whole_text(*file);
  if (!text) return std::unexpected(text.error());
  auto shape = mark == std::string::npos
                   ? parse_hf_config(*text, file->place)
                   : parse_model_shapes(*text, model.substr(mark + 1), file->place);
  if (!shape) return std::unexpected(shape.error());
  return ModelFile{std::move(*shape), "", std::nullopt};
}

}  // namespace cleave::cli
