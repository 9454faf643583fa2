// Accounting and what-if agree on every cause, on every real trace that has a pipeline.

#include "core/analysis/steps/run_analyzer.h"
#include "core/analysis/whatif/scenario.h"
#include "tests/support/shared_data.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

namespace bubblescope {
namespace {

const std::vector<std::string> kRecordings{"torch-pp-cpu-gloo/1f1b_pp4_mb8", "torch-pp-cpu-gloo/gpipe_pp2_mb4",
                                           "torch-pp-cpu-gloo/interleaved1f1b_pp4_mb8_v2",
                                           "torch-pp-cpu-gloo/zbv_pp2_mb4_v2"};
const std::vector<std::string> kOutside{"megatronapp-pp4/data-1-pipeline-4-tensor-1-pp-aggregated.json",
                                        "megatronapp-pp4/data-1-pipeline-4-tensor-1-pp-aggregated-iter10.json",
                                        "bytedance-straggler/timeline-ST.json.gz",
                                        "bytedance-straggler/timeline-SE.json.gz"};

/// Their folder, and the runs below the folder that BUBBLESCOPE_MORE_TRACES names, if it is set.
std::vector<std::filesystem::path> pathsOf(const std::vector<std::string>& names) {
    std::vector<std::filesystem::path> paths;
    for (const std::string& name : names)
        paths.push_back(test::realTrace(name));
    if (const char* more = std::getenv("BUBBLESCOPE_MORE_TRACES")) {
        for (const auto& entry : std::filesystem::directory_iterator(more)) {
            if (entry.is_directory()) paths.push_back(entry.path());
        }
    }
    return paths;
}

/// The duration and saving of a step with several replicas: as long as its slowest one.
struct Accounted {
    TimeNs wall{0};
    TimeNs replayed{0};
    PerCause<TimeNs> without{}; ///< the step with only this cause removed

    void add(const StepAccounting& accounting, TimeNs observed) {
        const auto& waterfall = accounting.waterfall;
        const TimeNs replay = observed - waterfall.back().adds;
        wall = std::max(wall, observed);
        replayed = std::max(replayed, replay);
        for (const WaterfallStep& entry : waterfall) {
            TimeNs& left = without[indexOf(entry.cause)];
            left = std::max(left, entry.cause == Cause::Unknown ? replay : replay - entry.without);
        }
    }
    [[nodiscard]] TimeNs saved(Cause cause) const {
        return (cause == Cause::Unknown ? wall : replayed) - without[indexOf(cause)];
    }
};

struct Comparisons {
    int all = 0;
    PerCause<int> of_cause{}; ///< those in which the cause made a difference
};

/// The cost of a cause is the saving of the replay without it, in up to a dozen steps of each trace.
void expectOneDefinition(const std::vector<std::filesystem::path>& traces, Comparisons& made) {
    for (const auto& trace : traces) {
        JobControl control;
        auto loaded = loadRun({trace}, control);
        ASSERT_TRUE(loaded.ok()) << loaded.error().text();
        const auto diagnosed = diagnoseRun(std::move(loaded).value());
        ASSERT_TRUE(diagnosed.ok()) << diagnosed.error().text();
        const bubblescope::Run& run = diagnosed.value().run;
        const RunReport& report = diagnosed.value().report;
        std::vector<int> indices;
        for (const StepTimeline& step : run.steps) {
            if (indices.empty() || indices.back() != step.index) indices.push_back(step.index);
        }
        const std::size_t stride = std::max<std::size_t>(1, indices.size() / 12);
        for (std::size_t i = 0; i < indices.size(); i += stride) {
            Accounted accounted;
            for (std::size_t s = 0; s < run.steps.size(); ++s) {
                if (run.steps[s].index == indices[i]) accounted.add(report.accounts[s], run.steps[s].wall());
            }
            const auto one = selectSteps(run.steps, StepRequest{{{indices[i], indices[i], std::nullopt}}, {}, {}});
            ASSERT_TRUE(one.ok()) << one.error().text();
            const auto model = runModel(run, one.value(), report.clocks.bound());
            ASSERT_TRUE(model.ok()) << model.error().text();
            for (std::size_t c = indexOf(Cause::Imbalance); c < kCauseCount; ++c) {
                const auto cause = static_cast<Cause>(c);
                const std::vector<std::string> words{std::string(causeWord(cause)) + "=0"};
                const auto scenario = parseScenario(words);
                ASSERT_TRUE(scenario.ok()) << scenario.error().text();
                const auto prediction = predict(model.value(), run.schedule, scenario.value(), {}, 1);
                ASSERT_TRUE(prediction.ok()) << prediction.error().text();
                const auto off = -prediction.value().change() - accounted.saved(cause);
                EXPECT_LE(std::max(off, -off), accounted.wall / 1000)
                    << trace << ", step " << indices[i] << ": " << words[0] << " saves "
                    << formatTime(-prediction.value().change()) << ", the accounting says "
                    << formatTime(accounted.saved(cause));
                ++made.all;
                made.of_cause[c] += accounted.saved(cause) != TimeNs{0} ? 1 : 0;
            }
        }
    }
}

TEST(OneDefinition, WhatACauseCostsIsWhatTheReplayWithoutItSaves) {
    Comparisons made;
    ASSERT_NO_FATAL_FAILURE(expectOneDefinition(pathsOf(kRecordings), made));
    EXPECT_GT(made.all, 50);
}

TEST(OneDefinitionOfOutsideTraces, WhatACauseCostsIsWhatTheReplayWithoutItSaves) {
    BUBBLESCOPE_NEED_TRACES("megatronapp-pp4");
    BUBBLESCOPE_NEED_TRACES("bytedance-straggler");
    Comparisons made;
    ASSERT_NO_FATAL_FAILURE(expectOneDefinition(pathsOf(kRecordings), made));
    ASSERT_NO_FATAL_FAILURE(expectOneDefinition(pathsOf(kOutside), made));
    EXPECT_GT(made.all, 300);
    for (const Cause cause : {Cause::Imbalance, Cause::Slowdown, Cause::Jitter, Cause::Communication, Cause::LateStart})
        EXPECT_GT(made.of_cause[indexOf(cause)], 5) << causeName(cause);
}

} // namespace
} // namespace bubblescope
