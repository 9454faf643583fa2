#include "core/analysis/clocks/collectives.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

namespace bubblescope {
namespace {

struct CollectiveKind {
    std::string_view kernel; ///< part of a kernel's name
    std::string_view host;   ///< behind "gloo:"
};
// Broadcast and reduce are left out: there only one member is waited for.
constexpr std::array kCollectives{CollectiveKind{"AllReduce", "all_reduce"}, CollectiveKind{"AllGather", "all_gather"},
                                  CollectiveKind{"ReduceScatter", "reduce_scatter"},
                                  CollectiveKind{"AllToAll", "all_to_all"}, CollectiveKind{"?", "barrier"}};
constexpr std::string_view kSendReceive = "SendRecv"; // of an all-to-all, or of two ranks

bool contains(std::string_view text, std::string_view part) {
    return text.find(part) != std::string_view::npos;
}

std::optional<std::string> kindOfKernel(std::string_view name, bool send_receive_is_all_to_all) {
    const bool nccl = name.starts_with("nccl") || name.starts_with("rccl");
    if (!nccl) return std::nullopt;
    for (const CollectiveKind& kind : kCollectives) {
        if (contains(name, kind.kernel)) return std::string(kind.host);
    }
    if (send_receive_is_all_to_all && contains(name, kSendReceive)) return "all_to_all";
    return std::nullopt;
}

std::optional<std::string> kindOnHost(std::string_view name) {
    constexpr std::string_view kPrefix = "gloo:";
    if (!name.starts_with(kPrefix)) return std::nullopt;
    name.remove_prefix(kPrefix.size());
    for (const CollectiveKind& kind : kCollectives) {
        if (name == kind.host) return std::string(name);
    }
    return std::nullopt;
}

/// Files in which every SendRecv kernel is of an all-to-all, as what the host called tells.
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

Result<CollectivesOf::Answer> CollectivesOf::answer(TraceShare& share) const {
    const Trace& trace = share.trace();
    const StringId kernels = trace.strings().find("kernel");
    const StringId annotations = trace.strings().find("user_annotation");
    const std::vector<bool> all_to_all = callAllToAllOnly(trace);
    // Most slices share few names.
    std::map<std::tuple<StringId, StringId, bool>, std::optional<std::string>> kind_of_name;
    Answer sequences;
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
        const std::uint32_t of_all = share.firstFile() + file;
        sequences[fmt::format("{} {}", *known->second, group)][of_all].push_back(
            {of_all, trace.start(slice), trace.end(slice)});
    }
    return sequences;
}

std::vector<MatchedCollective> matchCollectives(std::vector<CollectivesOf::Answer> shares) {
    CollectivesOf::Answer sequences;
    for (CollectivesOf::Answer& share : shares) {
        for (auto& [key, files] : share)
            sequences[key].merge(files); // a file is in one share only
    }
    std::vector<MatchedCollective> matched;
    for (auto& [key, files] : sequences) {
        const std::size_t count = files.begin()->second.size();
        const bool equal = std::ranges::all_of(files, [&](const auto& file) { return file.second.size() == count; });
        if (files.size() < 2 || !equal) continue;
        for (auto& [file, spans] : files)
            std::ranges::sort(spans, {}, &CollectiveSpan::start);
        for (std::size_t i = 0; i < count; ++i) {
            MatchedCollective one{key.substr(0, key.find(' ')), {}};
            for (const auto& [file, spans] : files)
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
        std::map<int, Member> members; // files of one clock say the most together
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
