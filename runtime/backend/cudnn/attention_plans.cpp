#include "runtime/backend/cudnn/attention_plans.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <exception>
#include <initializer_list>
#include <iterator>
#include <limits>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace bubblescope::runtime {
namespace {

using Cudnn = CudnnLibrary;
using Four = std::array<std::int64_t, 4>;

/// The ids of constants start here.
constexpr std::int64_t kConstants = 100;
/// The ids of intermediate results, which have no memory, start here.
constexpr std::int64_t kIntermediates = 1000;

Four packed(const Four& dimensions) {
    return {dimensions[1] * dimensions[2] * dimensions[3], dimensions[2] * dimensions[3], dimensions[3], 1};
}

Four transposed(const Four& of) {
    return {of[0], of[1], of[3], of[2]};
}

/// False if cuDNN notes that results of the engine differ from run to run.
bool repeatable(const Cudnn& cudnn, Cudnn::Descriptor config) {
    const CudnnDescriptor engine(cudnn, Cudnn::kEngine);
    Cudnn::Descriptor into = engine.get();
    std::int64_t count = 0;
    cudnn.check(cudnn.getAttribute(config, Cudnn::kConfigEngine, Cudnn::kDescriptor, 1, &count, &into),
                "name an engine");
    std::array<int, 32> notes{};
    cudnn.check(cudnn.getAttribute(into, Cudnn::kEngineNotes, Cudnn::kNote, static_cast<std::int64_t>(notes.size()),
                                   &count, notes.data()),
                "describe an engine");
    const auto end = notes.begin() + std::min<std::int64_t>(count, std::ssize(notes));
    return std::find(notes.begin(), end, Cudnn::kNondeterministic) == end;
}

} // namespace

/// Collects the operations of a graph. Dimensions are sequences, heads, rows and columns.
class AttentionPlan::Graph {
public:
    struct Tensor {
        Cudnn::Descriptor descriptor = nullptr;
        Four dimensions{};
        Four strides{};
    };

    Graph(const Cudnn& cudnn, const AttentionSizes& sizes)
        : cudnn_(cudnn), rows_{sizes.sequences, sizes.heads, sizes.rows, sizes.width},
          scores_{sizes.sequences, sizes.heads, sizes.rows, sizes.seen}, one_each_{sizes.sequences, sizes.heads,
                                                                                   sizes.rows, 1} {
        if (sizes.rows != sizes.seen) throw std::logic_error("attention by cuDNN needs as many keys as queries");
    }

    template <class T>
    Tensor rows(CudnnTensor id, const HeadRows<T>& rows) {
        return tensor(Cudnn::kBf16, rows_, {rows.sequence, rows_[3], rows.row, 1}, id);
    }
    /// The same memory with columns as rows.
    template <class T>
    Tensor columns(CudnnTensor id, const HeadRows<T>& rows) {
        return tensor(Cudnn::kBf16, transposed(rows_), {rows.sequence, rows_[3], 1, rows.row}, id);
    }
    Tensor oneEach(CudnnTensor id) { return tensor(Cudnn::kFloat, one_each_, packed(one_each_), id); }
    Tensor constant(float value) {
        const CudnnTensor id{kConstants + std::ssize(constants_)};
        constants_.emplace_back(id, value);
        return tensor(Cudnn::kFloat, {1, 1, 1, 1}, {1, 1, 1, 1}, id, Memory::ByValue);
    }

    Tensor multiply(const Tensor& a, const Tensor& b) {
        const Tensor result = intermediate({a.dimensions[0], a.dimensions[1], a.dimensions[2], b.dimensions[3]});
        multiply(a, b, result);
        return result;
    }
    void multiply(const Tensor& a, const Tensor& b, const Tensor& result) {
        CudnnDescriptor& how = add(Cudnn::kMatmul);
        how.set(Cudnn::kMatmulComputeType, Cudnn::kDataType, Cudnn::kFloat);
        how.finalize();
        operate(Cudnn::kOperationMatmul, Cudnn::kOperationMatmulDescriptor, how,
                {{Cudnn::kOperationMatmulA, a}, {Cudnn::kOperationMatmulB, b}, {Cudnn::kOperationMatmulC, result}});
    }

