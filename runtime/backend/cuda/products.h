#pragma once

#include "runtime/accelerator/accelerator.h"

#include <cublasLt.h>

#include <atomic>
#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <tuple>

namespace bubblescope::runtime {

/// The functions of cuBLASLt that are used here. The library is not linked but loaded when a GPU is first used, because
/// loading takes 70 ms and 250 MB of memory, and the program must start on machines without it.
class CublasLt {
public:
    /// Throws if the library is not found. Loads the library once per process.
    [[nodiscard]] static const CublasLt& get();

    decltype(&::cublasLtCreate) create;
    decltype(&::cublasLtDestroy) destroy;
    decltype(&::cublasLtGetStatusString) statusString;
    decltype(&::cublasLtGetVersion) version;
    decltype(&::cublasLtMatmul) matmul;
    decltype(&::cublasLtMatmulAlgoGetHeuristic) heuristic;
    decltype(&::cublasLtMatmulDescCreate) descCreate;
    decltype(&::cublasLtMatmulDescDestroy) descDestroy;
    decltype(&::cublasLtMatmulDescSetAttribute) descSet;
    decltype(&::cublasLtMatmulPreferenceCreate) preferenceCreate;
    decltype(&::cublasLtMatmulPreferenceDestroy) preferenceDestroy;
    decltype(&::cublasLtMatmulPreferenceSetAttribute) preferenceSet;
    decltype(&::cublasLtMatrixLayoutCreate) layoutCreate;
    decltype(&::cublasLtMatrixLayoutDestroy) layoutDestroy;
    decltype(&::cublasLtMatrixLayoutSetAttribute) layoutSet;

    /// Throws with cuBLASLt's message.
    void check(cublasStatus_t status, const char* what) const;

private:
    CublasLt();
};

/// Matrix products on one GPU, bit-identical for equal shapes. The algorithm is chosen once per shape, among those that
/// need only a fixed workspace and do not split sums between blocks. The choice does not depend on whether the product
/// is added to previous content, or on the number of processors that the product may use.
class Products {
    class Setup;
    using Key =
        std::tuple<std::int64_t, std::int64_t, std::int64_t, Storage, Storage, int, bool, bool, bool,
                   std::tuple<std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::int64_t>,
                   std::tuple<std::int64_t, std::int64_t, std::int64_t>>;

public:
    static constexpr std::size_t kWorkspace = std::size_t{32} << 20;

    Products();
    Products(const Products&) = delete;
    Products& operator=(const Products&) = delete;
    ~Products();

    /// The cuBLASLt descriptions of products on one stream, by shape. Used by one thread at a time, so that ranks do
    /// not wait for each other.
    class Plans {
    public:
        Plans();
        Plans(const Plans&) = delete;
        Plans& operator=(const Plans&) = delete;
        ~Plans();

    private:
        friend class Products;
        std::map<Key, std::unique_ptr<Setup>> made_;
    };

    /// Sets the number of the GPU's processors that products may use; all by default. Call before the first product.
    void useProcessors(int processors) { processors_ = processors; }
    /// `workspace` has kWorkspace bytes that only this stream uses. Thread-safe for different streams.
    void multiply(const Gemm& gemm, Plans& plans, void* workspace, cudaStream_t stream);

private:
    [[nodiscard]] static Key keyOf(const Gemm& gemm);
    [[nodiscard]] std::unique_ptr<Setup> plan(const Gemm& gemm, const Key& key);
    [[nodiscard]] cublasLtMatmulAlgo_t algorithmFor(const Gemm& gemm, const Key& key, const Setup& setup);
    [[nodiscard]] cublasLtMatmulAlgo_t choose(const Gemm& gemm, const Setup& setup) const;

    const CublasLt& lt_;
    cublasLtHandle_t handle_ = nullptr;
    std::mutex mutex_;
    std::map<Key, cublasLtMatmulAlgo_t> algorithms_;
    std::atomic<int> processors_{0}; ///< 0 = all
};

} // namespace bubblescope::runtime
