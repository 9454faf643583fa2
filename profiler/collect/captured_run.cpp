#include "profiler/collect/captured_run.h"

#include <chrono>

namespace bubblescope::profiler {

void CapturedRun::look(LiveEngine& engine, TimeNs now) {
    if (!engine.captured()) return;
    if (const std::int64_t heard = engine.counts().bytes; heard != heard_) {
        heard_ = heard;
        grew_ = now;
        fresh_ = true;
        settled_ = false;
    }
    const bool quiet = now - grew_ >= patience_;
    if (settled_ || (!quiet && (!fresh_ || now < next_))) return;
    const auto began = std::chrono::steady_clock::now();
    JobControl control;
    const Result<Run> run = loadRun(folders_, control);
    const TimeNs took = std::chrono::steady_clock::now() - began;
    constexpr TimeNs kSeldom{std::chrono::seconds(1)};
    next_ = now + std::max(kSeldom, 5 * took);
    fresh_ = false;
    settled_ = quiet;
    problem_ = run.ok() ? std::string() : run.error().text();
    if (run.ok()) engine.takeRun(run.value(), quiet);
}

} // namespace bubblescope::profiler
