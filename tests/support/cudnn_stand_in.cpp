// A library with the functions of cuDNN that attention uses. It runs graphs of basic operations on the host's memory,
// one operation after the other, by their descriptors. So a result is correct only if the described graph is.
//
// CUDNN_STAND_IN, which each call reads, is the version that it reports, or names the call that fails.

#include "runtime/accelerator/kernels/portable.h"
#include "runtime/backend/cudnn/cudnn_library.h"

#include <array>
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace bubblescope::runtime {
namespace {

using Cudnn = CudnnLibrary;
using Four = std::array<std::int64_t, 4>;

constexpr int kBadParameter = 2000;
constexpr int kNotSupported = 3000;
constexpr int kExecutionFailed = 5000;
constexpr std::int64_t kSmallWorkspace = 256;

std::string_view behaviour() {
    const char* const text = std::getenv("CUDNN_STAND_IN");
    return text != nullptr ? text : "";
}

struct Attribute {
    int type = 0;
    std::int64_t count = 0;
    std::vector<char> bytes;
};

struct Descriptor {
    int kind = 0;
    bool final = false;
    std::map<int, Attribute> attributes;

    template <class Value>
    [[nodiscard]] Value get(int attribute, std::size_t index = 0) const {
        Value value;
        std::memcpy(&value, attributes.at(attribute).bytes.data() + index * sizeof(Value), sizeof value);
        return value;
    }
    [[nodiscard]] const Descriptor& at(int attribute, std::size_t index = 0) const {
        return *static_cast<const Descriptor*>(get<void*>(attribute, index));
    }
    [[nodiscard]] std::size_t count(int attribute) const {
        return static_cast<std::size_t>(attributes.at(attribute).count);
    }
};

std::size_t bytesOfType(int type) {
    switch (type) {
    case Cudnn::kHandle:
    case Cudnn::kInt64:
    case Cudnn::kPointer:
    case Cudnn::kDescriptor: return 8;
    case Cudnn::kBoolean: return 1;
    default: return 4; // enumerators
    }
}

/// A tensor with its memory. Elements of intermediate results are stored as floats.
struct Tensor {
    Four dimensions{};
    Four strides{};
    int type = Cudnn::kFloat;
    void* memory = nullptr;
    int stored = Cudnn::kFloat;

    [[nodiscard]] std::int64_t offset(const Four& at) const {
        std::int64_t sum = 0;
        for (std::size_t i = 0; i < 4; ++i)
            sum += (dimensions[i] == 1 ? 0 : at[i]) * strides[i];
        return sum;
    }
    [[nodiscard]] float read(const Four& at) const {
        const std::int64_t index = offset(at);
        return stored == Cudnn::kBf16 ? load(static_cast<const Bf16*>(memory)[index])
                                      : rounded(static_cast<const float*>(memory)[index]);
    }
    void write(const Four& at, float value) const {
        const std::int64_t index = offset(at);
        if (stored == Cudnn::kBf16) {
            store(static_cast<Bf16*>(memory)[index], value);
        } else {
            static_cast<float*>(memory)[index] = rounded(value);
        }
    }

private:
    [[nodiscard]] float rounded(float value) const {
        if (type != Cudnn::kBf16) return value;
        Bf16 as_stored;
        store(as_stored, value);
        return load(as_stored);
    }
};

void forEach(const Four& dimensions, const std::function<void(const Four&)>& visit) {
    Four at{};
    for (at[0] = 0; at[0] < dimensions[0]; ++at[0]) {
        for (at[1] = 0; at[1] < dimensions[1]; ++at[1]) {
            for (at[2] = 0; at[2] < dimensions[2]; ++at[2]) {
                for (at[3] = 0; at[3] < dimensions[3]; ++at[3])
                    visit(at);
            }
        }
    }
}

/// One execution of a plan.
class Execution {
public:
    explicit Execution(const Descriptor& pack) {
        for (std::size_t i = 0; i < pack.count(Cudnn::kPackIds); ++i)
            memory_[pack.get<std::int64_t>(Cudnn::kPackIds, i)] = pack.get<void*>(Cudnn::kPackPointers, i);
    }

    void run(const Descriptor& operation) {
        switch (operation.kind) {
        case Cudnn::kOperationMatmul: return multiply(operation);
        case Cudnn::kOperationReduction: return reduce(operation);
        case Cudnn::kOperationReshape: return reshape(operation);
        default: return point(operation);
        }
    }

private:
    Tensor tensor(const Descriptor& of) {
        const auto id = of.get<std::int64_t>(Cudnn::kTensorId);
        if (const auto alias = aliases_.find(id); alias != aliases_.end()) return alias->second;
        Tensor made;
        for (std::size_t i = 0; i < 4; ++i) {
            made.dimensions[i] = of.get<std::int64_t>(Cudnn::kTensorDimensions, i);
            made.strides[i] = of.get<std::int64_t>(Cudnn::kTensorStrides, i);
        }
        made.type = of.get<int>(Cudnn::kTensorType);
        if (of.get<bool>(Cudnn::kTensorIsVirtual)) {
            std::vector<float>& values = intermediate_[id];
            if (values.empty()) {
                std::int64_t size = 1;
                for (std::size_t i = 0; i < 4; ++i)
                    size += (made.dimensions[i] - 1) * made.strides[i];
                values.resize(static_cast<std::size_t>(size), std::numeric_limits<float>::quiet_NaN());
            }
            made.memory = values.data();
        } else {
            made.memory = memory_.at(id);
            made.stored = made.type;
        }
        return made;
    }

    void multiply(const Descriptor& operation) {
        const Tensor a = tensor(operation.at(Cudnn::kOperationMatmulA));
        const Tensor b = tensor(operation.at(Cudnn::kOperationMatmulB));
        const Tensor c = tensor(operation.at(Cudnn::kOperationMatmulC));
        forEach(c.dimensions, [&](const Four& at) {
            float sum = 0;
            for (std::int64_t k = 0; k < a.dimensions[3]; ++k)
                sum += a.read({at[0], at[1], at[2], k}) * b.read({at[0], at[1], k, at[3]});
            c.write(at, sum);
        });
    }

    void reduce(const Descriptor& operation) {
        const Tensor x = tensor(operation.at(Cudnn::kOperationReductionX));
        const Tensor y = tensor(operation.at(Cudnn::kOperationReductionY));
        const bool sums =
            operation.at(Cudnn::kOperationReductionDescriptor).get<int>(Cudnn::kReductionOperator) == Cudnn::kSum;
        forEach(y.dimensions, [&](const Four& at) {
            float total = sums ? 0.0F : -std::numeric_limits<float>::infinity();
            for (std::int64_t k = 0; k < x.dimensions[3]; ++k) {
                const float value = x.read({at[0], at[1], at[2], k});
                total = sums ? total + value : std::max(total, value);
            }
            y.write(at, total);
        });
    }

    /// The same memory with other strides.
    void reshape(const Descriptor& operation) {
        const Tensor x = tensor(operation.at(Cudnn::kOperationReshapeX));
        const Descriptor& result = operation.at(Cudnn::kOperationReshapeY);
        Tensor y = tensor(result);
        y.memory = x.memory;
        y.stored = x.stored;
        aliases_[result.get<std::int64_t>(Cudnn::kTensorId)] = y;
    }

    void point(const Descriptor& operation) {
        const Descriptor& how = operation.at(Cudnn::kOperationPointwiseDescriptor);
        const int mode = how.get<int>(Cudnn::kPointwiseMode);
        const Tensor x = tensor(operation.at(Cudnn::kOperationPointwiseX));
        const Tensor y = tensor(operation.at(Cudnn::kOperationPointwiseY));
        const bool two = operation.attributes.contains(Cudnn::kOperationPointwiseB);
        const Tensor b = two ? tensor(operation.at(Cudnn::kOperationPointwiseB)) : x;
        const Tensor t = mode == Cudnn::kSelect ? tensor(operation.at(Cudnn::kOperationPointwiseT)) : x;
        const auto axis = mode == Cudnn::kIndex ? how.get<std::int64_t>(Cudnn::kPointwiseAxis) : 0;
        forEach(y.dimensions, [&](const Four& at) {
            const float one = x.read(at);
            const float other = b.read(at);
            y.write(at, [&] {
                switch (mode) {
                case Cudnn::kAdd: return one + other;
                case Cudnn::kSubtract: return one - other;
                case Cudnn::kMultiply: return one * other;
                case Cudnn::kDivide: return one / other;
                case Cudnn::kExponential: return std::exp(one);
                case Cudnn::kLogarithm: return std::log(one);
                case Cudnn::kGreaterOrEqual: return one >= other ? 1.0F : 0.0F;
                case Cudnn::kIndex: return static_cast<float>(at[static_cast<std::size_t>(axis)]);
                case Cudnn::kSelect: return t.read(at) != 0 ? one : other;
                default: return std::numeric_limits<float>::quiet_NaN();
                }
            }());
        });
    }

    std::map<std::int64_t, void*> memory_;
    std::map<std::int64_t, std::vector<float>> intermediate_;
    std::map<std::int64_t, Tensor> aliases_;
};

const Descriptor& graphOf(const Descriptor& plan) {
    return plan.at(Cudnn::kPlanConfig).at(Cudnn::kHeuristicsGraph);
}

/// As cuDNN's: a matrix of scores in Bf16 where the backward pass writes the gradient of the queries directly.
std::int64_t workspaceOf(const Descriptor& graph) {
    std::int64_t scores = 0;
    int products = 0;
    for (std::size_t i = 0; i < graph.count(Cudnn::kGraphOperations); ++i) {
        const Descriptor& operation = graph.at(Cudnn::kGraphOperations, i);
        if (operation.kind != Cudnn::kOperationMatmul) continue;
        const Descriptor& result = operation.at(Cudnn::kOperationMatmulC);
        std::int64_t size = 1;
        for (std::size_t d = 0; d < 4; ++d)
            size *= result.get<std::int64_t>(Cudnn::kTensorDimensions, d);
        if (products++ == 0) scores = size; // queries times keys comes first
    }
    return kSmallWorkspace + (products > 2 ? 2 * scores : 0);
}

Descriptor* own(void* descriptor) {
    return static_cast<Descriptor*>(descriptor);
}

std::atomic<int> handles{0};
std::atomic<int> descriptors{0};
std::atomic<int> plans{0};
std::atomic<int> executions{0};

} // namespace
} // namespace bubblescope::runtime

