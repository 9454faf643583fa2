#include "core/recognise/found_ops.h"
#include "core/recognise/straggler_names.h"

#include <array>

namespace bubblescope {

std::span<const Rule> recognitionRules() {
    static constexpr std::array kRules{
        Rule{"Bubblescope", "", "slices of category 'op' as Bubblescope writes them", findOwnOps},
        Rule{"Megatron forward/backward", "megatron",
             "slices 'forward' and 'backward' with args microbatch and iteration", findMegatronOps},
        Rule{"PyTorch pipeline actions", "", "annotations 'PP:<action>' as PyTorch's multi-stage schedules write them",
             findTorchActions},
        Rule{"PyTorch GPipe", "", "annotations 'Forward <i>' and 'Backward <i>' as PyTorch's GPipe writes them",
             findTorchGPipe},
        Rule{kStragglerRule, "", "slices 'forward-compute' and 'backward-compute' with args step and mb_id",
             findStragglerOps},
        Rule{"PaddlePaddle jobs", "",
             "jobs 'forward<chunk>', 'backward<chunk>' … of PaddlePaddle's executors, or 'F<i>_VP<chunk>' of its "
             "dynamic "
             "graph",
             findPaddleOps},
        Rule{"PyTorch's dump of a schedule", "", "slices '<stage><action><i>' as _dump_chrometrace() writes them",
             findTorchDump},
        Rule{"NVTX", "", "NVTX ranges 'F<i>', 'B<i>', 'I<i>', 'W<i>', with '.<chunk>' behind where a rank has several",
             findNvtxOps},
        Rule{"inferred from the order of compute and transfers", "",
             "without annotations, PyTorch operators between sends and receives", inferTorchOps},
    };
    return kRules;
}

} // namespace bubblescope
