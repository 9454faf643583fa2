#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace bubblescope {

/// The role that a kernel or copy on a device has in a pipeline.
enum class WorkKind : std::uint8_t {
    Compute,
    Copy,         ///< within the device, or to and from the host
    Collective,   ///< among all ranks of a group
    PointToPoint, ///< sends, receives or both in one kernel
};

/// "compute", "memory", "collective" or "point-to-point".
[[nodiscard]] std::string_view workKindName(WorkKind kind);

/// A kernel that moves data between ranks.
struct CommunicationKernel {
    std::string_view library;
    WorkKind kind = WorkKind::Collective;
    std::string_view call; ///< "allreduce", "alltoall", "sendrecv" …; empty if the name does not contain it
};

/// Removes the part of a name that differs between calls: HCCL's names end with a group and a number, as in
/// "hcom_allReduce__123_0_1".
[[nodiscard]] std::string_view withoutCallNumber(std::string_view name);

/// Classifies a kernel by its name; nullopt for kernels that compute. Linear in the name's length.
[[nodiscard]] std::optional<CommunicationKernel> communicationKernel(std::string_view name);

/// True for names of copies or memsets within a device or between device and host.
[[nodiscard]] bool isCopyName(std::string_view name);

} // namespace bubblescope