using namespace bubblescope::runtime;

// The functions have the names and signatures of cuDNN's.
#pragma GCC visibility push(default)
extern "C" {

/// The number of existing "handles" or "descriptors", or of finished "plans" or "executions".
int cudnnStandInCount(const char* what) {
    const std::string_view name = what;
    return name == "handles" ? handles : name == "descriptors" ? descriptors : name == "plans" ? plans : executions;
}

std::size_t cudnnGetVersion() {
    const int version = std::atoi(std::string(behaviour()).c_str());
    return version > 0 ? static_cast<std::size_t>(version) : Cudnn::kOldest;
}
const char* cudnnGetErrorString(int status) {
    return status == kNotSupported      ? "CUDNN_STATUS_NOT_SUPPORTED"
           : status == kExecutionFailed ? "CUDNN_STATUS_EXECUTION_FAILED"
                                        : "CUDNN_STATUS_BAD_PARAM";
}
void cudnnGetLastErrorString(char* text, std::size_t size) {
    std::strncpy(text, "as asked", size);
}
int cudnnCreate(void** handle) {
    if (behaviour() == "no-start") return kExecutionFailed;
    ++handles;
    *handle = new void* {};
    return 0;
}
int cudnnDestroy(void* handle) {
    --handles;
    delete static_cast<void**>(handle);
    return 0;
}
int cudnnSetStream(void* handle, void* stream) {
    *static_cast<void**>(handle) = stream;
    return 0;
}

int cudnnBackendCreateDescriptor(int kind, void** made) {
    ++descriptors;
    auto descriptor = std::make_unique<Descriptor>();
    descriptor->kind = kind;
    *made = descriptor.release();
    return 0;
}
int cudnnBackendDestroyDescriptor(void* descriptor) {
    --descriptors;
    delete own(descriptor);
    return 0;
}
int cudnnBackendSetAttribute(void* descriptor, int attribute, int type, std::int64_t count, const void* values) {
    if (own(descriptor)->final || count < 1 || values == nullptr) return kBadParameter;
    const auto* const bytes = static_cast<const char*>(values);
    own(descriptor)->attributes[attribute] = {
        type, count, {bytes, bytes + static_cast<std::size_t>(count) * bytesOfType(type)}};
    return 0;
}
int cudnnBackendFinalize(void* descriptor) {
    Descriptor& of = *own(descriptor);
    if (of.final) return kBadParameter;
    // A descriptor may only refer to final ones.
    for (const auto& [attribute, value] : of.attributes) {
        for (std::size_t i = 0; value.type == Cudnn::kDescriptor && i < static_cast<std::size_t>(value.count); ++i) {
            if (!of.at(attribute, i).final) return kBadParameter;
        }
    }
    if (of.kind == Cudnn::kTensor && of.get<std::int64_t>(Cudnn::kTensorStrides, 3) != 1 &&
        of.get<std::int64_t>(Cudnn::kTensorStrides, 2) != 1)
        return kNotSupported; // rows or columns are adjacent
    if (of.kind == Cudnn::kExecutionPlan) {
        if (behaviour() == "no-plan") return kNotSupported;
        ++plans;
    }
    of.final = true;
    return 0;
}
int cudnnBackendGetAttribute(void* descriptor, int attribute, int /*type*/, std::int64_t capacity, std::int64_t* count,
                             void* values) {
    const Descriptor& of = *own(descriptor);
    *count = capacity > 0 ? 1 : 0;
    switch (attribute) {
    case Cudnn::kHeuristicsResults: {
        if (behaviour() == "no-engine") *count = 0;
        Descriptor& config = **static_cast<Descriptor**>(values);
        config.attributes[Cudnn::kHeuristicsGraph] = of.attributes.at(Cudnn::kHeuristicsGraph);
        config.final = true;
        return 0;
    }
    case Cudnn::kConfigEngine: return 0;
    case Cudnn::kEngineNotes:
        *static_cast<int*>(values) = behaviour() == "varies" ? Cudnn::kNondeterministic : 0;
        return 0;
    case Cudnn::kPlanWorkspace: *static_cast<std::int64_t*>(values) = workspaceOf(graphOf(of)); return 0;
    default: return kBadParameter;
    }
}
int cudnnBackendExecute(void* handle, void* plan, void* pack) {
    if (handle == nullptr || !own(plan)->final || !own(pack)->final) return kBadParameter;
    if (behaviour() == "no-execution") return kExecutionFailed;
    ++executions;
    // A plan may overwrite its workspace.
    if (void* const workspace = own(pack)->get<void*>(Cudnn::kPackWorkspace); workspace != nullptr)
        std::memset(workspace, 0xFF, static_cast<std::size_t>(workspaceOf(graphOf(*own(plan)))));
    Execution execution(*own(pack));
    const Descriptor& graph = graphOf(*own(plan));
    for (std::size_t i = 0; i < graph.count(Cudnn::kGraphOperations); ++i)
        execution.run(graph.at(Cudnn::kGraphOperations, i));
    return 0;
}
}
#pragma GCC visibility pop
