#include "core/recognise/mesh.h"

#include "core/base/field.h"
#include "core/recognise/name_pattern.h"
#include "core/recognise/profiler_marks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <set>

namespace bubblescope {
namespace {

constexpr int kMaxRanks = 1 << 20;

std::optional<MeshAxis> axisFrom(std::string_view name) {
    const auto known = std::find(kMeshAxisNames.begin(), kMeshAxisNames.end(), name);
    if (known == kMeshAxisNames.end()) return std::nullopt;
    return static_cast<MeshAxis>(known - kMeshAxisNames.begin());
}

std::vector<std::string_view> split(std::string_view text, char at) {
    std::vector<std::string_view> parts;
    while (true) {
        const std::size_t end = text.find(at);
        parts.push_back(text.substr(0, end));
        if (end == std::string_view::npos) return parts;
        text.remove_prefix(end + 1);
    }
}

Result<std::vector<MeshAxis>> parseOrder(std::string_view text) {
    std::vector<MeshAxis> order;
    for (const std::string_view name : split(text, '-')) {
        const auto axis = axisFrom(name);
        if (!axis || std::find(order.begin(), order.end(), *axis) != order.end()) {
            return usageError(fmt::format("unknown mesh order '{}'", text),
                              "use torchtitan, megatron, or the axes from the fastest to the slowest: tp-cp-ep-dp-pp");
        }
        order.push_back(*axis);
    }
    std::erase(order, MeshAxis::Expert);
    if (order.size() + 1 != kMeshAxisNames.size()) {
        return usageError(fmt::format("mesh order '{}' is missing an axis", text), "specify each of tp, cp, dp and pp");
    }
    return order;
}

// Frameworks' names for their groups: Megatron-LM's constants, PyTorch's device meshes.
struct GroupName {
    std::string_view description;
    MeshAxis axis;
};
constexpr std::array<GroupName, 12> kGroupNames{{{"PIPELINE_MODEL_PARALLEL_GROUP", MeshAxis::Pipeline},
                                                 {"mesh_pp", MeshAxis::Pipeline},
                                                 {"DATA_PARALLEL_GROUP", MeshAxis::Data},
                                                 {"mesh_dp", MeshAxis::Data},
                                                 {"mesh_dp_replicate", MeshAxis::Data},
                                                 {"mesh_dp_shard", MeshAxis::Data},
                                                 {"CONTEXT_PARALLEL_GROUP", MeshAxis::Context},
                                                 {"mesh_cp", MeshAxis::Context},
                                                 {"TENSOR_MODEL_PARALLEL_GROUP", MeshAxis::Tensor},
                                                 {"mesh_tp", MeshAxis::Tensor},
                                                 {"EXPERT_MODEL_PARALLEL_GROUP", MeshAxis::Expert},
                                                 {"mesh_ep", MeshAxis::Expert}}};

struct Found {
    MeshNumbers place;
    MeshNumbers sizes{{1, 1, 1, 1, 1}};
};

/// Several groups of one axis, as with replicated and sharded data parallelism, multiply; the first is the slower.
std::optional<Found> placeByGroups(const TraceFile& file, std::int64_t rank) {
    Found found;
    bool pipeline = false;
    for (const GroupName& name : kGroupNames) {
        for (const ProcessGroup& group : file.groups) {
            const auto self = std::find(group.ranks.begin(), group.ranks.end(), rank);
            if (group.description != name.description || self == group.ranks.end()) continue;
            const auto size = static_cast<int>(group.ranks.size());
            const auto place = static_cast<int>(self - group.ranks.begin());
            found.place.at(name.axis) = found.place.at(name.axis) * size + place;
            found.sizes.at(name.axis) *= size;
            pipeline = pipeline || name.axis == MeshAxis::Pipeline;
            break;
        }
    }
    return pipeline ? std::optional(found) : std::nullopt;
}

/// "1/4" for each axis, as in perfetto::kCaptureStates.
std::optional<Found> placeByFramework(const ProfilerMarks& marks) {
    Found found;
    for (std::size_t axis = 0; axis < kMeshAxisNames.size(); ++axis) {
        const auto stated = marks.stated.find(std::string(kMeshAxisNames[axis]));
        if (stated == marks.stated.end()) continue;
        std::string_view rest = stated->second;
        const auto place = takeNumber(rest);
        const auto size = takeWord(rest, "/") ? takeNumber(rest) : std::nullopt;
        if (!place || !size || *place >= *size || *size > kMaxRanks) return std::nullopt;
        found.place.of[axis] = static_cast<int>(*place);
        found.sizes.of[axis] = static_cast<int>(*size);
    }
    return marks.stated.contains("pp") ? std::optional(found) : std::nullopt;
}

/// "pp1", "pp_1", "pp-rank-1" in a file's name, "PP01" in the label of a process in a file of several.
std::optional<Found> placeByName(const TraceFile& file) {
    Found found;
    bool pipeline = false;
    const std::string name = lowerCase(file.process.empty() ? file.path.filename().string() : file.process);
    for (std::size_t axis = 0; axis < kMeshAxisNames.size(); ++axis) {
        for (std::size_t at = name.find(kMeshAxisNames[axis]); at != std::string::npos;
             at = name.find(kMeshAxisNames[axis], at + 1)) {
            if (at > 0 && std::isalnum(static_cast<unsigned char>(name[at - 1])) != 0) continue; // inside a word
            std::string_view rest = std::string_view(name).substr(at + 2);
            const auto skip = [&rest] {
                while (!rest.empty() && (rest.front() == '_' || rest.front() == '-' || rest.front() == '='))
                    rest.remove_prefix(1);
            };
            skip();
            if (takeWord(rest, "rank")) skip();
            const auto number = takeNumber(rest);
            if (!number || *number >= kMaxRanks) continue;
            found.place.of[axis] = static_cast<int>(*number);
            pipeline = pipeline || static_cast<MeshAxis>(axis) == MeshAxis::Pipeline;
            break;
        }
    }
    return pipeline ? std::optional(found) : std::nullopt;
}

/// Names may contain sizes as well: "pp4" in all of them is not a coordinate. Coordinates start at 0, and no two ranks
/// have equal ones.
bool arePlaces(const RankPlaces& places) {
    std::set<int> stages;
    std::set<std::array<int, kMeshAxisNames.size()>> distinct;
    for (const auto& [rank, place] : places.ranks) {
        stages.insert(place.at(MeshAxis::Pipeline));
        distinct.insert(place.of);
    }
    return !stages.empty() && *stages.rbegin() + 1 == static_cast<int>(stages.size()) &&
           distinct.size() == places.ranks.size();
}

} // namespace

std::optional<MeshNumbers> Mesh::placeOf(std::int64_t rank) const {
    MeshNumbers place;
    std::int64_t rest = rank;
    for (const MeshAxis axis : order) {
        place.at(axis) = static_cast<int>(rest % sizes.at(axis));
        rest /= sizes.at(axis);
    }
    if (rank < 0 || rest > 0) return std::nullopt;
    const std::int64_t within = expert_outside_tensor ? rank / sizes.at(MeshAxis::Tensor) : rank;
    place.at(MeshAxis::Expert) = static_cast<int>(within % sizes.at(MeshAxis::Expert));
    return place;
}

Result<Mesh> parseMesh(std::string_view sizes, std::string_view order) {
    Mesh mesh;
    const bool megatron = order == "megatron" || order.find('-') != std::string_view::npos;
    mesh.expert_outside_tensor = megatron;
    const bool listed = order.find('-') != std::string_view::npos;
    if (!listed && order != "megatron" && order != "torchtitan" && !order.empty()) {
        return usageError(fmt::format("unknown mesh order '{}'", order),
                          "use torchtitan, megatron, or the axes from the fastest to the slowest: tp-cp-ep-dp-pp");
    }
    BUBBLESCOPE_ASSIGN(mesh.order, parseOrder(listed ? order : "tp-cp-ep-dp-pp"));
    std::int64_t ranks = 1;
    for (const std::string_view part : split(sizes, ',')) {
        const std::size_t equals = part.find('=');
        const auto axis = axisFrom(part.substr(0, equals));
        std::string_view text = equals == std::string_view::npos ? std::string_view{} : part.substr(equals + 1);
        const auto size = takeNumber(text);
        if (!axis || !size || !text.empty() || *size < 1 || *size > kMaxRanks) {
            return usageError(fmt::format("'{}' is not the size of a mesh axis", part),
                              "specify sizes such as pp=4,dp=2,tp=2");
        }
        mesh.sizes.at(*axis) = static_cast<int>(*size);
        if (*axis != MeshAxis::Expert) ranks *= *size;
        if (ranks > kMaxRanks) return usageError(fmt::format("mesh '{}' has more than a million ranks", sizes));
    }
    const std::int64_t of_a_stage = ranks / mesh.sizes.at(MeshAxis::Pipeline);
    if (of_a_stage % mesh.sizes.at(MeshAxis::Expert) != 0) {
        return usageError(
            fmt::format("ep={} does not divide the {} ranks of a stage", mesh.sizes.at(MeshAxis::Expert), of_a_stage));
    }
    return mesh;
}

Result<std::optional<RankPlaces>> rankPlaces(std::span<const TraceFile> files, std::span<const ProfilerMarks> marks,
                                             const std::optional<Mesh>& mesh) {
    const std::vector<std::int64_t> rank_of_file = ranksOfFiles(files);
    RankPlaces by_framework{"framework", {{1, 1, 1, 1, 1}}, {}};
    RankPlaces by_groups{"process groups", {{1, 1, 1, 1, 1}}, {}};
    RankPlaces by_names{"file names", {{1, 1, 1, 1, 1}}, {}};
    RankPlaces by_mesh{"mesh", mesh ? mesh->sizes : MeshNumbers{}, {}};
    bool stated = true;
    bool groups = true;
    bool names = true;
    for (std::size_t file = 0; file < files.size(); ++file) {
        const TraceFile& of = files[file];
        if (of.format.empty()) continue; // unusable
        const std::int64_t rank = rank_of_file[file];
        if (mesh) {
            const auto place = mesh->placeOf(rank);
            if (!place) {
                return inputError(of.path.string(), fmt::format("rank {} is outside the mesh", rank),
                                  fmt::format("specify the sizes of the complete job with {}", Field("mesh")));
            }
            by_mesh.ranks[rank] = *place;
        }
        const auto add = [rank](const std::optional<Found>& found, RankPlaces& places, bool& all) {
            if (!found) return void(all = false);
            places.ranks[rank] = found->place;
            for (std::size_t axis = 0; axis < kMeshAxisNames.size(); ++axis) {
                const int size = std::max(found->sizes.of[axis], found->place.of[axis] + 1);
                places.sizes.of[axis] = std::max(places.sizes.of[axis], size);
            }
        };
        add(file < marks.size() ? placeByFramework(marks[file]) : std::nullopt, by_framework, stated);
        add(placeByGroups(of, rank), by_groups, groups);
        add(placeByName(of), by_names, names);
    }
    if (mesh) return std::optional(by_mesh);
    if (stated && arePlaces(by_framework)) return std::optional(by_framework);
    if (groups && !by_groups.ranks.empty()) return std::optional(by_groups);
    if (names && arePlaces(by_names)) return std::optional(by_names);
    return std::optional<RankPlaces>{};
}

} // namespace bubblescope
