#pragma once

#include "core/base/result.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>

namespace bubblescope::runtime {

/// The part of cuDNN's backend API that attention needs. The library is loaded at run time, so a build needs neither
/// its headers nor its library. The numbers are those of cudnn_graph.h, which are fixed for all versions 9.
class CudnnLibrary {
public:
    using Handle = void*;
    using Descriptor = void*;
    enum Status : int { kSuccess = 0 };

    enum Kind : int {
        kPointwise = 0,
        kEngineHeuristics = 4,
        kEngineConfig = 3,
        kEngine = 2,
        kExecutionPlan = 5,
        kOperationPointwise = 13,
        kOperationGraph = 15,
        kVariantPack = 16,
        kTensor = 17,
        kMatmul = 18,
        kOperationMatmul = 19,
        kReduction = 21,
        kOperationReduction = 22,
        kOperationReshape = 31,
    };

    enum Attribute : int {
        kPointwiseMode = 0,
        kPointwiseMathPrecision = 1,
        kPointwiseAxis = 9,
        kHeuristicsMode = 200,
        kHeuristicsGraph = 201,
        kHeuristicsResults = 202,
        kConfigEngine = 300,
        kPlanHandle = 400,
        kPlanConfig = 401,
        kPlanWorkspace = 402,
        kOperationPointwiseDescriptor = 750,
        kOperationPointwiseX = 751,
        kOperationPointwiseB = 752,
        kOperationPointwiseY = 753,
        kOperationPointwiseT = 758,
        kGraphHandle = 800,
        kGraphOperations = 801,
        kTensorAlignment = 900,
        kTensorType = 901,
        kTensorDimensions = 902,
        kTensorStrides = 903,
        kTensorId = 906,
        kTensorIsVirtual = 907,
        kTensorIsByValue = 908,
        kPackIds = 1000,
        kPackPointers = 1001,
        kPackWorkspace = 1003,
        kEngineNotes = 1303,
        kMatmulComputeType = 1500,
        kOperationMatmulA = 1520,
        kOperationMatmulB = 1521,
        kOperationMatmulC = 1522,
        kOperationMatmulDescriptor = 1523,
        kReductionOperator = 1600,
        kReductionComputeType = 1601,
        kOperationReductionX = 1610,
        kOperationReductionY = 1611,
        kOperationReductionDescriptor = 1612,
        kOperationReshapeX = 2200,
        kOperationReshapeY = 2201,
    };

    /// Types of attributes' values.
    enum Type : int {
        kHandle = 0,
        kDataType = 1,
        kBoolean = 2,
        kInt64 = 3,
        kPointer = 6,
        kHeuristics = 8,
        kNote = 11,
        kPointwiseOperation = 14,
        kDescriptor = 15,
        kReductionOperation = 18,
    };

    enum Data : int { kFloat = 0, kInt32 = 4, kBf16 = 9, kBool = 11 };
    enum PointwiseOperation : int {
        kAdd = 0,
        kMultiply = 1,
        kDivide = 6,
        kSubtract = 9,
        kExponential = 13,
        kLogarithm = 15,
        kGreaterOrEqual = 303,
        kIndex = 501,
        kSelect = 601,
    };
    enum ReductionOperation : int { kSum = 0, kMaximum = 3 };
    static constexpr int kHeuristicsA = 3;
    static constexpr int kNondeterministic = 4; ///< a note on an engine

    /// Loads cuDNN from the path in BUBBLESCOPE_CUDNN or from the loader's paths. Error: Run, with the way out, if it
    /// is missing or older than kOldest.
    [[nodiscard]] static Result<std::shared_ptr<const CudnnLibrary>> open();

    /// The oldest version for which plans of these graphs were found: the one that PyTorch 2.11 installs.
    static constexpr std::size_t kOldest = 91900;
    [[nodiscard]] static std::string versionText(std::size_t version);

    [[nodiscard]] std::string version() const { return versionText(getVersion()); }
    /// Throws with cuDNN's message.
    void check(int status, std::string_view what) const;

    std::size_t (*getVersion)();
    const char* (*errorString)(int status);
    void (*lastError)(char* text, std::size_t size);
    int (*create)(Handle*);
    int (*destroy)(Handle);
    int (*setStream)(Handle, void* stream);
    int (*createDescriptor)(int kind, Descriptor*);
    int (*destroyDescriptor)(Descriptor);
    int (*setAttribute)(Descriptor, int attribute, int type, std::int64_t count, const void* values);
    int (*getAttribute)(Descriptor, int attribute, int type, std::int64_t capacity, std::int64_t* count, void* values);
    int (*finalize)(Descriptor);
    int (*execute)(Handle, Descriptor plan, Descriptor pack);

private:
    CudnnLibrary();
};

/// Owns a descriptor of cuDNN. Failures are reported as exceptions.
class CudnnDescriptor {
public:
    CudnnDescriptor(const CudnnLibrary& cudnn, CudnnLibrary::Kind kind) : cudnn_(&cudnn) {
        cudnn.check(cudnn.createDescriptor(kind, &descriptor_), "create a descriptor");
    }
    CudnnDescriptor(CudnnDescriptor&& other) noexcept : cudnn_(other.cudnn_), descriptor_(other.descriptor_) {
        other.descriptor_ = nullptr;
    }
    CudnnDescriptor& operator=(CudnnDescriptor&&) = delete;
    CudnnDescriptor(const CudnnDescriptor&) = delete;
    CudnnDescriptor& operator=(const CudnnDescriptor&) = delete;
    ~CudnnDescriptor() {
        if (descriptor_ != nullptr) (void)cudnn_->destroyDescriptor(descriptor_);
    }

    [[nodiscard]] CudnnLibrary::Descriptor get() const { return descriptor_; }

    void setAll(CudnnLibrary::Attribute attribute, CudnnLibrary::Type type, std::int64_t count, const void* values) {
        cudnn_->check(cudnn_->setAttribute(descriptor_, attribute, type, count, values), "describe attention");
    }
    template <class Value>
    void set(CudnnLibrary::Attribute attribute, CudnnLibrary::Type type, const Value& value) {
        static_assert(std::is_trivially_copyable_v<Value>);
        setAll(attribute, type, 1, &value);
    }
    void set(CudnnLibrary::Attribute attribute, const CudnnDescriptor& other) {
        set(attribute, CudnnLibrary::kDescriptor, other.get());
    }
    void finalize() { cudnn_->check(cudnn_->finalize(descriptor_), "describe attention"); }

private:
    const CudnnLibrary* cudnn_;
    CudnnLibrary::Descriptor descriptor_ = nullptr;
};

} // namespace bubblescope::runtime
