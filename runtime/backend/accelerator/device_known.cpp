#include "runtime/backend/accelerator/device_known.h"

#include "runtime/backend/accelerator/device_layers.h"
#include "runtime/model/known_answers.h"

#include <vector>

namespace bubblescope::runtime {
namespace {

/// Column by column, stored as U.
template <class U>
Buffer put(WorkQueue& on, const Matrix<float>& values) {
    std::vector<U> stored(static_cast<std::size_t>(values.size()));
    for (std::size_t i = 0; i < stored.size(); ++i)
        store(stored[i], values.data()[i]);
    Buffer buffer = on.pool().take(static_cast<std::int64_t>(stored.size() * sizeof(U)));
    on.device().copyIn(buffer.as<void>(), stored.data(), buffer.bytes(), on.stream());
    return buffer;
}

} // namespace

template <class T>
DeviceKnown<T>::DeviceKnown(WorkQueue& on) {
    const KnownInputs& known = knownInputs();
    input_ = put<T>(on, known.input);
    rows_ = put<T>(on, known.input.transpose());
    exact_ = put<float>(on, known.input);
    weight_ = put<T>(on, known.linear.weight);
    bias_ = put<float>(on, known.linear.bias.replicate(known.input.rows(), 1));
}

template <class T>
void DeviceKnown<T>::compute(CheckedTensor tensor, RankQueue& rank, WorkQueue& on, LayerProbe& probe) const {
    const KnownInputs& known = knownInputs();
    Buffer answer;
    if (tensor == CheckedTensor::Product) {
        answer = on.copyOf(bias_);
        Gemm gemm;
        gemm.rows = known.input.rows();
        gemm.columns = known.linear.weight.cols();
        gemm.inner = known.input.cols();
        gemm.in = kStorage<T>;
        gemm.out = Storage::Float;
        gemm.a = {input_.as<void>(), gemm.rows, 0, false};
        gemm.b = {weight_.as<void>(), gemm.inner, 0, false};
        gemm.result = {answer.as<void>(), gemm.rows, 0, false};
        gemm.accumulate = true;
        on.device().multiply(gemm, on.stream());
    } else if (tensor == CheckedTensor::Sums) {
        answer = on.pool().take(known.input.cols() * bytesOf(Storage::Float));
        on.launch(
            BiasGradientKernel<T>{answer.as<float>(), rows_.as<T>(), known.input.rows(), known.input.cols(), false});
    } else {
        answer = on.copyOf(exact_);
    }
    DeviceTensor live(rank, on, answer.as<void>(), answer.bytes() / bytesOf(Storage::Float), Storage::Float);
    probe.touch(tensor, live);
}

template class DeviceKnown<float>;
template class DeviceKnown<Bf16>;

} // namespace bubblescope::runtime
