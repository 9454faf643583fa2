#include "runtime/backend/cuda/op_graphs.h"

#include "runtime/accelerator/kernels/number_hash.h"
#include "runtime/backend/cuda/cuda_calls.h"

#include <memory>
#include <stdexcept>

namespace bubblescope::runtime {
namespace {

struct DestroyGraph {
    void operator()(cudaGraph_t graph) const { (void)cudaGraphDestroy(graph); }
};

/// CUDA 12 changed the signature.
cudaGraphExec_t instantiate(cudaGraph_t graph) {
    cudaGraphExec_t made = nullptr;
#if CUDART_VERSION >= 12000
    checkCuda(cudaGraphInstantiate(&made, graph, 0), "create a graph");
#else
    checkCuda(cudaGraphInstantiate(&made, graph, nullptr, nullptr, 0), "create a graph");
#endif
    return made;
}

} // namespace

OpGraphs::~OpGraphs() {
    if (capturing_) { // after a failure: the recorded work is discarded
        cudaGraph_t graph = nullptr;
        (void)cudaStreamEndCapture(stream_, &graph);
        if (graph != nullptr) (void)cudaGraphDestroy(graph);
        (void)cudaGetLastError();
    }
    made_.forEach([](cudaGraphExec_t made) {
        if (made != nullptr) (void)cudaGraphExecDestroy(made);
    });
}

void OpGraphs::begin(std::uint64_t key) {
    key_ = key;
    part_ = 0;
    gatherer_ = std::this_thread::get_id();
    in_batch_ = gathering_ = true;
}

void OpGraphs::refuseStrangers() const {
    if (in_batch_ && gatherer_ != std::this_thread::get_id())
        throw std::logic_error("a thread used a stream that another thread is capturing into a graph");
}

void OpGraphs::end() {
    pause();
    in_batch_ = false;
}

void OpGraphs::pause() {
    refuseStrangers();
    if (gathering_) launch();
}

void OpGraphs::resume() {
    if (in_batch_) gathering_ = true;
}

void OpGraphs::launch() {
    gathering_ = false;
    if (calls_.empty()) return;
    const std::uint64_t key = mixBits(key_) + part_++;
    cudaGraphExec_t* const known = made_.find(key, calls_.arguments());
    if (known == nullptr) {
        cudaGraphExec_t& oldest = made_.add(key, calls_.arguments());
        if (oldest != nullptr) (void)cudaGraphExecDestroy(oldest); // if it is queued, it will still run
        oldest = nullptr;
        for (const auto& call : calls_.calls())
            call();
        return calls_.clear();
    }
    if (*known == nullptr) {
        const std::unique_ptr<CUgraph_st, DestroyGraph> graph(capture());
        *known = instantiate(graph.get());
    }
    calls_.clear();
    checkCuda(cudaGraphLaunch(*known, stream_), "run a graph");
}

cudaGraph_t OpGraphs::capture() {
    // Memory may be allocated during the capture, without an effect on the stream.
    checkCuda(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeRelaxed), "capture a graph");
    capturing_ = true;
    for (const auto& call : calls_.calls())
        call();
    capturing_ = false;
    cudaGraph_t gathered = nullptr;
    checkCuda(cudaStreamEndCapture(stream_, &gathered), "capture a graph");
    return gathered;
}

} // namespace bubblescope::runtime
