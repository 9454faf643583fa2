#include "runtime/comm/nccl/nccl_library.h"

#include "runtime/backend/cuda/loaded_library.h"

#include <stdexcept>
#include <string>

namespace bubblescope::runtime {

NcclLibrary::NcclLibrary() {
    const LoadedLibrary library("NCCL", "libnccl.so." + std::to_string(NCCL_MAJOR), "BUBBLESCOPE_NCCL");
    library.find("ncclGetVersion", getVersion);
    library.find("ncclGetUniqueId", getUniqueId);
    library.find("ncclCommInitRankConfig", commInitRankConfig);
    library.find("ncclCommGetAsyncError", commGetAsyncError);
    library.find("ncclCommAbort", commAbort);
    library.find("ncclGetErrorString", getErrorString);
    library.find("ncclGetLastError", getLastError);
    library.find("ncclGroupStart", groupStart);
    library.find("ncclGroupEnd", groupEnd);
    library.find("ncclSend", send);
    library.find("ncclRecv", receive);
}

const NcclLibrary& NcclLibrary::get() {
    static const NcclLibrary library;
    return library;
}

void NcclLibrary::check(ncclResult_t result, const char* what, ncclComm_t comm) const {
    if (result == ncclSuccess || result == ncclInProgress) return;
    std::string text = std::string("NCCL cannot ") + what + ": " + getErrorString(result);
    const char* const last = getLastError(comm);
    if (last != nullptr && *last != '\0') text += std::string(" (") + last + ")";
    throw std::runtime_error(text);
}

} // namespace bubblescope::runtime
