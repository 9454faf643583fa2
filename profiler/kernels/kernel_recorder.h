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

/// The records of a run's devices, and counts of lost ones.
struct KernelCounts {
    std::int64_t work = 0;    ///< kernels, copies, sets and graphs
    std::int64_t calls = 0;   ///< of the runtime and the driver
    std::int64_t foreign = 0; ///< work and calls of no rank: of unregistered threads and streams
    std::int64_t lost = 0;    ///< records that CUPTI dropped, that had no times or were damaged

    KernelCounts& operator+=(const KernelCounts& other) {
        work += other.work;
        calls += other.calls;
        foreign += other.foreign;
        lost += other.lost;
        return *this;
    }
};

/// Records with CUPTI what devices do for the ranks of this process, into the ranks' own traces. The calls of a rank's
/// thread get a number for the rank, the step and the op; CUPTI attaches it to everything that they start. Work started
/// elsewhere belongs to the rank that registered its stream. Nothing is guessed: other work is only counted.
///
/// At most one per process may be on. Outlives the runs that it records, one after the other.
class KernelRecorder {
public:
    /// Starts CUPTI; call it before the process uses CUDA. `reason` receives a message for the user: why nothing is
    /// recorded (then returns null), or what is missing.
    [[nodiscard]] static std::shared_ptr<KernelRecorder> start(std::string& reason);

    KernelRecorder(const KernelRecorder&) = delete;
    KernelRecorder& operator=(const KernelRecorder&) = delete;
    ~KernelRecorder();

    /// From now on everything goes to `recorder`, until that is closed; forgets all ranks registered so far. If `only`
    /// is set, all work of the process belongs to that rank.
    void recordInto(Recorder& recorder, std::optional<Rank> only);

    // Call these from a rank's thread.

    /// The calling thread is this rank's from now on.
    void addRank(Rank rank);
    /// Registers a stream of the rank: a CUstream of the current context, or null, which is ignored.
    void addStream(Rank rank, void* stream, const std::string& purpose);
    /// Everything that the thread starts until endOp() belongs to this op.
    void beginOp(Rank rank, LaunchingOp op);
    void endOp();

    /// Since recordInto().
    [[nodiscard]] KernelCounts counts() const;

private:
    /// The object to which a number refers.
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
    };
    using Batches = std::map<Rank, std::vector<DeviceSlice>>;

    /// Registrations of ranks since the last collection.
    struct Registrations {
        std::vector<std::pair<std::uint64_t, Label>> labels;   ///< by number, ascending
        std::vector<std::pair<std::uint32_t, Stream>> streams; ///< by CUPTI's number
        std::vector<std::pair<std::uint32_t, Rank>> threads;   ///< by the system's id
    };

    explicit KernelRecorder(std::unique_ptr<cupti::Api> api);
    void stopAtExit() noexcept;
    [[nodiscard]] std::uint64_t number(Label label);
    void collect(bool last);
    void takeRegistered(Registrations registered);
    /// Everything that can be written already, sorted by time.
    [[nodiscard]] Batches sortAll(TimeNs now, bool last, KernelCounts& counts);
    /// False if the number of its call may still come.
    [[nodiscard]] bool sort(const cupti::OwnedActivity& activity, bool may_wait, Batches& batches,
                            KernelCounts& counts);
    [[nodiscard]] std::string_view rowOf(Rank rank, const cupti::Activity& work);
    void forgetOldLabels();

    cupti::Collector collector_;
    cupti::ActivityNames names_; ///< for the collecting thread, as are these:
    std::vector<cupti::OwnedActivity> collected_;
    std::deque<Waiting> waiting_; ///< for buffers with earlier work and for the number of their call
    std::map<std::pair<Rank, std::uint32_t>, std::string> unnamed_;
    std::map<std::uint64_t, Label> labels_;
    std::unordered_map<std::uint32_t, Stream> streams_; ///< by CUPTI's number
    std::unordered_map<std::uint32_t, Rank> threads_;   ///< by the system's id
    std::optional<Rank> only_;
    std::uint64_t first_of_run_ = 0;
    TimeNs flushed_{0};

    /// Guards the members below. Ranks wait for it before each op, so it is never held while calling CUPTI or sorting
    /// its records.
    mutable std::mutex mutex_;
    Recorder* into_ = nullptr;
    std::uint64_t numbers_ = 0;
    Registrations registered_;
    KernelCounts counts_;
};

} // namespace bubblescope::profiler
