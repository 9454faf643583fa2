#pragma once

#include "core/formats/perfetto/capture_names.h"
#include "profiler/capture/capture_file.h"
#include "profiler/capture/capture_options.h"
#include "profiler/events/event_memory.h"
#include "profiler/events/host_record.h"
#include "profiler/nvtx/names.h"

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace bubblescope::profiler {

/// Writes the NVTX events of threads: one track per thread and domain, and additional tracks for start/end ranges,
/// which need not nest. Category "nvtx", or "pipeline" for the domain of ops; the arguments are the domain, the
/// category, and a payload or its fields. Not thread-safe.
class HostWriter {
public:
    /// All references must outlive the writer.
    HostWriter(CaptureFile& file, const nvtx::Names& names, CaptureWindow& window, perfetto::CaptureCounts& counts);

    /// Takes a thread's records in order, with the time of each record. `after_gap` is true if earlier records were
    /// lost, so that the open ranges are unknown.
    void take(std::uint32_t tid, const HostRecord& record, TimeNs time, bool after_gap);

    /// Called for each completed outermost range of ops that is not a step. These ranges are in the domain of ops or,
    /// until that domain is used, in the default domain, where frameworks that use NVTX mark their ops.
    using OnRange = std::function<void(std::uint32_t tid, TimeNs start, TimeNs end)>;
    void setOnRange(OnRange on_range) { on_range_ = std::move(on_range); }

    /// Called for each range or mark that begins a step, with its number, and without a number for a mark of ops that
    /// ends the current step.
    using OnBorder = std::function<void(std::string_view name, std::optional<std::int64_t> number, TimeNs time)>;
    void setOnBorder(OnBorder on_border) { on_border_ = std::move(on_border); }

    /// True if the domain of ops has been used.
    [[nodiscard]] bool namesOps() const { return names_ops_; }
    /// The innermost open range in the domain of ops; if several threads have an open range, the range that began last.
    [[nodiscard]] std::string_view innermostOp() const;

    /// Number of start/end ranges that have begun but not ended; these are not yet in the file.
    [[nodiscard]] std::size_t waiting() const { return started_.size(); }

    /// Saves those of a thread's open ranges that fit in a checkpoint, and restores them in another process.
    void save(std::uint32_t tid, event_memory::ThreadCheckpoint& checkpoint) const;
    void resume(std::uint32_t tid, const event_memory::ThreadCheckpoint& checkpoint);
    /// Number of ranges that are open in the file and will never end.
    [[nodiscard]] std::int64_t openInFile() const;

    /// Reopens the open ranges in a new part of the file.
    void reopen();
    /// Renames the tracks of threads that were named since the last call.
    void nameThreads();

private:
    struct Open {
        bool written = false;
        bool is_step = false;
        TimeNs start{0};
        std::string name;
        OwnedArgs args;
        std::string_view category; ///< a constant
    };
    struct Stack {
        CaptureFile::TrackNumber track = 0;
        std::uint32_t tid = 0;
        std::string suffix; ///< part of the track's name: the domain, and a number if there are several tracks
        int gaps = 0;
        bool incomplete = false; ///< true if range starts were lost; their ends do not count as unmatched
        bool has_track = false;
        TimeNs latest = TimeNs::min(); ///< latest time of the stack's records
        std::vector<Open> open;
    };
    struct Started {
        TimeNs start{0};
        std::string name;
        OwnedArgs args;
        std::string_view category; ///< a constant
    };
    struct StepMark {
        Stack* stack; ///< points into stacks_, whose elements never move
        TimeNs time;
        std::string name;
    };
    using StackKey = std::pair<std::uint32_t, std::uint16_t>; ///< thread and domain

    [[nodiscard]] std::string nameOf(const HostRecord& record) const;
    [[nodiscard]] OwnedArgs argsOf(const HostRecord& record) const;
    [[nodiscard]] std::string trackName(const Stack& stack) const;
    static TimeNs inOrder(Stack& stack, TimeNs time);
    Stack* stackOf(std::uint32_t tid, std::uint16_t domain);
    [[nodiscard]] bool hasRoom(const Stack& stack) const;
    CaptureFile::TrackNumber trackOf(Stack& stack);
    void observe(const HostRecord& record, std::string_view name, TimeNs time);
    void abandon(Stack& stack);
    void push(Stack& stack, const HostRecord& record, TimeNs time);
    void pop(Stack& stack, const HostRecord& record, TimeNs time);
    void start(const HostRecord& record, TimeNs time);
    void end(const HostRecord& record, TimeNs time);

    CaptureFile& file_;
    const nvtx::Names& names_;
    CaptureWindow& window_;
    perfetto::CaptureCounts& counts_;
    OnRange on_range_;
    OnBorder on_border_;
    std::map<StackKey, Stack> stacks_;
    StackKey latest_key_{};
    Stack* latest_ = nullptr; ///< points into stacks_
    std::unordered_map<std::uint64_t, Started> started_;
    std::unordered_map<std::uint64_t, TimeNs> ended_early_; ///< ends that were drained before their starts, by range id
    Lanes lanes_;
    std::optional<StepMark> step_; ///< the latest step mark, which a new part repeats
    bool names_ops_ = false;       ///< true if the domain of ops has been used
    std::uint64_t namings_ = 0;
};

} // namespace bubblescope::profiler
