#pragma once

#include "runtime/accelerator/recurring_batches.h"

#include <cuda_runtime_api.h>

#include <cstdint>
#include <functional>
#include <thread>
#include <utility>

namespace bubblescope::runtime {

/// Turns batches of work on a stream into CUDA graphs, so that the many kernels of an op are submitted in one launch.
/// The calls of a batch are kept until the batch ends. If the same calls with the same addresses were made before under
/// the same key, their graph is launched. The graph is created when the calls occur for the second time. Calls that
/// occur for the first time are made one by one, because they may never recur, as in steps with unique checks.
///
/// Work that cannot be part of a graph (events of other streams, or waiting for the device) is placed between pause()
/// and resume(), which split the batch into several graphs. The same applies to work whose arguments differ each time.
/// Between begin() and end(), only the thread that called begin() may use the stream; failures, such as calls from
/// other threads, are reported as exceptions.
class OpGraphs {
public:
    explicit OpGraphs(cudaStream_t stream) : stream_(stream) {}
    OpGraphs(const OpGraphs&) = delete;
    OpGraphs& operator=(const OpGraphs&) = delete;
    ~OpGraphs();

    void begin(std::uint64_t key);
    void end();
    /// pause() and resume() do nothing outside a batch.
    void pause();
    void resume();
    /// Makes the call immediately, or stores it for the graph.
    template <class Arguments>
    void call(const Arguments& arguments, std::function<void()> call) {
        refuseStrangers();
        if (!gathering_) return call();
        calls_.add(arguments, std::move(call));
    }

private:
    /// Graphs per key: usually one per micro-batch of a step, because the activations of each have different addresses.
    static constexpr std::size_t kGraphs = 64;

    /// Throws if another thread is recording a batch.
    void refuseStrangers() const;
    void launch();
    [[nodiscard]] cudaGraph_t capture();

    cudaStream_t stream_;
    std::thread::id gatherer_;
    bool in_batch_ = false;
    bool gathering_ = false;
    bool capturing_ = false;
    std::uint64_t key_ = 0;
    std::uint64_t part_ = 0; ///< index of the part within the batch
    BatchCalls calls_;
    RecurringBatches<cudaGraphExec_t> made_{kGraphs};
};

} // namespace bubblescope::runtime
