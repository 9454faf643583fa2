#pragma once

#include "core/query/relation.h"
#include "core/query/subject.h"
#include "core/trace/trace.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace bubblescope::query {

/// Properties shared by all rows of a track.
struct TrackFacts {
    std::uint32_t file = 0;
    std::string process; ///< name of the process, or its number if it has no name
    std::string thread;
    std::int64_t pid = 0;
    std::int64_t tid = 0;
    std::int64_t rank = 0; ///< rank recorded in the file, or else the rank in the pipeline, or else the file's number
    std::string device;    ///< empty on tracks without device work
    Cell stream;           ///< number or name of the stream; NULL on tracks without device work
    std::optional<std::int32_t> pipeline_rank;
    std::optional<std::int32_t> replica;
    ClockFit clock;       ///< clock of the track's times; the times of a run are on the reference clock
    bool aligned = false; ///< true if the two clocks differ

    /// Converts a time in the trace to the run's clock.
    [[nodiscard]] std::int64_t timeOf(std::int64_t shown) const {
        return aligned ? clock.toReference(TimeNs{shown}).count() : shown;
    }
    /// True if the conversion preserves the order of times; false if the clock was set during the recording.
    [[nodiscard]] bool keepsOrder() const { return clock.later.empty(); }
};

/// Columns that are derived from a row's track.
enum class OfTrack : std::uint8_t { Process, Thread, Pid, Tid, Rank, Device, Stream, PipelineRank, Replica, File };

/// Properties of all tracks, and of processes for rows that belong to no track.
class AllTracks {
public:
    explicit AllTracks(const Subject& subject);

    [[nodiscard]] const TrackFacts& operator[](TrackId track) const { return tracks_[track]; }
    [[nodiscard]] std::size_t size() const { return tracks_.size(); }
    /// Properties of a process in a file, without thread, device or stream.
    [[nodiscard]] TrackFacts ofProcess(std::uint32_t file, std::int64_t pid) const;

private:
    std::vector<TrackFacts> tracks_;
    std::map<std::pair<std::uint32_t, std::int64_t>, TrackId> processes_; ///< one of the tracks of each process
};

[[nodiscard]] Cell factOf(const TrackFacts& track, OfTrack fact);

} // namespace bubblescope::query
