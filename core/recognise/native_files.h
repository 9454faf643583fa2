#pragma once

#include "core/base/diagnostic.h"
#include "core/base/result.h"
#include "core/recognise/found_ops.h"
#include "core/recognise/own_kernels.h"
#include "core/recognise/raw_trace.h"
#include "core/schedule/op.h"
#include "core/timeline/checks.h"
#include "core/trace/trace.h"

#include <array>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace bubblescope {

struct RecordOwner;

/// The rank that owns a track of a native file (one written by Bubblescope): by the name of its process, otherwise by
/// its file's rank.
[[nodiscard]] std::optional<RecordOwner> recordOwner(const Trace& trace, const Track& track);

/// The records of a native file.
struct NativeMarks {
    struct Statement {
        TimeNs time{0};
        RunInfo info;
        std::string process; ///< identifies the writing process among all hosts; empty for a simulation
    };
    std::vector<Statement> statements; ///< information about the run that wrote the file, by time
    FoundOpPieces ops;                 ///< a piece per track
    std::vector<EventGap> gaps;        ///< for the ops that have the times of their kernels
    std::int64_t by_events = 0;        ///< ops without kernels of their own, on ranks that recorded kernels
    Pieces<FoundComm> comm;            ///< a piece per track
    /// Rank, replica and tensor rank of those that share the stages of others and are omitted: the first of a
    /// tensor-parallel group represents the group.
    std::vector<std::array<std::int64_t, 3>> other_tensor_ranks;
    std::vector<std::array<std::int64_t, 2>> owners; ///< rank and replica of those that have ops here, each once
    bool has_end = false;                            ///< its process closed it
    std::string failure;                             ///< why the run failed, as recorded at its end
};
[[nodiscard]] Result<std::vector<NativeMarks>> extractNativeMarks(RawTrace& raw);

/// The ops of a trace's native files; empty if there are no such files. `marks` has one entry for each of `files`.
[[nodiscard]] FoundOps mergeNativeMarks(std::vector<NativeMarks> marks, std::span<const TraceFile> files,
                                        DiagnosticLog& log);

/// The checks and digests in a native file, or in that of a recorded job, in the form specified in
/// timeline/trace_names.h.
struct NativeChecks {
    std::vector<CheckRecord> checks;
    /// Checks of a recorded job, which count layers in their stage, and the stages.
    std::vector<CheckRecord> recorded;
    std::vector<Stage> stages;
    std::map<Stage, int> layers; ///< layers of the job's stages, as reported by its framework
    std::string host;            ///< host of the job
    std::vector<DigestRecord> digests;
    std::vector<std::pair<CheckPlace, CheckedDevice>> devices; ///< devices, if the file identifies the hardware
    std::vector<Diagnostic> problems;                          ///< "bad-check": unusable records
};

[[nodiscard]] Result<std::vector<NativeChecks>> extractNativeChecks(RawTrace& raw);

/// Merges the checks of a whole trace. Problems go to `log`.
[[nodiscard]] CheckLog mergeNativeChecks(std::vector<NativeChecks> files, DiagnosticLog& log);

} // namespace bubblescope
