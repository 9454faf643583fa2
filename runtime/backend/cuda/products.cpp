#include "runtime/backend/cuda/products.h"

#include "runtime/backend/loaded_library.h"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <string>

namespace bubblescope::runtime {
namespace {

cudaDataType_t typeOf(Storage storage) {
    return storage == Storage::Float ? CUDA_R_32F : CUDA_R_16BF;
}

/// The largest power of two up to 256 that divides the addresses of all matrices of a batch.
std::int64_t alignmentOf(const GemmMatrix& matrix, Storage storage, int batch) {
    auto bits = static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(matrix.data)) | 256U;
    if (batch > 1) bits |= static_cast<std::uint64_t>(matrix.stride * bytesOf(storage));
    return static_cast<std::int64_t>(bits & (~bits + 1));
}

} // namespace

CublasLt::CublasLt() {
    const LoadedLibrary library("cuBLASLt", "libcublasLt.so." + std::to_string(CUBLAS_VER_MAJOR),
                                "BUBBLESCOPE_CUBLASLT", BUBBLESCOPE_CUDA_LIBRARIES);
    library.find("cublasLtCreate", create);
    library.find("cublasLtDestroy", destroy);
    library.find("cublasLtGetStatusString", statusString);
    library.find("cublasLtGetVersion", version);
    library.find("cublasLtMatmul", matmul);
    library.find("cublasLtMatmulAlgoGetHeuristic", heuristic);
    library.find("cublasLtMatmulDescCreate", descCreate);
    library.find("cublasLtMatmulDescDestroy", descDestroy);
    library.find("cublasLtMatmulDescSetAttribute", descSet);
    library.find("cublasLtMatmulPreferenceCreate", preferenceCreate);
    library.find("cublasLtMatmulPreferenceDestroy", preferenceDestroy);
    library.find("cublasLtMatmulPreferenceSetAttribute", preferenceSet);
    library.find("cublasLtMatrixLayoutCreate", layoutCreate);
    library.find("cublasLtMatrixLayoutDestroy", layoutDestroy);
    library.find("cublasLtMatrixLayoutSetAttribute", layoutSet);
}

const CublasLt& CublasLt::get() {
    static const CublasLt library;
    return library;
}

void CublasLt::check(cublasStatus_t status, const char* what) const {
    if (status == CUBLAS_STATUS_SUCCESS) return;
    throw std::runtime_error(std::string("cuBLASLt cannot ") + what + ": " + statusString(status));
}

/// The cuBLASLt description of products of one shape, with the algorithm that computes them.
class Products::Setup {
public:
    Setup(const CublasLt& lt, const Gemm& gemm) : lt_(lt) {
        lt_.check(lt_.descCreate(&desc, CUBLAS_COMPUTE_32F, CUDA_R_32F), "describe a product");
        try {
            set(CUBLASLT_MATMUL_DESC_TRANSA, gemm.a.transposed ? CUBLAS_OP_T : CUBLAS_OP_N);
            set(CUBLASLT_MATMUL_DESC_TRANSB, gemm.b.transposed ? CUBLAS_OP_T : CUBLAS_OP_N);
            if (gemm.bias != nullptr) {
                set(CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_BIAS);
                set(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, typeOf(gemm.out));
            }
            make(a, gemm.a, gemm.in, gemm.rows, gemm.inner, gemm.batch);
            make(b, gemm.b, gemm.in, gemm.inner, gemm.columns, gemm.batch);
            make(result, gemm.result, gemm.out, gemm.rows, gemm.columns, gemm.batch);
        } catch (...) {
            free();
            throw;
        }
    }
    Setup(const Setup&) = delete;
    Setup& operator=(const Setup&) = delete;
    ~Setup() { free(); }

    /// The bias of the next product, which is the only address in the description.
    void useBias(const void* bias) { set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias); }
    void useProcessors(std::int32_t count) { set(CUBLASLT_MATMUL_DESC_SM_COUNT_TARGET, count); }

    cublasLtMatmulAlgo_t algorithm{};
    cublasLtMatmulDesc_t desc = nullptr;
    cublasLtMatrixLayout_t a = nullptr;
    cublasLtMatrixLayout_t b = nullptr;
    cublasLtMatrixLayout_t result = nullptr;

private:
    template <class Value>
    void set(cublasLtMatmulDescAttributes_t attribute, Value value) {
        lt_.check(lt_.descSet(desc, attribute, &value, sizeof value), "describe a product");
    }

    void make(cublasLtMatrixLayout_t& layout, const GemmMatrix& matrix, Storage storage, std::int64_t rows,
              std::int64_t columns, int batch) const {
        if (matrix.transposed) std::swap(rows, columns); // as stored in memory
        lt_.check(lt_.layoutCreate(&layout, typeOf(storage), static_cast<std::uint64_t>(rows),
                                   static_cast<std::uint64_t>(columns), matrix.leading),
                  "describe a matrix");
        if (batch == 1) return;
        const std::int32_t count = batch;
        lt_.check(lt_.layoutSet(layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count, sizeof count), "describe a batch");
        lt_.check(
            lt_.layoutSet(layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &matrix.stride, sizeof matrix.stride),
            "describe a batch");
    }

    void free() {
        for (cublasLtMatrixLayout_t layout : {a, b, result}) {
            if (layout != nullptr) lt_.layoutDestroy(layout);
        }
        lt_.descDestroy(desc);
    }

    const CublasLt& lt_;
};

