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

/// Those of a trace's raw slices that one process holds: all of them, or those of neighbouring files where several
/// processes share the work. What later stages want to know of raw slices they ask of every share, so that a share
/// answers by file and never depends on which other files it holds. Files are numbered as in the whole trace, times
/// count from the whole trace's origin. One thread at a time.
class TraceShare {
public:
    /// To be filled by read() and finish(). `number`: its place among the shares. `own_rules` come before the built-in
    /// ones; they and `control` must outlive the share.
    TraceShare(std::size_t number, std::span<const RecognitionRule> own_rules, JobControl& control)
        : number_(number), own_rules_(own_rules), control_(&control) {}
    /// Of a trace that is there as a whole.
    explicit TraceShare(std::shared_ptr<const Trace> trace) : trace_(std::move(trace)) {}

    struct Outcome {
        std::vector<FileOutcome> files;
        std::vector<TraceFile> read; ///< the same files
        TraceExtent extent;
        std::vector<Diagnostic> problems; ///< of putting their times on their clocks
    };
    /// Reads files of which the first is number `first_file` of all. Error: Cancelled.
    [[nodiscard]] Result<Outcome> read(std::span<const InputFile> files, std::uint32_t first_file);
    /// Puts what was read in order. `extent` is that of all shares. Error: Cancelled.
    [[nodiscard]] Result<std::vector<Diagnostic>> finish(const TraceExtent& extent);

    [[nodiscard]] std::size_t number() const { return number_; }
    /// Long answers look at it now and then; when it says stop, they may be anything.
    [[nodiscard]] const JobControl& control() const;
    [[nodiscard]] const Trace& trace() const { return *trace_; }
    [[nodiscard]] std::shared_ptr<const Trace> sharedTrace() const { return trace_; }
    [[nodiscard]] std::uint32_t firstFile() const { return first_file_; }
    [[nodiscard]] std::uint32_t fileOf(const Track& track) const { return first_file_ + track.file; }
    /// The global rank of the share's i-th file; those that do not say which wrote them are numbered in their order.
    [[nodiscard]] std::int64_t rankOf(std::uint32_t i) const {
        return trace_->files()[i].rank.value_or(static_cast<std::int32_t>(first_file_ + i));
    }
    /// Rows that were split off a thread lie behind all others of a trace; here they are among those of their file.
    [[nodiscard]] std::vector<TrackId> tracksByFile() const;

    [[nodiscard]] const RecognitionRule& rule(std::size_t i) const;
    /// The device's work, looked through when it is first asked for, until forgetGpu().
    [[nodiscard]] const GpuWork& gpu();
    void forgetGpu() { gpu_.reset(); }

private:
    std::size_t number_ = 0;
    std::span<const RecognitionRule> own_rules_;
    JobControl* control_ = nullptr;
    TraceBuilder builder_; ///< between read() and finish()
    std::shared_ptr<const Trace> trace_;
    std::uint32_t first_file_ = 0;
    std::optional<GpuWork> gpu_;
};

/// A question to all shares of a trace is a struct with
///     static constexpr std::string_view kName; using Answer = …; Result<Answer> answer(TraceShare&) const;
/// Both it and its answer travel to other processes (core/base/wire.h).
template <class Question>
using AnswerTo = typename Question::Answer;

} // namespace bubblescope
