#pragma once

#include "runtime/run.h"
#include "tests/support/reference_run.h"

#include <gtest/gtest.h>

#include <utility>

namespace bubblescope::runtime::test {

/// Two steps of a small model, without pacing.
inline RunConfig smallRun(Schedule schedule) {
    RunConfig config;
    config.schedule = std::move(schedule);
    config.model.width = 6;
    config.model.sequence = 5;
    config.steps = 2;
    config.paced = false;
    return config;
}

/// A complete run, which must succeed.
[[nodiscard]] inline RunSummary trained(const RunConfig& config) {
    JobControl control;
    Result<RunSummary> ran = runPipeline(config, control);
    EXPECT_TRUE(ran.ok()) << ran.error().text();
    EXPECT_EQ(control.done, control.total);
    return std::move(ran).value();
}

/// True if a run ends with a usage error.
[[nodiscard]] inline bool isRejected(const RunConfig& config) {
    JobControl control;
    const Result<RunSummary> ran = runPipeline(config, control);
    return !ran.ok() && ran.error().kind == ErrorKind::Usage;
}

/// Trains, and expects the weights and losses of the reference, bit for bit.
inline RunSummary expectTheReferencesWeights(const RunConfig& config) {
    RunSummary ran = trained(config);
    const Result<RunSummary> reference = runReference(config);
    EXPECT_TRUE(reference.ok()) << reference.error().text();
    EXPECT_EQ(ran.weights_digest, reference.value().weights_digest);
    EXPECT_EQ(ran.losses, reference.value().losses);
    return ran;
}

} // namespace bubblescope::runtime::test
