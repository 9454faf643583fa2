// Ranks that share a device whose processors are divided among them, on an emulated device.

#include "core/families/registry.h"
#include "runtime/backend/backend.h"
#include "runtime/run.h"
#include "tests/gpu/flavors.h"
#include "tests/support/emulated_device.h"
#include "tests/support/reference_run.h"

#include <atomic>
#include <deque>
#include <memory>
#include <utility>
#include <vector>

namespace bubblescope::runtime::test {
namespace {

/// A device that counts the streams of each of its parts. They have its memory, events and code.
class DeviceInParts final : public EmulatedDevice {
public:
    explicit DeviceInParts(bool divisible) : EmulatedDevice(3U), divisible_(divisible) {}

    [[nodiscard]] int processors() const override { return 132; }
    [[nodiscard]] Result<std::vector<std::shared_ptr<Accelerator>>> divide(int parts) override {
        if (!divisible_)
            return runError("the driver does not provide cuGreenCtxCreate", "use a driver for CUDA 12.4 or newer");
        std::vector<std::shared_ptr<Accelerator>> result;
        for (int i = 0; i < parts; ++i)
            result.push_back(std::make_shared<Part>(*this, streams_of_part.emplace_back(0)));
        return result;
    }
    std::deque<std::atomic<int>> streams_of_part;

private:
    class Part final : public Accelerator {
    public:
        Part(EmulatedDevice& whole, std::atomic<int>& streams) : whole_(whole), streams_(streams) {}

        [[nodiscard]] int processors() const override { return 32; }
        void bindThread() override { whole_.bindThread(); }
        [[nodiscard]] void* allocate(std::int64_t bytes) override { return whole_.allocate(bytes); }
        void release(void* memory) noexcept override { whole_.release(memory); }
        using Accelerator::makeStream;
        [[nodiscard]] Stream makeStream(Priority priority) override {
            ++streams_;
            return whole_.makeStream(priority);
        }
        void destroy(Stream stream) noexcept override { whole_.destroy(stream); }
        void finish(Stream stream) override { whole_.finish(stream); }
        [[nodiscard]] Event makeEvent(bool timed) override { return whole_.makeEvent(timed); }
        void destroy(Event event) noexcept override { whole_.destroy(event); }
        void record(Event event, Stream stream) override { whole_.record(event, stream); }
        void wait(Stream stream, Event event) override { whole_.wait(stream, event); }
        void finish(Event event) override { whole_.finish(event); }
        [[nodiscard]] bool reached(Event event) override { return whole_.reached(event); }
        [[nodiscard]] TimeNs elapsed(Event from, Event to) override { return whole_.elapsed(from, to); }
        void copy(void* to, const void* from, std::int64_t bytes, Stream stream) override {
            whole_.copy(to, from, bytes, stream);
        }
        void zero(void* memory, std::int64_t bytes, Stream stream) override { whole_.zero(memory, bytes, stream); }
        void copyIn(void* to, const void* host, std::int64_t bytes, Stream stream) override {
            whole_.copyIn(to, host, bytes, stream);
        }
        void copyOut(void* host, const void* from, std::int64_t bytes, Stream stream) override {
            whole_.copyOut(host, from, bytes, stream);
        }
        void stamp(std::uint64_t* at, Stream stream) override { whole_.stamp(at, stream); }
        void holdUntil(const std::uint64_t* since, TimeNs length, Stream stream) override {
            whole_.holdUntil(since, length, stream);
        }
        void beginBatch(std::uint64_t key, Stream stream) override { whole_.beginBatch(key, stream); }
        void endBatch(Stream stream) override { whole_.endBatch(stream); }
        void multiply(const Gemm& gemm, Stream stream) override { whole_.multiply(gemm, stream); }
        [[nodiscard]] bool fusesAttention(Storage storage, std::int64_t width) const override {
            return whole_.fusesAttention(storage, width);
        }
        void attend(const FusedAttention& attention, Stream stream) override { whole_.attend(attention, stream); }
        void attendBackward(const FusedAttentionGradient& attention, Stream stream) override {
            whole_.attendBackward(attention, stream);
        }
#define BUBBLESCOPE_LAUNCH(Kernel)                              \
    void launch(const Kernel& kernel, Stream stream) override { \
        whole_.launch(kernel, stream);                          \
    }
        BUBBLESCOPE_KERNELS(BUBBLESCOPE_LAUNCH)
#undef BUBBLESCOPE_LAUNCH

    private:
        EmulatedDevice& whole_;
        std::atomic<int>& streams_;
    };

    bool divisible_;
};

RunConfig runOn(const std::shared_ptr<DeviceInParts>& device) {
    ScheduleSpec spec;
    spec.name = "1f1b";
    spec.pp = 3;
    spec.microbatches = 4;
    RunConfig config;
    config.schedule = makeSchedule(spec).value();
    config.model = tinyModel();
    config.steps = 2;
    config.paced = false;
    config.divide_device = true;
    config.backend = std::make_shared<Backend>("test", device, Storage::Bf16, std::make_shared<MonotonicClock>());
    return config;
}

TEST(DividedDevice, GivesEachRankStreamsOfItsOwn) {
    const auto device = std::make_shared<DeviceInParts>(true);
    const RunConfig config = runOn(device);
    JobControl control;
    const Result<RunSummary> run = runPipeline(config, control);
    ASSERT_TRUE(run.ok()) << run.error().text();
    ASSERT_TRUE(run.value().division.has_value());
    EXPECT_EQ(run.value().division->processors, 32);
    EXPECT_EQ(run.value().division->of, 132);
    ASSERT_EQ(device->streams_of_part.size(), 3U);
    for (const std::atomic<int>& streams : device->streams_of_part)
        EXPECT_EQ(streams, device->streams_of_part.front());
    EXPECT_GT(device->streams_of_part.front(), 0);

    const Result<RunSummary> reference = runReference(config);
    ASSERT_TRUE(reference.ok()) << reference.error().text();
    EXPECT_EQ(run.value().weights_digest, reference.value().weights_digest);
}

TEST(DividedDevice, IsWholeWhereItCannotBeDivided) {
    const auto device = std::make_shared<DeviceInParts>(false);
    RunConfig config = runOn(device);
    JobControl control;
    const Result<RunSummary> run = runPipeline(config, control);
    ASSERT_TRUE(run.ok()) << run.error().text();
    ASSERT_TRUE(run.value().division.has_value());
    EXPECT_EQ(run.value().division->processors, 0);
    EXPECT_NE(run.value().division->why_not.find("the driver does not provide cuGreenCtxCreate"), std::string::npos);

    config.divide_device = false;
    const Result<RunSummary> off = runPipeline(config, control);
    ASSERT_TRUE(off.ok()) << off.error().text();
    EXPECT_FALSE(off.value().division.has_value());
    EXPECT_EQ(off.value().weights_digest, run.value().weights_digest);
}

} // namespace
} // namespace bubblescope::runtime::test
