#include "profiler/cupti/activity.h"

#include <bit>
#include <cstring>

namespace bubblescope::profiler::cupti {
namespace {

// The offsets are valid for all versions of a record since CUDA 8; tests compare them with the installed CUPTI headers.
constexpr std::uint32_t kGraphsInKernels = 12; ///< cuptiGetVersion() of CUDA 11.0, which added the field

/// Reads numbers at fixed offsets.
class Record {
public:
    explicit Record(std::span<const std::byte> bytes) : bytes_(bytes) {}

    [[nodiscard]] bool has(std::size_t size) const { return bytes_.size() >= size; }
    template <class T>
    [[nodiscard]] T at(std::size_t offset) const {
        T value;
        std::memcpy(&value, bytes_.data() + offset, sizeof value);
        return value;
    }
    [[nodiscard]] std::uint32_t u32(std::size_t offset) const { return at<std::uint32_t>(offset); }
    [[nodiscard]] std::uint8_t u8(std::size_t offset) const { return at<std::uint8_t>(offset); }
    [[nodiscard]] TimeNs time(std::size_t offset) const {
        return TimeNs{static_cast<std::int64_t>(at<std::uint64_t>(offset))};
    }
    [[nodiscard]] const char* text(std::size_t offset) const { return at<const char*>(offset); }
    void times(std::size_t start, std::size_t end, Activity& out) const {
        out.start = time(start);
        out.end = time(end);
    }

private:
    std::span<const std::byte> bytes_;
};

using Fill = void (*)(const Record&, std::uint32_t version, Activity&);

void kernel(const Record& record, std::uint32_t version, Activity& out) {
    out.kind = Activity::Kind::Kernel;
    record.times(16, 24, out);
    out.device = record.u32(40);
    out.context = record.u32(44);
    out.stream = record.u32(48);
    for (std::size_t i = 0; i < out.grid.size(); ++i) {
        out.grid[i] = record.at<std::int32_t>(52 + 4 * i);
        out.block[i] = record.at<std::int32_t>(64 + 4 * i);
    }
    out.correlation = record.u32(92);
    out.name = record.text(104);
    constexpr std::size_t kGraphId = 156;
    if (version >= kGraphsInKernels && record.has(kGraphId + 4)) out.graph = record.u32(kGraphId);
}

void copy(const Record& record, std::uint32_t, Activity& out) {
    out.kind = Activity::Kind::Copy;
    out.what = record.u8(4);
    out.bytes = record.at<std::int64_t>(8);
    record.times(16, 24, out);
    out.device = record.u32(32);
    out.context = record.u32(36);
    out.stream = record.u32(40);
    out.correlation = record.u32(44);
}

void copyBetweenDevices(const Record& record, std::uint32_t version, Activity& out) {
    copy(record, version, out);
    constexpr std::uint32_t kPeerToPeer = 10;
    out.what = kPeerToPeer;
    out.peer = record.u32(52);
    out.correlation = record.u32(60);
}

void set(const Record& record, std::uint32_t version, Activity& out) {
    copy(record, version, out); // a memset record has the same layout
    out.kind = Activity::Kind::Set;
    out.what = record.u32(4);
}

void call(const Record& record, Activity::Kind kind, Activity& out) {
    out.kind = kind;
    out.what = record.u32(4);
    record.times(8, 16, out);
    out.process = record.u32(24);
    out.thread = record.u32(28);
    out.correlation = record.u32(32);
}
void driverCall(const Record& record, std::uint32_t, Activity& out) {
    call(record, Activity::Kind::Driver, out);
}
void runtimeCall(const Record& record, std::uint32_t, Activity& out) {
    call(record, Activity::Kind::Runtime, out);
}

void synchronization(const Record& record, std::uint32_t, Activity& out) {
    out.kind = Activity::Kind::Synchronization;
    out.what = record.u32(4);
    record.times(8, 16, out);
    out.correlation = record.u32(24);
    out.context = record.u32(28);
    out.stream = record.u32(32);
}

void overhead(const Record& record, std::uint32_t, Activity& out) {
    out.kind = Activity::Kind::Overhead;
    out.what = record.u32(4);
    out.process = record.u32(12);
    out.thread = record.u32(16);
    record.times(24, 32, out);
}

void marker(const Record& record, std::uint32_t, Activity& out) {
    out.kind = Activity::Kind::Marker;
    out.what = record.u32(4);
    out.start = record.time(8);
    out.id = record.u32(16);
    out.process = record.u32(24);
    out.thread = record.u32(28);
    out.name = record.text(40);
}

void markerData(const Record& record, std::uint32_t, Activity& out) {
    out.kind = Activity::Kind::MarkerData;
    out.id = record.u32(8);
    out.what = record.u32(28); // category
    out.bytes = record.at<std::int64_t>(16);
}

void memory(const Record& record, std::uint32_t, Activity& out) {
    constexpr std::uint32_t kAllocation = 1;
    constexpr std::uint32_t kRelease = 2;
    constexpr std::uint32_t kImportedPool = 2;
    const std::uint32_t operation = record.u32(4);
    out.kind = operation == kRelease ? Activity::Kind::Release : Activity::Kind::Allocation;
    const bool is_async = record.u32(72) != 0;
    const bool is_foreign = is_async && record.u32(80) == kImportedPool;
    const bool is_known = operation == kAllocation || operation == kRelease;
    out.what = is_known && !is_foreign ? record.u32(8) : 0;
    out.correlation = record.u32(12);
    out.id = record.at<std::uint64_t>(16);
    out.bytes = record.at<std::int64_t>(24);
    out.start = record.time(32);
    out.process = record.u32(48);
    out.device = record.u32(52);
    out.context = record.u32(56);
    out.stream = record.u32(60);
}

void external(const Record& record, std::uint32_t, Activity& out) {
    out.kind = Activity::Kind::External;
    out.what = record.u32(4);
    out.id = record.at<std::uint64_t>(8);
    out.correlation = record.u32(16);
}

void graphLaunch(const Record& record, std::uint32_t, Activity& out) {
    out.kind = Activity::Kind::Graph;
    out.correlation = record.u32(4);
    record.times(8, 16, out);
    out.device = record.u32(24);
    out.graph = record.u32(28);
    out.context = record.u32(32);
    out.stream = record.u32(36);
}

void device(const Record& record, std::uint32_t, Activity& out) {
    out.kind = Activity::Kind::Device;
    out.device = record.u32(112);
    std::memcpy(out.uuid.data(), record.at<std::array<std::uint8_t, 16>>(120).data(), out.uuid.size());
    out.name = record.text(136);
}

void name(const Record& record, std::uint32_t, Activity& out) {
    out.kind = Activity::Kind::Name;
    out.what = record.u32(4); // kind of object
    out.process = record.u32(8);
    out.thread = record.u32(12);
    out.name = record.text(24);
}

struct Layout {
    std::uint32_t kind;
    std::size_t size; ///< size of the fields that all versions share
    Fill fill;
};
constexpr std::array kLayouts{Layout{kind::kMemcpy, 56, copy},
                              Layout{kind::kMemset, 56, set},
                              Layout{kind::kKernel, 112, kernel},
                              Layout{kind::kDriver, 40, driverCall},
                              Layout{kind::kRuntime, 40, runtimeCall},
                              Layout{kind::kDevice, 144, device},
                              Layout{kind::kConcurrentKernel, 112, kernel},
                              Layout{kind::kName, 32, name},
                              Layout{kind::kMarker, 48, marker},
                              Layout{kind::kMarkerData, 32, markerData},
                              Layout{kind::kOverhead, 40, overhead},
                              Layout{kind::kMemcpyPeer, 64, copyBetweenDevices},
                              Layout{kind::kSynchronization, 40, synchronization},
                              Layout{kind::kExternalCorrelation, 24, external},
                              Layout{kind::kMemory, 112, memory},
                              Layout{kind::kGraphTrace, 48, graphLaunch}};

} // namespace

DecodeStatus decodeActivity(std::span<const std::byte> bytes, std::uint32_t version, Activity& out) {
    static_assert(std::endian::native == std::endian::little && sizeof(void*) == 8);
    const Record record(bytes);
    if (!record.has(sizeof(std::uint32_t))) return DecodeStatus::Damaged;
    const std::uint32_t kind = record.u32(0);
    for (const Layout& layout : kLayouts) {
        if (layout.kind != kind) continue;
        if (!record.has(layout.size)) return DecodeStatus::Damaged;
        out = {};
        layout.fill(record, version, out);
        return DecodeStatus::Decoded;
    }
    return DecodeStatus::OtherKind;
}

} // namespace bubblescope::profiler::cupti
