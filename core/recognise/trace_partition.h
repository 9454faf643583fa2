#pragma once

#include "core/base/job.h"
#include "core/formats/read_trace.h"
#include "core/recognise/gpu_work.h"
#include "core/recognise/rule_table.h"
#include "core/trace/trace.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace bubblescope {

/// The raw slices of some neighbouring files of a trace, held by one process. A single process holds one partition with
/// all files. Files are numbered as in the whole trace, times count from the whole trace's origin. One thread at a
/// time.
class TracePartition {
public:
    /// An empty partition, filled by read() and finish(). `number` is its index among all partitions. `user_rules` come
    /// before the built-in ones; they and `control` must outlive the partition.
    TracePartition(std::size_t number, std::span<const RecognitionRule> user_rules, JobControl& control)
        : number_(number), user_rules_(user_rules), control_(&control) {}
    /// The only partition of a trace.
    explicit TracePartition(std::shared_ptr<const Trace> trace) : trace_(std::move(trace)) {}

    struct ReadOutcome {
        std::vector<FileOutcome> files;
        std::vector<TraceFile> read; ///< the same files
        TraceExtent extent;
        std::vector<Diagnostic> problems; ///< of applying the files' clock offsets
    };
    /// Reads files of which the first has index `first_file` in the trace. Error: Cancelled.
    [[nodiscard]] Result<ReadOutcome> read(std::span<const InputFile> files, std::uint32_t first_file);
    /// Sorts what was read. `extent` is that of all partitions. Error: Cancelled.
    [[nodiscard]] Result<std::vector<Diagnostic>> finish(const TraceExtent& extent);

    [[nodiscard]] std::size_t number() const { return number_; }
    /// Long extractions check it now and then; if it requests a stop, their values may be anything.
    [[nodiscard]] const JobControl& control() const;
    [[nodiscard]] const Trace& trace() const { return *trace_; }
    [[nodiscard]] std::shared_ptr<const Trace> sharedTrace() const { return trace_; }
    [[nodiscard]] std::size_t fileCount() const { return trace_->files().size(); }
    [[nodiscard]] std::uint32_t firstFile() const { return first_file_; }
    /// The index of a track's file in the whole trace.
    [[nodiscard]] std::uint32_t fileOf(const Track& track) const { return first_file_ + track.file; }
    /// The global rank of the partition's i-th file; files that do not state it are numbered in their order.
    [[nodiscard]] std::int64_t rankOf(std::uint32_t i) const {
        return trace_->files()[i].rank.value_or(static_cast<std::int32_t>(first_file_ + i));
    }
    /// All tracks, grouped by file. (In the trace itself rows that were split off a thread come after all others.)
    [[nodiscard]] std::vector<TrackId> tracksByFile() const;

    [[nodiscard]] const RecognitionRule& rule(std::size_t i) const;
    /// The device's work, extracted on the first call and kept until forgetGpu().
    [[nodiscard]] const GpuWork& gpu();
    void forgetGpu() { gpu_.reset(); }

private:
    std::size_t number_ = 0;
    std::span<const RecognitionRule> user_rules_;
    JobControl* control_ = nullptr;
    TraceBuilder builder_; ///< between read() and finish()
    std::shared_ptr<const Trace> trace_;
    std::uint32_t first_file_ = 0;
    std::optional<GpuWork> gpu_;
};

struct NoQuery {};
template <class Wire>
void fields(Wire&, NoQuery&) {}

/// Work that every process does on its partition of a trace. Query and answer are sent between processes, so both need
/// fields() (core/base/wire.h).
template <class AnswerType, class QueryType = NoQuery>
struct PartitionTask {
    using Answer = AnswerType;
    using Query = QueryType;

    std::string_view name; ///< unique among all tasks
    Result<Answer> (*run)(TracePartition& partition, const Query& query);
};

/// For PartitionTask::run: a function that needs no query.
template <auto Function>
auto withoutQuery(TracePartition& partition, const NoQuery&) -> decltype(Function(partition)) {
    return Function(partition);
}

/// Reads raw slices: produces one value for each file of the partition, in their order. A value depends only on its
/// file and the query, so a trace has the same values however its files are distributed over processes. Analyses merge
/// them.
template <class Value, class Query = NoQuery>
using Extractor = PartitionTask<std::vector<Value>, Query>;

} // namespace bubblescope
