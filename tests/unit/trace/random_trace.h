#pragma once

#include "core/trace/trace_builder.h"

#include <memory>
#include <random>
#include <string>

namespace bubblescope::test {

struct RandomTraceSize {
    int slices = 1000;
    int tracks = 3;
    int span = 5000;   ///< ns
    int longest = 200; ///< ns, but one in a hundred may take the whole span
    int names = 5;
};

/// Slices that nest, overlap, begin together and last no time at all; the same for the same seed.
inline std::shared_ptr<const Trace> randomTrace(const RandomTraceSize& size, unsigned seed) {
    std::mt19937 random(seed);
    const auto below = [&random](int limit) { return static_cast<int>(random() % static_cast<unsigned>(limit)); };
    TraceBuilder builder;
    builder.addFile({"random", "test", std::nullopt});
    for (int track = 0; track < size.tracks; ++track)
        builder.addTrack(1, track);
    for (int i = 0; i < size.slices; ++i) {
        const int start = below(size.span);
        const int duration = below(100) == 0 ? below(size.span - start) : below(size.longest);
        const auto track = static_cast<TrackId>(below(size.tracks));
        builder.addSlice({track, TimeNs{start}, TimeNs{std::min(duration, size.span - start)},
                          builder.intern("name " + std::to_string(below(size.names))), 0, 0});
    }
    DiagnosticLog log;
    JobControl control;
    return builder.finish(log, control).value();
}

} // namespace bubblescope::test
