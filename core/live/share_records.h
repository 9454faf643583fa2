#pragma once

#include "core/formats/perfetto/encoder.h"
#include "core/formats/perfetto/event_stream.h"
#include "core/live/reduced_step.h"

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

/// What a collector of some replicas writes for one of the whole job: a trace file of our own, so that it is followed,
/// sent and resumed as those of ranks are. It holds instants of category "share" on one track: "begin" (args of a run's
/// statement, first and last replica, and which of the collector's runs it is), for each step "replica" per replica
/// with its "ranks" behind it, "finding" per anomaly that holds, and "step" when that was all; "rank" where a rank's
/// state changed; and "end". Lists of numbers are texts with spaces between them, times in nanoseconds.
namespace bubblescope::profiler {

/// What a collector says at the beginning of each file.
struct ShareBegin {
    RunStatement said;
    int first = 0; ///< replica
    int last = 0;
    int run = 0; ///< counted by the collector
};

/// What it counted since it last told. Without bytes and packets, which are its own matter.
struct ShareCounts {
    LiveCounts records;
    CheckCounts checks;
};

struct ShareStep {
    ReducedStep step;
    std::vector<LiveRank> ranks; ///< step, records, dropped and unheard of each
    std::vector<LiveAnomaly> anomalies;
    ShareCounts counts;
};

struct ShareEnd {
    ShareCounts counts;
};

/// What was counted between two looks.
[[nodiscard]] ShareCounts difference(ShareCounts later, const ShareCounts& earlier);
void add(ShareCounts& to, const ShareCounts& more);

/// One thing that a collector tells.
struct ShareRecord {
    std::variant<ShareBegin, LiveRank, ShareStep, ShareEnd> what;
};

namespace share_names {
inline constexpr std::string_view kCategory = "share";
}

/// Reads them; one per stream.
class ShareReader {
public:
    enum class Took : std::uint8_t { Bad, Part, Whole };
    /// Whole: `record` has what was told. Part: it goes on. Bad: it is damaged.
    Took take(const perfetto::StreamEvent& event, ShareRecord& record);

private:
    ShareStep step_; ///< what came of it so far
};

/// Encodes them, onto a track that `encoder` knows.
void encodeShare(perfetto::Encoder& encoder, std::uint64_t track, TimeNs now, const ShareBegin& begin);
void encodeShare(perfetto::Encoder& encoder, std::uint64_t track, TimeNs now, const LiveRank& rank);
void encodeShare(perfetto::Encoder& encoder, std::uint64_t track, TimeNs now, const ShareStep& step);
void encodeShare(perfetto::Encoder& encoder, std::uint64_t track, TimeNs now, const ShareEnd& end);

} // namespace bubblescope::profiler
