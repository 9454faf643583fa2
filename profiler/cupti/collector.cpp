#include "profiler/cupti/collector.h"

#include <new>
#include <span>
#include <utility>

namespace bubblescope::profiler::cupti {
namespace {

std::atomic<Collector*> the_collector{nullptr};

// Kernels, copies and calls relate GPU work to the host; the other kinds explain waits. Uses the concurrent kind of
// kernel records, because the older kind would serialise kernels.
constexpr std::array kLaunches{kind::kConcurrentKernel, kind::kRuntime, kind::kDriver, kind::kDevice};
constexpr std::array kOtherWork{kind::kMemcpy, kind::kMemcpyPeer, kind::kMemset, kind::kExternalCorrelation};
constexpr std::array kWaits{kind::kSynchronization, kind::kOverhead};

constexpr std::size_t kMaxExternal = 1 << 19;

std::uint64_t monotonicNow() {
    return static_cast<std::uint64_t>(readSystemClock(CLOCK_MONOTONIC).count());
}

} // namespace

Collector::Collector(std::unique_ptr<Api> api, std::size_t buffer_bytes)
    : api_(std::move(api)), buffer_bytes_(buffer_bytes) {}

Collector::~Collector() {
    stop();
    Collector* self = this;
    the_collector.compare_exchange_strong(self, nullptr);
}

bool Collector::start(Scope scope, std::string& notice, bool memory) {
    Collector* nobody = nullptr;
    if (!the_collector.compare_exchange_strong(nobody, this)) {
        notice = "this library already records kernels";
        return false;
    }
    scope_ = scope;
    std::string reason;
    switch (api_->subscribe(reason)) {
    case Api::Subscription::Ours: break;
    case Api::Subscription::Busy:
        if (reason.ends_with(kOurName)) {
            notice = "kernels are not recorded: this Bubblescope program records them into its own trace";
            return false;
        }
        notice = "kernels are not recorded: CUPTI is in use by " +
                 (reason.empty() ? "another tool" : "'" + reason + "'") +
                 ", and only one tool can use it; ranges and NCCL's operations are still recorded";
        return false;
    case Api::Subscription::Failed: notice = "kernels are not recorded: cannot start CUPTI: " + reason; return false;
    }
    version_ = api_->version();
    if (!api_->registerCallbacks(request, complete)) {
        api_->unsubscribe();
        notice = "kernels are not recorded: CUPTI rejected the buffer callbacks";
        return false;
    }
    on_ = true;
    monotonic_ = api_->useClock(monotonicNow);
    clocks_.add(readAllClocks(TickClock()));
    const auto enable = [&](std::span<const std::uint32_t> kinds) {
        for (const std::uint32_t kind : kinds) {
            if (api_->enable(kind))
                enabled_.push_back(kind);
            else
                notice += (notice.empty() ? "CUPTI does not support the activity kinds " : ", ") + std::to_string(kind);
        }
    };
    enable(kLaunches);
    if (scope != Scope::Launches) enable(kOtherWork);
    if (scope == Scope::Everything) enable(kWaits);
    if (!memory) return true;
    if (api_->enable(kind::kMemory))
        enabled_.push_back(kind::kMemory);
    else
        notice += std::string(notice.empty() ? "" : "; ") +
                  "memory is not recorded: CUPTI rejected it (CUDA 11.2 or later is required)";
    return true;
}

void Collector::record(bool on) {
    const std::lock_guard lock(control_mutex_);
    if (!on_ || on == recording_) return;
    recording_ = on;
    for (const std::uint32_t kind : enabled_) {
        if (kind == kind::kMemory || kind == kind::kDevice) continue; // devices are reported when their kind is enabled
        if (!on)
            api_->disable(kind);
        else
            (void)api_->enable(kind); // it was enabled before
    }
}

void Collector::stop() {
    const std::lock_guard lock(control_mutex_);
    if (!on_.exchange(false)) return;
    for (const std::uint32_t kind : enabled_)
        api_->disable(kind);
    api_->flush(true);
    api_->unsubscribe();
}

void Collector::flush(bool forced) {
    const std::lock_guard lock(control_mutex_);
    if (on_) api_->flush(forced);
}

std::uint8_t* Collector::take() noexcept {
    for (Buffer& buffer : buffers_) {
        State expected = State::Free;
        if (buffer.state.compare_exchange_strong(expected, State::Used)) return buffer.bytes.get();
        if (expected != State::Unmade || !buffer.state.compare_exchange_strong(expected, State::Used)) continue;
        buffer.bytes.reset(new (std::nothrow) std::uint8_t[buffer_bytes_]);
        if (buffer.bytes != nullptr) return buffer.bytes.get();
        buffer.state.store(State::Unmade);
        break;
    }
    refused_.fetch_add(1, std::memory_order_relaxed);
    return nullptr;
}

void Collector::giveBack(const std::uint8_t* bytes) noexcept {
    for (Buffer& buffer : buffers_) {
        if (buffer.state.load() == State::Used && buffer.bytes.get() == bytes) return buffer.state.store(State::Free);
    }
}

void Collector::request(std::uint8_t** buffer, std::size_t* size, std::size_t* records) {
    Collector* const self = the_collector.load();
    *buffer = self == nullptr ? nullptr : self->take();
    *size = *buffer == nullptr ? 0 : self->buffer_bytes_;
    *records = 0;
}

void Collector::complete(void*, std::uint32_t, std::uint8_t* buffer, std::size_t, std::size_t valid) {
    Collector* const self = the_collector.load();
    if (self == nullptr || buffer == nullptr) return;
    try {
        const std::lock_guard lock(self->mutex_);
        self->completed_.push_back({buffer, valid});
    } catch (const std::bad_alloc&) {
        self->refused_.fetch_add(1, std::memory_order_relaxed);
        self->giveBack(buffer);
    }
}

/// A call can have ids of several kinds. Our ranks are identified only by our own ids, because ids of other tools could
/// have the same values.
void Collector::keepExternal(const Activity& external) {
    if (external_[0].size() >= kMaxExternal) external_[1] = std::exchange(external_[0], {});
    if (external.what == kCustomIds)
        external_[0][external.correlation] = external.id;
    else if (scope_ == Scope::Everything)
        external_[0].try_emplace(external.correlation, external.id);
}

void Collector::decode(const Completed& buffer, std::vector<OwnedActivity>& out, perfetto::CaptureCounts& counts) {
    for (std::uint8_t* record = api_->next(buffer.bytes, buffer.valid, nullptr); record != nullptr;
         record = api_->next(buffer.bytes, buffer.valid, record)) {
        const auto offset = static_cast<std::size_t>(record - buffer.bytes);
        const auto bytes = std::as_bytes(std::span(buffer.bytes, buffer.valid)).subspan(offset);
        Activity activity;
        const DecodeStatus status = decodeActivity(bytes, version_, activity);
        if (status == DecodeStatus::Damaged) ++counts.damaged;
        if (status != DecodeStatus::Decoded) continue;
        if (activity.kind == Activity::Kind::External) {
            keepExternal(activity);
            continue;
        }
        putOnOurClock(activity);
        std::string name = activity.name == nullptr ? "" : activity.name;
        activity.name = nullptr;
        out.push_back({activity, std::move(name)});
    }
}

void Collector::putOnOurClock(Activity& activity) const {
    const bool timed = activity.isMoment() || (activity.hasTimes() && !activity.isUntimed());
    if (monotonic_ || !timed) return;
    activity.start = clocks_.fromRealtime(activity.start);
    activity.end = clocks_.fromRealtime(activity.end);
}

std::uint64_t Collector::externalOf(std::uint32_t correlation) const {
    for (const auto& ids : external_) {
        if (const auto id = ids.find(correlation); id != ids.end()) return id->second;
    }
    return 0;
}

void Collector::collect(std::vector<OwnedActivity>& out, perfetto::CaptureCounts& counts) {
    std::vector<Completed> completed;
    {
        const std::lock_guard lock(mutex_);
        completed.swap(completed_);
    }
    if (!monotonic_) clocks_.add(readAllClocks(TickClock()));
    const std::size_t first = out.size();
    for (const Completed& buffer : completed) {
        decode(buffer, out, counts);
        giveBack(buffer.bytes);
    }
    for (std::size_t i = first; i < out.size(); ++i)
        out[i].external = externalOf(out[i].activity.correlation);
    counts.lost_buffers += refused_.exchange(0, std::memory_order_relaxed);
    if (on_) counts.lost_in_cupti += static_cast<std::int64_t>(api_->dropped());
}

} // namespace bubblescope::profiler::cupti
