#include "profiler/cupti/activity.h"
#include "profiler/cupti/collector.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <set>
#include <string>
#include <vector>

#ifdef BUBBLESCOPE_TEST_CUPTI
#include <cupti.h>
#include <cupti_activity_deprecated.h>
#endif

namespace bubblescope::profiler::cupti {
namespace {

using Kind = Activity::Kind;
using testing::HasSubstr;

/// A record put together byte by byte, as large as a version of CUPTI has it.
class RawRecord {
public:
    RawRecord(std::uint32_t kind, std::size_t size) : bytes_(size) { put(0, kind); }
    template <class T>
    RawRecord& put(std::size_t offset, T value) {
        std::memcpy(bytes_.data() + offset, &value, sizeof value);
        return *this;
    }
    [[nodiscard]] const std::vector<std::byte>& bytes() const { return bytes_; }

private:
    std::vector<std::byte> bytes_;
};

RawRecord kernelRecord(std::size_t size, const char* name) {
    return RawRecord(kind::kConcurrentKernel, size)
        .put<std::uint64_t>(16, 100)
        .put<std::uint64_t>(24, 250)
        .put<std::uint32_t>(40, 1)
        .put<std::uint32_t>(44, 2)
        .put<std::uint32_t>(48, 7)
        .put<std::int32_t>(52, 10)
        .put<std::int32_t>(64, 256)
        .put<std::uint32_t>(92, 33)
        .put<const char*>(104, name);
}

constexpr std::uint32_t kVersion13 = 130001;

Activity decoded(const RawRecord& record, std::uint32_t version = kVersion13) {
    Activity activity;
    EXPECT_EQ(decodeActivity(record.bytes(), version, activity), DecodeStatus::Decoded);
    return activity;
}

TEST(CuptiDecode, KernelsOfEverySize) {
    static constexpr const char* kName = "gemm";
    // CUDA 9's 144 bytes to 13.0's 216, and later sizes.
    for (const std::size_t size : {120U, 144U, 160U, 168U, 176U, 200U, 208U, 216U, 320U}) {
        RawRecord record = kernelRecord(size, kName);
        if (size >= 160) record.put<std::uint32_t>(156, 4);
        const Activity kernel = decoded(record);
        EXPECT_EQ(kernel.kind, Kind::Kernel);
        EXPECT_EQ(kernel.start, TimeNs{100});
        EXPECT_EQ(kernel.end, TimeNs{250});
        EXPECT_EQ(kernel.device, 1U);
        EXPECT_EQ(kernel.stream, 7U);
        EXPECT_EQ(kernel.correlation, 33U);
        EXPECT_EQ(kernel.name, kName);
        EXPECT_EQ(kernel.grid[0], 10);
        EXPECT_EQ(kernel.block[0], 256);
        EXPECT_EQ(kernel.graph, size >= 160 ? 4U : 0U);
    }
    EXPECT_EQ(decoded(kernelRecord(216, kName).put<std::uint32_t>(156, 4), 9).graph, 0U)
        << "before graphs, what lies there is the next record";
}

TEST(CuptiDecode, TheOtherKinds) {
    const Activity copy = decoded(RawRecord(kind::kMemcpy, 64)
                                      .put<std::uint8_t>(4, 2)
                                      .put<std::uint64_t>(8, 4096)
                                      .put<std::uint64_t>(16, 5)
                                      .put<std::uint64_t>(24, 6)
                                      .put<std::uint32_t>(40, 13)
                                      .put<std::uint32_t>(44, 8));
    EXPECT_EQ(copy.kind, Kind::Copy);
    EXPECT_EQ(copy.what, 2U);
    EXPECT_EQ(copy.bytes, 4096U);
    EXPECT_EQ(copy.stream, 13U);
    EXPECT_EQ(copy.correlation, 8U);

    const Activity peer = decoded(
        RawRecord(kind::kMemcpyPeer, 96).put<std::uint32_t>(32, 1).put<std::uint32_t>(52, 3).put<std::uint32_t>(60, 9));
    EXPECT_EQ(peer.kind, Kind::Copy);
    EXPECT_EQ(peer.what, 10U);
    EXPECT_EQ(peer.peer, 3U);
    EXPECT_EQ(peer.correlation, 9U);

    const Activity set = decoded(RawRecord(kind::kMemset, 88).put<std::uint64_t>(8, 12).put<std::uint32_t>(44, 4));
    EXPECT_EQ(set.kind, Kind::Set);
    EXPECT_EQ(set.bytes, 12U);
    EXPECT_EQ(set.correlation, 4U);

    for (const std::uint32_t which : {kind::kDriver, kind::kRuntime}) {
        const Activity call = decoded(RawRecord(which, 40)
                                          .put<std::uint32_t>(4, 211)
                                          .put<std::uint64_t>(8, 50)
                                          .put<std::uint64_t>(16, 60)
                                          .put<std::uint32_t>(28, 1234)
                                          .put<std::uint32_t>(32, 33));
        EXPECT_EQ(call.kind, which == kind::kDriver ? Kind::Driver : Kind::Runtime);
        EXPECT_EQ(call.what, 211U);
        EXPECT_EQ(call.thread, 1234U);
        EXPECT_EQ(call.start, TimeNs{50});
        EXPECT_EQ(call.correlation, 33U);
    }

    for (const std::size_t size : {40U, 56U}) {
        const Activity wait = decoded(RawRecord(kind::kSynchronization, size)
                                          .put<std::uint32_t>(4, 3)
                                          .put<std::uint64_t>(8, 70)
                                          .put<std::uint64_t>(16, 80)
                                          .put<std::uint32_t>(32, 7));
        EXPECT_EQ(wait.kind, Kind::Synchronization);
        EXPECT_EQ(wait.what, 3U);
        EXPECT_EQ(wait.end, TimeNs{80});
        EXPECT_EQ(wait.stream, 7U);
    }
    for (const std::size_t size : {40U, 48U, 56U}) {
        const Activity overhead = decoded(RawRecord(kind::kOverhead, size)
                                              .put<std::uint32_t>(4, 2U << 16)
                                              .put<std::uint64_t>(24, 1)
                                              .put<std::uint64_t>(32, 2));
        EXPECT_EQ(overhead.kind, Kind::Overhead);
        EXPECT_EQ(overhead.what, 2U << 16);
        EXPECT_EQ(overhead.end, TimeNs{2});
    }
    static constexpr const char* kName = "F0";
    const Activity marker = decoded(RawRecord(kind::kMarker, 56)
                                        .put<std::uint32_t>(4, 2)
                                        .put<std::uint64_t>(8, 90)
                                        .put<std::uint32_t>(16, 5)
                                        .put<std::uint32_t>(28, 1234)
                                        .put<const char*>(40, kName));
    EXPECT_EQ(marker.kind, Kind::Marker);
    EXPECT_EQ(marker.start, TimeNs{90});
    EXPECT_EQ(marker.id, 5U);
    EXPECT_EQ(marker.name, kName);
    EXPECT_FALSE(marker.isUntimed());
    EXPECT_EQ(decoded(RawRecord(kind::kMarkerData, 32).put<std::uint32_t>(8, 5).put<std::uint32_t>(28, 6)).what, 6U);

    const Activity external =
        decoded(RawRecord(kind::kExternalCorrelation, 24).put<std::uint64_t>(8, 42).put<std::uint32_t>(16, 33));
    EXPECT_EQ(external.kind, Kind::External);
    EXPECT_EQ(external.id, 42U);
    EXPECT_EQ(external.correlation, 33U);

    // CUDA 11.2, 11.6 and 12.9
    for (const std::size_t size : {112U, 120U, 128U}) {
        const auto memory = [size](std::uint32_t operation, std::uint32_t memory_kind) {
            return RawRecord(kind::kMemory, size)
                .put<std::uint32_t>(4, operation)
                .put<std::uint32_t>(8, memory_kind)
                .put<std::uint64_t>(16, 0x7f00)
                .put<std::uint64_t>(24, 4096)
                .put<std::uint64_t>(32, 77)
                .put<std::uint32_t>(52, 2);
        };
        const Activity allocation = decoded(memory(1, 3));
        EXPECT_EQ(allocation.kind, Kind::Allocation);
        EXPECT_TRUE(allocation.isMoment() && allocation.isDeviceMemory());
        EXPECT_EQ(allocation.start, TimeNs{77});
        EXPECT_EQ(allocation.id, 0x7f00U);
        EXPECT_EQ(allocation.bytes, 4096);
        EXPECT_EQ(allocation.device, 2U);
        EXPECT_EQ(decoded(memory(2, 3)).kind, Kind::Release);
        EXPECT_FALSE(decoded(memory(0, 3)).isDeviceMemory()) << "an invalid operation";
        EXPECT_FALSE(decoded(memory(1, 2)).isDeviceMemory()) << "pinned memory of the host";
        EXPECT_TRUE(decoded(memory(1, 3).put<std::uint32_t>(72, 1).put<std::uint32_t>(80, 1)).isDeviceMemory());
        EXPECT_FALSE(decoded(memory(1, 3).put<std::uint32_t>(72, 1).put<std::uint32_t>(80, 2)).isDeviceMemory())
            << "another process's pool";
    }

    const Activity graph = decoded(RawRecord(kind::kGraphTrace, 56)
                                       .put<std::uint32_t>(4, 8)
                                       .put<std::uint64_t>(8, 1)
                                       .put<std::uint64_t>(16, 2)
                                       .put<std::uint32_t>(28, 6)
                                       .put<std::uint32_t>(36, 7));
    EXPECT_EQ(graph.kind, Kind::Graph);
    EXPECT_EQ(graph.graph, 6U);
    EXPECT_EQ(graph.stream, 7U);

    const Activity device =
        decoded(RawRecord(kind::kDevice, 184).put<std::uint32_t>(112, 1).put<std::uint8_t>(120, 0xab));
    EXPECT_EQ(device.kind, Kind::Device);
    EXPECT_EQ(device.device, 1U);
    EXPECT_EQ(device.uuid[0], 0xab);
    EXPECT_EQ(decoded(RawRecord(kind::kName, 32).put<const char*>(24, kName)).name, kName);
}

TEST(CuptiDecode, TellsLostTimesOtherKindsAndDamage) {
    EXPECT_TRUE(decoded(RawRecord(kind::kConcurrentKernel, 216)).isUntimed());
    Activity activity;
    EXPECT_EQ(decodeActivity(RawRecord(20, 64).bytes(), kVersion13, activity), DecodeStatus::OtherKind);
    EXPECT_EQ(decodeActivity({}, kVersion13, activity), DecodeStatus::Damaged);
    for (std::uint32_t which = 0; which < 60; ++which) {
        DecodeStatus before = DecodeStatus::Damaged;
        for (std::size_t size = 4; size < 160; ++size) {
            const DecodeStatus now = decodeActivity(RawRecord(which, size).bytes(), kVersion13, activity);
            EXPECT_TRUE(before != DecodeStatus::Decoded || now == before) << which << ", " << size << " bytes";
            before = now;
        }
        EXPECT_NE(before, DecodeStatus::Damaged) << which;
    }
    EXPECT_EQ(decodeActivity(kernelRecord(112, nullptr).bytes(), kVersion13, activity), DecodeStatus::Decoded);
    EXPECT_EQ(decodeActivity(std::span(kernelRecord(112, nullptr).bytes()).first(111), kVersion13, activity),
              DecodeStatus::Damaged);
}

#ifdef BUBBLESCOPE_TEST_CUPTI
/// The layouts that were written down here against those of the CUPTI that is found.
TEST(CuptiDecode, AgreesWithCuptisOwnHeaders) {
    const auto bytes = [](const auto& record) { return std::as_bytes(std::span(&record, 1)); };
    Activity out;
    CUpti_ActivityKernel10 kernel{};
    kernel.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
    kernel.start = 1;
    kernel.end = 2;
    kernel.deviceId = 3;
    kernel.contextId = 4;
    kernel.streamId = 5;
    kernel.gridZ = 6;
    kernel.blockZ = 7;
    kernel.correlationId = 8;
    kernel.name = "k";
    kernel.graphId = 9;
    ASSERT_EQ(decodeActivity(bytes(kernel), CUPTI_API_VERSION, out), DecodeStatus::Decoded);
    EXPECT_EQ(std::tuple(out.start.count(), out.end.count(), out.device, out.context, out.stream),
              std::tuple(1, 2, 3U, 4U, 5U));
    EXPECT_EQ(std::tuple(out.grid[2], out.block[2], out.correlation, out.graph), std::tuple(6, 7, 8U, 9U));
    CUpti_ActivityMemcpyPtoP4 peer{};
    peer.kind = CUPTI_ACTIVITY_KIND_MEMCPY2;
    peer.bytes = 1;
    peer.dstDeviceId = 2;
    peer.correlationId = 3;
    ASSERT_EQ(decodeActivity(bytes(peer), CUPTI_API_VERSION, out), DecodeStatus::Decoded);
    EXPECT_EQ(std::tuple(out.bytes, out.peer, out.correlation), std::tuple(1U, 2U, 3U));
    CUpti_ActivitySynchronization2 wait{};
    wait.kind = CUPTI_ACTIVITY_KIND_SYNCHRONIZATION;
    wait.type = CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_WAIT_EVENT;
    wait.start = 1;
    wait.end = 2;
    wait.correlationId = 3;
    wait.streamId = 4;
    ASSERT_EQ(decodeActivity(bytes(wait), CUPTI_API_VERSION, out), DecodeStatus::Decoded);
    EXPECT_EQ(std::tuple(out.what, out.end.count(), out.correlation, out.stream), std::tuple(2U, 2, 3U, 4U));
    CUpti_ActivityOverhead3 overhead{};
    overhead.kind = CUPTI_ACTIVITY_KIND_OVERHEAD;
    overhead.objectId.pt.threadId = 6;
    overhead.start = 1;
    overhead.end = 2;
    ASSERT_EQ(decodeActivity(bytes(overhead), CUPTI_API_VERSION, out), DecodeStatus::Decoded);
    EXPECT_EQ(std::tuple(out.start.count(), out.end.count(), out.thread), std::tuple(1, 2, 6U));
    CUpti_ActivityMarker2 marker{};
    marker.kind = CUPTI_ACTIVITY_KIND_MARKER;
    marker.timestamp = 1;
    marker.id = 2;
    marker.objectId.pt.threadId = 3;
    marker.name = "m";
    ASSERT_EQ(decodeActivity(bytes(marker), CUPTI_API_VERSION, out), DecodeStatus::Decoded);
    EXPECT_EQ(std::tuple(out.start.count(), out.id, out.thread, std::string(out.name)),
              std::tuple(1, 2U, 3U, std::string("m")));
    CUpti_ActivityGraphTrace2 graph{};
    graph.kind = CUPTI_ACTIVITY_KIND_GRAPH_TRACE;
    graph.graphId = 1;
    graph.streamId = 2;
    ASSERT_EQ(decodeActivity(bytes(graph), CUPTI_API_VERSION, out), DecodeStatus::Decoded);
    EXPECT_EQ(std::tuple(out.graph, out.stream), std::tuple(1U, 2U));
    CUpti_ActivityMemory4 memory{};
    memory.kind = CUPTI_ACTIVITY_KIND_MEMORY2;
    memory.memoryOperationType = CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE;
    memory.memoryKind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
    memory.address = 1;
    memory.bytes = 2;
    memory.timestamp = 3;
    memory.deviceId = 4;
    ASSERT_EQ(decodeActivity(bytes(memory), CUPTI_API_VERSION, out), DecodeStatus::Decoded);
    EXPECT_EQ(std::tuple(out.kind, out.id, out.bytes, out.start.count(), out.device),
              std::tuple(Kind::Release, 1U, 2, 3, 4U));
    EXPECT_TRUE(out.isDeviceMemory());
    memory.isAsync = 1;
    memory.memoryPoolConfig.memoryPoolType = CUPTI_ACTIVITY_MEMORY_POOL_TYPE_IMPORTED;
    ASSERT_EQ(decodeActivity(bytes(memory), CUPTI_API_VERSION, out), DecodeStatus::Decoded);
    EXPECT_FALSE(out.isDeviceMemory());
    CUpti_ActivityDevice5 device{};
    device.kind = CUPTI_ACTIVITY_KIND_DEVICE;
    device.id = 3;
    device.uuid.bytes[15] = 9;
    device.name = "H100";
    ASSERT_EQ(decodeActivity(bytes(device), CUPTI_API_VERSION, out), DecodeStatus::Decoded);
    EXPECT_EQ(std::tuple(out.device, out.uuid[15], std::string(out.name)), std::tuple(3U, 9, std::string("H100")));
    CUpti_ActivityMemset4 set{};
    set.kind = CUPTI_ACTIVITY_KIND_MEMSET;
    set.bytes = 1;
    set.end = 2;
    set.correlationId = 3;
    ASSERT_EQ(decodeActivity(bytes(set), CUPTI_API_VERSION, out), DecodeStatus::Decoded);
    EXPECT_EQ(std::tuple(out.bytes, out.end.count(), out.correlation), std::tuple(1U, 2, 3U));
}
#endif

/// CUPTI, without a GPU: a buffer is records of equal size.
class FakeCupti final : public Api {
public:
    static constexpr std::size_t kRecord = 216;
    struct State {
        Subscription subscription = Subscription::Ours;
        std::string holder = "CUPTI for PyTorch";
        std::set<std::uint32_t> enabled;
        bool subscribed = false;
        bool has_clock = false;
        bool has_memory = true;
        RequestBuffer request = nullptr;
        CompleteBuffer complete = nullptr;
        std::size_t dropped = 0;
        int flushes = 0;
        int forced = 0;
    };
    explicit FakeCupti(State& state) : state_(state) {}

