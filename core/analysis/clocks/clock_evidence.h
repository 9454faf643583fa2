#pragma once

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

// What the raw slices of a run show of its ranks' clocks: who wrote which file, collectives, recorded pings.
namespace bubblescope {

/// Replica and rank.
using RankKey = std::pair<int, Rank>;

/// Which of the run's trace files each rank's ops come from: the one whose slices begin and end when the ops do.
/// Ranks of which nothing matches are left out. With one file that is the file of all. Errors: as extract().
[[nodiscard]] Result<std::map<RankKey, std::uint32_t>> rankFiles(const Run& run);

/// Instants, and the keys that each of them counts for.
struct InstantQuery {
    std::map<std::int64_t, std::vector<std::uint32_t>> keys_at; ///< by time in ns
    std::uint32_t keys = 0;                                     ///< how many there are: 0 … keys − 1
};
/// For each key, how many of its instants are the begin or end of a slice of the file.
using InstantVotes = std::vector<std::int64_t>;
[[nodiscard]] Result<std::vector<InstantVotes>> instantVotes(RawTrace& raw, const InstantQuery& query);

/// Where a native file was written. Files of one `clock` have times of one clock, whatever the host is called.
struct RecordedHost {
    std::string name;
    std::string clock; ///< the machine between two of its starts; empty where it is not known
};

/// What a native file states of clocks (core/timeline/trace_names.h).
struct NativeClocks {
    std::optional<RecordedHost> host;
    std::vector<Ping> pings; ///< between ranks of the whole run; times as the trace has them
};
[[nodiscard]] Result<std::vector<NativeClocks>> extractNativeClocks(RawTrace& raw);
inline constexpr Extractor<NativeClocks> kNativeClocks{"native clocks", extractNativeClocks};

/// One collective as it ran on one member's device or host.
struct CollectiveSpan {
    std::uint32_t file = 0; ///< of the trace
    TimeNs start{0};
    TimeNs end{0};
};

/// The collectives that a file recorded, by kind and group.
using FileCollectives = std::map<std::string, std::vector<CollectiveSpan>>;
[[nodiscard]] Result<std::vector<FileCollectives>> extractCollectives(RawTrace& raw);
inline constexpr Extractor<FileCollectives> kCollectives{"collectives", extractCollectives};

/// A collective whose members were found in several files, one entry a file.
struct MatchedCollective {
    std::string name; ///< "all_reduce", …
    std::vector<CollectiveSpan> members;
};

/// The collectives that all their members wait for each other in: kernels of NCCL and RCCL, and Gloo's annotations on
/// the host. Members of one are matched by group and place in its sequence, where Kineto names the group, else by kind
/// and place. A kind that files recorded a different number of times is left out: which of them are the same is then
/// unknown. So are sends and receives between two ranks. Linear in slices.
[[nodiscard]] std::vector<MatchedCollective> matchCollectives(std::vector<FileCollectives> files);

/// What collectives show of clocks, of which `clock_of_file` gives one for each of the trace's files (or -1 for none):
/// no member leaves one before all have entered it, and they leave within `spread` of each other. The first is certain,
/// the second is not, but narrows offsets far more where one member always comes last. Kernels of NCCL on one host end
/// within microseconds of each other.
void addCollectives(const std::vector<MatchedCollective>& collectives, const std::vector<int>& clock_of_file,
                    TimeNs spread, std::vector<Precedence>& precedences, std::vector<Coincidence>& coincidences);

/// Begins and ends of the slices from which ops may come, and how many slices have each: what an extract keeps for
/// rankFiles(), under this key.
using FileInstants = std::map<std::int64_t, std::int64_t>;
inline constexpr std::string_view kInstantsKey = "instants of ops";

// In extracts, see core/recognise/extract_values.h.
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
    auto& [file, start, end] = value; // the file is where it is read
    wire.span(start, end);
}
inline void moveTo(std::uint32_t file, std::int64_t /*rank*/, FileCollectives& value) {
    for (auto& [key, spans] : value) {
        for (CollectiveSpan& span : spans)
            span.file = file;
    }
}

} // namespace bubblescope
