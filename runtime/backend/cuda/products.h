#pragma once

#include "runtime/accelerator/accelerator.h"

#include <cublasLt.h>

#include <cstddef>
#include <map>
#include <mutex>
#include <tuple>

namespace bubblescope::runtime {

/// The functions of cuBLASLt that are used. The library is loaded when a GPU is first used and not linked: loading
/// takes 70 ms and 250 MB of memory, and the program must start on machines without it.
class CublasLt {
public:
    /// Throws if the library is not found. Loads it once per process.
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

/// Matrix products on one GPU, with equal bits for equal shapes. The algorithm is chosen once for each shape, among
/// those that need only a fixed workspace and do not split sums between blocks; whether the product is added to its
/// result does not influence the choice.
class Products {
public:
    static constexpr std::size_t kWorkspace = std::size_t{32} << 20;

    Products();
    Products(const Products&) = delete;
    Products& operator=(const Products&) = delete;
    ~Products();

    /// `workspace`: kWorkspace bytes that only this stream uses. Thread-safe.
    void multiply(const Gemm& gemm, void* workspace, cudaStream_t stream);

private:
    class Setup;
    using Key =
        std::tuple<std::int64_t, std::int64_t, std::int64_t, Storage, Storage, int, bool, bool, bool,
                   std::tuple<std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::int64_t>,
                   std::tuple<std::int64_t, std::int64_t, std::int64_t>>;

    [[nodiscard]] static Key keyOf(const Gemm& gemm);
    [[nodiscard]] cublasLtMatmulAlgo_t algorithmFor(const Gemm& gemm, const Setup& setup);
    [[nodiscard]] cublasLtMatmulAlgo_t choose(const Gemm& gemm, const Setup& setup) const;

    const CublasLt& lt_;
    cublasLtHandle_t handle_ = nullptr;
    std::mutex mutex_;
    std::map<Key, cublasLtMatmulAlgo_t> algorithms_;
};

} // namespace bubblescope::runtime
