#pragma once

#include "core/base/result.h"
#include "runtime/engine/rank_hooks.h"
#include "runtime/run.h"

#include <cstddef>
#include <memory>

namespace bubblescope::profiler {
class Recorder;
}

namespace bubblescope::runtime {

class Transport;

/// The addition of checks to a run. The only place where the runtime's root depends on runtime/checks: a build without
/// checks has no_checks.cpp instead of run_checks.cpp.
class RunChecks {
public:
    /// Plans the checks of `ranks_here` ranks, recorded by `recorder` unless that is null. Returns null for a run
    /// without checks. References must outlive the result. Errors: those of studyAadiff(); Usage, if the program was
    /// built without checks.
    [[nodiscard]] static Result<std::unique_ptr<RunChecks>> plan(const RunConfig& config, std::size_t ranks_here,
                                                                 profiler::Recorder* recorder);

    RunChecks() = default;
    RunChecks(const RunChecks&) = delete;
    RunChecks& operator=(const RunChecks&) = delete;
    virtual ~RunChecks() = default;

    [[nodiscard]] virtual AttachHooks attach() = 0;
    /// Makes the rank, one of `ranks` processes, ask the other processes by mail, if the transport carries mail.
    virtual void askProcesses(Transport& transport, int ranks) = 0;
    [[nodiscard]] virtual RunSummary::Checks summary() const = 0;
};

} // namespace bubblescope::runtime
