#pragma once

#include "core/base/ids.h"
#include "core/formats/perfetto/capture_names.h"
#include "profiler/cupti/collector.h"
#include "profiler/cupti/names.h"
#include "profiler/recorder/recorder.h"

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace bubblescope::profiler {

/// Counts of a run's recorded and lost device records.
struct KernelCounts {
    std::int64_t work = 0;    ///< kernels, copies, memsets and graphs
    std::int64_t calls = 0;   ///< calls to the runtime and driver APIs
    std::int64_t foreign = 0; ///< work and calls from unregistered threads or streams, which belong to no rank
    std::int64_t lost = 0;    ///< records that CUPTI dropped, that have no times, or that are corrupt

    KernelCounts& operator+=(const KernelCounts& other) {
        work += other.work;
        calls += other.calls;
        foreign += other.foreign;
        lost += other.lost;
        return *this;
    }
};

/// Records the device activity of this process's ranks with CUPTI, into the ranks' own traces. The calls of a rank's
/// thread are labelled with a number for the rank, the step and the op. CUPTI attaches this number to everything that
/// the calls start. Work started elsewhere belongs to the rank that registered its stream. Nothing is guessed: work
/// without a rank is only counted.
///
/// At most one recorder per process may be active. A recorder can record several runs, one after another.
class KernelRecorder {
public:
    /// Starts CUPTI; call this before the process uses CUDA. `reason` receives a message for the user if data is
    /// missing, or if nothing is recorded, in which case the result is null.
    [[nodiscard]] static std::shared_ptr<KernelRecorder> start(std::string& reason);

    KernelRecorder(const KernelRecorder&) = delete;
    KernelRecorder& operator=(const KernelRecorder&) = delete;
    ~KernelRecorder();

    /// From now on all records go to `recorder`, until it is closed. Forgets all ranks registered so far. If `only` is
    /// set, all work of the process belongs to that rank.
    void recordInto(Recorder& recorder, std::optional<Rank> only);

    // Call the following functions on a rank's own thread.

    /// Assigns the calling thread to this rank.
    void addRank(Rank rank);
    /// Registers a stream of the rank: a CUstream of the current context, or null, which is ignored.
    void addStream(Rank rank, void* stream, const std::string& purpose);
    /// Everything that the thread starts until endOp() belongs to this op.
    void beginOp(Rank rank, LaunchingOp op);
    void endOp();

    /// Counts since recordInto().
    [[nodiscard]] KernelCounts counts() const;

private:
    /// The rank, step and op that a label number refers to.
    struct Label {
        Rank rank;
        std::optional<LaunchingOp> op;
    };
    struct Stream {
        Rank rank;
        std::string row; ///< "stream: compute"
    };
    struct Waiting {
        cupti::OwnedActivity activity;
        TimeNs since{0};
        std::int64_t collection = 0; ///< number of the collection that delivered it
    };
    using Batches = std::map<Rank, std::vector<DeviceSlice>>;

    /// Ranks, streams and threads registered since the last collection.
    struct Registrations {
        std::vector<std::pair<std::uint64_t, Label>> labels; ///< sorted by label number
        std::vector<std::pair<cupti::StreamId, Stream>> streams;
        std::vector<std::pair<std::uint32_t, Rank>> threads; ///< by the operating system's thread id
    };

    explicit KernelRecorder(std::unique_ptr<cupti::Api> api);
    void stopAtExit() noexcept;
    [[nodiscard]] std::uint64_t number(Label label);
    void collect(bool last);
    void takeRegistered(Registrations registered);
    /// Returns all records that can already be written, sorted by time.
    [[nodiscard]] Batches sortAll(TimeNs now, bool last, KernelCounts& counts);
    /// Returns false if the label of the activity's call may still arrive.
    [[nodiscard]] bool sort(const cupti::OwnedActivity& activity, bool may_wait, Batches& batches,
                            KernelCounts& counts);
    [[nodiscard]] std::string_view rowOf(Rank rank, const cupti::Activity& work);
    void forgetOldLabels();

    cupti::Collector collector_;
    cupti::ActivityNames names_; ///< used only by the collecting thread, like the members below
    std::vector<cupti::OwnedActivity> collected_;
    std::deque<Waiting> waiting_; ///< records waiting for buffers with earlier work, or for the label of their call
    std::map<std::pair<Rank, cupti::StreamId>, std::string> unnamed_;
    std::map<std::uint64_t, Label> labels_;
    std::map<cupti::StreamId, Stream> streams_;
    std::unordered_map<std::uint32_t, Rank> threads_; ///< by the operating system's thread id
    std::optional<Rank> only_;
    std::uint64_t first_of_run_ = 0;
    TimeNs flushed_{0};
    std::int64_t collections_ = 0;

    /// Guards the members below. Ranks wait for this mutex before each op, so it is never held while calling CUPTI or
    /// sorting its records.
    mutable std::mutex mutex_;
    Recorder* into_ = nullptr;
    std::uint64_t numbers_ = 0;
    Registrations registered_;
    KernelCounts counts_;
};

} // namespace bubblescope::profiler
