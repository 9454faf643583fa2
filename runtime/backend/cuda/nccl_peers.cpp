#include "runtime/backend/cuda/nccl_peers.h"

#include "runtime/backend/cuda/cuda_calls.h"
#include "runtime/backend/cuda/loaded_library.h"

#include <nccl.h>

#include <cstddef>
#include <cstring>
#include <stdexcept>
#include <string>
#include <utility>

namespace bubblescope::runtime {
namespace {

/// The functions of NCCL that are used. The library is loaded when ranks on GPUs are first connected and not linked:
/// the program must start on machines without it.
class NcclLibrary {
public:
    /// Throws if the library is not found. Loads it once per process.
    [[nodiscard]] static const NcclLibrary& get();

    decltype(&::ncclGetVersion) getVersion;
    decltype(&::ncclGetUniqueId) getUniqueId;
    decltype(&::ncclCommInitRankConfig) commInitRankConfig;
    decltype(&::ncclCommGetAsyncError) commGetAsyncError;
    decltype(&::ncclCommAbort) commAbort;
    decltype(&::ncclGetErrorString) getErrorString;
    decltype(&::ncclGetLastError) getLastError;
    decltype(&::ncclGroupStart) groupStart;
    decltype(&::ncclGroupEnd) groupEnd;
    decltype(&::ncclSend) send;
    decltype(&::ncclRecv) receive;

    /// Throws with NCCL's message. A call that is in progress is not an error.
    void check(ncclResult_t result, const char* what, ncclComm_t comm = nullptr) const;

private:
    NcclLibrary();
};

NcclLibrary::NcclLibrary() {
    const LoadedLibrary library("NCCL", "libnccl.so." + std::to_string(NCCL_MAJOR), "BUBBLESCOPE_NCCL");
    library.find("ncclGetVersion", getVersion);
    library.find("ncclGetUniqueId", getUniqueId);
    library.find("ncclCommInitRankConfig", commInitRankConfig);
    library.find("ncclCommGetAsyncError", commGetAsyncError);
    library.find("ncclCommAbort", commAbort);
    library.find("ncclGetErrorString", getErrorString);
    library.find("ncclGetLastError", getLastError);
    library.find("ncclGroupStart", groupStart);
    library.find("ncclGroupEnd", groupEnd);
    library.find("ncclSend", send);
    library.find("ncclRecv", receive);
}

const NcclLibrary& NcclLibrary::get() {
    static const NcclLibrary library;
    return library;
}

void NcclLibrary::check(ncclResult_t result, const char* what, ncclComm_t comm) const {
    if (result == ncclSuccess || result == ncclInProgress) return;
    std::string text = std::string("NCCL cannot ") + what + ": " + getErrorString(result);
    const char* const last = getLastError(comm);
    if (last != nullptr && *last != '\0') text += std::string(" (") + last + ")";
    throw std::runtime_error(text);
}

/// A receive occupies its blocks on the GPU until the message comes. The blocks of all of a rank's links together must
/// leave most of the GPU's processors to the computation.
constexpr int kMaxBlocks = 8;

class NcclComm final : public PeerComm {
public:
    NcclComm(const NcclLibrary& nccl, const ncclUniqueId& id, int rank, int size) : nccl_(nccl) {
        ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
        config.blocking = 0;
        config.maxCTAs = kMaxBlocks;
        nccl_.check(nccl_.commInitRankConfig(&comm_, size, id, rank, &config), "join a communicator");
    }
    ~NcclComm() override { NcclComm::abort(); }

    void send(const void* from, std::int64_t bytes, int peer, Accelerator::Stream stream) override {
        nccl_.check(nccl_.send(from, static_cast<std::size_t>(bytes), ncclUint8, peer, comm_, cudaStreamOf(stream)),
                    "send", comm_);
    }
    void receive(void* to, std::int64_t bytes, int peer, Accelerator::Stream stream) override {
        nccl_.check(nccl_.receive(to, static_cast<std::size_t>(bytes), ncclUint8, peer, comm_, cudaStreamOf(stream)),
                    "receive", comm_);
    }

    bool ready() override {
        if (comm_ == nullptr) throw std::runtime_error("the communicator was aborted");
        ncclResult_t state = ncclSuccess;
        nccl_.check(nccl_.commGetAsyncError(comm_, &state), "tell how a communicator is", comm_);
        nccl_.check(state, "go on", comm_);
        return state == ncclSuccess;
    }

    // Also after a successful run: then nothing is in progress, and an orderly end would take all peers.
    void abort() noexcept override {
        if (ncclComm_t comm = std::exchange(comm_, nullptr)) (void)nccl_.commAbort(comm);
    }

private:
    const NcclLibrary& nccl_;
    ncclComm_t comm_ = nullptr;
};

class NcclPeers final : public PeerLibrary {
public:
    [[nodiscard]] std::string name() const override {
        int version = 0;
        const NcclLibrary& nccl = NcclLibrary::get();
        nccl.check(nccl.getVersion(&version), "tell its version");
        return "NCCL " + std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) + "." +
               std::to_string(version % 100);
    }

    [[nodiscard]] std::string makeId() override {
        ncclUniqueId id;
        const NcclLibrary& nccl = NcclLibrary::get();
        nccl.check(nccl.getUniqueId(&id), "make an identity");
        return {id.internal, sizeof id.internal};
    }

    [[nodiscard]] std::unique_ptr<PeerComm> join(const std::string& id, int rank, int size) override {
        ncclUniqueId unique;
        if (id.size() != sizeof unique.internal) throw std::logic_error("this is no identity that NCCL made");
        std::memcpy(unique.internal, id.data(), id.size());
        return std::make_unique<NcclComm>(NcclLibrary::get(), unique, rank, size);
    }

    void beginGroup() override { NcclLibrary::get().check(NcclLibrary::get().groupStart(), "begin a group"); }
    void endGroup() override { NcclLibrary::get().check(NcclLibrary::get().groupEnd(), "end a group"); }
};

} // namespace

std::shared_ptr<PeerLibrary> makeNcclPeers() {
    return std::make_shared<NcclPeers>();
}

} // namespace bubblescope::runtime
