#include "core/base/field.h"
#include "runtime/run_setup.h"

#include <utility>

// Replaces run_checks.cpp in a build without runtime/checks, in which no RunChecks is created.
namespace bubblescope::runtime {

class CheckSetup {};

RunChecks::RunChecks(std::unique_ptr<CheckSetup> setup) : setup_(std::move(setup)) {}
RunChecks::~RunChecks() = default;

void RunChecks::recordInto(profiler::Recorder* /*recorder*/) {}

std::int64_t RunChecks::memoryOf(const RunConfig& /*config*/, Rank /*rank*/, int /*value_bytes*/) const {
    return 0;
}

AttachHook RunChecks::attach() {
    return {};
}

void RunChecks::askProcesses(Transport& /*transport*/, int /*ranks*/) {}

RunSummary::Checks RunChecks::summary() const {
    return {};
}

Result<std::unique_ptr<RunChecks>> RunChecks::plan(const RunConfig& config, std::size_t /*ranks_here*/) {
    if (!config.aadiff) return std::unique_ptr<RunChecks>();
    return usageError("this program was built without checks in bubbles", fmt::format("omit {}", Field("aadiff")));
}

} // namespace bubblescope::runtime
