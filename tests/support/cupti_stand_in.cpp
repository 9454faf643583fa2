// A stand-in for libcupti.so: the functions that are used of it, with CUPTI's records as they lie in memory. A test
// says what an emulated device ran. It is as strict as CUPTI: one subscriber, no clock once a kind is enabled, and no
// call after its destructors.

#include "tests/support/cupti_stand_in.h"

#include "tests/support/cupti_layout.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#define STAND_IN extern "C" __attribute__((visibility("default")))

namespace bubblescope::test::cupti {
namespace {

using RequestBuffer = void (*)(std::uint8_t** buffer, std::size_t* size, std::size_t* records);
using CompleteBuffer = void (*)(void*, std::uint32_t, std::uint8_t* buffer, std::size_t size, std::size_t valid);
using Clock = std::uint64_t (*)();

struct Buffer {
    std::uint8_t* bytes = nullptr;
    std::size_t size = 0;
    std::size_t used = 0;
    std::size_t records = 0;
};

constexpr std::uint32_t kContext = 1; ///< of streams that nobody has asked for

thread_local std::map<std::uint32_t, std::vector<std::uint64_t>> pushed;

std::uint64_t realtime() {
    timespec time{};
    ::clock_gettime(CLOCK_REALTIME, &time);
    return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000U + static_cast<std::uint64_t>(time.tv_nsec);
}

std::size_t sizeOf(std::uint32_t kind) {
    switch (kind) {
    case kConcurrentKernel: return sizeof(KernelRecord);
    case kMemcpy: return sizeof(CopyRecord);
    case kMemset: return sizeof(SetRecord);
    case kRuntime: return sizeof(CallRecord);
    case kExternalCorrelation: return sizeof(ExternalRecord);
    case kMemory2: return sizeof(MemoryRecord);
    default: return 0;
    }
}

class StandIn {
public:
    ~StandIn() { ended_ = true; }

    /// Threads of a job may go on while the process ends.
    [[nodiscard]] static bool ended() { return ended_; }
    static StandIn& get() {
        if (ended_) {
            std::fputs("CUPTI is called after its end\n", stderr);
            std::abort();
        }
        return one_;
    }

    int subscribe(void** subscriber, const char* name, char* old_name, std::size_t old_size) {
        const std::lock_guard lock(mutex_);
        if (refuses_ != kSuccess) return refuses_;
        if (held_) {
            if (old_name != nullptr && old_size > 0) std::snprintf(old_name, old_size, "%s", holder_.c_str());
            return kMultipleSubscribers;
        }
        held_ = true;
        holder_ = std::string("CUPTI for ") + (name == nullptr ? "nobody" : name);
        *subscriber = this;
        return kSuccess;
    }
    int unsubscribe() {
        const std::lock_guard lock(mutex_);
        held_ = false;
        return kSuccess;
    }
    int take(RequestBuffer request, CompleteBuffer complete) {
        const std::lock_guard lock(mutex_);
        request_ = request;
        complete_ = complete;
        return kSuccess;
    }
    int useClock(Clock clock) {
        const std::lock_guard lock(mutex_);
        if (!enabled_.empty()) return kInvalid;
        clock_ = clock;
        return kSuccess;
    }
    int enable(std::uint32_t kind, bool on) {
        const std::lock_guard lock(mutex_);
        on ? void(enabled_.insert(kind)) : void(enabled_.erase(kind));
        if (kind == kRuntime) left_out_.clear(); // a kind includes all its calls
        return kSuccess;
    }
    int enableCall(std::uint32_t number, bool on) {
        const std::lock_guard lock(mutex_);
        on ? void(left_out_.erase(number)) : void(left_out_.insert(number));
        return kSuccess;
    }
    std::uint32_t streamNumber(std::uint32_t context, void* stream) {
        const std::lock_guard lock(mutex_);
        const auto known = streams_.find(stream);
        if (known == streams_.end() || known->second.context != context)
            streams_.insert_or_assign(stream, Place{context, kFirstStream + streams_in_[context]++});
        return streams_.at(stream).number;
    }
    std::size_t dropped() {
        const std::lock_guard lock(mutex_);
        return std::exchange(dropped_, 0);
    }
    void refuse(int code) {
        const std::lock_guard lock(mutex_);
        refuses_ = code;
    }
    void deliver(const Delivery& how) {
        const std::lock_guard lock(mutex_);
        delivery_ = how;
    }

