#pragma once

#include "core/base/hash.h"
#include "runtime/backend/backend.h"
#include "tests/gpu/test_device.h"
#include "tests/unit/runtime/checked_engine_run.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace bubblescope::runtime::test {

/// On a real device ops are long enough for checks to begin some 50 us later than planned.
inline CostModel opTimes() {
    return someTimes(TimeNs{timeIsMadeUp() ? 100'000 : 4'000'000});
}

/// A paced run on the test's device; checked by default.
struct DeviceRun {
    DeviceRun(const Schedule& schedule, Storage storage, const std::vector<std::string>& faults = {},
              TimeNs kernel = TimeNs{0})
        : run(schedule, opTimes()) {
        run.model.layers_per_stage = 2;
        run.aadiff.emplace();
        for (const std::string& fault : faults)
            run.faults.push_back(parseFault(fault).value());
        const std::shared_ptr<HostClock> clock(std::shared_ptr<void>(), &run.clock);
        device = testDevice(false, kernel);
        backend = std::make_shared<Backend>("test", device, storage, clock);
        run.devices = {
            [this] { return backend->openRank(); },
            [this](RankQueue& rank, const StageTask& task) { return backend->makeStage(rank, run.model, task); }};
    }

    /// Digest of the weights.
    std::uint64_t train(int steps) {
        run.steps = steps;
        const Result<EngineResult> result = run.run();
        EXPECT_TRUE(result.ok()) << result.error().text();
        std::uint64_t hash = kFnvOffset;
        if (!result.ok()) return hash;
        for (const auto& lane : result.value().stages) {
            for (const auto& stage : lane)
                hash = stage->digest(hash);
        }
        return hash;
    }

    /// Those of one kind that found nothing.
    [[nodiscard]] std::vector<CheckRecord> checks(CheckKind kind) const {
        std::vector<CheckRecord> checks;
        for (const auto& rank : run.records) {
            for (const profiler::SliceRecord& record : rank) {
                if (record.category == profiler::SliceRecord::Category::Check && record.check == kind)
                    checks.push_back(record.asCheck());
            }
        }
        return checks;
    }
    /// The results of replaying an op's layers in a step, for messages of tests.
    [[nodiscard]] std::string fateOf(const Op& op, int step) const {
        std::string text;
        for (const CheckRecord& check : checks(CheckKind::Replay)) {
            if (check.step == step && check.op == op)
                text += fmt::format("layer {} {}; ", check.layer, checkOutcomeName(check.outcome));
        }
        return text.empty() ? "none was planned" : text;
    }
    [[nodiscard]] std::map<CheckOutcome, int> outcomes(CheckKind kind) const {
        std::map<CheckOutcome, int> counts;
        for (const CheckRecord& check : checks(kind))
            ++counts[check.outcome];
        return counts;
    }

    CheckedEngineRun run;
    std::shared_ptr<Accelerator> device;
    std::shared_ptr<Backend> backend;
};

} // namespace bubblescope::runtime::test
