#pragma once

#include "core/base/process_info.h"
#include "core/base/result.h"
#include "core/formats/perfetto/packet_file.h"
#include "core/live/live_analyzer.h"
#include "core/live/share_records.h"

#include <filesystem>
#include <optional>
#include <vector>

namespace bubblescope::profiler {

/// Writes down what an engine that sees some replicas says of their steps, for a collector of the whole job: each step
/// as its accounting per rank, and what was found. See share_records.h. One thread at a time.
class ShareWriter {
public:
    /// Files are made in `dir` once the run is known: "replicas<A>-<B>.pftrace" and so on, as full ones are followed by
    /// others, of which the last few are kept.
    ShareWriter(std::filesystem::path dir, ProcessInfo process,
                perfetto::SegmentLimits limits = {std::int64_t{16} << 20, 4})
        : dir_(std::move(dir)), process_(std::move(process)), limits_(limits) {}

    /// What LiveAnalyzer::advance() gave. Error: Run, naming the file.
    [[nodiscard]] Status write(const LiveAnalyzer& engine, const std::vector<LiveEvent>& events, TimeNs now);
    /// That nothing will follow.
    [[nodiscard]] Status end(const LiveAnalyzer& engine, TimeNs now);

private:
    [[nodiscard]] Status beginFile(const LiveAnalyzer& engine, TimeNs now);
    [[nodiscard]] Status writeOut(const LiveAnalyzer& engine, TimeNs now);
    [[nodiscard]] std::filesystem::path pathOf(const LiveAnalyzer& engine, int segment) const;
    [[nodiscard]] ShareCounts countsSince(const LiveAnalyzer& engine);

    std::filesystem::path dir_;
    ProcessInfo process_;
    perfetto::SegmentLimits limits_;
    std::optional<perfetto::PacketFile> file_;
    std::optional<perfetto::Encoder> encoder_;
    ShareCounts told_;
    int segment_ = 0;
    int run_ = -1;
};

} // namespace bubblescope::profiler
