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

// Evidence about the ranks' clocks in the raw slices of a run: the file of each rank, collectives, recorded
// pings.
namespace bubblescope {

/// Replica and rank.
using RankKey = std::pair<int, Rank>;

/// Finds the trace file of each rank: the file with slices that start and end at the same times as the rank's ops.
/// Ranks without a match are omitted. If there is only one file, it belongs to all ranks. Errors: as for
/// extract().
[[nodiscard]] Result<std::map<RankKey, std::uint32_t>> rankFiles(const Run& run);

/// By replica and rank.
using ClockOfRank = std::map<RankKey, RankClock>;
/// The file of each rank's ops, and the shift of the ops relative to that file's clock. Errors: as rankFiles().
[[nodiscard]] Result<ClockOfRank> clocksOfRanks(const Run& run, const RunClocks& clocks);
/// Number of ranks with ops in each file.
[[nodiscard]] std::map<std::uint32_t, int> ranksPerFile(const ClockOfRank& clocks);

/// Points in time, with the keys for which each point counts.
struct InstantQuery {
    std::map<std::int64_t, std::vector<std::uint32_t>> keys_at; ///< by time in ns
    std::uint32_t keys = 0;                                     ///< number of keys, which are 0 … keys − 1
};
/// For each key, the number of its points at which a slice of the file starts or ends.
using InstantVotes = std::vector<std::int64_t>;
[[nodiscard]] Result<std::vector<InstantVotes>> instantVotes(RawTrace& raw, const InstantQuery& query);

/// The host on which a native file was written. Files with the same `clock` share a clock, even if their host names
/// differ.
struct RecordedHost {
    std::string name;
    std::string clock; ///< identifies the machine and its last boot; empty if unknown
};

/// Clock information in a native file (core/timeline/trace_names.h).
struct NativeClocks {
    std::optional<RecordedHost> host;
    std::vector<Ping> pings; ///< pings between any ranks of the run, with their times in the trace
};
[[nodiscard]] Result<std::vector<NativeClocks>> extractNativeClocks(RawTrace& raw);
inline constexpr Extractor<NativeClocks> kNativeClocks{"native clocks", extractNativeClocks};

/// A collective, as executed on one member's device or host.
struct CollectiveSpan {
    std::uint32_t file = 0; ///< index of the file in the trace
    TimeNs start{0};
    TimeNs end{0};
};

/// The collectives recorded in a file, by kind and group.
using FileCollectives = std::map<std::string, std::vector<CollectiveSpan>>;
[[nodiscard]] Result<std::vector<FileCollectives>> extractCollectives(RawTrace& raw);
inline constexpr Extractor<FileCollectives> kCollectives{"collectives", extractCollectives};

/// A collective whose members were found in several files, one entry per file.
struct MatchedCollective {
    std::string name; ///< "all_reduce", …
    std::vector<CollectiveSpan> members;
};

/// Collectives in which all members wait for each other: kernels of NCCL and RCCL, and Gloo's annotations on the host.
/// Members are matched by group and position in the group's sequence if Kineto recorded the group, otherwise by kind
/// and position. Kinds whose counts differ between files are omitted, because their matches are ambiguous. Sends and
/// receives between two ranks are omitted too. Linear in slices.
[[nodiscard]] std::vector<MatchedCollective> matchCollectives(std::vector<FileCollectives> files);

/// Adds evidence about clocks from collectives. `clock_of_file` contains the clock of each of the trace's files (-1 for
/// none). No member leaves a collective before all have entered it, and all leave within `spread` of each other. The
/// first rule always holds. The second rule does not always hold, but it bounds offsets much more tightly if one member
/// always comes last. NCCL kernels on one host end within microseconds of each other.
void addCollectives(const std::vector<MatchedCollective>& collectives, const std::vector<int>& clock_of_file,
                    TimeNs spread, std::vector<Precedence>& precedences, std::vector<Coincidence>& coincidences);

/// For each time, the number of possible ops that start or end then. Extracts store the numbers under this key, for
/// rankFiles().
using FileInstants = std::map<std::int64_t, std::int64_t>;
inline constexpr std::string_view kInstantsKey = "instants of ops";

// Serialization in extracts; see core/recognise/extract_values.h.
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
    auto& [file, start, end] = value; // the reader sets the file index
    wire.span(start, end);
}
inline void moveTo(std::uint32_t file, std::int64_t /*rank*/, FileCollectives& value) {
    for (auto& [key, spans] : value) {
        for (CollectiveSpan& span : spans)
            span.file = file;
    }
}

} // namespace bubblescope
