#pragma once

#include "core/analysis/clocks/run_clocks.h"
#include "core/analysis/clocks/solve.h"
#include "core/recognise/extract_values.h"
#include "core/recognise/raw_trace.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// Evidence about the ranks' clocks in the raw slices of a run: which rank wrote which file, collectives, recorded
// pings.
namespace bubblescope {

/// Replica and rank.
using RankKey = std::pair<int, Rank>;

/// For each rank, the trace file of the run that its ops come from: the one whose slices begin and end at the same
/// times as the ops. Leaves out ranks without a match. If there is only one file, it belongs to all ranks. Errors: as
/// for extract().
[[nodiscard]] Result<std::map<RankKey, std::uint32_t>> rankFiles(const Run& run);

/// By replica and rank.
using ClockOfRank = std::map<RankKey, RankClock>;
/// Which file contains a rank's ops, and how they were shifted from that file's clock. Errors: as rankFiles().
[[nodiscard]] Result<ClockOfRank> clocksOfRanks(const Run& run, const RunClocks& clocks);
/// The number of ranks whose ops a file contains, by file.
[[nodiscard]] std::map<std::uint32_t, int> ranksPerFile(const ClockOfRank& clocks);

/// Points in time, and the keys that each of them counts for.
struct InstantQuery {
    std::map<std::int64_t, std::vector<std::uint32_t>> keys_at; ///< by time in ns
    std::uint32_t keys = 0;                                     ///< number of keys: 0 … keys − 1
};
/// For each key, the number of its points in time at which a slice of the file begins or ends.
using InstantVotes = std::vector<std::int64_t>;
[[nodiscard]] Result<std::vector<InstantVotes>> instantVotes(RawTrace& raw, const InstantQuery& query);

/// The host on which a native file was written. Files with the same `clock` have times of one clock, regardless of the
/// host's name.
struct RecordedHost {
    std::string name;
    std::string clock; ///< the machine since its last start; empty if unknown
};

/// The data of a native file about clocks (core/timeline/trace_names.h).
struct NativeClocks {
    std::optional<RecordedHost> host;
    std::vector<Ping> pings; ///< between ranks of the whole run; times as the trace has them
};
[[nodiscard]] Result<std::vector<NativeClocks>> extractNativeClocks(RawTrace& raw);
inline constexpr Extractor<NativeClocks> kNativeClocks{"native clocks", extractNativeClocks};

/// A collective as it ran on one member's device or host.
struct CollectiveSpan {
    std::uint32_t file = 0; ///< of the trace
    TimeNs start{0};
    TimeNs end{0};
};

/// The collectives that a file recorded, by kind and group.
using FileCollectives = std::map<std::string, std::vector<CollectiveSpan>>;
[[nodiscard]] Result<std::vector<FileCollectives>> extractCollectives(RawTrace& raw);
inline constexpr Extractor<FileCollectives> kCollectives{"collectives", extractCollectives};

/// A collective whose members were found in several files, one entry per file.
struct MatchedCollective {
    std::string name; ///< "all_reduce", …
    std::vector<CollectiveSpan> members;
};

/// Collectives in which all members wait for each other: kernels of NCCL and RCCL, and Gloo's annotations on the host.
/// Members are matched by group and position in its sequence if Kineto names the group, otherwise by kind and position.
/// Leaves out kinds that files recorded a different number of times, because matches are then unknown, and sends and
/// receives between two ranks. Linear in slices.
[[nodiscard]] std::vector<MatchedCollective> matchCollectives(std::vector<FileCollectives> files);

/// Evidence from collectives about clocks. `clock_of_file` has the clock of each of the trace's files (-1 for none). No
/// member leaves a collective before all have entered it, and they leave within `spread` of each other. The first is
/// certain; the second is not, but narrows offsets far more if one member always comes last. Kernels of NCCL on one
/// host end within microseconds of each other.
void addCollectives(const std::vector<MatchedCollective>& collectives, const std::vector<int>& clock_of_file,
                    TimeNs spread, std::vector<Precedence>& precedences, std::vector<Coincidence>& coincidences);

/// Start and end times of the slices that ops may come from, and the number of slices with each: stored in an extract
/// for rankFiles(), under this key.
using FileInstants = std::map<std::int64_t, std::int64_t>;
inline constexpr std::string_view kInstantsKey = "instants of ops";

// Serialization in extracts, see core/recognise/extract_values.h.
template <class Wire>
void fields(Wire& wire, RecordedHost& value) {
    auto& [name, clock] = value;
    wire(name, clock);
}
template <class Wire>
void fields(Wire& wire, NativeClocks& value) {
    auto& [host, pings] = value;
    wire(host);
    wireList(wire, pings, [&](Ping& ping) {
        wire(ping.asker, ping.replier);
        wire.instant(ping.t0, ping.t1, ping.t2, ping.t3);
    });
}
template <class Wire>
void fields(Wire& wire, CollectiveSpan& value) {
    auto& [file, start, end] = value; // the file index is set by the reader
    wire.span(start, end);
}
inline void moveTo(std::uint32_t file, std::int64_t /*rank*/, FileCollectives& value) {
    for (auto& [key, spans] : value) {
        for (CollectiveSpan& span : spans)
            span.file = file;
    }
}

} // namespace bubblescope