    std::uint32_t call(std::uint32_t number) {
        const std::lock_guard lock(mutex_);
        const std::uint32_t correlation = ++correlations_;
        if (!enabled_.contains(kRuntime) || left_out_.contains(number)) return correlation;
        for (const auto& [kind, ids] : pushed) {
            if (ids.empty() || !enabled_.contains(kExternalCorrelation)) continue;
            append(ExternalRecord{kExternalCorrelation, kind, ids.back(), correlation, 0});
        }
        const std::uint64_t now = clock_();
        append(CallRecord{kRuntime, number, now, clock_(), static_cast<std::uint32_t>(::getpid()),
                          static_cast<std::uint32_t>(::gettid()), correlation, 0});
        return correlation;
    }

    void idle(std::int64_t device_time) {
        const std::lock_guard lock(mutex_);
        offset_ = static_cast<std::int64_t>(clock_()) - device_time;
    }

    void ran(const Ran& what) {
        const std::lock_guard lock(mutex_);
        if (!enabled_.contains(what.kind)) return;
        if (!offset_) offset_ = static_cast<std::int64_t>(clock_()) - what.end;
        const auto begin = static_cast<std::uint64_t>(what.begin + *offset_);
        const auto end = static_cast<std::uint64_t>(what.end + *offset_);
        const auto [context, stream] = placeOf(what.stream);
        if (what.kind == kConcurrentKernel) {
            KernelRecord kernel{};
            kernel.kind = what.kind;
            kernel.start = begin;
            kernel.end = kernel.completed = end;
            kernel.context = context;
            kernel.stream = stream;
            kernel.grid[0] = kernel.grid[1] = kernel.grid[2] = 1;
            kernel.block[0] = 32;
            kernel.block[1] = kernel.block[2] = 1;
            kernel.correlation = what.correlation;
            kernel.name = what.name;
            kernel.graph = what.graph;
            return append(kernel);
        }
        if (what.kind == kMemset)
            return append(SetRecord{what.kind, 0, what.bytes, begin, end, 0, context, stream, what.correlation, {}});
        constexpr std::uint8_t kWithinDevice = 8;
        append(
            CopyRecord{what.kind, kWithinDevice, {}, what.bytes, begin, end, 0, context, stream, what.correlation, {}});
    }

    void changed(const MemoryChange& change) {
        const std::lock_guard lock(mutex_);
        if (!enabled_.contains(kMemory2)) return;
        MemoryRecord record{};
        record.kind = kMemory2;
        record.operation = change.is_release ? kRelease : kAllocation;
        record.memory_kind = kDeviceMemory;
        record.correlation = ++correlations_;
        record.address = change.address;
        record.bytes = change.bytes;
        record.time = clock_();
        record.process = static_cast<std::uint32_t>(::getpid());
        record.device = change.device;
        record.context = kContext;
        append(record);
    }