    std::uint32_t version() override { return kVersion13; }
    Subscription subscribe(std::string& told) override {
        if (state_.subscription == Subscription::Busy) told = state_.holder;
        state_.subscribed = state_.subscription == Subscription::Ours;
        return state_.subscription;
    }
    void unsubscribe() override { state_.subscribed = false; }
    bool registerCallbacks(RequestBuffer request, CompleteBuffer complete) override {
        state_.request = request;
        state_.complete = complete;
        return true;
    }
    bool useClock(Now) override { return state_.has_clock; }
    void pushExternal(std::uint64_t) override {}
    void popExternal() override {}
    std::optional<cupti::StreamId> streamId(void*) override { return std::nullopt; }
    bool enable(std::uint32_t kind) override {
        EXPECT_TRUE(state_.subscribed) << "kinds are enabled by the subscriber alone";
        return (kind != kind::kMemory || state_.has_memory) && state_.enabled.insert(kind).second;
    }
    void disable(std::uint32_t kind) override { state_.enabled.erase(kind); }
    void flush(bool forced) override {
        ++state_.flushes;
        state_.forced += forced ? 1 : 0;
    }
    std::uint8_t* next(std::uint8_t* buffer, std::size_t valid, std::uint8_t* record) override {
        std::uint8_t* const at = record == nullptr ? buffer : record + kRecord;
        return at + kRecord <= buffer + valid ? at : nullptr;
    }
    std::size_t dropped() override { return std::exchange(state_.dropped, 0); }
    std::string callName(bool, std::uint32_t) override { return "cudaLaunchKernel"; }

