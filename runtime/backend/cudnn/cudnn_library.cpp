#include "runtime/backend/cudnn/cudnn_library.h"

#include "runtime/backend/loaded_library.h"

#include <array>
#include <exception>
#include <stdexcept>

namespace bubblescope::runtime {

CudnnLibrary::CudnnLibrary() {
    const LoadedLibrary library("cuDNN", "libcudnn.so.9", "BUBBLESCOPE_CUDNN", "");
    library.find("cudnnGetVersion", getVersion);
    library.find("cudnnGetErrorString", errorString);
    library.find("cudnnGetLastErrorString", lastError);
    library.find("cudnnCreate", create);
    library.find("cudnnDestroy", destroy);
    library.find("cudnnSetStream", setStream);
    library.find("cudnnBackendCreateDescriptor", createDescriptor);
    library.find("cudnnBackendDestroyDescriptor", destroyDescriptor);
    library.find("cudnnBackendSetAttribute", setAttribute);
    library.find("cudnnBackendGetAttribute", getAttribute);
    library.find("cudnnBackendFinalize", finalize);
    library.find("cudnnBackendExecute", execute);
}

Result<std::shared_ptr<const CudnnLibrary>> CudnnLibrary::open() {
    try {
        std::shared_ptr<const CudnnLibrary> library(new CudnnLibrary);
        if (library->getVersion() >= kOldest) return library;
        return runError("cuDNN " + library->version() + " is too old: " + versionText(kOldest) +
                        " or newer is required");
    } catch (const std::exception& e) {
        return runError(e.what());
    }
}

std::string CudnnLibrary::versionText(std::size_t version) {
    return std::to_string(version / 10000) + '.' + std::to_string(version / 100 % 100) + '.' +
           std::to_string(version % 100);
}

void CudnnLibrary::check(int status, std::string_view what) const {
    if (status == kSuccess) return;
    std::array<char, 512> reason{};
    lastError(reason.data(), reason.size() - 1);
    throw std::runtime_error("cuDNN " + version() + " cannot " + std::string(what) + ": " + errorString(status) + ' ' +
                             reason.data());
}

} // namespace bubblescope::runtime
