#pragma once

#include "core/base/diagnostic.h"
#include "core/base/result.h"
#include "core/recognise/found_ops.h"
#include "core/recognise/trace_partition.h"
#include "core/schedule/op.h"
#include "core/timeline/check_log.h"
#include "core/trace/trace.h"

#include <array>
#include <span>
#include <string_view>
#include <vector>

namespace bubblescope {

struct OwnHome;

/// The rank that a track of a native file (one that Bubblescope wrote) belongs to: by the name of its process, else by
/// its file's rank.
[[nodiscard]] std::optional<OwnHome> ownHome(const Trace& trace, const Track& track);

/// What a native file records.
struct NativeMarks {
    struct Statement {
        TimeNs time{0};
        RunInfo info;
    };
    std::vector<Statement> statements; ///< of the run that made the file, by time
    std::vector<FoundOp> ops;
    std::vector<FoundComm> comm;
    /// Rank, replica and tensor rank of those that share the stages of others, and are left out: the first of a
    /// tensor-parallel group stands for it.
    std::vector<std::array<std::int64_t, 3>> other_tensor_ranks;
};
[[nodiscard]] Result<std::vector<NativeMarks>> extractNativeMarks(TracePartition& partition);

/// The ops of a trace's native files; none where there are no such files. `marks` has one entry for each of `files`.
[[nodiscard]] FoundOps mergeNativeMarks(std::vector<NativeMarks> marks, std::span<const TraceFile> files,
                                        DiagnosticLog& log);

/// The checks and digests that a native file holds, spelled as timeline/trace_names.h says.
struct NativeChecks {
    std::vector<CheckRecord> checks;
    std::vector<DigestRecord> digests;
    std::vector<std::pair<CheckPlace, CheckedDevice>> devices; ///< where the file says on what it was written
    std::vector<Diagnostic> problems;                          ///< "bad-check": records that could not be used
};

[[nodiscard]] Result<std::vector<NativeChecks>> extractNativeChecks(TracePartition& partition);

/// Those of a whole trace. What is wrong with them goes to `log`.
[[nodiscard]] CheckLog mergeNativeChecks(std::vector<NativeChecks> files, DiagnosticLog& log);

template <class Wire>
void fields(Wire& wire, DigestRecord& value) {
    auto& [step, rank, replica, tensor_rank, op, layer, tensor, digest, time] = value;
    wire(step, rank, replica, tensor_rank, op, layer, tensor, digest, time);
}
template <class Wire>
void fields(Wire& wire, CheckPlace& value) {
    auto& [replica, rank, tensor_rank] = value;
    wire(replica, rank, tensor_rank);
}
template <class Wire>
void fields(Wire& wire, CheckedDevice& value) {
    auto& [host, device] = value;
    wire(host, device);
}
template <class Wire>
void fields(Wire& wire, NativeChecks& value) {
    auto& [checks, digests, devices, problems] = value;
    wire(checks, digests, devices, problems);
}

} // namespace bubblescope