    void flush(bool forced) {
        std::vector<Buffer> out;
        {
            const std::lock_guard lock(mutex_);
            finish();
            std::swap(out, full_);
            const std::vector<Buffer> late = std::exchange(late_, {});
            if (delivery_.out_of_order) {
                if (!forced && out.size() > 1) {
                    late_.push_back(out.front());
                    out.erase(out.begin());
                }
                std::ranges::reverse(out);
            }
            out.insert(out.end(), late.begin(), late.end());
        }
        for (const Buffer& buffer : out)
            complete_(nullptr, 0, buffer.bytes, buffer.size, buffer.used);
    }

private:
    /// Each context has its own numbers.
    struct Place {
        std::uint32_t context;
        std::uint32_t number;
    };
    static constexpr std::uint32_t kFirstStream = 13;
    Place placeOf(void* stream) {
        const auto known = streams_.find(stream);
        if (known != streams_.end()) return known->second;
        return streams_.emplace(stream, Place{kContext, kFirstStream + streams_in_[kContext]++}).first->second;
    }
    void finish() {
        if (buffer_.bytes == nullptr) return;
        if (delivery_.lost_of > 0 && ++finished_ % delivery_.lost_of == 0) {
            dropped_ += buffer_.records;
            buffer_.used = 0;
        }
        full_.push_back(std::exchange(buffer_, {}));
    }
    template <class Record>
    void append(const Record& record) {
        if (buffer_.bytes != nullptr && buffer_.used + sizeof record > buffer_.size) finish();
        if (buffer_.bytes == nullptr) {
            std::size_t records = 0;
            request_(&buffer_.bytes, &buffer_.size, &records);
        }
        if (buffer_.bytes == nullptr || buffer_.size < sizeof record) {
            ++dropped_;
            return;
        }
        std::memcpy(buffer_.bytes + buffer_.used, &record, sizeof record);
        buffer_.used += sizeof record;
        if (++buffer_.records == delivery_.records) finish();
    }

    static inline bool ended_ = false;
    static StandIn one_;

    std::mutex mutex_;
    int refuses_ = kSuccess;
    bool held_ = false;
    std::string holder_;
    RequestBuffer request_ = nullptr;
    CompleteBuffer complete_ = nullptr;
    Clock clock_ = realtime;
    std::set<std::uint32_t> enabled_;
    std::set<std::uint32_t> left_out_; ///< calls of the runtime
    Delivery delivery_;
    Buffer buffer_;
    std::vector<Buffer> full_;
    std::vector<Buffer> late_; ///< withheld from the last flush
    std::size_t finished_ = 0;
    std::size_t dropped_ = 0;
    std::uint32_t correlations_ = 0;
    std::optional<std::int64_t> offset_; ///< the host's clock less the device's, once anything tells
    std::map<void*, Place> streams_;
    std::map<std::uint32_t, std::uint32_t> streams_in_; ///< number of streams by context
};

StandIn StandIn::one_;

} // namespace
} // namespace bubblescope::test::cupti

using bubblescope::test::cupti::StandIn;
namespace standin = bubblescope::test::cupti;

