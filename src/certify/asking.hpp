#pragma once
// Asking an NVML library: each question is one call through `Asking`, which hands the answer on.
// What a library gives is turned into JSON here; nothing is judged.

#include <functional>
#include <optional>
#include <set>
#include <span>
#include <type_traits>

#include "base/text.hpp"
#include "certify/answers.hpp"
#include "certify/json_of.hpp"
#include "device/nvml_call.hpp"
#include "smi/nvml.hpp"

namespace cleave::certify {

/// Where questions and answers go. `begin` comes before each call; false: the question is not to be
/// asked (it ended a process before, or was answered in one that ended).
class Listener {
 public:
  virtual ~Listener() = default;
  [[nodiscard]] virtual bool begin(const Answer& question) = 0;
  virtual void end(const Answer& answer) = 0;
};

/// A function's answer.
struct Told {
  nvml::Return code = nvml::Return::unknown;
  Json value;
};

/// A function of NVML with its name.
template <class F>
struct Named {
  F function;
  const char* name;
};

/// Asks the functions of one library.
class Asking {
 public:
  explicit Asking(Listener& listener) : listener_(&listener) {}

  /// Asks with `call`, which makes the call and returns Told.
  template <class Call>
  std::optional<Json> ask(Topic topic, const char* function, bool there, const std::string& about,
                          Call call) {
    Answer answer{topic, function, about, Outcome::absent, {}, {}, {}};
    if (there && !listener_->begin(answer)) return {};
    if (there) {
      Told told = call();
      answer.outcome = Outcome::answered;
      answer.code = told.code;
      if (told.code == nvml::Return::success) answer.value = std::move(told.value);
    }
    listener_->end(answer);
    return answer.told() ? std::optional(answer.value) : std::nullopt;
  }

  /// A question that is not asked here, and why.
  void leave(Topic topic, const std::string& function, const std::string& about,
             const std::string& why) {
    listener_->end({topic, function, about, Outcome::not_asked, {}, {}, why});
  }
  /// An answer that was found by measuring.
  void tell(const Answer& answer) { listener_->end(answer); }

  /// What the function writes last.
  template <class... Parameters, class... Given>
  std::optional<Json> one(Topic topic, Named<nvml::Return (*)(Parameters...)> f,
                          const std::string& about, Given... given) {
    using Place = std::tuple_element_t<sizeof...(Parameters) - 1, std::tuple<Parameters...>>;
    using Value = std::remove_pointer_t<Place>;
    return ask(topic, f.name, f.function != nullptr, about, [&] {
      Value value{};
      const nvml::Return code = f.function(given..., &value);
      return Told{code, json_of(value)};
    });
  }

  /// The same of a structure that needs its version word.
  template <class Value, class... Parameters, class... Given>
  std::optional<Json> versioned(Topic topic, Named<nvml::Return (*)(Parameters...)> f,
                                const std::string& about, std::uint32_t word, Given... given) {
    return ask(topic, f.name, f.function != nullptr, about, [&] {
      Value value{};
      value.version = word;
      using Place = std::tuple_element_t<sizeof...(Parameters) - 1, std::tuple<Parameters...>>;
      const nvml::Return code = f.function(given..., reinterpret_cast<Place>(&value));
      return Told{code, json_of(value)};
    });
  }

  /// What the function writes last, as two numbers.
  template <class Number, class... Parameters, class... Given>
  std::optional<Json> two(Topic topic, Named<nvml::Return (*)(Parameters...)> f, const char* first,
                          const char* second, Given... given) {
    return ask(topic, f.name, f.function != nullptr, "", [&] {
      Number a{}, b{};
      const nvml::Return code = f.function(given..., &a, &b);
      return Told{code, Json{{first, a}, {second, b}}};
    });
  }

  /// A text in a buffer.
  template <class... Parameters, class... Given>
  std::optional<Json> text(Topic topic, Named<nvml::Return (*)(Parameters...)> f, Given... given) {
    return ask(topic, f.name, f.function != nullptr, "", [&] {
      std::array<char, nvml::name_size> buffer{};
      const nvml::Return code =
          f.function(given..., buffer.data(), static_cast<std::uint32_t>(buffer.size() - 1));
      return Told{code, nvml_text(buffer)};
    });
  }

  /// A list whose length the function gives, in the order of NVML's arguments: the count first, or
  /// the list first.
  template <class Item, class Call>
  std::optional<Json> list(Topic topic, const char* function, bool there, const std::string& about,
                           std::uint32_t room, Call call) {
    return ask(topic, function, there, about, [&] {
      const auto items = nvml_list<Item>(room, [&](Item* place, std::uint32_t* count) {
        const nvml::Return code = call(place, count);
        if (code == nvml::Return::success) return DriverAnswer<void>{};
        return DriverAnswer<void>{std::unexpected(Refusal{code, function})};
      });
      if (!items) return Told{items.error().code, {}};
      Json values = Json::array();
      for (const Item& each : *items) values.push_back(json_of(each));
      return Told{nvml::Return::success, values};
    });
  }

 private:
  Listener* listener_;
};

}  // namespace cleave::certify

/// A function with its name: CLEAVE_NAMED(functions, nvmlDeviceGetName).
#define CLEAVE_NAMED(functions, name) \
  cleave::certify::Named {            \
    (functions).name, #name           \
  }
