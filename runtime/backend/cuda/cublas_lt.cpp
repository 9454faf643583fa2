#include "runtime/backend/cuda/cublas_lt.h"

#include "runtime/backend/cuda/loaded_library.h"

#include <cuda_runtime_api.h>

#include <stdexcept>
#include <string>

namespace bubblescope::runtime {
CublasLt::CublasLt() {
    const LoadedLibrary library("cuBLASLt", "libcublasLt.so." + std::to_string(CUBLAS_VER_MAJOR),
                                "BUBBLESCOPE_CUBLASLT");
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

} // namespace bubblescope::runtime
