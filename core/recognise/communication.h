#pragma once

#include <cstdint>
#include <optional>
#include <span>
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

/// Kernels of one library that move data between ranks, identified by their names.
struct CommunicationFamily {
    std::string_view library; ///< "NCCL", "DeepEP"
    /// Part of the name, in lower case and without '_', '-' or spaces. With `word`, the match must be at the start of a
    /// word.
    std::string_view part;
    bool word = false;
    /// Names that contain one of these parts (separated by spaces) do not match.
    std::string_view unless = {};
    WorkKind kind = WorkKind::Collective;
};

/// The table of families, in search order.
[[nodiscard]] std::span<const CommunicationFamily> communicationFamilies();

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