    Tensor point(Cudnn::PointwiseOperation operation, const Tensor& x) {
        const Tensor result = intermediate(x.dimensions);
        pointwise(operation, {{Cudnn::kOperationPointwiseX, x}, {Cudnn::kOperationPointwiseY, result}});
        return result;
    }
    Tensor point(Cudnn::PointwiseOperation operation, const Tensor& x, const Tensor& b,
                 Cudnn::Data type = Cudnn::kFloat) {
        const Tensor result = intermediate(x.dimensions, type);
        point(operation, x, b, result);
        return result;
    }
    void point(Cudnn::PointwiseOperation operation, const Tensor& x, const Tensor& b, const Tensor& result) {
        pointwise(operation, {{Cudnn::kOperationPointwiseX, x},
                              {Cudnn::kOperationPointwiseB, b},
                              {Cudnn::kOperationPointwiseY, result}});
    }

    /// Over each row.
    Tensor reduce(Cudnn::ReductionOperation operation, const Tensor& x) {
        const Tensor result = intermediate(one_each_);
        CudnnDescriptor& how = add(Cudnn::kReduction);
        how.set(Cudnn::kReductionOperator, Cudnn::kReductionOperation, operation);
        how.set(Cudnn::kReductionComputeType, Cudnn::kDataType, Cudnn::kFloat);
        how.finalize();
        operate(Cudnn::kOperationReduction, Cudnn::kOperationReductionDescriptor, how,
                {{Cudnn::kOperationReductionX, x}, {Cudnn::kOperationReductionY, result}});
        return result;
    }

    /// The transpose as a factor of a product.
    Tensor transpose(const Tensor& x) {
        const Tensor result =
            tensor(Cudnn::kBf16, transposed(x.dimensions), transposed(x.strides), CudnnTensor{}, Memory::None);
        CudnnDescriptor& operation = add(Cudnn::kOperationReshape);
        operation.set(Cudnn::kOperationReshapeX, Cudnn::kDescriptor, x.descriptor);
        operation.set(Cudnn::kOperationReshapeY, Cudnn::kDescriptor, result.descriptor);
        operation.finalize();
        operations_.push_back(operation.get());
        return result;
    }

    /// Minus infinity where a query does not attend to a key.
    Tensor masked(const Tensor& scores) {
        const Tensor query = index(scores, 2);
        const Tensor key = index(scores, 3);
        const Tensor attends = intermediate(scores_, Cudnn::kBool);
        pointwise(Cudnn::kGreaterOrEqual,
                  {{Cudnn::kOperationPointwiseX, query},
                   {Cudnn::kOperationPointwiseB, key},
                   {Cudnn::kOperationPointwiseY, attends}},
                  Cudnn::kBool);
        const Tensor result = intermediate(scores_);
        pointwise(Cudnn::kSelect, {{Cudnn::kOperationPointwiseX, scores},
                                   {Cudnn::kOperationPointwiseB, constant(-std::numeric_limits<float>::infinity())},
                                   {Cudnn::kOperationPointwiseT, attends},
                                   {Cudnn::kOperationPointwiseY, result}});
        return result;
    }

    /// All descriptors, the one of the graph last.
    std::deque<CudnnDescriptor> finish(Cudnn::Handle handle) {
        CudnnDescriptor& graph = add(Cudnn::kOperationGraph);
        graph.setAll(Cudnn::kGraphOperations, Cudnn::kDescriptor, static_cast<std::int64_t>(operations_.size()),
                     operations_.data());
        graph.set(Cudnn::kGraphHandle, Cudnn::kHandle, handle);
        graph.finalize();
        return std::move(descriptors_);
    }
    [[nodiscard]] const std::vector<std::pair<CudnnTensor, float>>& constants() const { return constants_; }

private:
    enum class Memory : std::uint8_t { Given, None, ByValue };
    using Role = std::pair<Cudnn::Attribute, const Tensor&>;

    CudnnDescriptor& add(Cudnn::Kind kind) { return descriptors_.emplace_back(cudnn_, kind); }

    Tensor tensor(Cudnn::Data type, const Four& dimensions, const Four& strides, CudnnTensor id,
                  Memory memory = Memory::Given) {
        CudnnDescriptor& made = add(Cudnn::kTensor);
        made.set(Cudnn::kTensorType, Cudnn::kDataType, type);
        made.setAll(Cudnn::kTensorDimensions, Cudnn::kInt64, 4, dimensions.data());
        made.setAll(Cudnn::kTensorStrides, Cudnn::kInt64, 4, strides.data());
        made.set(Cudnn::kTensorId, Cudnn::kInt64, memory == Memory::None ? next_++ : static_cast<std::int64_t>(id));
        made.set(Cudnn::kTensorAlignment, Cudnn::kInt64, std::int64_t{16});
        made.set(Cudnn::kTensorIsVirtual, Cudnn::kBoolean, memory == Memory::None);
        made.set(Cudnn::kTensorIsByValue, Cudnn::kBoolean, memory == Memory::ByValue);
        made.finalize();
        return {made.get(), dimensions, strides};
    }
    Tensor intermediate(const Four& dimensions, Cudnn::Data type = Cudnn::kFloat) {
        return tensor(type, dimensions, packed(dimensions), CudnnTensor{}, Memory::None);
    }