    /// CUPTI's actions when a kernel has run.
    static std::uint8_t* deliver(State& state, const std::vector<RawRecord>& records) {
        std::uint8_t* buffer = nullptr;
        std::size_t size = 0;
        std::size_t count = 1;
        state.request(&buffer, &size, &count);
        EXPECT_EQ(count, 0U);
        if (buffer == nullptr) return nullptr;
        EXPECT_GE(size, records.size() * kRecord);
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer) % 8, 0U);
        for (std::size_t i = 0; i < records.size(); ++i)
            std::memcpy(buffer + i * kRecord, records[i].bytes().data(), records[i].bytes().size());
        state.complete(nullptr, 0, buffer, size, records.size() * kRecord);
        return buffer;
    }

private:
    State& state_;
};

TEST(CuptiCollector, GathersRecordsAndReusesBuffers) {
    FakeCupti::State state;
    Collector collector(std::make_unique<FakeCupti>(state), 4096);
    std::string told;
    ASSERT_TRUE(collector.start(Scope::Everything, told));
    EXPECT_EQ(told, "");
    EXPECT_TRUE(state.enabled.contains(kind::kConcurrentKernel));
    EXPECT_FALSE(state.enabled.contains(kind::kKernel)) << "it would run kernels one after the other";
    perfetto::CaptureCounts counts;
    std::set<std::uint8_t*> used;
    for (int round = 0; round < 200; ++round) {
        RawRecord external(kind::kExternalCorrelation, FakeCupti::kRecord);
        external.put<std::uint64_t>(8, 42).put<std::uint32_t>(16, 33);
        used.insert(FakeCupti::deliver(state, {kernelRecord(FakeCupti::kRecord, "gemm"), external}));
        std::vector<cupti::OwnedActivity> got;
        collector.collect(got, counts);
        ASSERT_EQ(got.size(), 1U);
        EXPECT_EQ(got[0].name, "gemm");
        EXPECT_EQ(got[0].external, 42U);
    }
    EXPECT_EQ(used.size(), 1U);
    state.dropped = 5;
    std::vector<cupti::OwnedActivity> none;
    collector.collect(none, counts);
    EXPECT_EQ(counts.lost_in_cupti, 5);
    collector.stop();
    EXPECT_TRUE(state.enabled.empty());
    EXPECT_FALSE(state.subscribed);
    EXPECT_EQ(state.forced, 1);
}

