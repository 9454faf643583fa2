#include "core/formats/source/source_files.h"

#include "core/base/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <tuple>
#include <utility>

namespace bubblescope {
namespace {

/// Returns the wanted number, or the next free one.
class FreeNumbers {
public:
    std::int64_t take(std::int64_t wanted) {
        if (taken_.insert(wanted).second) return wanted;
        while (!taken_.insert(next_).second)
            ++next_;
        return next_;
    }

private:
    std::set<std::int64_t> taken_;
    std::int64_t next_ = 1'000'000; // above most process ids, so that a made-up number is recognisable
};

} // namespace

RowNumbers::RowNumbers(const Trace& trace) {
    using Process = std::tuple<std::uint32_t, std::int64_t, StringId>;
    FreeNumbers pids;
    std::map<Process, std::int64_t> pid_of;
    std::map<std::int64_t, FreeNumbers> tids;
    for (TrackId id = 0; id < trace.tracks().size(); ++id) {
        const Track& track = trace.tracks()[id];
        if (track.spilled_from != kNoId) {
            rows_.push_back(rows_[track.spilled_from]);
            continue;
        }
        const auto [known, is_new] = pid_of.try_emplace({track.file, track.pid, track.process_name}, 0);
        if (is_new) {
            known->second = pids.take(track.pid);
            processes_.emplace_back(track.file, track.pid, known->second);
        }
        rows_.push_back({known->second, tids[known->second].take(track.tid)});
    }
    std::sort(processes_.begin(), processes_.end());
}

std::int64_t RowNumbers::process(std::uint32_t file, std::int64_t pid) const {
    const auto known = std::lower_bound(processes_.begin(), processes_.end(), std::tuple(file, pid, INT64_MIN));
    if (known == processes_.end() || std::get<0>(*known) != file || std::get<1>(*known) != pid) return pid;
    return std::get<2>(*known);
}

std::vector<TrackId> tracksByRank(const Trace& trace) {
    std::vector<TrackId> tracks(trace.tracks().size());
    std::iota(tracks.begin(), tracks.end(), TrackId{0});
    std::ranges::stable_sort(tracks, {}, [&trace](TrackId id) {
        const auto rank = trace.files()[trace.tracks()[id].file].rank;
        return std::tuple(!rank, rank.value_or(0), trace.tracks()[id].process_order);
    });
    return tracks;
}

namespace {

constexpr std::string_view kFile = "file ";
constexpr std::string_view kRank = ", rank ";

} // namespace

std::string sourceLabel(const SourceFile& source) {
    std::string label = fmt::format("{}{}", kFile, source.number);
    if (source.rank) label += fmt::format("{}{}", kRank, *source.rank);
    return label;
}

std::optional<SourceFile> sourceOfLabel(std::string_view label) {
    if (!label.starts_with(kFile)) return std::nullopt;
    label.remove_prefix(kFile.size());
    const auto number = takeNumber<std::int64_t>(label);
    if (!number) return std::nullopt;
    if (label.empty()) return SourceFile{*number, std::nullopt};
    if (!label.starts_with(kRank)) return std::nullopt;
    const auto rank = parseNumber<std::int32_t>(label.substr(kRank.size()));
    return rank && *rank >= 0 ? std::optional(SourceFile{*number, rank}) : std::nullopt;
}

std::map<std::int64_t, SourceFile> sourceFilesOf(const Trace& trace, const RowNumbers& rows) {
    std::map<std::int64_t, SourceFile> sources;
    if (trace.files().size() == 1 && !trace.files().front().rank) return sources;
    for (TrackId id = 0; id < trace.tracks().size(); ++id) {
        const std::uint32_t file = trace.tracks()[id].file;
        sources.try_emplace(rows.of(id).pid, SourceFile{file, trace.files()[file].rank});
    }
    return sources;
}

std::map<std::int64_t, std::uint32_t> addSourceFiles(const std::map<std::int64_t, SourceFile>& sources, TimeNs offset,
                                                     TraceBuilder& builder) {
    std::map<std::int64_t, SourceFile> in_order; // by number
    for (const auto& [pid, source] : sources)
        in_order.emplace(source.number, source);
    std::map<std::int64_t, std::uint32_t> files; // by number
    const std::uint32_t whole = builder.currentFile();
    for (const auto& [number, source] : in_order) {
        std::uint32_t file = whole;
        if (!files.empty()) {
            TraceFile added = builder.file(whole);
            file = builder.addFile(std::move(added));
            builder.setFileOffset(file, offset);
        }
        builder.file(file).rank = source.rank;
        files.emplace(number, file);
    }
    std::map<std::int64_t, std::uint32_t> of_process;
    for (const auto& [pid, source] : sources)
        of_process.emplace(pid, files.at(source.number));
    return of_process;
}

} // namespace bubblescope
