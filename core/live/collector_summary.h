#pragma once

#include "core/base/process_info.h"
#include "core/base/result.h"
#include "core/formats/perfetto/encoder.h"
#include "core/formats/perfetto/event_stream.h"
#include "core/formats/perfetto/packet_file.h"
#include "core/live/live_view.h"

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

/// What a collector of some replicas writes for a collector of the whole job: a trace file in the native format, so
/// that it is followed, sent and resumed like those of ranks. It holds instants of category "share" on one track:
/// "begin" (args of a run's statement, first and last replica, and the number of the collector's run), for each step
/// one "replica" per replica followed by its "ranks", and finally "step"; for each search, which may cover several
/// steps, one "finding" per anomaly that was found, and finally "search"; "rank" when a rank's state changed; and
/// "end". Lists of numbers are texts with spaces between them, times are in nanoseconds.
namespace bubblescope::live {

/// What a collector states at the beginning of each file.
struct SummaryBegin {
    RunStatement statement;
    int first = 0; ///< replica
    int last = 0;
    int run = 0; ///< counted by the collector
};

/// Counts since the collector's last report, without bytes and packets, which the receiver counts itself.
struct SummaryCounts {
    LiveCounts records;
    CheckCounts checks;
};

struct SummaryStep {
    ReducedStep step;
    std::vector<LiveRank> ranks; ///< step, records, dropped and undelivered of each
    SummaryCounts counts;
};

struct SummaryEnd {
    SummaryCounts counts;
};

/// The counts between two looks.
[[nodiscard]] SummaryCounts difference(SummaryCounts later, const SummaryCounts& earlier);
void add(SummaryCounts& to, const SummaryCounts& more);

/// One report of a collector.
struct SummaryRecord {
    std::variant<SummaryBegin, LiveRank, SummaryStep, LiveSearch, SummaryEnd> what;
};

namespace summary_names {
inline constexpr std::string_view kCategory = "share";
}

/// Decodes reports; one reader per stream.
class SummaryReader {
public:
    enum class DecodeResult : std::uint8_t { Bad, Part, Whole };
    /// Whole: `record` holds the report. Part: more follows. Bad: damaged.
    DecodeResult take(const perfetto::StreamEvent& event, SummaryRecord& record);

private:
    SummaryStep step_;               ///< the parts received so far
    std::vector<LiveAnomaly> found_; ///< likewise
};

/// Encodes a report onto a track that `encoder` knows.
void encodeSummary(perfetto::Encoder& encoder, std::uint64_t track, TimeNs now, const SummaryBegin& begin);
void encodeSummary(perfetto::Encoder& encoder, std::uint64_t track, TimeNs now, const LiveRank& rank);
void encodeSummary(perfetto::Encoder& encoder, std::uint64_t track, TimeNs now, const SummaryStep& step);
void encodeSummary(perfetto::Encoder& encoder, std::uint64_t track, TimeNs now, const LiveSearch& search);
void encodeSummary(perfetto::Encoder& encoder, std::uint64_t track, TimeNs now, const SummaryEnd& end);

class LiveAnalyzer;

/// Writes the results of an analyzer that sees some replicas, for a collector of the whole job: the accounting of each
/// step per rank, and the findings of each search, for which it needs LiveOptions::report_searches. One thread at a
/// time.
class SummaryWriter {
public:
    /// Files are created in `dir` once the run is known: "replicas<A>-<B>.pftrace" and so on. When one is full the next
    /// follows; only the last few are kept.
    SummaryWriter(std::filesystem::path dir, ProcessInfo process,
                  perfetto::SegmentLimits limits = {std::int64_t{16} << 20, 4})
        : dir_(std::move(dir)), process_(std::move(process)), limits_(limits) {}

    /// Takes the result of LiveAnalyzer::advance(). Error: Run, naming the file.
    [[nodiscard]] Status write(const LiveAnalyzer& analyzer, const std::vector<LiveEvent>& events, TimeNs now);
    /// Concludes the analysis, writes what that finds, and states that nothing will follow.
    [[nodiscard]] Status end(LiveAnalyzer& analyzer, TimeNs now);

private:
    [[nodiscard]] Status beginFile(const LiveAnalyzer& analyzer, TimeNs now);
    [[nodiscard]] Status writeOut(const LiveAnalyzer& analyzer, TimeNs now);
    [[nodiscard]] std::filesystem::path pathOf(const LiveAnalyzer& analyzer, int segment) const;
    [[nodiscard]] SummaryCounts countsSince(const LiveAnalyzer& analyzer);

    std::filesystem::path dir_;
    ProcessInfo process_;
    perfetto::SegmentLimits limits_;
    std::optional<perfetto::PacketFile> file_;
    std::optional<perfetto::Encoder> encoder_;
    SummaryCounts told_;
    int segment_ = 0;
    int run_ = -1;
};

} // namespace bubblescope::live
