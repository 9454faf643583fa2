#pragma once

#include <nccl.h>

namespace bubblescope::runtime {

/// The functions of NCCL that we call. The library is loaded when ranks on GPUs are first joined and not linked: the
/// program must start where it is missing.
class NcclLibrary {
public:
    /// Throws where the library is not found. Loaded once in a process.
    [[nodiscard]] static const NcclLibrary& get();

    decltype(&::ncclGetVersion) getVersion;
    decltype(&::ncclGetUniqueId) getUniqueId;
    decltype(&::ncclCommInitRankConfig) commInitRankConfig;
    decltype(&::ncclCommGetAsyncError) commGetAsyncError;
    decltype(&::ncclCommAbort) commAbort;
    decltype(&::ncclGetErrorString) getErrorString;
    decltype(&::ncclGetLastError) getLastError;
    decltype(&::ncclGroupStart) groupStart;
    decltype(&::ncclGroupEnd) groupEnd;
    decltype(&::ncclSend) send;
    decltype(&::ncclRecv) receive;

    /// Throws with NCCL's own words. A call that goes on by itself is fine.
    void check(ncclResult_t result, const char* what, ncclComm_t comm = nullptr) const;

private:
    NcclLibrary();
};

} // namespace bubblescope::runtime