TEST(CuptiCollector, RecordsMemoryWhereAskedForAndPossible) {
    for (const bool is_new : {false, true}) {
        FakeCupti::State state;
        state.has_memory = is_new;
        Collector collector(std::make_unique<FakeCupti>(state), 4096);
        std::string told;
        ASSERT_TRUE(collector.start(Scope::Launches, told, true)) << "kernels are recorded all the same";
        EXPECT_EQ(state.enabled.contains(kind::kMemory), is_new);
        EXPECT_EQ(told.find("memory is not recorded") == std::string::npos, is_new);
    }
    FakeCupti::State state;
    Collector collector(std::make_unique<FakeCupti>(state), 4096);
    std::string told;
    ASSERT_TRUE(collector.start(Scope::Everything, told));
    EXPECT_FALSE(state.enabled.contains(kind::kMemory));
}

TEST(CuptiCollector, PausesCallsAndWorkButNotMemory) {
    FakeCupti::State state;
    Collector collector(std::make_unique<FakeCupti>(state), 4096);
    collector.record(false); // before the start
    std::string told;
    ASSERT_TRUE(collector.start(Scope::Everything, told, true));
    const std::set<std::uint32_t> all = state.enabled;
    collector.record(false);
    EXPECT_THAT(state.enabled, testing::UnorderedElementsAre(kind::kMemory, kind::kDevice));
    FakeCupti::deliver(state, {kernelRecord(FakeCupti::kRecord, "late")});
    std::vector<cupti::OwnedActivity> got;
    perfetto::CaptureCounts counts;
    collector.collect(got, counts);
    EXPECT_EQ(got.size(), 1U) << "the device completes it during the pause";
    collector.record(true);
    EXPECT_EQ(state.enabled, all);
    collector.stop();
    collector.record(true);
    EXPECT_TRUE(state.enabled.empty());
}

