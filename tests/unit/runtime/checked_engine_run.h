#pragma once

#include "runtime/checks/rank_checker.h"
#include "tests/unit/runtime/engine_run.h"

#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

namespace bubblescope::runtime::test {

/// A run of the engine with checks in its bubbles, unless `aadiff` is empty.
struct CheckedEngineRun : EngineRun {
    CheckedEngineRun(Schedule s, CostModel c) : EngineRun(std::move(s), std::move(c)) {
        ring_slots = 1 << 16;
        attach = [this](int ranks) { return makeChecks(static_cast<std::size_t>(ranks)); };
    }

    std::optional<AadiffOptions> aadiff;
    std::unique_ptr<CheckSetup> checks;
    std::mutex mutex;
    std::vector<CheckRecord> mismatches; ///< mismatches of checks; checks without a difference are in `records`

private:
    Result<AttachHook> makeChecks(std::size_t ranks) {
        if (!aadiff) return AttachHook();
        auto made = CheckSetup::make({schedule, times, model, paced, !devices, devices ? 1 : ranks, {}}, *aadiff);
        if (!made.ok()) return std::move(made).error();
        checks = std::move(made).value();
        checks->write = [this](Rank, const CheckRecord& check) {
            const std::lock_guard lock(mutex);
            mismatches.push_back(check);
        };
        return attachChecks(checks.get());
    }
};

} // namespace bubblescope::runtime::test