    void operate(Cudnn::Kind kind, Cudnn::Attribute descriptor, const CudnnDescriptor& how,
                 std::initializer_list<Role> tensors) {
        CudnnDescriptor& operation = add(kind);
        operation.set(descriptor, how);
        for (const auto& [role, tensor] : tensors)
            operation.set(role, Cudnn::kDescriptor, tensor.descriptor);
        operation.finalize();
        operations_.push_back(operation.get());
    }
    void pointwise(Cudnn::PointwiseOperation operation, std::initializer_list<Role> tensors,
                   Cudnn::Data computed = Cudnn::kFloat, std::int64_t axis = -1) {
        CudnnDescriptor& how = add(Cudnn::kPointwise);
        how.set(Cudnn::kPointwiseMode, Cudnn::kPointwiseOperation, operation);
        how.set(Cudnn::kPointwiseMathPrecision, Cudnn::kDataType, computed);
        if (axis >= 0) how.set(Cudnn::kPointwiseAxis, Cudnn::kInt64, axis);
        how.finalize();
        operate(Cudnn::kOperationPointwise, Cudnn::kOperationPointwiseDescriptor, how, tensors);
    }
    Tensor index(const Tensor& scores, std::int64_t axis) {
        const Tensor result = intermediate(scores_, Cudnn::kInt32);
        pointwise(Cudnn::kIndex, {{Cudnn::kOperationPointwiseX, scores}, {Cudnn::kOperationPointwiseY, result}},
                  Cudnn::kFloat, axis);
        return result;
    }

    const Cudnn& cudnn_;
    Four rows_;
    Four scores_;
    Four one_each_;
    std::int64_t next_ = kIntermediates;
    std::deque<CudnnDescriptor> descriptors_;
    std::vector<Cudnn::Descriptor> operations_;
    std::vector<std::pair<CudnnTensor, float>> constants_;
};

AttentionPlan::AttentionPlan(const Cudnn& cudnn, Cudnn::Handle handle, const FusedAttention& attention)
    : AttentionPlan(cudnn, handle, [&] {
          Graph graph(cudnn, attention.sizes);
          const auto scores = graph.multiply(graph.rows(CudnnTensor::Queries, attention.queries),
                                             graph.columns(CudnnTensor::Keys, attention.keys));
          const auto masked =
              graph.masked(graph.point(Cudnn::kMultiply, scores, graph.constant(attention.sizes.scale)));
          const auto largest = graph.reduce(Cudnn::kMaximum, masked);
          const auto weights = graph.point(Cudnn::kExponential, graph.point(Cudnn::kSubtract, masked, largest));
          const auto sum = graph.reduce(Cudnn::kSum, weights);
          graph.point(Cudnn::kAdd, largest, graph.point(Cudnn::kLogarithm, sum), graph.oneEach(CudnnTensor::Logs));
          graph.multiply(graph.point(Cudnn::kDivide, weights, sum, Cudnn::kBf16),
                         graph.rows(CudnnTensor::Values, attention.values),
                         graph.rows(CudnnTensor::Output, attention.output));
          return graph;
      }()) {}

