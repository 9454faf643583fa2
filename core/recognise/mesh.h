#pragma once

#include "core/base/result.h"
#include "core/trace/trace.h"

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace bubblescope {

/// The axes of a job's parallelism. Expert parallelism reuses the ranks of the other axes.
enum class MeshAxis : std::uint8_t { Pipeline, Data, Context, Tensor, Expert };
inline constexpr std::array<std::string_view, 5> kMeshAxisNames{"pp", "dp", "cp", "tp", "ep"};

/// One number per axis: the sizes of a mesh, or the coordinates of a rank.
struct MeshNumbers {
    std::array<int, kMeshAxisNames.size()> of{};
    [[nodiscard]] int at(MeshAxis axis) const { return of[static_cast<std::size_t>(axis)]; }
    int& at(MeshAxis axis) { return of[static_cast<std::size_t>(axis)]; }
    friend bool operator==(const MeshNumbers&, const MeshNumbers&) = default;
};

/// The numbering of global ranks.
struct Mesh {
    MeshNumbers sizes{{1, 1, 1, 1, 1}};
    std::vector<MeshAxis> order;        ///< pipeline, data, context and tensor, fastest-varying first
    bool expert_outside_tensor = false; ///< true to spread experts over ranks with the same tensor rank, as in Megatron

    /// The coordinates of a global rank; nullopt outside of the mesh.
    [[nodiscard]] std::optional<MeshNumbers> placeOf(std::int64_t rank) const;
};

/// Parses sizes such as "pp=4,dp=2,tp=2" (an omitted axis has size 1) and an order: "torchtitan" (pp slowest, then dp,
/// cp, tp; the default), "megatron" (tp-cp-ep-dp-pp), or a custom list, fastest first, in the syntax of Megatron's
/// --order. Error: Usage.
[[nodiscard]] Result<Mesh> parseMesh(std::string_view sizes, std::string_view order);

/// The coordinates of a trace's ranks in their mesh.
struct RankPlaces {
    std::string source; ///< "mesh" (from the user), "framework", "process groups" or "file names"
    MeshNumbers sizes{{1, 1, 1, 1, 1}};
    std::map<std::int64_t, MeshNumbers> ranks; ///< by global rank
};

struct ProfilerMarks;

/// Coordinates from the first of these sources that contains the pipeline rank: the user's mesh, the framework of a
/// recorded job, the process groups recorded in all files, or the names of all files, such as "trace_pp1_dp0.json".
/// None if no source contains it. Error: Input if the mesh is too small for a rank.
[[nodiscard]] Result<std::optional<RankPlaces>>
rankPlaces(std::span<const TraceFile> files, std::span<const ProfilerMarks> marks, const std::optional<Mesh>& mesh);

} // namespace bubblescope
