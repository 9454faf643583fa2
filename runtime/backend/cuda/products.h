#pragma once

#include "runtime/accelerator/gemm.h"
#include "runtime/backend/cuda/cublas_lt.h"

#include <cstddef>
#include <map>
#include <mutex>
#include <tuple>

namespace bubblescope::runtime {

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