TEST(CuptiLibrary, IsNotNewerThanTheDriver) {
    EXPECT_THAT(cupti::cuptiFiles(13010),
                testing::ElementsAre("libcupti.so.13", "libcupti.so.12", "libcupti.so.11.2", "libcupti.so"));
    EXPECT_THAT(cupti::cuptiFiles(12080), testing::ElementsAre("libcupti.so.12", "libcupti.so.11.2", "libcupti.so"));
    EXPECT_EQ(cupti::cuptiFiles(0), cupti::cuptiFiles(13010)) << "an unknown driver excludes nothing";
}

TEST(CuptiCollector, KeepsTheIdsOfOtherToolsApart) {
    constexpr std::uint32_t kOpenAcc = 1;
    const auto idOf = [](Scope scope, std::vector<std::pair<std::uint32_t, std::uint64_t>> pushed) {
        FakeCupti::State state;
        Collector collector(std::make_unique<FakeCupti>(state), 4096);
        std::string told;
        EXPECT_TRUE(collector.start(scope, told));
        std::vector<RawRecord> records{kernelRecord(FakeCupti::kRecord, "gemm")};
        for (const auto& [kind_of_id, id] : pushed) {
            records.emplace_back(kind::kExternalCorrelation, FakeCupti::kRecord);
            records.back().put<std::uint32_t>(4, kind_of_id).put<std::uint64_t>(8, id).put<std::uint32_t>(16, 33);
        }
        FakeCupti::deliver(state, records);
        std::vector<cupti::OwnedActivity> got;
        perfetto::CaptureCounts counts;
        collector.collect(got, counts);
        return got.at(0).external;
    };
    EXPECT_EQ(idOf(Scope::Work, {{kOpenAcc, 7}}), 0U);
    EXPECT_EQ(idOf(Scope::Work, {{cupti::kCustomIds, 5}, {kOpenAcc, 7}}), 5U);
    EXPECT_EQ(idOf(Scope::Everything, {{kOpenAcc, 7}}), 7U);
    EXPECT_EQ(idOf(Scope::Everything, {{kOpenAcc, 7}, {cupti::kCustomIds, 5}}), 5U);
}

