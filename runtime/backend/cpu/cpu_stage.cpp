#include "runtime/backend/cpu/cpu_backend.h"

#include "runtime/model/gpt_stage.h"

#include <cstring>
#include <stdexcept>
#include <utility>

namespace bubblescope::runtime {
namespace {

const HostMatrix& onHost(const Tensor& tensor, std::int64_t rows, std::int64_t columns, Storage storage) {
    if (!tensor.onHost() || tensor.rows() != rows || tensor.cols() != columns || storage != Storage::Float)
        throw std::logic_error("a tensor does not belong to the stage that uses it");
    return tensor.host();
}

class CpuQueue final : public ComputeQueue {
public:
    CpuQueue()
        : ComputeQueue(cpuDevice(), Accelerator::Priority::Usual,
                       {.saves_attention = true, .separate_gradients = true, .alignment = 1}) {}

    [[nodiscard]] WorkQueue& checks() override { return *this; }
    [[nodiscard]] WorkQueue& current() override { return *this; }
    [[nodiscard]] std::unique_ptr<LiveTensor> live(WorkQueue& /*on*/, void* data, std::int64_t count, Storage storage,
                                                   std::shared_ptr<const Buffer> /*memory*/) override {
        if (storage != Storage::Float) throw std::logic_error("the CPU supports only fp32");
        return std::make_unique<HostTensor>(static_cast<float*>(data), count);
    }
    [[nodiscard]] Tensor give(Buffer buffer, std::int64_t rows, std::int64_t columns, Storage /*storage*/) override {
        return HostMatrix(rows, columns, buffer.as<float>());
    }
    [[nodiscard]] Buffer take(Tensor tensor, std::int64_t rows, std::int64_t columns, Storage storage) override {
        const HostMatrix& values = onHost(tensor, rows, columns, storage);
        Buffer buffer = pool().take(values.bytes());
        if (!buffer.empty()) std::memcpy(buffer.as<void>(), values.data(), static_cast<std::size_t>(values.bytes()));
        return buffer;
    }
    [[nodiscard]] const void* valuesOf(const Tensor& tensor, std::int64_t rows, std::int64_t columns,
                                       Storage storage) override {
        return onHost(tensor, rows, columns, storage).data();
    }
};

} // namespace

std::shared_ptr<ComputeQueue> makeCpuQueue() {
    return std::make_shared<CpuQueue>();
}

std::unique_ptr<StageModel> makeCpuStage(const ModelConfig& model, StageTask task) {
    return std::make_unique<GptStage<float>>(makeCpuQueue(), model, std::move(task));
}

Result<std::unique_ptr<ReexecutableLayer>> unpackLayer(WireReader& wire) {
    BUBBLESCOPE_ASSIGN(std::unique_ptr<ReexecutableLayer> layer, CapturedGptLayer<float>::unpack(wire, makeCpuQueue()));
    return layer;
}

} // namespace bubblescope::runtime
