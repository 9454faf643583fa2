// Processes that end while CUPTI, or its stand-in, still holds records.
//   cupti_job run FOLDER              a run whose program exits in the middle
//   cupti_job record LIBRARY FOLDER   a job that is recorded, whose main() returns

#include "profiler/kernels/kernel_recorder.h"
#include "tests/gpu/cupti_run.h"
#include "tests/support/cupti_layout.h"

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace bubblescope::runtime::test {
namespace {

int endInTheMiddle(const char* folder) {
    // Never destroyed, as what a program has when it calls exit().
    const auto cupti = std::make_shared<bubblescope::test::CuptiObserver>(BUBBLESCOPE_STAND_IN);
    std::string reason;
    const auto kernels = profiler::KernelRecorder::start(reason);
    if (kernels == nullptr) {
        std::fputs(reason.c_str(), stderr);
        return 1;
    }
    CuptiRunConfig what;
    what.steps = 5;
    CuptiRun made(cupti, what, folder);
    made.config.kernels = kernels;
    made.config.bubble_hook = [](const BubbleMoment& moment) {
        if (moment.step == 3 && moment.world_rank == Rank{0}) std::exit(0);
    };
    JobControl control;
    const Result<RunSummary> summary = runPipeline(made.config, control);
    return summary.ok() ? 3 : 1; // it should not have come to its end
}

int endRecorded(const char* library, const char* folder) {
    ::setenv("BUBBLESCOPE_CAPTURE_DIR", folder, 1);
    bubblescope::test::CuptiObserver cupti(BUBBLESCOPE_STAND_IN);
    void* const capture = ::dlopen(library, RTLD_NOW | RTLD_LOCAL);
    if (capture == nullptr) {
        std::fputs(::dlerror(), stderr);
        return 1;
    }
    // The driver calls this in cuInit().
    const auto initialise = reinterpret_cast<int (*)()>(::dlsym(capture, "InitializeInjection"));
    if (initialise == nullptr || initialise() == 0) return 1;
    cupti.idleAt(TimeNs{0});
    for (int i = 0; i < 500; ++i) {
        DeviceObserver::Work work;
        work.name = "last";
        work.call = cupti.called(work.kind, false);
        work.begin = TimeNs{1000 * i};
        work.end = work.begin + TimeNs{500};
        cupti.ran(work);
    }
    return 0;
}

} // namespace
} // namespace bubblescope::runtime::test

int main(int argc, char** argv) {
    using namespace bubblescope::runtime::test;
    const std::string_view what = argc > 1 ? argv[1] : "";
    if (what == "run" && argc == 3) return endInTheMiddle(argv[2]);
    if (what == "record" && argc == 4) return endRecorded(argv[2], argv[3]);
    return 2;
}
