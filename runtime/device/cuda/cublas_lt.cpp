#include "runtime/device/cuda/cublas_lt.h"

#include <cuda_runtime_api.h>
#include <dlfcn.h>

#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

namespace bubblescope::runtime {
namespace {

/// The user's choice, what the loader knows, then where the toolkit was when this was built.
void* openLibrary() {
    const std::string name = "libcublasLt.so." + std::to_string(CUBLAS_VER_MAJOR);
    std::vector<std::string> places;
    if (const char* const chosen = std::getenv("BUBBLESCOPE_CUBLASLT")) places.emplace_back(chosen);
    places.push_back(name);
    places.push_back(std::string(BUBBLESCOPE_CUDA_LIBRARIES "/") + name);
    for (const std::string& place : places) {
        // Local: others in this process may use another version.
        if (void* const library = ::dlopen(place.c_str(), RTLD_NOW | RTLD_LOCAL)) return library;
    }
    throw std::runtime_error("cuBLASLt was not found: put the folder of " + name +
                             " into LD_LIBRARY_PATH, or its path into BUBBLESCOPE_CUBLASLT");
}

template <class Function>
void find(void* library, const char* name, Function& function) {
    void* const symbol = ::dlsym(library, name);
    if (symbol == nullptr) throw std::runtime_error(std::string("this cuBLASLt has no ") + name);
    function = reinterpret_cast<Function>(symbol);
}

} // namespace

CublasLt::CublasLt() {
    void* const library = openLibrary();
    find(library, "cublasLtCreate", create);
    find(library, "cublasLtDestroy", destroy);
    find(library, "cublasLtGetStatusString", statusString);
    find(library, "cublasLtGetVersion", version);
    find(library, "cublasLtMatmul", matmul);
    find(library, "cublasLtMatmulAlgoGetHeuristic", heuristic);
    find(library, "cublasLtMatmulDescCreate", descCreate);
    find(library, "cublasLtMatmulDescDestroy", descDestroy);
    find(library, "cublasLtMatmulDescSetAttribute", descSet);
    find(library, "cublasLtMatmulPreferenceCreate", preferenceCreate);
    find(library, "cublasLtMatmulPreferenceDestroy", preferenceDestroy);
    find(library, "cublasLtMatmulPreferenceSetAttribute", preferenceSet);
    find(library, "cublasLtMatrixLayoutCreate", layoutCreate);
    find(library, "cublasLtMatrixLayoutDestroy", layoutDestroy);
    find(library, "cublasLtMatrixLayoutSetAttribute", layoutSet);
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
