#include "runtime/backend/cuda/cuda_device.h"

#include "core/base/field.h"
#include "runtime/backend/cuda/cuda_calls.h"
#include "runtime/backend/cuda/green_contexts.h"
#include "runtime/backend/cuda/kernels.h"
#include "runtime/backend/cuda/op_graphs.h"
#include "runtime/backend/cuda/products.h"
#include "runtime/backend/cudnn/cudnn_attention.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <exception>
#include <string_view>

namespace bubblescope::runtime {
namespace {

struct CudaStream : Accelerator::StreamState {
    cudaStream_t stream = nullptr;
    void* workspace = nullptr; ///< for products; allocated for the first one
    Products::Plans plans;
    std::optional<OpGraphs> graphs;
    std::optional<CudnnAttention::Queue> cudnn; ///< opened for the first attention
};

struct CudaEvent : Accelerator::EventState {
    cudaEvent_t event = nullptr;
};

cudaStream_t cuda(Accelerator::Stream stream) {
    return static_cast<CudaStream*>(stream)->stream;
}

cudaEvent_t cuda(Accelerator::Event event) {
    return static_cast<CudaEvent*>(event)->event;
}

/// Pauses the recording of a graph for an operation that cannot be part of one.
class OutsideGraph {
public:
    explicit OutsideGraph(Accelerator::Stream stream) : graphs_(static_cast<CudaStream*>(stream)->graphs) {
        if (graphs_) graphs_->pause();
    }
    OutsideGraph(const OutsideGraph&) = delete;
    OutsideGraph& operator=(const OutsideGraph&) = delete;
    /// Call it if the operation succeeded.
    void resume() {
        if (graphs_) graphs_->resume();
    }

private:
    std::optional<OpGraphs>& graphs_;
};

class CudaDevice final : public Accelerator {
public:
    /// `share` holds the processors for the device's streams; null = all processors.
    CudaDevice(int index, int capability, bool graphs, AttentionChoice attention,
               std::shared_ptr<ProcessorShare> share = nullptr)
        : index_(index), capability_(capability), fuses_attention_(capability >= kFusedCapability), graphs_(graphs),
          attention_(std::move(attention)), share_(std::move(share)) {
        CudaDevice::bindThread();
        checkCuda(loadKernels(), "load the kernels");
        if (fuses_attention_) checkCuda(loadAttention(), "load attention");
        checkCuda(cudaDeviceGetAttribute(&processors_, cudaDevAttrMultiProcessorCount, index_), "query its processors");
        if (!share_) return;
        processors_ = share_->processors();
        products_.useProcessors(processors_);
        tryStream();
    }

    std::string uuid() const override {
        cudaDeviceProp properties{};
        checkCuda(cudaGetDeviceProperties(&properties, index_), "query its properties");
        std::string text = "GPU";
        for (std::size_t i = 0; i < sizeof properties.uuid.bytes; ++i) {
            // Groups of 4, 2, 2, 2 and 6 bytes, as printed by the driver's tools.
            if (i == 0 || i == 4 || i == 6 || i == 8 || i == 10) text += '-';
            constexpr std::string_view kDigits = "0123456789abcdef";
            const auto byte = static_cast<unsigned char>(properties.uuid.bytes[i]);
            text += kDigits[byte >> 4U];
            text += kDigits[byte & 0xFU];
        }
        return text;
    }

    std::optional<std::int64_t> memory() const override {
        std::size_t free = 0;
        std::size_t total = 0;
        checkCuda(cudaMemGetInfo(&free, &total), "query its memory");
        return static_cast<std::int64_t>(total);
    }
    int processors() const override { return processors_; }
    Result<std::vector<std::shared_ptr<Accelerator>>> divide(int parts) override {
        BUBBLESCOPE_ASSIGN(const auto shares, divideProcessors(loadedDriver(), index_, parts));
        std::vector<std::shared_ptr<Accelerator>> devices;
        try {
            for (const std::shared_ptr<ProcessorShare>& share : shares)
                devices.push_back(std::make_shared<CudaDevice>(index_, capability_, graphs_, attention_, share));
        } catch (const std::exception& e) {
            return runError(std::string("cannot use a share of the SMs: ") + e.what());
        }
        return devices;
    }
    void leaveRoomFor(int blocks) override {
        // Transfers are small compared with products, so they get at most a quarter of the processors.
        products_.useProcessors(processors_ - std::min(blocks, processors_ / 4));
    }