AttentionPlan::AttentionPlan(const Cudnn& cudnn, Cudnn::Handle handle, const FusedAttentionGradient& attention)
    : AttentionPlan(cudnn, handle, [&] {
          Graph graph(cudnn, attention.sizes);
          const auto queries = graph.rows(CudnnTensor::Queries, attention.queries);
          const auto keys = graph.columns(CudnnTensor::Keys, attention.keys);
          const auto grads = graph.rows(CudnnTensor::OutputGrad, attention.output_grad);
          const auto scale = graph.constant(attention.sizes.scale);
          const auto along = graph.oneEach(CudnnTensor::Along);
          const auto products = graph.point(Cudnn::kMultiply, grads, graph.rows(CudnnTensor::Output, attention.output));
          // cuDNN recognises its pattern by a factor here (that of dropout). Without this factor of one, its plan for
          // the same graph needs three times the workspace.
          graph.point(Cudnn::kMultiply, graph.reduce(Cudnn::kSum, products), graph.constant(1.0F), along);

          const auto scores = graph.point(Cudnn::kMultiply, graph.multiply(queries, keys), scale);
          const auto weights =
              graph.point(Cudnn::kExponential,
                          graph.masked(graph.point(Cudnn::kSubtract, scores, graph.oneEach(CudnnTensor::Logs))));
          graph.multiply(graph.transpose(weights), grads, graph.rows(CudnnTensor::ValuesGrad, attention.values_grad));

          const auto weights_grad = graph.multiply(grads, graph.columns(CudnnTensor::Values, attention.values));
          const auto scores_grad = graph.point(
              Cudnn::kMultiply,
              graph.point(Cudnn::kMultiply, graph.point(Cudnn::kSubtract, weights_grad, along), weights), scale);
          graph.multiply(graph.transpose(scores_grad), queries, graph.rows(CudnnTensor::KeysGrad, attention.keys_grad));
          graph.multiply(scores_grad, graph.transpose(keys),
                         graph.rows(CudnnTensor::QueriesGrad, attention.queries_grad));
          return graph;
      }()) {}

AttentionPlan::AttentionPlan(const Cudnn& cudnn, Cudnn::Handle handle, Graph graph)
    : cudnn_(cudnn), made_of_(graph.finish(handle)), constants_(graph.constants()), plan_(choose(handle)) {
    std::int64_t count = 0;
    cudnn_.check(cudnn_.getAttribute(plan_.get(), Cudnn::kPlanWorkspace, Cudnn::kInt64, 1, &count, &workspace_),
                 "size its workspace");
}

CudnnDescriptor AttentionPlan::choose(Cudnn::Handle handle) {
    CudnnDescriptor heuristics(cudnn_, Cudnn::kEngineHeuristics);
    heuristics.set(Cudnn::kHeuristicsGraph, made_of_.back());
    heuristics.set(Cudnn::kHeuristicsMode, Cudnn::kHeuristics, Cudnn::kHeuristicsA);
    heuristics.finalize();
    std::deque<CudnnDescriptor> configs;
    std::array<Cudnn::Descriptor, 16> results{};
    for (Cudnn::Descriptor& result : results)
        result = configs.emplace_back(cudnn_, Cudnn::kEngineConfig).get();
    std::int64_t found = 0;
    cudnn_.check(cudnn_.getAttribute(heuristics.get(), Cudnn::kHeuristicsResults, Cudnn::kDescriptor,
                                     static_cast<std::int64_t>(results.size()), &found, results.data()),
                 "find an engine for attention");
    std::string why = "its heuristics propose none";
    for (std::size_t i = 0; i < std::min(static_cast<std::size_t>(found), results.size()); ++i) {
        try {
            if (!repeatable(cudnn_, results[i])) {
                why = "none is deterministic";
                continue;
            }
            CudnnDescriptor plan(cudnn_, Cudnn::kExecutionPlan);
            plan.set(Cudnn::kPlanConfig, Cudnn::kDescriptor, results[i]);
            plan.set(Cudnn::kPlanHandle, Cudnn::kHandle, handle);
            plan.finalize();
            made_of_.push_back(std::move(configs[i]));
            return plan;
        } catch (const std::exception& e) { // this engine cannot run the graph on this GPU
            why = e.what();
        }
    }
    throw std::runtime_error("cuDNN " + cudnn_.version() + " has no engine for attention of this shape: " + why);
}

void AttentionPlan::execute(Cudnn::Handle handle, std::span<const CudnnAddress> addresses, void* workspace) const {
    std::vector<std::int64_t> ids;
    std::vector<const void*> data;
    const auto bind = [&](CudnnTensor tensor, const void* at) {
        ids.push_back(static_cast<std::int64_t>(tensor));
        data.push_back(at);
    };
    for (const CudnnAddress& address : addresses)
        bind(address.tensor, address.data);
    for (const auto& [tensor, value] : constants_)
        bind(tensor, &value);
    const std::int64_t count = std::ssize(ids);
    CudnnDescriptor pack(cudnn_, Cudnn::kVariantPack);
    pack.setAll(Cudnn::kPackPointers, Cudnn::kPointer, count, data.data());
    pack.setAll(Cudnn::kPackIds, Cudnn::kInt64, count, ids.data());
    pack.set(Cudnn::kPackWorkspace, Cudnn::kPointer, workspace);
    pack.finalize();
    cudnn_.check(cudnn_.execute(handle, plan_.get(), pack.get()), "compute attention");
}

} // namespace bubblescope::runtime
