#pragma once

#include <cstddef>
#include <cstdint>

/// NCCL's interface for profiler plugins, versions 1 (NCCL 2.23) to 5 (2.28); only the parts used here. NCCL ships no
/// header for this interface. NCCL uses the newest version that it and the plugin support.
namespace bubblescope::profiler::nccl::abi {

using Result = int; ///< ncclResult_t
inline constexpr Result kSuccess = 0;

/// Kinds of events: bits of the mask that a plugin sets in init.
enum Event : std::uint32_t {
    kGroup = 1,
    kColl = 2,
    kP2p = 4,
    kProxyOp = 8,
    kProxyStep = 16,
    kProxyCtrl = 32,
    kKernelChannel = 64,
    kNetPlugin = 128,
    kGroupApi = 256,
    kCollApi = 512,
    kP2pApi = 1024,
    kKernelLaunch = 2048,
};

// Event descriptors, by version. `type` and the members after it have the same layout in versions 1 to 4.
struct HeadV1 {
    std::uint8_t type;
    void* parent;
    int rank;
};
struct HeadV5 {
    std::uint64_t type;
    void* parent;
    int rank;
};
static_assert(sizeof(HeadV1) == 24 && sizeof(HeadV5) == 24);

struct CollV1 {
    const char* name; ///< name of the communicator
    std::uint64_t comm;
    std::uint64_t sequence;
    std::uint8_t function;
    const void* send;
    void* receive;
    std::size_t count;
    int root;
    std::uint8_t datatype;
    std::uint32_t op;
    std::size_t traffic_bytes;
    std::uint8_t channels;
    std::uint8_t warps;
    std::uint8_t algorithm;
    std::uint8_t protocol;
    int is_collnet;
    int is_nvls;
};
struct P2pV1 {
    const char* name;
    std::uint64_t comm;
    std::uint8_t function;
    void* buffer;
    std::uint8_t datatype;
    std::size_t count;
    int peer;
};
struct CollV2 {
    const char* name;
    std::uint64_t comm;
    std::uint64_t sequence;
    const char* function;
    const void* send;
    void* receive;
    std::size_t count;
    int root;
    const char* datatype;
    std::size_t traffic_bytes;
    std::uint8_t channels;
    std::uint8_t warps;
    const char* algorithm;
    const char* protocol;
};
struct CollV3 {
    const char* name;
    std::uint64_t comm;
    std::uint64_t sequence;
    const char* function;
    const void* send;
    void* receive;
    std::size_t count;
    int root;
    const char* datatype;
    std::uint8_t channels;
    std::uint8_t warps;
    const char* algorithm;
    const char* protocol;
};
struct P2pV2 { ///< and in version 3
    const char* name;
    std::uint64_t comm;
    const char* function;
    void* buffer;
    const char* datatype;
    std::size_t count;
    int peer;
};
struct CollV4 { ///< also used in version 5, which appends a parent group
    std::uint64_t sequence;
    const char* function;
    const void* send;
    void* receive;
    std::size_t count;
    int root;
    const char* datatype;
    std::uint8_t channels;
    std::uint8_t warps;
    const char* algorithm;
    const char* protocol;
};
struct P2pV4 { ///< and in version 5
    const char* function;
    void* buffer;
    const char* datatype;
    std::size_t count;
    int peer;
    std::uint8_t channels;
};
struct ProxyOp { ///< in all versions
    std::int32_t pid;
    std::uint8_t channel;
    int peer;
    int steps;
    int chunk_bytes;
    int is_send;
};
struct GroupApi {
    bool graph_captured;
    int depth;
};
struct CollApi {
    const char* function;
    std::size_t count;
    const char* datatype;
    int root;
    void* stream;
    bool graph_captured;
};
struct P2pApi {
    const char* function;
    std::size_t count;
    const char* datatype;
    void* stream;
    bool graph_captured;
};

template <class Head, class Body>
struct Descriptor {
    Head head;
    Body body;
};
static_assert(offsetof(CollV4, count) == 32 && offsetof(CollV4, datatype) == 48 && offsetof(CollV4, algorithm) == 64);
static_assert(offsetof(P2pV4, count) == 24 && offsetof(P2pV4, peer) == 32 && offsetof(P2pV4, channels) == 36);
static_assert(offsetof(ProxyOp, peer) == 8 && offsetof(ProxyOp, is_send) == 20);
static_assert(offsetof(CollApi, stream) == 32 && offsetof(P2pApi, stream) == 24);

using Logger = void (*)(int level, unsigned long flags, const char* file, int line, const char* format, ...);

struct TableV1 { ///< also used in versions 2 and 3
    const char* name;
    Result (*init)(void** context, int* mask);
    Result (*start_event)(void* context, void** handle, void* descriptor);
    Result (*stop_event)(void* handle);
    Result (*record_state)(void* handle, int state, void* args);
    Result (*finalize)(void* context);
};
struct TableV4 {
    const char* name;
    Result (*init)(void** context, int* mask, const char* comm_name, std::uint64_t comm, int nodes, int ranks, int rank,
                   Logger logger);
    Result (*start_event)(void* context, void** handle, void* descriptor);
    Result (*stop_event)(void* handle);
    Result (*record_state)(void* handle, int state, void* args);
    Result (*finalize)(void* context);
};
struct TableV5 {
    const char* name;
    Result (*init)(void** context, std::uint64_t comm, int* mask, const char* comm_name, int nodes, int ranks, int rank,
                   Logger logger);
    Result (*start_event)(void* context, void** handle, void* descriptor);
    Result (*stop_event)(void* handle);
    Result (*record_state)(void* handle, int state, void* args);
    Result (*finalize)(void* context);
};

} // namespace bubblescope::profiler::nccl::abi
