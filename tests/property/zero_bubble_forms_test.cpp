// Properties of the generators of schedules whose weight gradients fill the bubbles, for every size and all times, and
// the limit of the closed form of ZB-V.

#include "core/families/registry.h"
#include "core/graph/validate.h"
#include "core/theory/closed_form.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace bubblescope {
namespace {

struct Times {
    int forward;
    int input_grad;
    int weight_grad;
};

CostModel costs(const Times& t) {
    CostModel model;
    model.times = makeOpTimes(TimeNs{t.forward}, {}, TimeNs{t.input_grad}, TimeNs{t.weight_grad}).value();
    return model;
}

ScheduleSpec spec(std::string name, std::string flavor, int p, int m, int v, const Times& t = {1, 1, 1}) {
    ScheduleSpec result;
    result.name = std::move(name);
    result.flavor = std::move(flavor);
    result.pp = p;
    result.microbatches = m;
    result.vpp = v;
    result.times = costs(t).times;
    return result;
}

TEST(ZeroBubbleForms, ZbVRefusedOutsideItsDomain) {
    const auto refused = [](const char* flavor, int m, const Times& t) {
        return !closedForm(makeSchedule(spec("zb-v", flavor, 4, m, 2, t)).value(), costs(t)).value().exact();
    };
    EXPECT_FALSE(refused("torch", 7, {1, 1, 1}));
    EXPECT_TRUE(refused("torch", 6, {1, 1, 1}));
    EXPECT_FALSE(refused("torch", 7, {3, 4, 5}));
    EXPECT_FALSE(refused("torch", 7, {3, 2, 1}));
    EXPECT_TRUE(refused("greedy", 7, {1, 1, 1}));
}

/// Every size and several times: valid, and never more halves of activations than the limit allows.
void expectWithin(const ScheduleSpec& wanted) {
    const auto schedule = makeSchedule(wanted);
    ASSERT_TRUE(schedule.ok()) << wanted.pp << ' ' << wanted.microbatches << ' ' << schedule.error().text();
    ASSERT_TRUE(validate(schedule.value()).empty()) << wanted.pp << ' ' << wanted.microbatches;
    for (const auto& ops : schedule.value().ranks) {
        int halves = 0;
        for (const Op& op : ops) {
            halves += op.kind == OpKind::Forward ? 2 : -1;
            ASSERT_LE(halves, 2 * wanted.memory_limit);
        }
    }
}

constexpr Times kAnyTimes[] = {{1, 1, 1}, {3, 4, 5}, {10, 12, 6}, {1, 0, 1}, {2, 3, 0}, {0, 1, 1}};

TEST(ZeroBubbleForms, MemoryLimitsHold) {
    for (int p = 1; p <= 8; ++p) {
        for (int m : {1, 2, 5, 8, 17, 24}) {
            for (const Times& t : kAnyTimes) {
                for (int limit : {1, 2, p, p + 1, 2 * p, 2 * p + 1, 3 * p}) {
                    ScheduleSpec wanted = spec("zb-auto", "", p, m, 1, t);
                    wanted.memory_limit = limit;
                    expectWithin(wanted);
                    if (limit < 2 * p) continue;
                    wanted.name = "zb-v";
                    wanted.vpp = 2;
                    expectWithin(wanted);
                    wanted.flavor = "paddle";
                    wanted.vpp = 2 + m % 3;
                    if (makeSchedule(wanted).ok()) expectWithin(wanted);
                }
            }
        }
    }
}

TEST(ZeroBubbleForms, UsageErrorsOfZeroBubbleFamilies) {
    ScheduleSpec small = spec("zb-v", "greedy", 4, 8, 2);
    small.memory_limit = 3;
    EXPECT_FALSE(makeSchedule(small).ok());
    small.flavor = "torch";
    EXPECT_FALSE(makeSchedule(small).ok());
    EXPECT_FALSE(makeSchedule(spec("zb-v", "greedy", 4, 8, 3)).ok());
    EXPECT_FALSE(makeSchedule(spec("zb-auto", "", 4, 8, 2)).ok());
    const Schedule no_form = makeSchedule(spec("zb-auto", "", 4, 8, 1)).value();
    EXPECT_FALSE(closedForm(no_form, costs({1, 1, 1})).value().exact());
}

} // namespace
} // namespace bubblescope
