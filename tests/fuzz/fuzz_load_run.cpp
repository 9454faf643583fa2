// Bytes as a trace file of any format, through sniffing, unpacking, reading, recognition and analysis.

#include "core/diagnose/report.h"
#include "core/recognise/run.h"
#include "tests/support/scratch_folder.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace bubblescope;
    static const test::ScratchFolder folder;
    JobControl control;
    const auto run = loadRun({folder.write("trace", {reinterpret_cast<const char*>(data), size})}, control);
    if (!run.ok()) {
        // Whatever is wrong, the user learns which file it is.
        if (run.error().where.find("trace") == std::string::npos) std::abort();
        return 0;
    }
    const RunReport report = analyzeRun(run.value());
    for (const StepAnalysis& step : report.steps) {
        for (const RankAccount& account : step.ranks) {
            if (account.busy + account.bubble != step.wall) std::abort();
        }
    }
    return 0;
}