    void bindThread() override { checkCuda(cudaSetDevice(index_), "use the GPU"); }

    void* allocate(std::int64_t bytes) override {
        void* memory = nullptr;
        const cudaError_t result = cudaMalloc(&memory, static_cast<std::size_t>(bytes));
        if (result != cudaSuccess) (void)cudaGetLastError(); // clears the error, which must not affect later calls
        checkCuda(result, "allocate memory");
        return memory;
    }
    void release(void* memory) noexcept override { (void)cudaFree(memory); }

    using Accelerator::makeStream;
    Stream makeStream(Priority priority) override {
        int least = 0;
        int greatest = 0;
        checkCuda(cudaDeviceGetStreamPriorityRange(&least, &greatest), "query its priorities");
        auto made = std::make_unique<CudaStream>();
        // Smaller numbers go first.
        const int level = priority == Priority::Urgent ? greatest
                          : priority == Priority::Low  ? least
                                                       : std::min(greatest + 1, least);
        if (share_) {
            made->stream = static_cast<cudaStream_t>(share_->makeStream(level));
        } else {
            checkCuda(cudaStreamCreateWithPriority(&made->stream, cudaStreamNonBlocking, level), "create a stream");
        }
        if (graphs_) made->graphs.emplace(made->stream);
        return made.release();
    }
    void destroy(Stream stream) noexcept override {
        auto* const own = static_cast<CudaStream*>(stream);
        own->graphs.reset();
        own->cudnn.reset();
        (void)cudaStreamDestroy(own->stream);
        (void)cudaFree(own->workspace);
        delete own;
    }
    void* nativeStream(Stream stream) const override { return cuda(stream); }
    void finish(Stream stream) override {
        OutsideGraph outside(stream);
        checkCuda(cudaStreamSynchronize(cuda(stream)), "finish its work");
        outside.resume();
    }

    Event makeEvent(bool timed) override {
        auto made = std::make_unique<CudaEvent>();
        checkCuda(cudaEventCreateWithFlags(&made->event, timed ? cudaEventDefault : cudaEventDisableTiming),
                  "create an event");
        return made.release();
    }
    void destroy(Event event) noexcept override {
        (void)cudaEventDestroy(cuda(event));
        delete static_cast<CudaEvent*>(event);
    }
    void record(Event event, Stream stream) override {
        OutsideGraph outside(stream);
        checkCuda(cudaEventRecord(cuda(event), cuda(stream)), "record an event");
        outside.resume();
    }
    void wait(Stream stream, Event event) override {
        OutsideGraph outside(stream);
        checkCuda(cudaStreamWaitEvent(cuda(stream), cuda(event), cudaEventWaitDefault), "wait for an event");
        outside.resume();
    }
    void finish(Event event) override { checkCuda(cudaEventSynchronize(cuda(event)), "synchronise with an event"); }
    bool reached(Event event) override {
        const cudaError_t result = cudaEventQuery(cuda(event));
        if (result != cudaErrorNotReady) checkCuda(result, "query an event");
        return result == cudaSuccess;
    }
    TimeNs elapsed(Event from, Event to) override {
        float milliseconds = 0.0F;
        checkCuda(cudaEventElapsedTime(&milliseconds, cuda(from), cuda(to)), "measure the time between events");
        return TimeNs{std::llround(static_cast<double>(milliseconds) * 1e6)};
    }

    void copy(void* to, const void* from, std::int64_t bytes, Stream stream) override {
        queue(Copy{to, from, bytes}, stream, [=] {
            checkCuda(
                cudaMemcpyAsync(to, from, static_cast<std::size_t>(bytes), cudaMemcpyDeviceToDevice, cuda(stream)),
                "copy");
        });
    }
    void zero(void* memory, std::int64_t bytes, Stream stream) override {
        queue(Zero{memory, bytes}, stream, [=] {
            checkCuda(cudaMemsetAsync(memory, 0, static_cast<std::size_t>(bytes), cuda(stream)), "clear memory");
        });
    }
    void copyIn(void* to, const void* host, std::int64_t bytes, Stream stream) override {
        OutsideGraph outside(stream);
        checkCuda(cudaMemcpyAsync(to, host, static_cast<std::size_t>(bytes), cudaMemcpyHostToDevice, cuda(stream)),
                  "copy from the host");
        checkCuda(cudaStreamSynchronize(cuda(stream)), "finish its work");
        outside.resume();
    }
    void copyOut(void* host, const void* from, std::int64_t bytes, Stream stream) override {
        OutsideGraph outside(stream);
        checkCuda(cudaMemcpyAsync(host, from, static_cast<std::size_t>(bytes), cudaMemcpyDeviceToHost, cuda(stream)),
                  "copy to the host");
        checkCuda(cudaStreamSynchronize(cuda(stream)), "finish its work");
        outside.resume();
    }

