#include "core/recognise/builtin_rules.h"

namespace bubblescope {

// Tried from top to bottom; the first that finds an op is right. The form is told in resources/manual/recognition.md.
// Sources: Megatron-LM's traces as MegatronApp records them; torch.distributed.pipelining and its dumps of schedules;
// ByteDance's timelines of StragglerAnalysis; PaddlePaddle's job log, its Chrome form (forward_3), paddle.profiler
// (forward0-3) and dynamic graph (F0_VP1); sail-sg's zero-bubble runtime and our own NVTX ranges.
const std::string_view kBuiltinRules = R"json({"rules": [
{"name": "Megatron forward/backward", "format": "megatron",
 "ops": [{"name": "forward", "kind": "F"}, {"name": "backward", "kind": "B"}],
 "args": {"microbatch": "microbatch", "step": "iteration", "rank": "pp_rank", "chunk": "model_chunk"},
 "rank": "process"},

{"name": "PyTorch pipeline actions", "categories": ["user_annotation"],
 "ops": [{"name": "PP:{stage}F{microbatch}", "kind": "F"}, {"name": "PP:{stage}B{microbatch}", "kind": "B"},
         {"name": "PP:{stage}I{microbatch}", "kind": "I"}, {"name": "PP:{stage}W{microbatch}", "kind": "W"},
         {"name": "PP:({stage}F{microbatch};{stage}B{microbatch})OVERLAP_F_B", "kind": "F+B"},
         {"name": "PP:({stage}F{microbatch};{stage}I{microbatch})OVERLAP_F_B", "kind": "F+I"},
         {"name": "Optimizer.step#*", "kind": "O"}],
 "transfers": [{"name": "PP:{stage}SEND_F{microbatch}", "is": "send", "payload": "activation"},
               {"name": "PP:{stage}RECV_F{microbatch}", "is": "receive", "payload": "activation"},
               {"name": "PP:{stage}SEND_B{microbatch}", "is": "send", "payload": "gradient"},
               {"name": "PP:{stage}RECV_B{microbatch}", "is": "receive", "payload": "gradient"}]},

{"name": "PyTorch GPipe", "categories": ["user_annotation"], "one_stage_a_rank": true,
 "ops": [{"name": "Forward {microbatch}", "kind": "F"}, {"name": "Backward {microbatch}", "kind": "B"},
         {"name": "Optimizer.step#*", "kind": "O"}]},

{"name": "ByteDance timeline", "rank": "names",
 "ops": [{"name": "forward-compute", "kind": "F"}, {"name": "backward-compute", "kind": "B"},
         {"name": "optimizer", "kind": "O"}],
 "transfers": [{"name": "forward-send", "is": "send", "payload": "activation"},
               {"name": "forward-recv", "is": "receive", "payload": "activation"},
               {"name": "backward-send", "is": "send", "payload": "gradient"},
               {"name": "backward-recv", "is": "receive", "payload": "gradient"}],
 "args": {"microbatch": "mb_id", "step": "step", "chunk": "model_chunk"}, "transfer_args": {"microbatch": "seq_id"},
 "thread": "*PP rank {rank}[*TP rank {tensor_rank}]*", "process": "*DP rank[ ][\\[]{replica}*"},

{"name": "PaddlePaddle jobs", "categories": ["paddle_job"], "thread": "GPU{rank}*",
 "ops": [{"name": "forward[{chunk}][_reduce]", "kind": "F"}, {"name": "backward[{chunk}][_reduce]", "kind": "B"},
         {"name": "backward_b[{chunk}][_reduce]", "kind": "I"}, {"name": "backward_w[{chunk}][_reduce]", "kind": "W"},
         {"name": "optimizer*", "kind": "O"}],
 "args": {"microbatch": "micro_batch_id"}},

{"name": "PaddlePaddle jobs", "categories": ["forward", "backward", "optimizer", "UserDefined"],
 "thread": "GPU{rank}*",
 "ops": [{"name": "forward[{chunk}][_reduce]_{microbatch}", "kind": "F"},
         {"name": "forward[{chunk}][_reduce]-{microbatch}", "kind": "F"},
         {"name": "backward[{chunk}][_reduce]_{microbatch}", "kind": "B"},
         {"name": "backward[{chunk}][_reduce]-{microbatch}", "kind": "B"},
         {"name": "backward_b[{chunk}][_reduce]_{microbatch}", "kind": "I"},
         {"name": "backward_b[{chunk}][_reduce]-{microbatch}", "kind": "I"},
         {"name": "backward_w[{chunk}][_reduce]_{microbatch}", "kind": "W"},
         {"name": "backward_w[{chunk}][_reduce]-{microbatch}", "kind": "W"},
         {"name": "optimizer[{chunk}]_{microbatch}", "kind": "O"},
         {"name": "optimizer[{chunk}]-{microbatch}", "kind": "O"}]},

{"name": "PaddlePaddle jobs", "categories": ["pipeline timeline", "virtual pipeline timeline"], "rank": "thread",
 "ops": [{"name": "F{microbatch}[_VP{chunk}]", "kind": "F"}, {"name": "B{microbatch}[_VP{chunk}]", "kind": "B"}]},

{"name": "PyTorch's dump of a schedule", "categories": ["computation", "communication"], "rank": "process",
 "ops": [{"name": "{stage}F{microbatch}", "kind": "F"}, {"name": "{stage}B{microbatch}", "kind": "B"},
         {"name": "{stage}I{microbatch}", "kind": "I"}, {"name": "{stage}W{microbatch}", "kind": "W"},
         {"name": "({stage}F{microbatch};{stage}B{microbatch})OVERLAP_F_B", "kind": "F+B"},
         {"name": "({stage}F{microbatch};{stage}I{microbatch})OVERLAP_F_B", "kind": "F+I"}]},

{"name": "NVTX", "categories": ["nvtx"], "rank": "processes", "backward_splits": true,
 "ops": [{"name": "F{microbatch}[.{chunk}]", "kind": "F"}, {"name": "B{microbatch}[.{chunk}]", "kind": "B"},
         {"name": "I{microbatch}[.{chunk}]", "kind": "I"}, {"name": "W{microbatch}[.{chunk}]", "kind": "W"},
         {"name": "Optimizer", "kind": "O"}]}
]})json";

} // namespace bubblescope
