// Processes that end while CUPTI, or its stand-in, still holds records.
//   cupti_job run FOLDER              a run whose program exits in the middle
//   cupti_job record LIBRARY FOLDER   a job that is recorded, whose main() returns
//   cupti_job memory LIBRARY FOLDER   the same, with the memory of two devices
//   cupti_job steps LIBRARY FOLDER    a job of nine steps that is recorded with kernels in every fourth
//   cupti_job window LIBRARY FOLDER   a job of twelve steps whose first two are recorded
//   cupti_job profile LIBRARY FOLDER  the same, but a profiler of the job's own takes CUPTI over in the middle

#include "profiler/kernels/kernel_recorder.h"
#include "tests/gpu/cupti_run.h"
#include "tests/support/cupti_layout.h"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>
#include <string_view>
#include <thread>

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
    return summary.ok() ? 3 : 1; // it should not have reached its end
}

/// 500 kernels of half a microsecond each.
void work(bubblescope::test::CuptiObserver& cupti) {
    cupti.idleAt(TimeNs{0});
    for (int i = 0; i < 500; ++i) {
        DeviceObserver::Work work;
        work.name = "last";
        work.call = cupti.called(work.kind, false);
        work.begin = TimeNs{1000 * i};
        work.end = work.begin + TimeNs{500};
        cupti.ran(work);
    }
}

/// Device 0 reserves 1, 3, 2, 6, 4 and 0 units, and device 1 reserves 5.
void allocate(bubblescope::test::CuptiObserver& cupti) {
    using bubblescope::test::cupti::MemoryChange;
    constexpr std::uint64_t kUnit = 1 << 20;
    const auto change = cupti.function<bubblescope::test::cupti::MemoryFunction>("standInMemory");
    for (const MemoryChange& what :
         {MemoryChange{false, 0, 0x1000, kUnit}, MemoryChange{false, 0, 0x2000, 2 * kUnit},
          MemoryChange{false, 1, 0x9000, 5 * kUnit}, MemoryChange{true, 0, 0x1000, kUnit},
          MemoryChange{false, 0, 0x1000, 4 * kUnit}, MemoryChange{true, 0, 0x2000, 2 * kUnit},
          MemoryChange{true, 0, 0x1000, 4 * kUnit}})
        change(&what);
}

/// Steps of 150 ms. The host names four ops in each and launches three kernels of 2 ms in each op.
void train(bubblescope::test::CuptiObserver& cupti, void* capture, int steps) {
    const auto mark = reinterpret_cast<void (*)(const char*)>(::dlsym(capture, "bubblescope_mark"));
    const auto push = reinterpret_cast<void (*)(const char*)>(::dlsym(capture, "bubblescope_push"));
    const auto pop = reinterpret_cast<void (*)()>(::dlsym(capture, "bubblescope_pop"));
    constexpr std::chrono::milliseconds kStep{150};
    const MonotonicClock clock;
    std::this_thread::sleep_for(kStep);
    TimeNs device = clock.now();
    cupti.idleAt(device);
    for (int step = 0; step < steps; ++step) {
        const auto end = std::chrono::steady_clock::now() + kStep;
        mark(("step " + std::to_string(step)).c_str());
        for (const char* op : {"0F0", "0F1", "0B0", "0B1"}) {
            push(op);
            for (int i = 0; i < 3; ++i) {
                DeviceObserver::Work work;
                work.name = "gemm";
                work.call = cupti.called(work.kind, false);
                work.begin = std::max(device, clock.now());
                work.end = device = work.begin + TimeNs{std::chrono::milliseconds(2)};
                cupti.ran(work);
            }
            pop();
        }
        std::this_thread::sleep_until(end);
    }
}

std::size_t delivered_to_profiler = 0;

/// Checks a profiler's requirements on CUPTI: no other tool holds it, and its times are those of CLOCK_REALTIME.
int workForProfiler(bubblescope::test::CuptiObserver& cupti) {
    using RequestBuffer = void (*)(std::uint8_t**, std::size_t*, std::size_t*);
    using CompleteBuffer = void (*)(void*, std::uint32_t, std::uint8_t*, std::size_t, std::size_t);
    void* subscriber = nullptr;
    if (cupti.function<int (*)(void**, void*, void*)>("cuptiSubscribe")(&subscriber, nullptr, nullptr) != 0) return 4;
    const RequestBuffer request = [](std::uint8_t** bytes, std::size_t* size, std::size_t* records) {
        static std::array<std::uint8_t, 1 << 16> buffer;
        *bytes = buffer.data();
        *size = buffer.size();
        *records = 0;
    };
    const CompleteBuffer complete = [](void*, std::uint32_t, std::uint8_t* bytes, std::size_t, std::size_t valid) {
        bubblescope::test::cupti::CallRecord first{};
        if (valid < sizeof first) return;
        std::memcpy(&first, bytes, sizeof first);
        timespec now{};
        ::clock_gettime(CLOCK_REALTIME, &now);
        if (first.start / 1'000'000'000 + 60 > static_cast<std::uint64_t>(now.tv_sec)) delivered_to_profiler += valid;
    };
    cupti.function<int (*)(RequestBuffer, CompleteBuffer)>("cuptiActivityRegisterCallbacks")(request, complete);
    cupti.function<int (*)(int)>("cuptiActivityEnable")(static_cast<int>(bubblescope::test::cupti::kRuntime));
    (void)cupti.called(DeviceObserver::Work{}.kind, false);
    cupti.function<int (*)(std::uint32_t)>("cuptiActivityFlushAll")(1);
    return delivered_to_profiler > 0 ? 0 : 5;
}

int endRecorded(const char* library, const char* folder, std::string_view how) {
    ::setenv("BUBBLESCOPE_CAPTURE_DIR", folder, 1);
    if (how == "memory") ::setenv("BUBBLESCOPE_CAPTURE", "memory=device", 1);
    if (how == "steps") ::setenv("BUBBLESCOPE_CAPTURE", "kernels=every=4,flush=5ms", 1);
    if (how == "window") ::setenv("BUBBLESCOPE_CAPTURE", "steps=0-1,flush=5ms", 1);
    bubblescope::test::CuptiObserver cupti(BUBBLESCOPE_STAND_IN);
    void* const capture = ::dlopen(library, RTLD_NOW | RTLD_LOCAL);
    if (capture == nullptr) {
        std::fputs(::dlerror(), stderr);
        return 1;
    }
    // The driver calls this in cuInit().
    const auto initialise = reinterpret_cast<int (*)()>(::dlsym(capture, "InitializeInjection"));
    if (initialise == nullptr || initialise() == 0) return 1;
    if (how == "steps" || how == "window") {
        train(cupti, capture, how == "steps" ? 9 : 12);
        return 0;
    }
    work(cupti);
    allocate(cupti);
    if (how != "profile") return 0;
    const auto release = reinterpret_cast<void (*)(const char*)>(::dlsym(capture, "bubblescope_release_cupti"));
    if (release == nullptr) return 1;
    release("a profiler");
    initialise(); // another context: no buffer is returned
    return workForProfiler(cupti);
}

} // namespace
} // namespace bubblescope::runtime::test

int main(int argc, char** argv) {
    using namespace bubblescope::runtime::test;
    const std::string_view what = argc > 1 ? argv[1] : "";
    if (what == "run" && argc == 3) return endInTheMiddle(argv[2]);
    if ((what == "record" || what == "memory" || what == "steps" || what == "window" || what == "profile") && argc == 4)
        return endRecorded(argv[2], argv[3], what);
    return 2;
}
