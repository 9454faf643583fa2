#pragma once

#include "core/recognise/run.h"
#include "core/trace/trace_builder.h"

#include <fmt/format.h>

#include <random>

namespace bubblescope::test {

/// A run without a pipeline, whose trace contains everything that tables show: hosts and devices of two files; slices
/// that are nested, overlap, never end or lack names; args, arrows, counters and instants.
inline Run randomRun(unsigned seed, int slices) {
    std::mt19937 random(seed);
    const auto below = [&random](int limit) { return std::uniform_int_distribution<int>(0, limit - 1)(random); };
    TraceBuilder builder;
    for (int file = 0; file < 2; ++file) {
        builder.addFile({fmt::format("rank{}.json", file), "kineto", file == 0 ? std::optional(3) : std::nullopt});
        std::vector<TrackId> tracks;
        for (int t = 0; t < 4; ++t) {
            const TrackId track = tracks.emplace_back(builder.addTrack(t < 2 ? 100 : 0, t == 3 ? 7 : 10 + t));
            builder.track(track).process_name = builder.intern(t < 2 ? "python" : "");
            builder.track(track).thread_name = builder.intern(t == 0 ? "main" : "");
            builder.track(track).may_overlap = t == 1;
        }
        for (int i = 0; i < slices; ++i) {
            const int t = below(4);
            const char* const category = t == 0 ? "cpu_op" : t == 1 ? "cuda_runtime" : t == 2 ? "" : "kernel";
            const StringId name = builder.intern(below(9) == 0 ? "" : fmt::format("op {}", below(6)));
            std::vector<StoredArg> args(static_cast<std::size_t>(below(3)));
            for (std::size_t a = 0; a < args.size(); ++a) {
                args[a].name = builder.intern(a == 0 ? "correlation" : "stream");
                args[a].setInt(below(40));
            }
            const SliceId slice =
                builder.addSlice({tracks[static_cast<std::size_t>(t)], TimeNs{below(1000)}, TimeNs{below(60)}, name,
                                  builder.intern(category), builder.args().add(args)});
            if (below(50) == 0) builder.leaveOpen(slice);
        }
        for (int i = 0; i < slices / 4; ++i) {
            const auto track = tracks[static_cast<std::size_t>(below(4))];
            builder.addFlow(
                {static_cast<std::uint64_t>(below(slices / 8 + 1)), TimeNs{below(1000)}, track, kNoId, below(5) == 0});
            builder.addInstant({track, TimeNs{below(1000)}, builder.intern("mark"), 0, 0, "tpg"[below(3)]});
            builder.addCounter(below(2) * 100, builder.intern(fmt::format("memory {}", below(3))), TimeNs{below(1000)},
                               below(100) / 4.0);
        }
    }
    Run run;
    DiagnosticLog log;
    run.trace = builder.finish(log);
    run.problems = log.take();
    return run;
}

} // namespace bubblescope::test
