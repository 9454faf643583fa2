#include "profiler/nccl/plugin.h"

#include <array>
#include <atomic>
#include <exception>
#include <string_view>

namespace bubblescope::profiler::nccl {
namespace {

HostRecorder* events = nullptr;
Communicators* communicators = nullptr;
std::uint32_t wanted = 0;
std::atomic<std::uint64_t> next_event{1};

constexpr abi::Result kNotForUs = 3; // any result other than success makes NCCL continue without the plugin

std::string_view viewOf(const char* text) noexcept {
    return text == nullptr ? std::string_view{} : std::string_view(text);
}

template <std::size_t N>
std::string_view nameIn(const std::array<std::string_view, N>& names, std::size_t number) noexcept {
    return number < N ? names[number] : std::string_view{};
}

// Version 1 passes numbers where later versions pass names; these are the numbers of NCCL 2.23's nccl.h and device
// code.
constexpr std::array<std::string_view, 8> kFunctions{"Broadcast", "Reduce",   "AllGather", "ReduceScatter",
                                                     "AllReduce", "SendRecv", "Send",      "Recv"};
constexpr std::array<std::string_view, 10> kDatatypes{"ncclInt8",    "ncclUint8",   "ncclInt32",   "ncclUint32",
                                                      "ncclInt64",   "ncclUint64",  "ncclFloat16", "ncclFloat32",
                                                      "ncclFloat64", "ncclBfloat16"};
constexpr std::array<std::string_view, 6> kAlgorithms{"TREE",          "RING", "COLLNET_DIRECT",
                                                      "COLLNET_CHAIN", "NVLS", "NVLS_TREE"};
constexpr std::array<std::string_view, 3> kProtocols{"LL", "LL128", "SIMPLE"};

/// The context of a communicator is its number, so it needs no memory.
void* contextOf(std::uint64_t comm) {
    return reinterpret_cast<void*>(static_cast<std::uintptr_t>(comm));
}
std::uint64_t commOf(void* context) {
    return reinterpret_cast<std::uintptr_t>(context);
}

abi::Result begin(void** handle, const CommEvent& event, const void* parent) noexcept {
    if (handle == nullptr || events == nullptr) return abi::kSuccess;
    CommRoom room;
    HostRecord record = recordOf(event, room);
    record.id = next_event.fetch_add(1, std::memory_order_relaxed);
    record.parent = reinterpret_cast<std::uintptr_t>(parent);
    *handle = reinterpret_cast<void*>(static_cast<std::uintptr_t>(record.id));
    events->record(record);
    return abi::kSuccess;
}

abi::Result stopEvent(void* handle) {
    if (handle == nullptr || events == nullptr) return abi::kSuccess;
    HostRecord record;
    record.type = HostRecord::Type::CommEnd;
    record.id = reinterpret_cast<std::uintptr_t>(handle);
    events->record(record);
    return abi::kSuccess;
}

abi::Result recordState(void*, int, void*) {
    return abi::kSuccess;
}
abi::Result finalize(void*) {
    return abi::kSuccess;
}

template <class Head>
CommEvent eventOf(const Head& head) noexcept {
    CommEvent event;
    event.type = static_cast<std::uint32_t>(head.type);
    event.rank = head.rank;
    return event;
}
void take(const abi::ProxyOp& from, CommEvent& event) noexcept {
    event.peer = from.peer;
    event.channels = from.channel;
    event.steps = from.steps;
    event.count = static_cast<std::uint64_t>(from.chunk_bytes);
    event.is_send = from.is_send != 0;
}
template <class Coll> // versions 2 to 5
void takeColl(const Coll& from, CommEvent& event) noexcept {
    event.sequence = from.sequence;
    event.function = viewOf(from.function);
    event.count = from.count;
    event.root = from.root;
    event.datatype = viewOf(from.datatype);
    event.channels = from.channels;
    event.algorithm = viewOf(from.algorithm);
    event.protocol = viewOf(from.protocol);
}
template <class P2p> // versions 2 to 5
void takeP2p(const P2p& from, CommEvent& event) noexcept {
    event.function = viewOf(from.function);
    event.datatype = viewOf(from.datatype);
    event.count = from.count;
    event.peer = from.peer;
}
void take(const abi::CollV1& from, CommEvent& event) noexcept {
    event.comm = from.comm;
    event.sequence = from.sequence;
    event.function = nameIn(kFunctions, from.function);
    event.count = from.count;
    event.root = from.root;
    event.datatype = nameIn(kDatatypes, from.datatype);
    event.channels = from.channels;
    event.algorithm = nameIn(kAlgorithms, from.algorithm);
    event.protocol = nameIn(kProtocols, from.protocol);
}
void take(const abi::P2pV1& from, CommEvent& event) noexcept {
    event.comm = from.comm;
    event.function = nameIn(kFunctions, from.function);
    event.datatype = nameIn(kDatatypes, from.datatype);
    event.count = from.count;
    event.peer = from.peer;
}
void take(const abi::CollV2& from, CommEvent& event) noexcept {
    event.comm = from.comm;
    takeColl(from, event);
}
void take(const abi::CollV3& from, CommEvent& event) noexcept {
    event.comm = from.comm;
    takeColl(from, event);
}
void take(const abi::P2pV2& from, CommEvent& event) noexcept {
    event.comm = from.comm;
    takeP2p(from, event);
}
void take(const abi::CollV4& from, CommEvent& event) noexcept {
    takeColl(from, event);
}
void take(const abi::P2pV4& from, CommEvent& event) noexcept {
    takeP2p(from, event);
    event.channels = from.channels;
}

template <class Body, class Head>
const Body& bodyOf(const void* descriptor) noexcept {
    return static_cast<const abi::Descriptor<Head, Body>*>(descriptor)->body;
}

/// From version 4 on, `context` is that of a communicator.
template <class Coll, class P2p, bool of_communicator = false>
abi::Result startEvent([[maybe_unused]] void* context, void** handle, void* descriptor) {
    if (descriptor == nullptr) return abi::kSuccess;
    const auto& head = *static_cast<const abi::HeadV1*>(descriptor);
    CommEvent event = eventOf(head);
    if constexpr (of_communicator) event.comm = commOf(context);
    if (event.type == abi::kColl) take(bodyOf<Coll, abi::HeadV1>(descriptor), event);
    if (event.type == abi::kP2p) take(bodyOf<P2p, abi::HeadV1>(descriptor), event);
    if (event.type == abi::kProxyOp) take(bodyOf<abi::ProxyOp, abi::HeadV1>(descriptor), event);
    return begin(handle, event, head.parent);
}

abi::Result startEventV5(void* context, void** handle, void* descriptor) {
    if (descriptor == nullptr) return abi::kSuccess;
    const auto& head = *static_cast<const abi::HeadV5*>(descriptor);
    CommEvent event = eventOf(head);
    event.comm = commOf(context);
    switch (event.type) {
    case abi::kColl: take(bodyOf<abi::CollV4, abi::HeadV5>(descriptor), event); break;
    case abi::kP2p: take(bodyOf<abi::P2pV4, abi::HeadV5>(descriptor), event); break;
    case abi::kProxyOp: take(bodyOf<abi::ProxyOp, abi::HeadV5>(descriptor), event); break;
    case abi::kGroupApi: {
        const auto& from = bodyOf<abi::GroupApi, abi::HeadV5>(descriptor);
        event.steps = from.depth;
        event.graph_captured = from.graph_captured;
        break;
    }
    case abi::kCollApi: {
        const auto& from = bodyOf<abi::CollApi, abi::HeadV5>(descriptor);
        event.function = viewOf(from.function);
        event.count = from.count;
        event.datatype = viewOf(from.datatype);
        event.root = from.root;
        event.graph_captured = from.graph_captured;
        break;
    }
    case abi::kP2pApi: {
        const auto& from = bodyOf<abi::P2pApi, abi::HeadV5>(descriptor);
        event.function = viewOf(from.function);
        event.count = from.count;
        event.datatype = viewOf(from.datatype);
        event.graph_captured = from.graph_captured;
        break;
    }
    default: break;
    }
    return begin(handle, event, head.parent);
}

abi::Result initV1(void** context, int* mask) {
    if (events == nullptr || context == nullptr || mask == nullptr) return kNotForUs;
    *context = nullptr;
    *mask = static_cast<int>(wanted);
    return abi::kSuccess;
}

abi::Result initV5(void** context, std::uint64_t comm, int* mask, const char* comm_name, int nodes, int ranks, int rank,
                   abi::Logger) {
    if (initV1(context, mask) != abi::kSuccess) return kNotForUs;
    *context = contextOf(comm);
    try {
        communicators->add(comm, {std::string(viewOf(comm_name)), nodes, ranks, rank});
    } catch (const std::exception&) {
        return kNotForUs;
    }
    return abi::kSuccess;
}

abi::Result initV4(void** context, int* mask, const char* comm_name, std::uint64_t comm, int nodes, int ranks, int rank,
                   abi::Logger logger) {
    return initV5(context, comm, mask, comm_name, nodes, ranks, rank, logger);
}

constexpr const char* kName = "Bubblescope";

} // namespace

void sendEventsTo(HostRecorder* recorder, Communicators& known, std::uint32_t mask) {
    events = recorder;
    communicators = &known;
    wanted = mask;
}

const abi::TableV1 kTableV1{kName, initV1, startEvent<abi::CollV1, abi::P2pV1>, stopEvent, recordState, finalize};
const abi::TableV1 kTableV2{kName, initV1, startEvent<abi::CollV2, abi::P2pV2>, stopEvent, recordState, finalize};
const abi::TableV1 kTableV3{kName, initV1, startEvent<abi::CollV3, abi::P2pV2>, stopEvent, recordState, finalize};
const abi::TableV4 kTableV4{kName, initV4, startEvent<abi::CollV4, abi::P2pV4, true>, stopEvent, recordState, finalize};
const abi::TableV5 kTableV5{kName, initV5, startEventV5, stopEvent, recordState, finalize};

} // namespace bubblescope::profiler::nccl
