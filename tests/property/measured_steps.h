#pragma once

#include "core/cost/measured_times.h"
#include "core/families/registry.h"
#include "core/graph/simulate.h"

#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <string>
#include <vector>

namespace bubblescope::test {

/// A small order of every family and flavor that is not known to deadlock, with the smallest supported sizes.
inline std::vector<Schedule> familyOrders() {
    std::vector<Schedule> orders;
    const auto add = [&](const ScheduleFamily& family, std::string_view flavor) {
        for (const auto& [p, m] : {std::pair{4, 8}, {3, 6}, {2, 4}}) {
            for (int v = 1; v <= 3; ++v) {
                for (const int slices : {1, 2}) {
                    ScheduleSpec spec{std::string(family.name), std::string(flavor), p, m, v};
                    spec.sequence_slices = slices;
                    auto made = makeSchedule(spec);
                    if (made.ok() && simulate(made.value(), CostModel{}).ok())
                        orders.push_back(std::move(made).value());
                }
            }
        }
    };
    for (const ScheduleFamily& family : scheduleFamilies()) {
        if (family.flavors.empty()) add(family, "");
        for (const std::string_view flavor : family.flavors)
            add(family, flavor);
    }
    return orders;
}

/// Random times for every op and transfer of an order, with separate times for the ops of a pair.
inline std::shared_ptr<MeasuredTimes> randomTimes(const Schedule& order, unsigned seed, int least = 50,
                                                  int most = 150) {
    std::mt19937 random(seed);
    std::uniform_int_distribution<int> duration(least, most);
    auto times = std::make_shared<MeasuredTimes>();
    for (std::size_t r = 0; r < order.ranks.size(); ++r) {
        for (const Op& op : order.ranks[r])
            times->setOp(Rank{r}, op, TimeNs{duration(random)});
    }
    for (int m = 0; m < order.microbatches; ++m) {
        for (int s = 0; s < order.stages(); ++s) {
            for (int slice = 0; slice < 4; ++slice) {
                times->setTransfer(Payload::Activation, Microbatch{m}, Stage{s}, slice, TimeNs{duration(random) / 5});
                times->setTransfer(Payload::Gradient, Microbatch{m}, Stage{s}, slice, TimeNs{duration(random) / 5});
            }
        }
    }
    return times;
}

inline StepTimeline measuredStep(const Schedule& order, std::shared_ptr<MeasuredTimes> times) {
    CostModel costs;
    costs.measured = std::move(times);
    return simulate(order, costs).value();
}

/// A step with arbitrary defects: ops that are missing, run twice, overlap, have length 0, are out of order, or have
/// chunks or slices that do not exist; the same for transfers.
inline StepTimeline hostileStep(unsigned seed) {
    std::mt19937 random(seed);
    const auto pick = [&](int least, int most) { return std::uniform_int_distribution<int>(least, most)(random); };
    StepTimeline step;
    step.pp = pick(1, 4);
    step.microbatches = pick(1, 4);
    step.vpp = pick(1, 3);
    step.placement = static_cast<Placement>(pick(0, 2));
    step.ranks.resize(static_cast<std::size_t>(step.pp));
    step.comm.resize(static_cast<std::size_t>(step.pp));
    for (auto& ops : step.ranks) {
        TimeNs at{pick(-50, 50)};
        const int count = pick(0, 24);
        for (int i = 0; i < count; ++i) {
            at += TimeNs{pick(0, 3) == 0 ? 0 : pick(0, 40)};
            TimelineOp op;
            op.op = {static_cast<OpKind>(pick(0, 4)),
                     Microbatch{pick(0, step.microbatches - (pick(0, 9) == 0 ? 0 : 1))},
                     Chunk{pick(0, step.vpp - (pick(0, 9) == 0 ? 0 : 1))}, pick(0, 9) == 0 ? pick(0, 3) : 0,
                     pick(0, 3) == 0};
            op.start = at;
            op.end = at + TimeNs{pick(0, 2) == 0 ? 0 : pick(0, 60)};
            OpDetails details;
            details.device_idle = TimeNs{pick(0, 3) == 0 ? pick(0, 80) : 0};
            details.exposed_comm = TimeNs{pick(0, 3) == 0 ? pick(0, 80) : 0};
            step.setDetails(op, details);
            ops.push_back(op);
        }
    }
    for (auto& spans : step.comm) {
        const int count = pick(0, 12);
        for (int i = 0; i < count; ++i) {
            CommSpan span;
            span.kind = static_cast<CommKind>(pick(0, 3));
            span.payload = static_cast<Payload>(pick(0, 1));
            span.microbatch = Microbatch{pick(-1, step.microbatches)};
            span.stage = Stage{pick(-1, step.pp * step.vpp)};
            span.sequence = sequenceSlice(pick(0, 5) == 0 ? pick(-1, 3) : 0);
            span.start = TimeNs{pick(-50, 300)};
            span.end = span.start + TimeNs{pick(0, 80)};
            spans.push_back(span);
        }
    }
    step.fitWindow();
    return step;
}

} // namespace bubblescope::test
