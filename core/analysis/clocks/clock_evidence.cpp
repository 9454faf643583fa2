#include "core/analysis/clocks/clock_evidence.h"

#include "core/formats/perfetto/capture_names.h"
#include "core/timeline/trace_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <span>
#include <tuple>
#include <unordered_map>

namespace bubblescope {
namespace {

constexpr std::size_t kOpsCompared = 32; // per rank

/// Empty if one of its numbers is missing.
std::optional<Ping> pingOf(const Trace& trace, const Instant& instant) {
    const auto number = [&](std::string_view name) { return trace.intArg(instant.args, name); };
    const auto asker = number("asker");
    const auto replier = number("replier");
    const auto t0 = number("t0_ns");
    const auto t1 = number("t1_ns");
    const auto t2 = number("t2_ns");
    const auto t3 = number("t3_ns");
    if (!asker || !replier || !t0 || !t1 || !t2 || !t3) return std::nullopt;
    // The instant is at t0. Times in a trace are relative to its first event, and all of Bubblescope's files are
    // shifted equally.
    const TimeNs moved = instant.time - TimeNs{*t0};
    return Ping{static_cast<int>(*asker), static_cast<int>(*replier), TimeNs{*t0} + moved,
                TimeNs{*t1} + moved,      TimeNs{*t2} + moved,        TimeNs{*t3} + moved};
}

struct CollectiveKind {
    std::string_view kernel; ///< part of a kernel's name
    std::string_view host;   ///< after "gloo:"
};
// Without broadcast and reduce, in which members wait for only one member.
constexpr std::array kCollectiveKinds{CollectiveKind{"AllReduce", "all_reduce"},
                                      CollectiveKind{"AllGather", "all_gather"},
                                      CollectiveKind{"ReduceScatter", "reduce_scatter"},
                                      CollectiveKind{"AllToAll", "all_to_all"}, CollectiveKind{"?", "barrier"}};
constexpr std::string_view kSendReceive = "SendRecv"; // part of an all-to-all, or a transfer between two ranks

bool holdsText(std::string_view text, std::string_view part) {
    return text.find(part) != std::string_view::npos;
}

std::optional<std::string> kindOfKernel(std::string_view name, bool send_receive_is_all_to_all) {
    const bool nccl = name.starts_with("nccl") || name.starts_with("rccl");
    if (!nccl) return std::nullopt;
    for (const CollectiveKind& kind : kCollectiveKinds) {
        if (holdsText(name, kind.kernel)) return std::string(kind.host);
    }
    if (send_receive_is_all_to_all && holdsText(name, kSendReceive)) return "all_to_all";
    return std::nullopt;
}

std::optional<std::string> kindOnHost(std::string_view name) {
    constexpr std::string_view kPrefix = "gloo:";
    if (!name.starts_with(kPrefix)) return std::nullopt;
    name.remove_prefix(kPrefix.size());
    for (const CollectiveKind& kind : kCollectiveKinds) {
        if (name == kind.host) return std::string(name);
    }
    return std::nullopt;
}

/// Files in which every SendRecv kernel belongs to an all-to-all, judging by the host's calls.
std::vector<bool> callAllToAllOnly(const Trace& trace) {
    std::vector<bool> all_to_all(trace.files().size());
    std::vector<bool> pairwise(trace.files().size());
    std::set<StringId> yes;
    std::set<StringId> no;
    for (StringId id = 1; id < trace.strings().size(); ++id) {
        const std::string_view name = trace.text(id);
        if (name.starts_with("nccl:all_to_all") || name.starts_with("c10d::alltoall")) yes.insert(id);
        if (name.starts_with("nccl:send") || name.starts_with("nccl:recv") || name.starts_with("nccl:coalesced") ||
            name == "c10d::send" || name == "c10d::recv_")
            no.insert(id);
    }
    if (yes.empty()) return all_to_all;
    for (SliceId slice = 0; slice < trace.sliceCount(); ++slice) {
        const std::uint32_t file = trace.tracks()[trace.sliceTracks()[slice]].file;
        if (yes.contains(trace.sliceNames()[slice])) all_to_all[file] = true;
        if (no.contains(trace.sliceNames()[slice])) pairwise[file] = true;
    }
    for (std::size_t f = 0; f < all_to_all.size(); ++f)
        all_to_all[f] = all_to_all[f] && !pairwise[f];
    return all_to_all;
}

} // namespace

Result<std::map<RankKey, std::uint32_t>> rankFiles(const Run& run) {
    std::map<RankKey, std::uint32_t> found;
    const std::span<const TraceFile> files = run.inputs();
    std::vector<std::uint32_t> usable;
    for (std::size_t f = 0; f < files.size(); ++f) {
        if (!files[f].format.empty()) usable.push_back(static_cast<std::uint32_t>(f));
    }
    std::vector<RankKey> keys;
    InstantQuery query; // when ops begin or end
    for (const StepTimeline& step : run.steps) {
        for (std::size_t r = 0; r < step.ranks.size(); ++r) {
            const RankKey key{step.replica, Rank{r}};
            if (usable.size() == 1) found.try_emplace(key, usable.front());
            if (usable.size() < 2 || std::ranges::find(keys, key) != keys.end()) continue;
            for (const TimelineOp& op : std::span(step.ranks[r]).first(std::min(kOpsCompared, step.ranks[r].size()))) {
                query.keys_at[op.start.count()].push_back(query.keys);
                query.keys_at[op.end.count()].push_back(query.keys);
            }
            keys.push_back(key);
            ++query.keys;
        }
    }
    if (query.keys_at.empty() || run.trace == nullptr) return found;
    RawTrace raw(run.trace);
    BUBBLESCOPE_ASSIGN(const std::vector<InstantVotes> votes, instantVotes(raw, query));
    for (std::size_t i = 0; i < keys.size(); ++i) {
        const auto best = std::ranges::max_element(votes, {}, [i](const InstantVotes& of_file) { return of_file[i]; });
        if (best != votes.end() && (*best)[i] > 0) found[keys[i]] = static_cast<std::uint32_t>(best - votes.begin());
    }
    return found;
}

Result<ClockOfRank> clocksOfRanks(const Run& run, const RunClocks& run_clocks) {
    ClockOfRank clocks;
    for (const RankClock& rank : run_clocks.ranks)
        clocks[{rank.replica, rank.rank}] = rank;
    if (!clocks.empty()) return clocks;
    BUBBLESCOPE_ASSIGN(const auto files, rankFiles(run));
    for (const auto& [key, file] : files) // clocks were not estimated, so nothing was shifted
        clocks[key].file = file;
    return clocks;
}

std::map<std::uint32_t, int> ranksPerFile(const ClockOfRank& clocks) {
    std::map<std::uint32_t, int> ranks;
    for (const auto& [key, clock] : clocks) {
        if (clock.file) ++ranks[*clock.file];
    }
    return ranks;
}

Result<std::vector<InstantVotes>> instantVotes(RawTrace& raw, const InstantQuery& query) {
    const Trace& trace = raw.trace();
    const std::unordered_map<std::int64_t, std::vector<std::uint32_t>> keys_at(query.keys_at.begin(),
                                                                               query.keys_at.end());
    std::vector<InstantVotes> votes(raw.fileCount(), InstantVotes(query.keys));
    for (SliceId slice = 0; slice < trace.sliceCount(); ++slice) {
        const std::uint32_t file = trace.tracks()[trace.sliceTracks()[slice]].file;
        for (const TimeNs time : {trace.start(slice), trace.end(slice)}) {
            const auto hit = keys_at.find(time.count());
            if (hit == keys_at.end()) continue;
            for (const std::uint32_t key : hit->second)
                ++votes[file][key];
        }
    }
    for (std::uint32_t file = 0; file < votes.size(); ++file) {
        if (raw.files()[file].extract == nullptr) continue;
        BUBBLESCOPE_ASSIGN(const FileInstants instants, raw.stored<FileInstants>(file, kInstantsKey));
        votes[file].assign(query.keys, 0);
        for (const auto& [time, keys] : query.keys_at) {
            const auto known = instants.find(time + trace.origin().count());
            if (known == instants.end()) continue;
            for (const std::uint32_t key : keys)
                votes[file][key] += known->second;
        }
    }
    return votes;
}

Result<std::vector<NativeClocks>> extractNativeClocks(RawTrace& raw) {
    const Trace& trace = raw.trace();
    std::vector<NativeClocks> files(raw.fileCount());
    const StringId run = trace.strings().find(trace_names::kRun);
    const StringId clock = trace.strings().find(trace_names::kClock);
    const StringId begins = trace.strings().find(perfetto::kCaptureBegins);
    if (run == 0 && begins == 0) return files; // neither a run nor a recorded job
    for (const Instant& instant : trace.instants()) {
        NativeClocks& file = files[trace.tracks()[instant.track].file];
        const bool states_run =
            run != 0 && instant.category == run && trace.text(instant.name) == trace_names::kRunEvent;
        if (states_run || (begins != 0 && instant.name == begins)) {
            const auto host = trace.textArg(instant.args, "host");
            if (!host || host->empty()) continue;
            if (!file.host) file.host = RecordedHost{*host, trace.textArg(instant.args, "clock").value_or("")};
        } else if (clock != 0 && instant.category == clock && trace.text(instant.name) == trace_names::kPing) {
            if (const auto ping = pingOf(trace, instant)) file.pings.push_back(*ping);
        }
    }
    return files;
}

Result<std::vector<FileCollectives>> extractCollectives(RawTrace& raw) {
    const Trace& trace = raw.trace();
    const StringId kernels = trace.strings().find("kernel");
    const StringId annotations = trace.strings().find("user_annotation");
    const std::vector<bool> all_to_all = callAllToAllOnly(trace);
    // Most slices share a few names.
    std::map<std::tuple<StringId, StringId, bool>, std::optional<std::string>> kind_of_name;
    std::vector<FileCollectives> files(raw.fileCount());
    for (SliceId slice = 0; slice < trace.sliceCount(); ++slice) {
        const StringId category = trace.sliceCategories()[slice];
        if (category == 0 || (category != kernels && category != annotations)) continue;
        const std::uint32_t file = trace.tracks()[trace.sliceTracks()[slice]].file;
        const StringId name = trace.sliceNames()[slice];
        const auto [known, fresh] = kind_of_name.try_emplace({category, name, all_to_all[file]});
        if (fresh) {
            known->second =
                category == kernels ? kindOfKernel(trace.text(name), all_to_all[file]) : kindOnHost(trace.text(name));
        }
        if (!known->second) continue;
        const std::string group =
            trace.textArg(trace.sliceArgs()[slice], "Process Group Ranks")
                .value_or(trace.textArg(trace.sliceArgs()[slice], "Process Group Name").value_or(""));
        files[file][fmt::format("{} {}", *known->second, group)].push_back(
            {file, trace.start(slice), trace.end(slice)});
    }
    return files;
}

std::vector<MatchedCollective> matchCollectives(std::vector<FileCollectives> files) {
    std::map<std::string, std::vector<std::vector<CollectiveSpan>>> sequences; // by kind and group, then file
    for (FileCollectives& file : files) {
        for (auto& [key, spans] : file)
            sequences[key].push_back(std::move(spans));
    }
    std::vector<MatchedCollective> matched;
    for (auto& [key, members] : sequences) {
        const std::size_t count = members.front().size();
        const bool equal = std::ranges::all_of(members, [&](const auto& spans) { return spans.size() == count; });
        if (members.size() < 2 || !equal) continue;
        for (std::vector<CollectiveSpan>& spans : members)
            std::ranges::sort(spans, {}, &CollectiveSpan::start);
        for (std::size_t i = 0; i < count; ++i) {
            MatchedCollective one{key.substr(0, key.find(' ')), {}};
            for (const std::vector<CollectiveSpan>& spans : members)
                one.members.push_back(spans[i]);
            matched.push_back(std::move(one));
        }
    }
    return matched;
}

void addCollectives(const std::vector<MatchedCollective>& collectives, const std::vector<int>& clock_of_file,
                    TimeNs spread, std::vector<Precedence>& precedences, std::vector<Coincidence>& coincidences) {
    struct Member {
        TimeNs last_start = TimeNs::min();
        TimeNs first_end = TimeNs::max();
    };
    for (const MatchedCollective& collective : collectives) {
        std::map<int, Member> members; // files of one clock limit each other most when taken together
        for (const CollectiveSpan& span : collective.members) {
            const int clock = clock_of_file[span.file];
            if (clock < 0) continue;
            Member& member = members[clock];
            member.last_start = std::max(member.last_start, span.start);
            member.first_end = std::min(member.first_end, span.end);
        }
        for (const auto& [clock, member] : members) {
            for (const auto& [other, its] : members) {
                if (clock == other) continue;
                precedences.push_back({clock, other, member.last_start, its.first_end});
                precedences.push_back({clock, other, member.first_end, its.first_end + spread});
                if (clock < other) coincidences.push_back({clock, other, member.first_end, its.first_end});
            }
        }
    }
}

} // namespace bubblescope
