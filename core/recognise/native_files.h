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

/// The rank that owns a track of a native file (one written by Bubblescope). Determined by the name of the track's
/// process, otherwise by the rank of the file.
[[nodiscard]] std::optional<RecordOwner> recordOwner(const Trace& trace, const Track& track);

/// The records in a native file.
struct NativeMarks {
    struct Statement {
        TimeNs time{0};
        RunInfo info;
        std::string process; ///< identifies the writing process across all hosts; empty for a simulation
    };
    std::vector<Statement> statements; ///< information about the run that wrote the file, in time order
    FoundOpPieces ops;                 ///< one piece per track
    std::vector<EventGap> gaps;        ///< the gaps around ops that are timed by their kernels
    std::int64_t by_events = 0;        ///< number of ops without kernels on ranks that recorded kernels
    Pieces<FoundComm> comm;            ///< one piece per track
    /// Rank, replica and tensor rank of the ranks that were omitted because they run the same stages as other ranks.
    /// The first rank of a tensor-parallel group represents the group.
    std::vector<std::array<std::int64_t, 3>> other_tensor_ranks;
    std::vector<std::array<std::int64_t, 2>> owners; ///< rank and replica of each owner with ops in this file
    bool has_end = false;                            ///< true if the process closed the file
    std::string failure;                             ///< reason why the run failed, as recorded at the end
};
[[nodiscard]] Result<std::vector<NativeMarks>> extractNativeMarks(RawTrace& raw);

/// The ops in a trace's native files; empty without such files. `marks` has one entry per file in `files`.
[[nodiscard]] FoundOps mergeNativeMarks(std::vector<NativeMarks> marks, std::span<const TraceFile> files,
                                        DiagnosticLog& log);

/// The checks and digests in a native file or in a file of a recorded job, in the format specified in
/// timeline/trace_names.h.
struct NativeChecks {
    std::vector<CheckRecord> checks;
    /// Checks of a recorded job, in which layers are numbered within each stage.
    std::vector<CheckRecord> recorded;
    std::vector<Stage> stages;
    std::map<Stage, int> layers; ///< layers of the job's stages, as reported by its framework
    CheckedDevice hardware;      ///< of the job's process
    std::vector<DigestRecord> digests;
    std::vector<std::pair<CheckPlace, CheckedDevice>> devices; ///< devices, if the file identifies the hardware
    std::vector<Diagnostic> problems;                          ///< "bad-check": unusable records
};

[[nodiscard]] Result<std::vector<NativeChecks>> extractNativeChecks(RawTrace& raw);

/// Merges the checks of all files of a trace. Problems go to `log`.
[[nodiscard]] CheckLog mergeNativeChecks(std::vector<NativeChecks> files, DiagnosticLog& log);

} // namespace bubblescope
