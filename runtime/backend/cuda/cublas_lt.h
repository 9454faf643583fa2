#pragma once

#include <cublasLt.h>

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

} // namespace bubblescope::runtime
