#include "runtime/backend/cuda/nccl_peers.h"

#include "runtime/backend/cuda/cuda_calls.h"
#include "runtime/backend/loaded_library.h"

#include <nccl.h>

#include <chrono>
#include <cstddef>
#include <cstring>
#include <exception>
#include <future>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

namespace bubblescope::runtime {
namespace {

/// The functions of NCCL that are used here. The library is not linked but loaded when ranks on GPUs are first
/// connected, because the program must start on machines without it.
class NcclLibrary {
public:
    /// Throws an exception if the library is not found. Loads it once per process.
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

    /// Throws an exception with NCCL's message. A call that is still in progress is not an error. The message does not
    /// come from the communicator, because another thread may have aborted and thereby freed it; NCCL's last error
    /// needs no communicator.
    void check(ncclResult_t result, const char* what) const;
    /// Aborts the communicator in a separate thread, and waits for a limited time: with some versions an abort can hang
    /// (nccl issues 549, 1777). A thread that hangs is abandoned.
    void abort(ncclComm_t comm) const noexcept;

private:
    NcclLibrary();
};

NcclLibrary::NcclLibrary() {
    const LoadedLibrary library("NCCL", "libnccl.so." + std::to_string(NCCL_MAJOR), "BUBBLESCOPE_NCCL",
                                BUBBLESCOPE_CUDA_LIBRARIES);
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

void NcclLibrary::check(ncclResult_t result, const char* what) const {
    if (result == ncclSuccess || result == ncclInProgress) return;
    std::string text = std::string("NCCL cannot ") + what + ": " + getErrorString(result);
    const char* const last = getLastError(nullptr);
    if (last != nullptr && *last != '\0') text += std::string(" (") + last + ")";
    throw std::runtime_error(text);
}

void NcclLibrary::abort(ncclComm_t comm) const noexcept {
    constexpr std::chrono::seconds kLimit{10};
    try {
        auto done = std::make_shared<std::promise<void>>();
        const std::future<void> ended = done->get_future();
        std::thread([this, comm, done] {
            (void)commAbort(comm);
            done->set_value();
        }).detach();
        (void)ended.wait_for(kLimit);
    } catch (const std::exception&) {
        (void)commAbort(comm); // no thread could be started
    }
}

/// A receive occupies its blocks on the GPU until the message arrives. The blocks of all of a rank's links together
/// must leave most of the GPU's processors to computation.
constexpr int kMaxBlocks = 2;

/// A communicator that a separate thread is joining. Unlike a non-blocking communicator, a blocking one needs no thread
/// for each call, but its first calls wait for the peers.
class Joining {
public:
    Joining(const NcclLibrary& nccl, const ncclUniqueId& id, int rank, int size, bool one_way)
        : nccl_(nccl), id_(id), rank_(rank), size_(size), one_way_(one_way) {
        checkCuda(cudaGetDevice(&gpu_), "query its number");
    }
    void run() noexcept {
        std::string error;
        try {
            checkCuda(cudaSetDevice(gpu_), "use the GPU");
            ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
            config.blocking = 1;
            config.maxCTAs = kMaxBlocks;
            ncclComm_t comm = nullptr;
            nccl_.check(nccl_.commInitRankConfig(&comm, size_, id_, rank_, &config), "join a communicator");
            keep(comm);
            exchangeFirst(comm);
        } catch (const std::exception& e) {
            error = e.what();
            abandon();
        }
        const std::lock_guard lock(mutex_);
        error_ = std::move(error);
        over_ = true;
    }
    /// Returns the communicator once; nullptr while it is being joined. Throws an exception if joining failed.
    [[nodiscard]] ncclComm_t take() {
        const std::lock_guard lock(mutex_);
        if (over_ && comm_ == nullptr) throw std::runtime_error(error_);
        return over_ ? std::exchange(comm_, nullptr) : nullptr;
    }
    void abandon() noexcept {
        // A call in progress gets a moment to return. A call that waits for a peer is ended by the abort.
        const std::unique_lock<std::timed_mutex> calls(calls_, std::chrono::seconds(2));
        const std::lock_guard lock(mutex_);
        abandoned_ = true;
        if (ncclComm_t comm = std::exchange(comm_, nullptr)) nccl_.abort(comm);
    }

private:
    /// From here on abandon() ends any wait of the joining thread.
    void keep(ncclComm_t comm) {
        const std::lock_guard lock(mutex_);
        comm_ = comm;
        if (!abandoned_) return;
        nccl_.abort(std::exchange(comm_, nullptr));
        throw std::runtime_error("the communicator was abandoned");
    }

    /// Sends one byte in each direction in which the communicator will be used, which loads NCCL's kernels and connects
    /// the peers.
    void exchangeFirst(ncclComm_t comm) {
        void* memory = nullptr;
        cudaStream_t stream = nullptr;
        checkCuda(cudaMalloc(&memory, static_cast<std::size_t>(size_) + 1), "allocate memory");
        checkCuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "create a stream");
        enqueueFirst(comm, static_cast<char*>(memory), stream);
        checkCuda(cudaStreamSynchronize(stream), "finish its work");
        checkCuda(cudaStreamDestroy(stream), "destroy a stream");
        checkCuda(cudaFree(memory), "free memory");
    }
    /// `bytes`: one byte to send, followed by one byte from each member.
    void enqueueFirst(ncclComm_t comm, char* bytes, cudaStream_t stream) {
        const std::lock_guard calls(calls_);
        {
            const std::lock_guard lock(mutex_);
            if (abandoned_) throw std::runtime_error("the communicator was abandoned"); // and freed
        }
        nccl_.check(nccl_.groupStart(), "begin a group");
        for (int peer = 0; peer < size_; ++peer) {
            if (peer == rank_) continue;
            if (!one_way_ || rank_ == 0) nccl_.check(nccl_.send(bytes, 1, ncclUint8, peer, comm, stream), "send");
            if (!one_way_ || rank_ == 1)
                nccl_.check(nccl_.receive(bytes + 1 + peer, 1, ncclUint8, peer, comm, stream), "receive");
        }
        nccl_.check(nccl_.groupEnd(), "end a group");
    }

    const NcclLibrary& nccl_;
    ncclUniqueId id_;
    int rank_;
    int size_;
    bool one_way_;
    int gpu_ = 0;
    std::timed_mutex calls_; ///< held during calls that use the communicator; taken before mutex_
    std::mutex mutex_;
    bool abandoned_ = false;
    bool over_ = false;
    ncclComm_t comm_ = nullptr;
    std::string error_;
};

class NcclComm final : public PeerComm {
public:
    NcclComm(const NcclLibrary& nccl, const ncclUniqueId& id, int rank, int size, bool one_way)
        : nccl_(nccl), joining_(std::make_shared<Joining>(nccl, id, rank, size, one_way)) {
        // Detached: a peer that never arrives may keep the thread waiting, but must not keep the run waiting.
        std::thread([joining = joining_] { joining->run(); }).detach();
    }
    ~NcclComm() override { NcclComm::abort(); }

