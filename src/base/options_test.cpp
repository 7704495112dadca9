// Options as text: what is read, and what is said of what is wrong.

#include "base/options.hpp"

#include <gtest/gtest.h>

namespace cleave {
namespace {

constexpr OptionRow engine_options[] = {
    {"power", "NUMBER", "0.5", "how much of it"},
    {"gears", "COUNT", "5", "how many"},
    {"fuel", "none|petrol", "petrol", "what it burns"},
    {"tank", "SIZE", "2GiB", "how large"},
};

/// A row as tables have them.
struct Vehicle {
  std::string_view name;
  std::span<const OptionRow> options;
};
constexpr Vehicle vehicles[] = {{"car", engine_options}, {"sledge", {}}};

Result<NamedRow<Vehicle>> read_vehicle(std::string_view spec) {
  return read_spec(std::span<const Vehicle>(vehicles), spec, "vehicle");
}

TEST(Options, AreReadWithTheirDefaults) {
  const auto car = read_vehicle("car:gears=6;power=0.25");
  ASSERT_TRUE(car) << car.error().text();
  EXPECT_EQ(car->row->name, "car");
  OptionReader in(car->options);
  EXPECT_EQ(in.number("power", 0, 1), 0.25);
  EXPECT_EQ(in.ratio("power", Ratio(0, 1), Ratio(1, 1)), Ratio(1, 4));
  EXPECT_EQ(in.seconds("power", 0, 1), std::chrono::milliseconds{250});
  EXPECT_EQ(in.count("gears", 1, 10), 6);
  EXPECT_EQ(in.size("tank"), MiB{2048});
  EXPECT_TRUE(in.is("fuel", "petrol"));
  EXPECT_EQ(in.text("fuel"), "petrol");
  EXPECT_FALSE(in.error());
}

TEST(Options, AreRefusedInWords) {
  const auto wrong = [](std::string_view spec) { return read_vehicle(spec).error().text(); };
  EXPECT_EQ(wrong("cart"), "there is no vehicle 'cart'; did you mean 'car'?");
  EXPECT_EQ(wrong("car:"), "vehicle 'car:': '' is not an option; write NAME:key=value;key=value");
  EXPECT_EQ(wrong("car:gear=3"),
            "vehicle 'car:gear=3': vehicle car has no option 'gear'; did you mean 'gears'?");
  EXPECT_EQ(read_vehicle("sledge:gears=3").error().message, "vehicle sledge has no option 'gears'");
  EXPECT_EQ(read_vehicle("car:fuel=hay").error().message, "'hay' is not a value of it");
}

TEST(Options, WithoutAValueAreRefused) {
  EXPECT_EQ(options_of("name:a=1;b=", "scheduler").error().text(),
            "scheduler: 'b=' has no value; give one, or leave the option out");
}

TEST(Options, TheFirstWrongValueIsTheError) {
  const OptionTexts texts = {{"power", "2"}, {"gears", "1.5"}, {"fuel", "x"}, {"tank", "full"}};
  const auto wrong = [&](const auto& read) {
    OptionReader in(texts);
    read(in);
    in.refuse("fuel", "too late");
    return in.error()->text();
  };
  EXPECT_EQ(wrong([](OptionReader& in) { EXPECT_EQ(in.number("power", 0, 1), 0); }),
            "power: '2' is not a number from 0 to 1");
  EXPECT_EQ(wrong([](OptionReader& in) { in.ratio("power", Ratio(0, 1), Ratio(1, 1)); }),
            "power: '2' is not a number from 0 to 1");
  EXPECT_EQ(wrong([](OptionReader& in) { EXPECT_EQ(in.count("gears", 1, 9), 1); }),
            "gears: '1.5' is not a whole number from 1 to 9");
  EXPECT_TRUE(
      wrong([](OptionReader& in) { in.size("tank"); }).starts_with("tank: 'full' is not a size"));
  EXPECT_EQ(wrong([](OptionReader&) {}), "fuel: too late");
}

}  // namespace
}  // namespace cleave
