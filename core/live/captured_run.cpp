#include "core/live/captured_run.h"

#include <chrono>
#include <system_error>

namespace bubblescope::live {
namespace {

/// Some of the watched folders may have no files yet; the others are still read.
std::vector<std::filesystem::path> withTraces(const std::vector<std::filesystem::path>& folders) {
    std::vector<std::filesystem::path> chosen;
    for (const std::filesystem::path& folder : folders) {
        std::error_code code;
        std::filesystem::recursive_directory_iterator at(folder, code);
        for (const std::filesystem::recursive_directory_iterator end; !code && at != end; at.increment(code)) {
            if (at->path().extension() != ".pftrace") continue;
            chosen.push_back(folder);
            break;
        }
    }
    return chosen;
}

} // namespace

void CapturedRun::look(LiveAnalyzer& analyzer, TimeNs now) {
    if (!analyzer.captured()) return;
    if (const std::int64_t heard = analyzer.counts().bytes; heard != heard_) {
        heard_ = heard;
        grew_ = now;
        fresh_ = true;
        settled_ = false;
    }
    const bool quiet = now - grew_ >= patience_ || analyzer.capturedOver();
    if (settled_ || (!quiet && (!fresh_ || now < next_))) return;
    const auto began = std::chrono::steady_clock::now();
    JobControl control;
    const Result<Run> run = loadRun(withTraces(folders_), control);
    const TimeNs took = std::chrono::steady_clock::now() - began;
    constexpr TimeNs kSeldom{std::chrono::seconds(1)};
    next_ = now + std::max(kSeldom, 5 * took);
    fresh_ = false;
    settled_ = quiet;
    problem_ = run.ok() ? std::string() : run.error().text();
    if (run.ok()) analyzer.takeRun(run.value(), quiet);
}

} // namespace bubblescope::live
