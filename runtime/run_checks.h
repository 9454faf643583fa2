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

/// What a run that checks itself adds to it. The one place where the runtime's root depends on runtime/checks: a build
/// without these has no_checks.cpp in place of run_checks.cpp.
class RunChecks {
public:
    /// Plans the checks of the ranks here, so many, which are recorded by `recorder` unless that is null. Null where
    /// the run does not check itself. What is referred to must outlive the result. Errors: those of studyAadiff();
    /// Usage, where the program was built without checks.
    [[nodiscard]] static Result<std::unique_ptr<RunChecks>> plan(const RunConfig& config, std::size_t ranks_here,
                                                                 profiler::Recorder* recorder);

    RunChecks() = default;
    RunChecks(const RunChecks&) = delete;
    RunChecks& operator=(const RunChecks&) = delete;
    virtual ~RunChecks() = default;

    [[nodiscard]] virtual AttachHooks attach() = 0;
    /// The rank is one of so many processes, and asks the others by mail where the transport carries any.
    virtual void askProcesses(Transport& transport, int ranks) = 0;
    [[nodiscard]] virtual RunSummary::Checks summary() const = 0;
};

} // namespace bubblescope::runtime
