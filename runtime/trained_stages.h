#pragma once

#include "core/base/result.h"
#include "runtime/model/stage_model.h"

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace bubblescope::runtime {

/// By replica and tensor rank, see RunMesh::laneOf(), then stage.
using TrainedStages = std::vector<std::vector<std::unique_ptr<StageModel>>>;

/// The digest of the model, whose copies must be equal: `hashes` are those of each copy. Error: Run, if they are not.
[[nodiscard]] Result<std::uint64_t> oneDigest(std::span<const std::uint64_t> hashes);

/// Of stages that are all here; there is a copy of the model for each replica and each of its `routes` pipelines. Of
/// ranks that share a stage the first comes first.
[[nodiscard]] Result<std::uint64_t> digestOf(const TrainedStages& stages, int routes, int tensor_ranks = 1);

} // namespace bubblescope::runtime