TEST(CuptiCollector, BacksOffWhereAnotherToolHoldsCupti) {
    FakeCupti::State state;
    state.subscription = Api::Subscription::Busy;
    Collector collector(std::make_unique<FakeCupti>(state), 4096);
    std::string told;
    EXPECT_FALSE(collector.start(Scope::Everything, told));
    EXPECT_THAT(told, HasSubstr("CUPTI for PyTorch"));
    EXPECT_TRUE(state.enabled.empty());
    EXPECT_EQ(state.request, nullptr) << "nothing of CUPTI's was touched";
    collector.stop();
    EXPECT_EQ(state.flushes, 0);
}

TEST(CuptiCollector, LeavesARunOfOursToItself) {
    FakeCupti::State state;
    state.subscription = Api::Subscription::Busy;
    state.holder = "CUPTI for Bubblescope"; // as CUPTI 13 names a subscriber
    Collector collector(std::make_unique<FakeCupti>(state), 4096);
    std::string told;
    EXPECT_FALSE(collector.start(Scope::Everything, told));
    EXPECT_THAT(told, HasSubstr("into its own trace"));
}

TEST(CuptiCollector, CountsWhatItHasNoRoomFor) {
    FakeCupti::State state;
    Collector collector(std::make_unique<FakeCupti>(state), 4096);
    std::string told;
    ASSERT_TRUE(collector.start(Scope::Launches, told));
    EXPECT_FALSE(state.enabled.contains(kind::kMemset)) << "launches alone";
    std::size_t given = 0;
    for (std::size_t i = 0; i < Collector::kBuffers + 3; ++i)
        given += FakeCupti::deliver(state, {kernelRecord(FakeCupti::kRecord, "k")}) != nullptr ? 1 : 0;
    EXPECT_EQ(given, Collector::kBuffers);
    perfetto::CaptureCounts counts;
    std::vector<cupti::OwnedActivity> got;
    collector.collect(got, counts);
    EXPECT_EQ(got.size(), Collector::kBuffers);
    EXPECT_EQ(counts.lost_buffers, 3);
    EXPECT_NE(FakeCupti::deliver(state, {kernelRecord(FakeCupti::kRecord, "k")}), nullptr) << "they are free again";
}