    void stamp(std::uint64_t* at, Stream stream) override {
        OutsideGraph outside(stream);
        stampOnGpu(at, cuda(stream));
        checkCuda(cudaGetLastError(), "read its timer");
        outside.resume();
    }
    void holdUntil(const std::uint64_t* since, TimeNs length, Stream stream) override {
        OutsideGraph outside(stream);
        holdOnGpu(since, static_cast<std::uint64_t>(length.count()), cuda(stream));
        checkCuda(cudaGetLastError(), "hold a stream");
        outside.resume();
    }

    void beginBatch(std::uint64_t key, Stream stream) override {
        if (auto& graphs = static_cast<CudaStream*>(stream)->graphs) graphs->begin(key);
    }
    void endBatch(Stream stream) override {
        if (auto& graphs = static_cast<CudaStream*>(stream)->graphs) graphs->end();
    }

    void multiply(const Gemm& gemm, Stream stream) override {
        auto* const own = static_cast<CudaStream*>(stream);
        if (own->workspace == nullptr) own->workspace = allocate(static_cast<std::int64_t>(Products::kWorkspace));
        queue(gemm, stream, [=, this] { products_.multiply(gemm, own->plans, own->workspace, own->stream); });
    }
    bool fusesAttention(Storage storage, std::int64_t width) const override {
        return fuses_attention_ && storage == Storage::Bf16 && fusedWidth(width);
    }
    std::string attentionNote() const override { return attention_.note; }
    std::int64_t attentionWorkspace(const AttentionSizes& sizes) const override {
        return attention_.cudnn ? CudnnAttention::workspaceOf(sizes) : 0;
    }
    void attend(const FusedAttention& attention, Stream stream) override {
        if (CudnnAttention::Queue* const cudnn = cudnnFor(attention.sizes, stream))
            return queue(attention, stream, attention_.cudnn->attend(attention, *cudnn));
        queue(attention, stream, [=] {
            attendOnGpu(attention, cuda(stream));
            checkCuda(cudaGetLastError(), "compute attention");
        });
    }
    void attendBackward(const FusedAttentionGradient& attention, Stream stream) override {
        if (CudnnAttention::Queue* const cudnn = cudnnFor(attention.sizes, stream))
            return queue(attention, stream, attention_.cudnn->attendBackward(attention, *cudnn));
        queue(attention, stream, [=] {
            queriesGradientOnGpu(attention, cuda(stream));
            keysGradientOnGpu(attention, cuda(stream));
            checkCuda(cudaGetLastError(), "compute the gradient of attention");
        });
    }
#define BUBBLESCOPE_LAUNCH(Kernel)                                       \
    void launch(const Kernel& kernel, Stream stream) override {          \
        const auto now = [=] {                                           \
            launchOnGpu(kernel, cuda(stream));                           \
            checkCuda(cudaGetLastError(), "run a kernel (" #Kernel ")"); \
        };                                                               \
        if constexpr (kVaries<Kernel>) {                                 \
            OutsideGraph outside(stream);                                \
            now();                                                       \
            outside.resume();                                            \
        } else {                                                         \
            queue(kernel, stream, now);                                  \
        }                                                                \
    }
    BUBBLESCOPE_KERNELS(BUBBLESCOPE_LAUNCH)
#undef BUBBLESCOPE_LAUNCH

private:
    struct Copy {
        void* to;
        const void* from;
        std::int64_t bytes;
    };
    struct Zero {
        void* memory;
        std::int64_t bytes;
    };

    /// Makes a call that can be part of a graph.
    template <class Arguments, class Call>
    static void queue(const Arguments& arguments, Stream stream, const Call& call) {
        if (auto& graphs = static_cast<CudaStream*>(stream)->graphs) {
            graphs->call(arguments, call);
        } else {
            call();
        }
    }

    /// cuDNN for a stream; null if own kernels compute this attention.
    CudnnAttention::Queue* cudnnFor(const AttentionSizes& sizes, Stream stream) {
        if (!attention_.cudnn || !CudnnAttention::takes(sizes)) return nullptr;
        auto* const own = static_cast<CudaStream*>(stream);
        if (!own->cudnn) own->cudnn.emplace(*attention_.cudnn, *this, own->stream);
        return &*own->cudnn;
    }

    /// Throws an exception if kernels do not run on a stream.
    void tryStream() {
        void* const stamp = CudaDevice::allocate(sizeof(std::uint64_t));
        Stream stream = nullptr;
        try {
            stream = CudaDevice::makeStream(Priority::Usual);
            CudaDevice::stamp(static_cast<std::uint64_t*>(stamp), stream);
            CudaDevice::finish(stream);
        } catch (...) {
            if (stream != nullptr) CudaDevice::destroy(stream);
            CudaDevice::release(stamp);
            throw;
        }
        CudaDevice::destroy(stream);
        CudaDevice::release(stamp);
    }

    int index_;
    int capability_;
    int processors_ = 0;
    bool fuses_attention_;
    bool graphs_;
    AttentionChoice attention_;
    std::shared_ptr<ProcessorShare> share_;
    Products products_; ///< constructed after the GPU was selected
};

/// The number of hardware queues that streams share. Work after a held stream in the same queue waits with it, and
/// several ranks with three streams each need more than the default of 8 queues. CUDA reads the variable when it
/// starts.
void askForQueues() {
    ::setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0);
}

/// Dense bf16 rates from NVIDIA's datasheets, without sparsity. A part of a GPU (MIG) has the whole GPU's name; its
/// rate is proportional to its number of multiprocessors.
std::optional<double> peakOf(std::string_view name, int processors) {
    struct Peak {
        std::string_view part;
        double flops;
        int processors;
    };
    // PCIe cards are slower than modules with the same name, and come first.
    constexpr std::array kPeaks{Peak{"H100 PCIe", 756e12, 114}, Peak{"H100 NVL", 835e12, 132},
                                Peak{"H200 NVL", 835e12, 132},  Peak{"H100", 989.4e12, 132},
                                Peak{"H200", 989.4e12, 132},    Peak{"A100", 311.9e12, 108},
                                Peak{"B200", 2250e12, 148},     Peak{"L40S", 362e12, 142},
                                Peak{"L4", 121e12, 58},         Peak{"RTX 4090", 165.2e12, 128}};
    for (const Peak& peak : kPeaks) {
        if (name.find(peak.part) != std::string_view::npos)
            return peak.flops * std::min(1.0, static_cast<double>(processors) / peak.processors);
    }
    return std::nullopt;
}

} // namespace

cudaStream_t cudaStreamOf(Accelerator::Stream stream) {
    return cuda(stream);
}

int gpuCount() {
    askForQueues();
    int count = 0;
    if (cudaGetDeviceCount(&count) != cudaSuccess) {
        (void)cudaGetLastError();
        return 0;
    }
    return count;
}

Result<GpuInfo> gpuInfo(int index) {
    askForQueues();
    cudaDeviceProp properties{};
    const cudaError_t result = cudaGetDeviceProperties(&properties, index);
    if (result != cudaSuccess) {
        (void)cudaGetLastError();
        return runError(std::string("GPU ") + std::to_string(index) + " cannot be used: " + cudaGetErrorString(result),
                        "check that nvidia-smi lists it, or use " + Field("backend").is("cpu"));
    }
    GpuInfo info;
    info.name = properties.name;
    info.capability = properties.major * 10 + properties.minor;
    info.processors = properties.multiProcessorCount;
    info.memory = static_cast<std::int64_t>(properties.totalGlobalMem);
    info.peak_flops = peakOf(info.name, info.processors);
    return info;
}

Result<std::shared_ptr<Accelerator>> openGpu(int index, bool graphs, AttentionKernels attention) {
    BUBBLESCOPE_ASSIGN(const GpuInfo info, gpuInfo(index));
    if (info.capability < 75) {
        return runError(info.name + " is too old: compute capability 7.5 or newer is required",
                        "use " + Field("backend").is("cpu"));
    }
    try {
        checkCuda(cudaSetDevice(index), "use the GPU"); // cuDNN uses the thread's GPU
        BUBBLESCOPE_ASSIGN(AttentionChoice choice, chooseAttention(attention, info.capability));
        return std::shared_ptr<Accelerator>(
            std::make_shared<CudaDevice>(index, info.capability, graphs, std::move(choice)));
    } catch (const std::exception& e) {
        return runError(info.name + " cannot be used: " + e.what());
    }
}

} // namespace bubblescope::runtime
