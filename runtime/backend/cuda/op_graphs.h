#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <map>
#include <utility>

namespace bubblescope::runtime {

/// Turns batches of one stream's work into CUDA graphs, so that the GPU is given one launch for the many kernels of an
/// op. Addresses differ from batch to batch of a key: what was launched before is updated, which takes the host less
/// than making it anew; a batch whose calls differ from the last one's of its key is made anew.
///
/// What cannot be part of a graph (waiting for or marking what other streams do, or waiting for the device) goes
/// between pause() and resume(), and cuts the batch into several graphs. Used by the thread that feeds the stream;
/// failures are exceptions.
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
    void capture();
    void launch();
    void launch(cudaGraph_t graph);

    cudaStream_t stream_;
    bool in_batch_ = false;
    bool capturing_ = false;
    std::uint64_t key_ = 0;
    int part_ = 0;                                                  ///< of the batch
    std::map<std::pair<std::uint64_t, int>, cudaGraphExec_t> made_; ///< by key and part
};

} // namespace bubblescope::runtime
