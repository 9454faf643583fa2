// Every order that a family makes, executed by the engine: no deadlock, and the reference's weights.

#include "core/schedule/registry.h"
#include "core/schedule/validate.h"
#include "runtime/run.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

namespace bubblescope::runtime {
namespace {

RunConfig configFor(Schedule schedule) {
    RunConfig config;
    config.schedule = std::move(schedule);
    config.model.width = 6;
    config.model.rows = 3;
    config.steps = 2;
    config.paced = false;
    return config;
}

/// What the engine says that it does not execute.
bool refused(const Schedule& schedule) {
    if (routes(schedule.placement) > 1) return true;
    for (const auto& ops : schedule.ranks) {
        for (const Op& op : ops) {
            if (op.overlapped || op.sequence > 0) return true;
        }
    }
    return false;
}

/// True if it ran; the reference depends on the stages and micro-batches alone.
bool runsAsTheReference(const ScheduleSpec& spec, std::map<std::pair<int, int>, std::uint64_t>& references) {
    auto made = makeSchedule(spec);
    if (!made.ok() || !validate(made.value()).empty()) return false;
    RunConfig config = configFor(std::move(made).value());
    const std::string label = spec.name + "/" + spec.flavor + " p=" + std::to_string(spec.pp) +
                              " m=" + std::to_string(spec.microbatches) + " v=" + std::to_string(spec.vpp);
    JobControl control;
    const auto summary = runPipeline(config, control);
    if (refused(config.schedule)) {
        EXPECT_FALSE(summary.ok()) << label;
        return false;
    }
    EXPECT_TRUE(summary.ok()) << label << ": " << summary.error().text();
    if (!summary.ok()) return false;
    const std::pair key{config.schedule.stages(), spec.microbatches};
    if (!references.contains(key)) references[key] = runReference(config).value().weights_digest;
    EXPECT_EQ(summary.value().weights_digest, references[key]) << label;
    return true;
}

TEST(Families, EveryExecutableOrderTrainsToTheReferencesWeights) {
    std::map<std::pair<int, int>, std::uint64_t> references;
    std::map<std::string_view, int> ran;
    for (const ScheduleFamily& family : scheduleFamilies()) {
        std::vector<std::string_view> flavors = family.flavors;
        if (flavors.empty()) flavors.emplace_back();
        for (const std::string_view flavor : flavors) {
            for (const int p : {1, 2, 4}) {
                for (const int m : {3, 4, 8}) {
                    for (const int v : {1, 2}) {
                        const ScheduleSpec spec{std::string(family.name), std::string(flavor), p, m, v};
                        ran[family.name] += runsAsTheReference(spec, references) ? 1 : 0;
                    }
                }
            }
        }
    }
    for (const std::string_view name : {"fthenb", "1f1b", "eager-1f1b", "interleaved", "looped-bfs", "zb-v"}) {
        EXPECT_GT(ran[name], 1) << name;
    }
}

} // namespace
} // namespace bubblescope::runtime