    void send(const void* from, std::int64_t bytes, int peer, Accelerator::Stream stream) override {
        nccl_.check(nccl_.send(from, static_cast<std::size_t>(bytes), ncclUint8, peer, comm_, cudaStreamOf(stream)),
                    "send");
    }
    void receive(void* to, std::int64_t bytes, int peer, Accelerator::Stream stream) override {
        nccl_.check(nccl_.receive(to, static_cast<std::size_t>(bytes), ncclUint8, peer, comm_, cudaStreamOf(stream)),
                    "receive");
    }

    bool ready() override {
        if (joining_) {
            comm_ = joining_->take();
            if (comm_ == nullptr) return false;
            joining_.reset();
        }
        if (comm_ == nullptr) throw std::runtime_error("the communicator was aborted");
        ncclResult_t state = ncclSuccess;
        nccl_.check(nccl_.commGetAsyncError(comm_, &state), "query the state of a communicator");
        nccl_.check(state, "go on");
        return state == ncclSuccess;
    }

    // Used even after a successful run: nothing is in progress then, and an orderly shutdown would need all peers.
    void abort() noexcept override {
        if (joining_) joining_->abandon();
        joining_.reset();
        if (ncclComm_t comm = std::exchange(comm_, nullptr)) nccl_.abort(comm);
    }

private:
    const NcclLibrary& nccl_;
    std::shared_ptr<Joining> joining_; ///< set until the communicator has been joined
    ncclComm_t comm_ = nullptr;
};

class NcclPeers final : public PeerLibrary {
public:
    [[nodiscard]] std::string name() const override {
        int version = 0;
        const NcclLibrary& nccl = NcclLibrary::get();
        nccl.check(nccl.getVersion(&version), "query its version");
        return "NCCL " + std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) + "." +
               std::to_string(version % 100);
    }

    [[nodiscard]] std::string makeId() override {
        ncclUniqueId id;
        const NcclLibrary& nccl = NcclLibrary::get();
        nccl.check(nccl.getUniqueId(&id), "create a unique id");
        return {id.internal, sizeof id.internal};
    }

    [[nodiscard]] std::unique_ptr<PeerComm> join(const std::string& id, int rank, int size, bool one_way) override {
        ncclUniqueId unique;
        if (id.size() != sizeof unique.internal) throw std::logic_error("this is not an NCCL unique id");
        std::memcpy(unique.internal, id.data(), id.size());
        return std::make_unique<NcclComm>(NcclLibrary::get(), unique, rank, size, one_way);
    }

    [[nodiscard]] int blocksOfTransfer() const override { return kMaxBlocks; }

    void beginGroup() override { NcclLibrary::get().check(NcclLibrary::get().groupStart(), "begin a group"); }
    void endGroup() override { NcclLibrary::get().check(NcclLibrary::get().groupEnd(), "end a group"); }
};

} // namespace

std::shared_ptr<PeerLibrary> makeNcclPeers() {
    return std::make_shared<NcclPeers>();
}

} // namespace bubblescope::runtime
