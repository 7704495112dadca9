#include "model/asked_places.hpp"

#include "base/format.hpp"
#include "base/text.hpp"

namespace cleave {

std::optional<WrongPlaces> wrong_places(const AskedPlaces& asked, bool sized, bool movable) {
  if (asked.gpus && asked.instances)
    return WrongPlaces{"gpus", "a job has whole GPUs or instances, not both",
                       "leave out gpus or instances"};
  if (asked.gpus && sized)
    return WrongPlaces{"gpus", "a whole GPU has no profile, size or model",
                       "leave those out, or ask for instances of that size"};
  if (asked.instances && !sized)
    return WrongPlaces{"instances", "it is not said of which size they are",
                       "name a profile or a memory size too"};
  const std::int64_t places = asked.gpus.value_or(asked.instances.value_or(1));
  if (asked.together != Together::anywhere && places == 1)
    return WrongPlaces{"together", "it says how several lie, and the job has one",
                       "leave it out, or give gpus or instances"};
  if (asked.together == Together::gpu && asked.gpus)
    return WrongPlaces{"together", "several whole GPUs are never on one GPU",
                       "node keeps them on one machine"};
  if (movable && places > 1)
    return WrongPlaces{"movable", "a job of several processes is not moved while it runs",
                       "leave it out"};
  return std::nullopt;
}

Request request_of(const AskedPlaces& asked, Request one) {
  if (asked.gpus) one.wanted = WholeGpu{};
  one.places = static_cast<std::uint32_t>(asked.gpus.value_or(asked.instances.value_or(1)));
  one.together = asked.together;
  return one;
}

std::string in_words(const AskedPlaces& asked, std::string one) {
  if (asked.gpus)
    return fmt::format("{}{}", counted(static_cast<std::size_t>(*asked.gpus), "whole GPU"),
                       in_words(asked.together));
  if (asked.instances.value_or(1) == 1) return one;
  return fmt::format("{} x {}{}", *asked.instances, one, in_words(asked.together));
}

}  // namespace cleave
