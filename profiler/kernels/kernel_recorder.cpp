#include "profiler/kernels/kernel_recorder.h"

#include "profiler/events/tick_clock.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <unordered_set>
#include <utility>

namespace bubblescope::profiler {
namespace {

constexpr TimeNs kCollectEvery{std::chrono::milliseconds(100)};
constexpr TimeNs kNumberComesWithin{std::chrono::seconds(2)};
constexpr TimeNs kBuffersComeWithin{std::chrono::milliseconds(300)}; ///< of each other
/// On a busy machine collections may be so far apart that the times above pass without any.
constexpr std::int64_t kBuffersComeWithinCollections = 2;
constexpr std::int64_t kNumberComesWithinCollections = 4;
constexpr std::size_t kMostLabels = 1 << 18;
constexpr std::string_view kCallsRow = "CUDA calls";

std::uint32_t ownThread() {
    return static_cast<std::uint32_t>(::gettid());
}

bool isCall(const cupti::Activity& activity) {
    return activity.kind == cupti::Activity::Kind::Runtime || activity.kind == cupti::Activity::Kind::Driver;
}

/// If a runtime call contains a driver call, only the outer call is kept.
void leaveOutInnerCalls(std::vector<cupti::OwnedActivity>& activities) {
    std::unordered_set<std::uint32_t> outer;
    for (const cupti::OwnedActivity& one : activities) {
        if (one.activity.kind == cupti::Activity::Kind::Runtime) outer.insert(one.activity.correlation);
    }
    std::erase_if(activities, [&](const cupti::OwnedActivity& one) {
        return one.activity.kind == cupti::Activity::Kind::Driver && outer.contains(one.activity.correlation);
    });
}

} // namespace

KernelRecorder::KernelRecorder(std::unique_ptr<cupti::Api> api)
    : collector_(std::move(api)),
      names_([this](bool runtime, std::uint32_t number) { return collector_.api().callName(runtime, number); }) {}

KernelRecorder::~KernelRecorder() {
    collector_.stop();
}

std::shared_ptr<KernelRecorder> KernelRecorder::start(std::string& reason) {
    static std::weak_ptr<KernelRecorder> current;
    std::unique_ptr<cupti::Api> api = cupti::loadCupti(reason);
    if (api == nullptr) {
        reason = "kernels are not recorded: " + reason;
        return nullptr;
    }
    const std::shared_ptr<KernelRecorder> made(new KernelRecorder(std::move(api)));
    if (!made->collector_.start(cupti::Scope::Work, reason)) return nullptr;
    current = made;
    // CUPTI registered its destructors for the exit when it was loaded, so functions registered now run before them.
    std::atexit([] {
        if (const std::shared_ptr<KernelRecorder> left = current.lock()) left->stopAtExit();
    });
    return made;
}

/// A program that exits in the middle of a run keeps the device records made so far.
void KernelRecorder::stopAtExit() noexcept {
    try {
        collector_.stop();
        Recorder* into = nullptr;
        {
            const std::lock_guard lock(mutex_);
            into = into_;
        }
        if (into != nullptr) [[maybe_unused]]
            const Status told_nobody = into->close();
    } catch (const std::exception&) {
        // The process is ending, so the error cannot be reported.
    }
}

void KernelRecorder::recordInto(Recorder& recorder, std::optional<Rank> only) {
    collector_.flush();
    collected_.clear();
    perfetto::CaptureCounts lost;
    collector_.collect(collected_, lost); // records left from the previous run are dropped
    waiting_.clear();
    labels_.clear();
    streams_.clear();
    threads_.clear();
    only_ = only;
    {
        const std::lock_guard lock(mutex_);
        into_ = &recorder;
        first_of_run_ = numbers_ + 1;
        registered_ = {};
        counts_ = {};
    }
    recorder.setSource([this](bool last) { collect(last); });
}

std::uint64_t KernelRecorder::number(Label label) {
    const std::lock_guard lock(mutex_);
    registered_.labels.emplace_back(++numbers_, std::move(label));
    return numbers_;
}

void KernelRecorder::addRank(Rank rank) {
    collector_.api().pushExternal(number({rank, std::nullopt}));
    const std::lock_guard lock(mutex_);
    registered_.threads.emplace_back(ownThread(), rank);
}

void KernelRecorder::addStream(Rank rank, void* stream, const std::string& purpose) {
    if (stream == nullptr) return;
    const std::optional<cupti::StreamId> id = collector_.api().streamId(stream);
    if (!id) return;
    const std::lock_guard lock(mutex_);
    registered_.streams.emplace_back(*id, Stream{rank, "stream: " + purpose});
}

void KernelRecorder::beginOp(Rank rank, LaunchingOp op) {
    if (!collector_.isOn()) return; // the process is ending
    collector_.api().pushExternal(number({rank, std::move(op)}));
}

void KernelRecorder::endOp() {
    if (collector_.isOn()) collector_.api().popExternal();
}

KernelCounts KernelRecorder::counts() const {
    const std::lock_guard lock(mutex_);
    return counts_;
}

std::string_view KernelRecorder::rowOf(Rank rank, const cupti::Activity& work) {
    if (!cupti::isWork(work)) return kCallsRow;
    const auto known = streams_.find({work.context, work.stream});
    if (known != streams_.end() && known->second.rank == rank) return known->second.row;
    const auto [place, is_new] = unnamed_.try_emplace({rank, {work.context, work.stream}});
    if (is_new) place->second = "stream: " + std::to_string(work.stream);
    return place->second;
}

void KernelRecorder::takeRegistered(Registrations registered) {
    for (auto& [number, label] : registered.labels)
        labels_.emplace_hint(labels_.end(), number, std::move(label));
    for (const auto& [thread, rank] : registered.threads)
        threads_[thread] = rank;
    for (auto& [id, stream] : registered.streams)
        streams_.try_emplace(id, std::move(stream)); // the address of a name in use must not change
}

bool KernelRecorder::sort(const cupti::OwnedActivity& given, bool may_wait, Batches& batches, KernelCounts& counts) {
    const cupti::Activity& activity = given.activity;
    const std::uint64_t id = given.external != 0 ? given.external : collector_.externalOf(activity.correlation);
    if (id == 0 && may_wait && !only_) return false;
    std::optional<Rank> rank = only_;
    const LaunchingOp* op = nullptr;
    if (const auto label = labels_.find(id); label != labels_.end()) {
        rank = label->second.rank;
        op = label->second.op ? &*label->second.op : nullptr;
    } else if (id != 0 && id < first_of_run_) {
        return true; // it is from the previous run
    } else if (!rank && isCall(activity)) {
        if (const auto thread = threads_.find(activity.thread); thread != threads_.end()) rank = thread->second;
    } else if (!rank) {
        if (const auto stream = streams_.find({activity.context, activity.stream}); stream != streams_.end())
            rank = stream->second.rank;
    }
    if (!rank) {
        ++counts.foreign;
        return true;
    }
    ++(isCall(activity) ? counts.calls : counts.work);
    batches[*rank].push_back(
        {activity, cupti::categoryOf(activity), names_.of(given), rowOf(*rank, activity), cupti::isWork(activity), op});
    return true;
}

void KernelRecorder::collect(bool last) {
    const TimeNs now = readSystemClock(CLOCK_MONOTONIC);
    if (!last && now < flushed_ + kCollectEvery) return;
    flushed_ = now;
    collector_.flush(last);
    collected_.clear();
    perfetto::CaptureCounts lost;
    collector_.collect(collected_, lost);
    ++collections_;
    // Ranks take the lock before each op, so it is held only while copying their registrations, after the records of
    // the work that they started.
    Recorder* into = nullptr;
    Registrations registered;
    {
        const std::lock_guard lock(mutex_);
        into = last ? std::exchange(into_, nullptr) : into_;
        std::swap(registered, registered_);
    }
    takeRegistered(std::move(registered));
    KernelCounts counts;
    counts.lost = lost.lost_in_cupti + lost.lost_buffers + lost.damaged;
    const Batches batches = sortAll(now, last, counts);
    if (into != nullptr) {
        for (const auto& [rank, slices] : batches)
            into->addSlices(rank, slices);
    }
    forgetOldLabels();
    const std::lock_guard lock(mutex_);
    counts_ += counts;
}

KernelRecorder::Batches KernelRecorder::sortAll(TimeNs now, bool last, KernelCounts& counts) {
    leaveOutInnerCalls(collected_);
    for (cupti::OwnedActivity& one : collected_) {
        if (!cupti::isWork(one.activity) && !isCall(one.activity)) continue;
        if (one.activity.isUntimed())
            ++counts.lost;
        else
            waiting_.push_back({std::move(one), now, collections_});
    }
    Batches batches;
    std::deque<Waiting> still;
    for (Waiting& one : waiting_) {
        const auto over = [&](TimeNs time, std::int64_t collections) {
            return last || (now >= one.since + time && collections_ >= one.collection + collections);
        };
        const bool in_order = over(kBuffersComeWithin, kBuffersComeWithinCollections);
        const bool may_wait = !over(kNumberComesWithin, kNumberComesWithinCollections);
        if (!in_order || !sort(one.activity, may_wait, batches, counts)) still.push_back(std::move(one));
    }
    waiting_ = std::move(still);
    for (auto& [rank, slices] : batches) {
        std::ranges::stable_sort(slices, {},
                                 [](const DeviceSlice& slice) { return std::pair(slice.start, slice.end); });
    }
    return batches;
}

void KernelRecorder::forgetOldLabels() {
    for (auto label = labels_.begin(); label != labels_.end() && labels_.size() > kMostLabels;)
        label = label->second.op ? labels_.erase(label) : std::next(label);
}

} // namespace bubblescope::profiler