TEST(CuptiCollector, GivesTimesOfTheMonotonicClock) {
    for (const bool has_clock : {false, true}) {
        FakeCupti::State state;
        state.has_clock = has_clock;
        Collector collector(std::make_unique<FakeCupti>(state), 4096);
        std::string told;
        ASSERT_TRUE(collector.start(Scope::Work, told));
        EXPECT_FALSE(state.enabled.contains(kind::kSynchronization));
        EXPECT_TRUE(state.enabled.contains(kind::kExternalCorrelation));
        const TimeNs before = readSystemClock(CLOCK_MONOTONIC);
        const TimeNs theirs = readSystemClock(has_clock ? CLOCK_MONOTONIC : CLOCK_REALTIME);
        RawRecord kernel = kernelRecord(FakeCupti::kRecord, "gemm");
        kernel.put<std::int64_t>(16, theirs.count()).put<std::int64_t>(24, theirs.count() + 500);
        RawRecord lost(kind::kConcurrentKernel, FakeCupti::kRecord);
        FakeCupti::deliver(state, {kernel, lost});
        const TimeNs after = readSystemClock(CLOCK_MONOTONIC);
        perfetto::CaptureCounts counts;
        std::vector<OwnedActivity> got;
        collector.collect(got, counts);
        ASSERT_EQ(got.size(), 2U);
        EXPECT_EQ(got[0].activity.end - got[0].activity.start, TimeNs{500});
        constexpr TimeNs kReadingsApart{1'000'000}; // readings of two clocks are not made at one moment
        EXPECT_GE(got[0].activity.start, before - kReadingsApart);
        EXPECT_LE(got[0].activity.start, after + kReadingsApart);
        EXPECT_TRUE(got[1].activity.isUntimed());
    }
}

