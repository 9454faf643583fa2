#include "core/frameworks/order_setup.h"

#include "core/families/registry.h"

#include <gtest/gtest.h>

#include <string>

namespace bubblescope {
namespace {

Schedule made(const std::string& name, int pp, int microbatches, int vpp, const std::string& flavor = "") {
    ScheduleSpec spec;
    spec.name = name;
    spec.flavor = flavor;
    spec.pp = pp;
    spec.microbatches = microbatches;
    spec.vpp = vpp;
    auto schedule = makeSchedule(spec);
    EXPECT_TRUE(schedule.ok()) << name;
    return schedule.ok() ? std::move(schedule).value() : Schedule{};
}

std::string nameOf(const Schedule& schedule, Framework framework) {
    const auto setup = orderSetup(schedule, framework, "order.csv");
    return setup.ok() ? setup.value().schedule_name : "refused: " + setup.error().message;
}

TEST(OrderSetup, NamesTheScheduleWhosePlacementIsTheOrders) {
    for (const Framework framework : {Framework::Torchtitan, Framework::GraphPp, Framework::Automodel}) {
        EXPECT_EQ(nameOf(made("zb-h1", 4, 8, 1), framework), "1F1B");
        EXPECT_EQ(nameOf(made("interleaved", 4, 8, 3), framework), "Interleaved1F1B");
        EXPECT_EQ(nameOf(made("zb-v", 4, 8, 2), framework), "ZBVZeroBubble");
        EXPECT_EQ(nameOf(made("hanayo", 2, 4, 4), framework).substr(0, 7), "refused");
        EXPECT_EQ(nameOf(made("dualpipe", 4, 8, 2), framework).substr(0, 7), "refused");
    }
    const auto setup = orderSetup(made("interleaved", 4, 8, 3), Framework::Torchtitan, "a.csv");
    ASSERT_TRUE(setup.ok());
    EXPECT_TRUE(setup.value().takes_file);
    EXPECT_EQ(setup.value().settings[1].value, "a.csv");
}

TEST(OrderSetup, GivesOrdersThatAFrameworkMakesItsSettings) {
    EXPECT_EQ(nameOf(made("1f1b", 4, 8, 1), Framework::DeepSpeed), "1f1b");
    EXPECT_NE(nameOf(made("zb-h1", 4, 8, 1), Framework::DeepSpeed).find("does not read order files"),
              std::string::npos);
    EXPECT_NE(nameOf(made("zb-v", 4, 8, 2), Framework::Megatron).find("does not read order files"), std::string::npos);
    const auto setup = orderSetup(made("interleaved", 4, 8, 2, "megatron"), Framework::Megatron, "");
    ASSERT_TRUE(setup.ok()) << setup.error().text();
    EXPECT_FALSE(setup.value().takes_file);
    EXPECT_EQ(setup.value().settings[2].value, "4"); // groups of p
}

TEST(OrderSetup, KnowsFrameworksByTheirNames) {
    for (const std::string& name : frameworkNames())
        EXPECT_TRUE(frameworkFromName(name).has_value()) << name;
    EXPECT_FALSE(frameworkFromName("jax").has_value());
}

} // namespace
} // namespace bubblescope
