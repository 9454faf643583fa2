#include "profiler/cupti/collector.h"

#include <new>
#include <span>
#include <utility>

namespace bubblescope::profiler::cupti {
namespace {

std::atomic<Collector*> the_collector{nullptr};

// Kernels, copies and calls relate the device's work to the host's; the other kinds explain waits. The concurrent kind
// of kernel records is used: the older kind would serialise kernels.
constexpr std::array kLaunches{kind::kConcurrentKernel, kind::kRuntime, kind::kDriver, kind::kDevice};
constexpr std::array kRest{kind::kMemcpy,          kind::kMemcpyPeer, kind::kMemset,
                           kind::kSynchronization, kind::kOverhead,   kind::kExternalCorrelation};

constexpr std::size_t kMaxExternal = 1 << 20;

} // namespace

Collector::Collector(std::unique_ptr<Api> api, std::size_t buffer_bytes)
    : api_(std::move(api)), buffer_bytes_(buffer_bytes) {}

Collector::~Collector() {
    stop();
    Collector* self = this;
    the_collector.compare_exchange_strong(self, nullptr);
}

bool Collector::start(bool only_launches, std::string& notice) {
    Collector* nobody = nullptr;
    if (!the_collector.compare_exchange_strong(nobody, this)) {
        notice = "kernels are recorded by this library already";
        return false;
    }
    version_ = api_->version();
    std::string reason;
    switch (api_->subscribe(reason)) {
    case Api::Subscription::Ours: break;
    case Api::Subscription::Busy:
        notice = "kernels are not recorded: CUPTI is held by " +
                 (reason.empty() ? "another tool" : "'" + reason + "'") +
                 ", and only one may; ranges and NCCL's operations are recorded all the same";
        return false;
    case Api::Subscription::Failed: notice = "kernels are not recorded: CUPTI does not start: " + reason; return false;
    }
    if (!api_->registerCallbacks(request, complete)) {
        api_->unsubscribe();
        notice = "kernels are not recorded: CUPTI takes no buffers";
        return false;
    }
    on_ = true;
    const auto enable = [&](std::uint32_t kind) {
        if (api_->enable(kind))
            enabled_.push_back(kind);
        else
            notice += (notice.empty() ? "CUPTI does not record its kinds " : ", ") + std::to_string(kind);
    };
    for (const std::uint32_t kind : kLaunches)
        enable(kind);
    for (const std::uint32_t kind : kRest) {
        if (!only_launches) enable(kind);
    }
    return true;
}

void Collector::stop() {
    if (!std::exchange(on_, false)) return;
    for (const std::uint32_t kind : enabled_)
        api_->disable(kind);
    api_->flush(true);
    api_->unsubscribe();
}

void Collector::flush() {
    if (on_) api_->flush(false);
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
            if (external_.size() >= kMaxExternal) external_.clear();
            external_[activity.correlation] = activity.id;
            continue;
        }
        std::string name = activity.name == nullptr ? "" : activity.name;
        activity.name = nullptr;
        out.push_back({activity, std::move(name)});
    }
}

void Collector::collect(std::vector<OwnedActivity>& out, perfetto::CaptureCounts& counts) {
    std::vector<Completed> completed;
    {
        const std::lock_guard lock(mutex_);
        completed.swap(completed_);
    }
    const std::size_t first = out.size();
    for (const Completed& buffer : completed) {
        decode(buffer, out, counts);
        giveBack(buffer.bytes);
    }
    for (std::size_t i = first; i < out.size() && !external_.empty(); ++i) {
        const auto id = external_.find(out[i].activity.correlation);
        if (id != external_.end()) out[i].external = id->second;
    }
    counts.lost_buffers += refused_.exchange(0, std::memory_order_relaxed);
    if (on_) counts.lost_in_cupti += static_cast<std::int64_t>(api_->dropped());
}

} // namespace bubblescope::profiler::cupti
