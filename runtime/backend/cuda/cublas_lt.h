#pragma once

#include <cublasLt.h>

namespace bubblescope::runtime {

/// The functions of cuBLASLt that we call. The library is loaded when a GPU is first used and not linked: it takes 70
/// ms and 250 MB of memory to load, and the program must start where it is missing.
class CublasLt {
public:
    /// Throws where the library is not found. Loaded once in a process.
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

    /// Throws with cuBLASLt's own words.
    void check(cublasStatus_t status, const char* what) const;

private:
    CublasLt();
};

} // namespace bubblescope::runtime
