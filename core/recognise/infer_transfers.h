#pragma once

#include "core/recognise/found_ops.h"
#include "core/recognise/step_cuts.h"

#include <cstdint>
#include <map>
#include <span>
#include <vector>

namespace bubblescope {

/// The transfers of a pipeline whose ops were inferred: which send or receive carries which op's payload. A send lies
/// behind the op that makes its payload, and a receive before the op that takes it; to and from each peer they keep the
/// order of those ops, as message passing does. Where a rank has not as many of them in a step as its ops need, none of
/// that kind and peer is taken, and `unmatched` counts them.
///
/// `steps` are those of one pipeline, `ranks` its ranks' traces, first stage's first, and `group` their global numbers.
/// Found transfers are numbered as the ops of inferOps() are: `home` is the pipeline rank.
[[nodiscard]] std::vector<FoundComm> inferTransfers(std::span<const CutStep> steps,
                                                    std::span<const RankBlocks* const> ranks,
                                                    std::span<const std::int64_t> group, const Schedule& schedule,
                                                    std::int64_t& unmatched);

} // namespace bubblescope
