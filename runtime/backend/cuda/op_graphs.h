#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <map>
#include <thread>
#include <utility>

namespace bubblescope::runtime {

/// Turns batches of a stream's work into CUDA graphs, so that the many kernels of an op are submitted in one launch.
/// Addresses differ between the batches of a key: the previous graph is updated, which is cheaper for the host than a
/// new one; if the calls differ too, a new graph is made.
///
/// Work that cannot be part of a graph (waiting for or marking work of other streams, or waiting for the device) goes
/// between pause() and resume(), and splits the batch into several graphs. Between begin() and end() only the thread
/// that called begin() may use the stream; failures, such as calls of other threads, are exceptions.
class OpGraphs {
public:
    explicit OpGraphs(cudaStream_t stream) : stream_(stream) {}
    OpGraphs(const OpGraphs&) = delete;
    OpGraphs& operator=(const OpGraphs&) = delete;
    ~OpGraphs();

    void begin(std::uint64_t key);
    void end();
    /// These do nothing outside a batch.
    void pause();
    void resume();

private:
    /// Throws if another thread gathers a batch.
    void refuseStrangers() const;
    void capture();
    void launch();
    void launch(cudaGraph_t graph);

    cudaStream_t stream_;
    std::thread::id gatherer_;
    bool in_batch_ = false;
    bool capturing_ = false;
    std::uint64_t key_ = 0;
    int part_ = 0;                                                  ///< number of the part within the batch
    std::map<std::pair<std::uint64_t, int>, cudaGraphExec_t> made_; ///< by key and part
};

} // namespace bubblescope::runtime
