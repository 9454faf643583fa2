#include "runtime/backend/cudnn/cudnn_attention.h"

#include <fmt/format.h>

#include <bit>
#include <exception>
#include <utility>

namespace bubblescope::runtime {
namespace {

/// Fills a key with numbers.
template <class Key>
class KeyWriter {
public:
    explicit KeyWriter(const AttentionSizes& sizes) {
        for (const std::int64_t number :
             {std::int64_t{sizes.sequences}, std::int64_t{sizes.heads}, std::int64_t{sizes.width}, sizes.rows,
              sizes.seen, std::int64_t{std::bit_cast<std::int32_t>(sizes.scale)}})
            add(number);
    }
    template <class T>
    void add(const HeadRows<T>& rows) {
        add(rows.row);
        add(rows.sequence);
    }
    [[nodiscard]] const Key& key() const { return key_; }

private:
    void add(std::int64_t number) { key_.at(used_++) = number; }

    Key key_{};
    std::size_t used_ = 0;
};

} // namespace

Result<std::shared_ptr<CudnnAttention>> CudnnAttention::open(int capability) {
    if (capability < 80 || capability >= 100) {
        return runError(fmt::format("cuDNN computes attention repeatably on GPUs of compute capability 8.0 to 9.0, but "
                                    "this GPU has {}.{}",
                                    capability / 10, capability % 10));
    }
    BUBBLESCOPE_ASSIGN(const auto library, CudnnLibrary::open());
    try {
        return std::make_shared<CudnnAttention>(library);
    } catch (const std::exception& e) {
        return runError(e.what());
    }
}

CudnnAttention::CudnnAttention(std::shared_ptr<const CudnnLibrary> cudnn) : cudnn_(std::move(cudnn)) {
    cudnn_->check(cudnn_->create(&handle_), "start");
}

CudnnAttention::~CudnnAttention() {
    plans_.clear();
    (void)cudnn_->destroy(handle_);
}

CudnnAttention::Queue::Queue(const CudnnAttention& attention, Accelerator& device, void* stream)
    : cudnn_(attention.cudnn_), device_(device) {
    cudnn_->check(cudnn_->create(&handle_), "start");
    try {
        cudnn_->check(cudnn_->setStream(handle_, stream), "use a stream");
    } catch (...) {
        (void)cudnn_->destroy(handle_);
        throw;
    }
}

CudnnAttention::Queue::~Queue() {
    (void)cudnn_->destroy(handle_);
    for (void* const memory : memory_)
        device_.release(memory);
}

void* CudnnAttention::Queue::workspace(std::int64_t bytes) {
    if (bytes > size_) {
        memory_.push_back(device_.allocate(bytes));
        size_ = bytes;
    }
    return memory_.empty() ? nullptr : memory_.back();
}

template <class Attention>
const AttentionPlan& CudnnAttention::planOf(const Attention& attention, const Key& key) {
    const std::lock_guard lock(mutex_);
    std::unique_ptr<AttentionPlan>& plan = plans_[key];
    if (!plan) plan = std::make_unique<AttentionPlan>(*cudnn_, handle_, attention);
    return *plan;
}

std::function<void()> CudnnAttention::attend(const FusedAttention& attention, Queue& queue) {
    KeyWriter<Key> key(attention.sizes);
    key.add(attention.queries);
    key.add(attention.keys);
    key.add(attention.values);
    key.add(attention.output);
    const AttentionPlan& plan = planOf(attention, key.key());
    return [&plan, handle = queue.handle_, workspace = queue.workspace(plan.workspace()), attention] {
        plan.execute(handle,
                     std::array<CudnnAddress, 5>{{{CudnnTensor::Queries, attention.queries.data},
                                                  {CudnnTensor::Keys, attention.keys.data},
                                                  {CudnnTensor::Values, attention.values.data},
                                                  {CudnnTensor::Output, attention.output.data},
                                                  {CudnnTensor::Logs, attention.logs}}},
                     workspace);
    };
}

std::function<void()> CudnnAttention::attendBackward(const FusedAttentionGradient& attention, Queue& queue) {
    KeyWriter<Key> key(attention.sizes);
    key.add(attention.queries);
    key.add(attention.keys);
    key.add(attention.values);
    key.add(attention.output);
    key.add(attention.output_grad);
    key.add(attention.queries_grad);
    key.add(attention.keys_grad);
    key.add(attention.values_grad);
    const AttentionPlan& plan = planOf(attention, key.key());
    return [&plan, handle = queue.handle_, workspace = queue.workspace(plan.workspace()), attention] {
        plan.execute(handle,
                     std::array<CudnnAddress, 10>{{{CudnnTensor::Queries, attention.queries.data},
                                                   {CudnnTensor::Keys, attention.keys.data},
                                                   {CudnnTensor::Values, attention.values.data},
                                                   {CudnnTensor::Output, attention.output.data},
                                                   {CudnnTensor::Logs, attention.logs},
                                                   {CudnnTensor::OutputGrad, attention.output_grad.data},
                                                   {CudnnTensor::Along, attention.along},
                                                   {CudnnTensor::QueriesGrad, attention.queries_grad.data},
                                                   {CudnnTensor::KeysGrad, attention.keys_grad.data},
                                                   {CudnnTensor::ValuesGrad, attention.values_grad.data}}},
                     workspace);
    };
}

Result<AttentionChoice> chooseAttention(AttentionKernels asked, int capability, AttentionKernels by_default) {
    const bool automatic = asked == AttentionKernels::Auto;
    const AttentionKernels wanted = automatic ? by_default : asked;
    const std::string_view why = automatic ? "default" : "requested";
    if (wanted != AttentionKernels::Cudnn)
        return AttentionChoice{nullptr, fmt::format("attention: own kernels ({})", why)};
    const Result<std::shared_ptr<CudnnAttention>> opened = CudnnAttention::open(capability);
    if (opened.ok()) {
        return AttentionChoice{opened.value(), fmt::format("attention: {} ({}); slices of sequences: own kernels",
                                                           opened.value()->title(), why)};
    }
    if (automatic) return AttentionChoice{nullptr, "attention: own kernels: " + opened.error().text()};
    return runError("no attention by cuDNN: " + opened.error().text());
}

} // namespace bubblescope::runtime
