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

/// The ways in which a job spreads over its ranks. Expert parallelism shares ranks with the others.
enum class MeshAxis : std::uint8_t { Pipeline, Data, Context, Tensor, Expert };
inline constexpr std::array<std::string_view, 5> kMeshAxisNames{"pp", "dp", "cp", "tp", "ep"};

/// A number for each axis: sizes, or the place of a rank.
struct MeshNumbers {
    std::array<int, kMeshAxisNames.size()> of{};
    [[nodiscard]] int at(MeshAxis axis) const { return of[static_cast<std::size_t>(axis)]; }
    int& at(MeshAxis axis) { return of[static_cast<std::size_t>(axis)]; }
    friend bool operator==(const MeshNumbers&, const MeshNumbers&) = default;
};

/// How global ranks are numbered.
struct Mesh {
    MeshNumbers sizes{{1, 1, 1, 1, 1}};
    std::vector<MeshAxis> order;        ///< pipeline, data, context and tensor, fastest first
    bool expert_outside_tensor = false; ///< experts are spread over the ranks of equal tensor rank, as Megatron does

    /// The place of a global rank; nothing beyond the mesh.
    [[nodiscard]] std::optional<MeshNumbers> placeOf(std::int64_t rank) const;
};

/// From sizes such as "pp=4,dp=2,tp=2" (an axis left out has size 1) and an order: "torchtitan" (pp slowest, then dp,
/// cp, tp; the default), "megatron" (tp-cp-ep-dp-pp), or any such list, fastest first, as Megatron's --order takes it.
/// Error: Usage.
[[nodiscard]] Result<Mesh> parseMesh(std::string_view sizes, std::string_view order);

/// Where the ranks of a trace's files are in their mesh.
struct RankPlaces {
    std::string source; ///< "mesh" (the user's), "process groups" (of the files), "file names"
    MeshNumbers sizes{{1, 1, 1, 1, 1}};
    std::map<std::int64_t, MeshNumbers> ranks; ///< by global rank
};

/// By the user's mesh, else by what all files say of their process groups, else by names of all files such as
/// "trace_pp1_dp0.json". Nothing where none of these tells the pipeline rank. Error: Input when the mesh is too small
/// for a rank.
[[nodiscard]] Result<std::optional<RankPlaces>> rankPlaces(std::span<const TraceFile> files,
                                                           const std::optional<Mesh>& mesh);

} // namespace bubblescope
