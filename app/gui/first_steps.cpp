#include "app/gui/first_steps.h"

#include "core/formats/read_trace.h"

#include <cstdint>
#include <new>
#include <optional>
#include <utility>

namespace bubblescope::gui {
namespace {

constexpr std::uint64_t kFirstBytes = std::uint64_t{8} << 20;        // loaded and shown in a fraction of a second
constexpr std::uint64_t kSmallest = std::uint64_t{16} * kFirstBytes; // large enough that the preview adds little time

/// Approximate number of bytes to read, with compressed files counted by their uncompressed size.
std::uint64_t bytesToRead(const std::vector<InputFile>& files) {
    constexpr std::uint64_t kUnpacked = 8;
    std::uint64_t bytes = 0;
    for (const InputFile& file : files) {
        if (file.bytes == 0) return 0; // it may be a pipe, which can be read only once
        const auto extension = file.path.extension();
        bytes += file.bytes * (extension == ".gz" || extension == ".zst" ? kUnpacked : 1);
    }
    return bytes;
}

} // namespace

SessionPtr loadFirstSteps(const RunLoader& loader, const RunLoader::Paths& paths, JobControl& control,
                          const Taught& taught) try {
    const Result<std::vector<InputFile>> files = findTraceFiles(paths);
    if (!files.ok() || bytesToRead(files.value()) < kSmallest) return nullptr;
    Result<LoadOptions> options = taught.options();
    if (!options.ok()) return nullptr;
    options.value().first_bytes = kFirstBytes;
    Result<LoadedTrace> loaded = loader.trace(paths, control, options.value());
    if (!loaded.ok()) return nullptr;
    TraceSource source{paths, taught.with(loader.request()), taught.rules};
    Run run = std::move(loaded).value().run;
    run.problems.clear(); // they would report that the trace is truncated
    const bool steps = run.info && !run.steps.empty();
    Result<SessionPtr> session = steps ? sessionOf(std::move(run), std::move(source), control)
                                       : traceSession({std::move(run), std::nullopt}, control, std::move(source));
    return session.ok() ? std::move(session).value() : nullptr;
} catch (const std::bad_alloc&) {
    return nullptr; // if the complete load needs too much memory as well, it reports the error
}

} // namespace bubblescope::gui
