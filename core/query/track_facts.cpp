#include "core/query/track_facts.h"

#include "core/analysis/devices/device_tracks.h"
#include "core/analysis/rank_tracks.h"

namespace bubblescope::query {
namespace {

std::string nameOr(std::string_view name, std::int64_t number) {
    return name.empty() ? std::to_string(number) : std::string(name);
}

/// By track: true if it, or a row split off the same track, has device work.
std::vector<bool> findDeviceTracks(const Trace& trace) {
    std::vector<bool> found(trace.tracks().size());
    if (!trace.lanes().anyWork()) return found;
    for (TrackId id = 0; id < found.size(); ++id) {
        const Track& track = trace.tracks()[id];
        for (SliceId slice = track.first_slice; slice < track.end_slice && !found[originalTrack(trace, id)]; ++slice)
            found[originalTrack(trace, id)] = Lanes::isWork(trace.laneOf(slice, id));
    }
    for (TrackId id = 0; id < found.size(); ++id)
        found[id] = found[originalTrack(trace, id)];
    return found;
}

template <class T>
Cell cellOf(const std::optional<T>& value) {
    return value ? Cell(std::int64_t{*value}) : Cell();
}

Cell textCell(std::string_view text) {
    return text.empty() ? Cell() : Cell(text);
}

} // namespace

AllTracks::AllTracks(const Subject& subject) {
    if (subject.run.trace == nullptr) return;
    const Trace& trace = *subject.run.trace;
    const std::vector<bool> on_device = findDeviceTracks(trace);
    const std::vector<std::int64_t> ranks = ranksOfFiles(trace.files());
    for (TrackId id = 0; id < trace.tracks().size(); ++id) {
        const Track& track = trace.tracks()[id];
        const Track& original = trace.tracks()[originalTrack(trace, id)];
        TrackFacts& facts = tracks_.emplace_back();
        facts.file = track.file;
        facts.process = nameOr(trace.text(track.process_name), track.pid);
        facts.thread = nameOr(trace.text(track.thread_name), track.tid);
        facts.pid = track.pid;
        facts.tid = track.tid;
        facts.rank = ranks[track.file];
        processes_.try_emplace({track.file, track.pid}, id);
        if (!on_device[id]) continue;
        facts.device = deviceName(trace, deviceOf(trace, id));
        const bool named = original.tid == 0 && original.thread_name != 0;
        facts.stream = named ? Cell(trace.text(original.thread_name)) : Cell(original.tid);
    }
    if (subject.report == nullptr) return;
    for (const RankTracks& rank : rankTracks(subject.run, subject.report->clocks)) {
        for (const TrackId id : rank.tracks) {
            TrackFacts& facts = tracks_[id];
            facts.pipeline_rank = rank.rank.value;
            facts.replica = rank.replica;
            facts.clock = rank.clock;
            facts.aligned = rank.clock.offset != TimeNs{0} || rank.clock.drift != 0 || !rank.clock.later.empty();
            if (!trace.files()[facts.file].rank) facts.rank = rank.rank.value;
        }
    }
}

TrackFacts AllTracks::ofProcess(std::uint32_t file, std::int64_t pid) const {
    auto known = processes_.find({file, pid});
    if (known == processes_.end()) known = processes_.lower_bound({file, Condition::kLowest});
    const bool same_file = known != processes_.end() && known->first.first == file;
    TrackFacts facts = same_file ? tracks_[known->second] : TrackFacts();
    if (!same_file || known->first.second != pid) facts.process = std::to_string(pid);
    facts.file = file;
    facts.pid = pid;
    facts.thread.clear();
    facts.tid = 0;
    facts.device.clear();
    facts.stream = Cell();
    return facts;
}

Cell factOf(const TrackFacts& track, OfTrack fact) {
    switch (fact) {
    case OfTrack::Process: return textCell(track.process);
    case OfTrack::Thread: return textCell(track.thread);
    case OfTrack::Pid: return track.pid;
    case OfTrack::Tid: return track.tid;
    case OfTrack::Rank: return track.rank;
    case OfTrack::Device: return textCell(track.device);
    case OfTrack::Stream: return track.stream;
    case OfTrack::PipelineRank: return cellOf(track.pipeline_rank);
    case OfTrack::Replica: return cellOf(track.replica);
    case OfTrack::File: return std::int64_t{track.file};
    }
    return {};
}

} // namespace bubblescope::query
