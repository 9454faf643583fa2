#include "runtime/run_setup.h"

// Replaces run_checks.cpp in a build without runtime/checks.
namespace bubblescope::runtime {

Result<std::unique_ptr<RunChecks>> RunChecks::plan(const RunConfig& config, std::size_t, profiler::Recorder*) {
    if (!config.aadiff) return std::unique_ptr<RunChecks>();
    return usageError("this program was built without checks in bubbles", "leave out --aadiff");
}

} // namespace bubblescope::runtime