TEST(CuptiCollector, KnowsIdsThatComeAfterTheirKernels) {
    FakeCupti::State state;
    Collector collector(std::make_unique<FakeCupti>(state), 4096);
    std::string told;
    ASSERT_TRUE(collector.start(Scope::Work, told));
    FakeCupti::deliver(state, {kernelRecord(FakeCupti::kRecord, "gemm")});
    perfetto::CaptureCounts counts;
    std::vector<OwnedActivity> got;
    collector.collect(got, counts);
    ASSERT_EQ(got.size(), 1U);
    EXPECT_EQ(got[0].external, 0U);
    RawRecord external(kind::kExternalCorrelation, FakeCupti::kRecord);
    external.put<std::uint32_t>(4, cupti::kCustomIds).put<std::uint64_t>(8, 42).put<std::uint32_t>(16, 33);
    FakeCupti::deliver(state, {external});
    collector.collect(got, counts);
    EXPECT_EQ(collector.externalOf(33), 42U);
    EXPECT_EQ(collector.externalOf(34), 0U);
}

TEST(CuptiCollector, IsThereOnceAProcess) {
    FakeCupti::State state;
    Collector first(std::make_unique<FakeCupti>(state));
    Collector second(std::make_unique<FakeCupti>(state));
    std::string told;
    EXPECT_TRUE(first.start(Scope::Everything, told));
    EXPECT_FALSE(second.start(Scope::Everything, told));
}

} // namespace
} // namespace bubblescope::profiler::cupti