Products::Products() : lt_(CublasLt::get()) {
    lt_.check(lt_.create(&handle_), "start");
}

Products::~Products() {
    lt_.destroy(handle_);
}

Products::Key Products::keyOf(const Gemm& gemm) {
    return {gemm.rows,
            gemm.columns,
            gemm.inner,
            gemm.in,
            gemm.out,
            gemm.batch,
            gemm.a.transposed,
            gemm.b.transposed,
            gemm.bias != nullptr,
            {gemm.a.leading, gemm.b.leading, gemm.result.leading, gemm.a.stride, gemm.b.stride, gemm.result.stride},
            {alignmentOf(gemm.a, gemm.in, gemm.batch), alignmentOf(gemm.b, gemm.in, gemm.batch),
             alignmentOf(gemm.result, gemm.out, gemm.batch)}};
}

cublasLtMatmulAlgo_t Products::choose(const Gemm& gemm, const Setup& setup) const {
    cublasLtMatmulPreference_t preference = nullptr;
    lt_.check(lt_.preferenceCreate(&preference), "describe the request");
    const auto set = [&](cublasLtMatmulPreferenceAttributes_t attribute, auto value) {
        lt_.check(lt_.preferenceSet(preference, attribute, &value, sizeof value), "describe the request");
    };
    const auto aligned = [&](cublasLtMatmulPreferenceAttributes_t attribute, const GemmMatrix& matrix,
                             Storage storage) {
        set(attribute, static_cast<std::uint32_t>(alignmentOf(matrix, storage, gemm.batch)));
    };
    cublasLtMatmulHeuristicResult_t best{};
    int found = 0;
    try {
        set(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, std::uint64_t{kWorkspace});
        aligned(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, gemm.a, gemm.in);
        aligned(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, gemm.b, gemm.in);
        aligned(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, gemm.result, gemm.out);
        aligned(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, gemm.result, gemm.out);
        // Prefers sums within one block; otherwise uses parts that are added in a fixed order through the workspace.
        for (const std::uint32_t reductions :
             {std::uint32_t{CUBLASLT_REDUCTION_SCHEME_NONE}, std::uint32_t{CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE}}) {
            if (found > 0) break;
            set(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, reductions);
            const cublasStatus_t status = lt_.heuristic(handle_, setup.desc, setup.a, setup.b, setup.result,
                                                        setup.result, preference, 1, &best, &found);
            if (status != CUBLAS_STATUS_SUCCESS || best.state != CUBLAS_STATUS_SUCCESS) found = 0;
        }
    } catch (...) {
        lt_.preferenceDestroy(preference);
        throw;
    }
    lt_.preferenceDestroy(preference);
    if (found == 0) {
        throw std::runtime_error("cuBLASLt has no algorithm for a product of " + std::to_string(gemm.rows) + " x " +
                                 std::to_string(gemm.inner) + " x " + std::to_string(gemm.columns));
    }
    return best.algo;
}

cublasLtMatmulAlgo_t Products::algorithmFor(const Gemm& gemm, const Key& key, const Setup& setup) {
    const std::lock_guard lock(mutex_);
    const auto known = algorithms_.find(key);
    if (known != algorithms_.end()) return known->second;
    return algorithms_.emplace(key, choose(gemm, setup)).first->second;
}

Products::Plans::Plans() = default;
Products::Plans::~Plans() = default;

std::unique_ptr<Products::Setup> Products::plan(const Gemm& gemm, const Key& key) {
    auto setup = std::make_unique<Setup>(lt_, gemm);
    setup->algorithm = algorithmFor(gemm, key, *setup);
    // Set only now, because the algorithm, and thus the result, must be the same as without transfers.
    if (const int processors = processors_; processors > 0) setup->useProcessors(processors);
    return setup;
}

void Products::multiply(const Gemm& gemm, Plans& plans, void* workspace, cudaStream_t stream) {
    if (gemm.rows == 0 || gemm.columns == 0 || gemm.batch == 0) return;
    const Key key = keyOf(gemm);
    std::unique_ptr<Setup>& known = plans.made_[key];
    if (!known) known = plan(gemm, key);
    Setup& setup = *known;
    if (gemm.bias != nullptr) setup.useBias(gemm.bias);
    const float add = gemm.added != nullptr ? 1.0F : 0.0F;
    const void* const added = gemm.added != nullptr ? gemm.added : gemm.result.data;
    lt_.check(lt_.matmul(handle_, setup.desc, &gemm.scale, gemm.a.data, setup.a, gemm.b.data, setup.b, &add, added,
                         setup.result, gemm.result.data, setup.result, &setup.algorithm, workspace, kWorkspace, stream),
              "multiply");
}

} // namespace bubblescope::runtime
