#include "runtime/backend/cpu/cpu_device.h"

#include "runtime/backend/cpu/forms.h"
#include "runtime/backend/cpu/product.h"

#include <chrono>
#include <cstring>
#include <new>
#include <thread>

namespace bubblescope::runtime {
namespace {

constexpr std::align_val_t kAlignment{64};

std::uint64_t nowNs() {
    return static_cast<std::uint64_t>(
        std::chrono::duration_cast<TimeNs>(std::chrono::steady_clock::now().time_since_epoch()).count());
}

/// The time at which it was recorded.
struct CpuEvent : Accelerator::EventState {
    std::uint64_t at = 0;
};

class CpuDevice final : public Accelerator {
public:
    [[nodiscard]] bool sharesHostMemory() const override { return true; }
    void bindThread() override {}

    [[nodiscard]] void* allocate(std::int64_t bytes) override {
        return ::operator new(static_cast<std::size_t>(bytes), kAlignment);
    }
    void release(void* memory) noexcept override { ::operator delete(memory, kAlignment); }

    [[nodiscard]] Stream makeStream(Priority /*priority*/) override { return new StreamState; }
    void destroy(Stream stream) noexcept override { delete stream; }
    void finish(Stream /*stream*/) override {}

    [[nodiscard]] Event makeEvent(bool /*timed*/) override { return new CpuEvent; }
    void destroy(Event event) noexcept override { delete static_cast<CpuEvent*>(event); }
    void record(Event event, Stream /*stream*/) override { static_cast<CpuEvent*>(event)->at = nowNs(); }
    void wait(Stream /*stream*/, Event /*event*/) override {}
    void finish(Event /*event*/) override {}
    [[nodiscard]] bool reached(Event /*event*/) override { return true; }
    [[nodiscard]] TimeNs elapsed(Event from, Event to) override {
        return TimeNs{static_cast<std::int64_t>(static_cast<CpuEvent*>(to)->at - static_cast<CpuEvent*>(from)->at)};
    }

    void copy(void* to, const void* from, std::int64_t bytes, Stream /*stream*/) override {
        if (bytes > 0) std::memmove(to, from, static_cast<std::size_t>(bytes));
    }
    void zero(void* memory, std::int64_t bytes, Stream /*stream*/) override {
        if (bytes > 0) std::memset(memory, 0, static_cast<std::size_t>(bytes));
    }
    void copyIn(void* to, const void* host, std::int64_t bytes, Stream stream) override {
        copy(to, host, bytes, stream);
    }
    void copyOut(void* host, const void* from, std::int64_t bytes, Stream stream) override {
        copy(host, from, bytes, stream);
    }

    void stamp(std::uint64_t* at, Stream /*stream*/) override { *at = nowNs(); }
    void holdUntil(const std::uint64_t* since, TimeNs length, Stream /*stream*/) override {
        const TimeNs end = TimeNs{static_cast<std::int64_t>(*since)} + length;
        std::this_thread::sleep_until(std::chrono::steady_clock::time_point(end));
    }

    void beginBatch(std::uint64_t /*key*/, Stream /*stream*/) override {}
    void endBatch(Stream /*stream*/) override {}

    void multiply(const Gemm& gemm, Stream /*stream*/) override { cpu::multiply(gemm); }
#define BUBBLESCOPE_LAUNCH(Kernel)                                  \
    void launch(const Kernel& kernel, Stream /*stream*/) override { \
        cpu::run(kernel, Kernel::Form{});                           \
    }
    BUBBLESCOPE_KERNELS(BUBBLESCOPE_LAUNCH)
#undef BUBBLESCOPE_LAUNCH
};

} // namespace

const std::shared_ptr<Accelerator>& cpuDevice() {
    static const std::shared_ptr<Accelerator> device = std::make_shared<CpuDevice>();
    return device;
}

} // namespace bubblescope::runtime