STAND_IN int cuptiGetVersion(std::uint32_t* version) {
    *version = standin::kVersion;
    return standin::kSuccess;
}
STAND_IN int cuptiSubscribe(void** subscriber, void*, void*) {
    return StandIn::get().subscribe(subscriber, nullptr, nullptr, 0);
}
STAND_IN int cuptiSubscribe_v2(void** subscriber, void*, void*, standin::SubscriberParameters* with) {
    return StandIn::get().subscribe(subscriber, with->name, with->old_name, with->old_size);
}
STAND_IN int cuptiUnsubscribe(void*) {
    return StandIn::get().unsubscribe();
}
STAND_IN int cuptiActivityRegisterCallbacks(standin::RequestBuffer request, standin::CompleteBuffer complete) {
    return StandIn::get().take(request, complete);
}
STAND_IN int cuptiActivityRegisterTimestampCallback(standin::Clock clock) {
    return StandIn::get().useClock(clock);
}
STAND_IN int cuptiActivityEnable(int kind) {
    return StandIn::get().enable(static_cast<std::uint32_t>(kind), true);
}
STAND_IN int cuptiActivityDisable(int kind) {
    return StandIn::get().enable(static_cast<std::uint32_t>(kind), false);
}
STAND_IN int cuptiActivityEnableRuntimeApi(std::uint32_t number, std::uint8_t on) {
    return StandIn::get().enableCall(number, on != 0);
}
STAND_IN int cuptiActivityFlushAll(std::uint32_t flag) {
    StandIn::get().flush(flag != 0);
    return standin::kSuccess;
}
STAND_IN int cuptiActivityGetNextRecord(std::uint8_t* buffer, std::size_t valid, void** record) {
    auto* at = static_cast<std::uint8_t*>(*record);
    std::uint32_t kind = 0;
    if (at != nullptr) std::memcpy(&kind, at, sizeof kind);
    at = at == nullptr ? buffer : at + standin::sizeOf(kind);
    if (at >= buffer + valid) return standin::kMaxLimitReached;
    *record = at;
    return standin::kSuccess;
}
STAND_IN int cuptiActivityGetNumDroppedRecords(void*, std::uint32_t, std::size_t* count) {
    *count = StandIn::get().dropped();
    return standin::kSuccess;
}
STAND_IN int cuptiActivityPushExternalCorrelationId(int kind, std::uint64_t id) {
    standin::pushed[static_cast<std::uint32_t>(kind)].push_back(id);
    return standin::kSuccess;
}
STAND_IN int cuptiActivityPopExternalCorrelationId(int kind, std::uint64_t* last) {
    std::vector<std::uint64_t>& ids = standin::pushed[static_cast<std::uint32_t>(kind)];
    if (ids.empty()) return standin::kQueueEmpty;
    if (last != nullptr) *last = ids.back();
    ids.pop_back();
    return standin::kSuccess;
}
STAND_IN int cuptiGetStreamIdEx(void* context, void* stream, std::uint8_t, std::uint32_t* number) {
    *number = StandIn::get().streamNumber(*static_cast<const std::uint32_t*>(context), stream);
    return standin::kSuccess;
}
STAND_IN int cuptiGetContextId(void* context, std::uint32_t* id) {
    *id = *static_cast<const std::uint32_t*>(context);
    return standin::kSuccess;
}
/// The driver's function: each thread has a context of its own, as where ranks of one process have a GPU each.
STAND_IN int cuCtxGetCurrent(void** context) {
    static std::atomic<std::uint32_t> last{standin::kContext};
    thread_local std::uint32_t own = ++last;
    *context = &own;
    return standin::kSuccess;
}
STAND_IN int cuptiGetCallbackName(int domain, std::uint32_t number, const char** name) {
    constexpr int kRuntimeDomain = 2;
    if (domain != kRuntimeDomain) return standin::kInvalid;
    switch (number) {
    case standin::kGetLastError: *name = "cudaGetLastError_v3020"; break;
    case standin::kLaunchKernel: *name = "cudaLaunchKernel_v7000"; break;
    case standin::kMemcpyAsync: *name = "cudaMemcpyAsync_v3020"; break;
    case standin::kMemsetAsync: *name = "cudaMemsetAsync_v3020"; break;
    case standin::kGraphLaunch: *name = "cudaGraphLaunch_v10000"; break;
    default: return standin::kInvalid;
    }
    return standin::kSuccess;
}
STAND_IN int cuptiGetResultString(int, const char** text) {
    *text = "the stand-in refuses";
    return standin::kSuccess;
}
STAND_IN int cuptiSetThreadIdType(int) {
    return standin::kSuccess;
}

STAND_IN void standInDeliver(const standin::Delivery* how) {
    StandIn::get().deliver(*how);
}
STAND_IN void standInRefuse(int code) {
    StandIn::get().refuse(code);
}
STAND_IN std::uint32_t standInCall(std::uint32_t number) {
    return StandIn::ended() ? 0 : StandIn::get().call(number);
}
STAND_IN void standInRan(const standin::Ran* what) {
    if (!StandIn::ended()) StandIn::get().ran(*what);
}
STAND_IN void standInMemory(const standin::MemoryChange* change) {
    if (!StandIn::ended()) StandIn::get().changed(*change);
}
STAND_IN void standInIdle(std::int64_t device_time) {
    if (!StandIn::ended()) StandIn::get().idle(device_time);
}
