#include "core/recognise/rule_table.h"

#include "core/base/input_file.h"
#include "core/base/wire.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cassert>
#include <cstdint>
#include <utility>

namespace bubblescope {

// Tried from top to bottom; the first one that finds an op is used. The format is described in
// resources/manual/recognition.md. Sources: Megatron-LM's traces as MegatronApp records them, and the NVTX ranges of
// its models/common/model_chunk_schedule_plan.py and pipeline_parallel/utils.py (overlap_moe_expert_parallel_comm);
// torch.distributed.pipelining and its dumps of schedules; ByteDance's timelines of StragglerAnalysis; PaddlePaddle's
// job log, its Chrome form (forward_3), paddle.profiler (forward0-3) and dynamic graph (F0_VP1); sail-sg's zero-bubble
// runtime and our own NVTX ranges.
constexpr std::string_view kBuiltinRules = R"json({"rules": [
{"name": "ops reported by the framework", "categories": ["pipeline"],
 "ops": [{"name": "{stage}F{microbatch}", "kind": "F"}, {"name": "{stage}B{microbatch}", "kind": "B"},
         {"name": "{stage}I{microbatch}", "kind": "I"}, {"name": "{stage}W{microbatch}", "kind": "W"},
         {"name": "({stage}F{microbatch};{stage}B{microbatch})OVERLAP_F_B", "kind": "F+B"},
         {"name": "({stage}F{microbatch};{stage}I{microbatch})OVERLAP_F_B", "kind": "F+I"},
         {"name": "Optimizer", "kind": "O"}],
 "transfers": [{"name": "{stage}SEND_F{microbatch}", "is": "send", "payload": "activation"},
               {"name": "{stage}RECV_F{microbatch}", "is": "receive", "payload": "activation"},
               {"name": "{stage}SEND_B{microbatch}", "is": "send", "payload": "gradient"},
               {"name": "{stage}RECV_B{microbatch}", "is": "receive", "payload": "gradient"}]},

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

{"name": "veScale timeline", "rank": "thread",
 "ops": [{"name": "forward-compute", "kind": "F"}, {"name": "backward-compute", "kind": "B"},
         {"name": "optimizer*", "kind": "O"}],
 "transfers": [{"name": "forward-send", "is": "send", "payload": "activation"},
               {"name": "forward-recv", "is": "receive", "payload": "activation"},
               {"name": "backward-send", "is": "send", "payload": "gradient"},
               {"name": "backward-recv", "is": "receive", "payload": "gradient"}],
 "args": {"step": "step", "rank": "pp", "chunk": "chunk", "tensor_rank": "tp"},
 "thread": "*rank[\\[]{rank}*", "process": "*dp rank[ ][\\[]{replica}*"},

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

{"name": "Primus pipeline record", "categories": ["primus"], "args": {"step": "iteration"},
 "ops": [{"name": "F{microbatch}[.{chunk}]", "kind": "F"}, {"name": "B{microbatch}[.{chunk}]", "kind": "B"}]},

{"name": "NVTX", "categories": ["nvtx", "user_annotation", ""], "rank": "processes", "backward_splits": true,
 "ops": [{"name": "F{microbatch}[.{chunk}[.{sequence}]]", "kind": "F"},
         {"name": "B{microbatch}[.{chunk}[.{sequence}]]", "kind": "B"},
         {"name": "I{microbatch}[.{chunk}[.{sequence}]]", "kind": "I"},
         {"name": "W{microbatch}[.{chunk}[.{sequence}]]", "kind": "W"},
         {"name": "Optimizer", "kind": "O"}]},

{"name": "Megatron combined 1F1B", "categories": ["nvtx", "user_annotation", ""], "rank": "processes",
 "ops": [{"name": "pre_process forward", "kind": "F", "part": "first"},
         {"name": "layer_{layer}f", "kind": "F", "part": "inner"},
         {"name": "layer_{layer}f-layer_{layer}b", "kind": "F+B", "part": "inner"},
         {"name": "layer_{layer}b", "kind": "B", "part": "inner"},
         {"name": "post_process forward", "kind": "F", "part": "inner"},
         {"name": "loss_func forward", "kind": "F", "part": "last"},
         {"name": "post_process backward", "kind": "B", "part": "first"},
         {"name": "pre_process backward", "kind": "B", "part": "last"},
         {"name": "optimizer", "kind": "O"}, {"name": "optimizer.step", "kind": "O"},
         {"name": "Optimizer.step#*", "kind": "O"}]},

{"name": "Megatron ranges", "categories": ["nvtx", "user_annotation", ""], "rank": "processes",
 "ops": [{"name": "forward_step", "kind": "F"}, {"name": "backward_step", "kind": "B"},
         {"name": "optimizer", "kind": "O"}, {"name": "optimizer.step", "kind": "O"},
         {"name": "Optimizer.step#*", "kind": "O"}]}
]})json";

namespace {

using Json = nlohmann::json;

constexpr std::array<std::pair<std::string_view, RulePart>, 3> kParts{
    {{"first", RulePart::First}, {"inner", RulePart::Inner}, {"last", RulePart::Last}}};

constexpr std::array<std::pair<std::string_view, RankSource>, 5> kRankSources{{{"file", RankSource::File},
                                                                               {"process", RankSource::Process},
                                                                               {"processes", RankSource::Processes},
                                                                               {"thread", RankSource::Thread},
                                                                               {"names", RankSource::Names}}};

/// A required text field, which may only be absent if it may be empty.
Result<std::string> textField(const Json& object, const std::string& key, const InputPlace& place, bool needed) {
    const auto found = object.find(key);
    if (found == object.end()) {
        if (needed) return place.at(key).error("is missing");
        return std::string{};
    }
    if (!found->is_string()) return place.at(key).error("is not text");
    return found->get<std::string>();
}

Result<NamePattern> patternField(const Json& object, const std::string& key, const InputPlace& place) {
    BUBBLESCOPE_ASSIGN(const std::string text, textField(object, key, place, true));
    return NamePattern::parse(text, fmt::format("{}: {}", place.file, place.at(key).path));
}

Result<std::optional<NamePattern>> optionalPattern(const Json& object, const std::string& key,
                                                   const InputPlace& place) {
    if (!object.contains(key)) return std::optional<NamePattern>{};
    BUBBLESCOPE_ASSIGN(NamePattern pattern, patternField(object, key, place));
    return std::optional(std::move(pattern));
}

Result<bool> flagField(const Json& object, const std::string& key, const InputPlace& place) {
    const auto found = object.find(key);
    if (found == object.end()) return false;
    if (!found->is_boolean()) return place.at(key).error("is neither true nor false");
    return found->get<bool>();
}

Result<OpKind> kindFrom(std::string_view letter, const InputPlace& place) {
    const auto kind = letter.size() == 1 ? opKindFromLetter(letter.front()) : std::nullopt;
    if (!kind) return place.error(fmt::format("is '{}', not one of F, B, I, W and O", letter));
    return *kind;
}

/// A list under `key`, or nothing.
Result<const Json*> optionalList(const Json& object, std::string_view key, const InputPlace& place) {
    static const Json kNone = Json::array();
    if (!object.contains(key)) return &kNone;
    return listField(object, key, place);
}

Result<RecognitionRule::OpSpelling> readOp(const Json& entry, const InputPlace& place) {
    BUBBLESCOPE_TRY(checkKeys(entry, {"name", "kind", "part"}, place));
    BUBBLESCOPE_ASSIGN(NamePattern name, patternField(entry, "name", place));
    BUBBLESCOPE_ASSIGN(const std::string kinds, textField(entry, "kind", place, false));
    BUBBLESCOPE_ASSIGN(const std::string part, textField(entry, "part", place, false));
    RecognitionRule::OpSpelling op{std::move(name), {}};
    if (!part.empty()) {
        const auto known = std::ranges::find(kParts, part, [](const auto& each) { return each.first; });
        if (known == kParts.end()) return place.at("part").error("is not one of 'first', 'inner' and 'last'");
        op.part = known->second;
    }
    for (std::string_view rest = kinds; !rest.empty();) {
        const std::size_t plus = rest.find('+');
        BUBBLESCOPE_ASSIGN(const OpKind kind, kindFrom(rest.substr(0, plus), place.at("kind")));
        op.kinds.push_back(kind);
        rest = plus == std::string_view::npos ? std::string_view{} : rest.substr(plus + 1);
    }
    if (op.kinds.size() > 2) return place.at("kind").error("has more than the two ops of a pair");
    if (op.part != RulePart::Whole && op.kinds.empty())
        return place.at("kind").error("is missing: parts of ops need a kind");
    return op;
}

Result<RecognitionRule::TransferSpelling> readTransfer(const Json& entry, const InputPlace& place) {
    BUBBLESCOPE_TRY(checkKeys(entry, {"name", "is", "payload"}, place));
    BUBBLESCOPE_ASSIGN(NamePattern name, patternField(entry, "name", place));
    BUBBLESCOPE_ASSIGN(const std::string is, textField(entry, "is", place, true));
    BUBBLESCOPE_ASSIGN(const std::string payload, textField(entry, "payload", place, true));
    if (is != "send" && is != "receive") return place.at("is").error("is neither 'send' nor 'receive'");
    if (payload != "activation" && payload != "gradient")
        return place.at("payload").error("is neither 'activation' nor 'gradient'");
    return RecognitionRule::TransferSpelling{std::move(name), is == "send" ? CommKind::Send : CommKind::Receive,
                                             payload == "activation" ? Payload::Activation : Payload::Gradient};
}

Status readArgs(const Json& rule, const std::string& key, const InputPlace& place,
                std::array<std::string, kRuleFieldNames.size()>& args) {
    if (!rule.contains(key)) return {};
    const InputPlace here = place.at(key);
    if (!rule[key].is_object()) return here.error("is not an object that maps fields to arg names");
    for (const auto& [field_name, arg] : rule[key].items()) {
        const auto field = ruleFieldFrom(field_name);
        if (!field) {
            return here.at(field_name)
                .error(fmt::format("is not a field; known fields: {}", fmt::join(kRuleFieldNames, ", ")));
        }
        if (!arg.is_string()) return here.at(field_name).error("is not text");
        args[static_cast<std::size_t>(*field)] = arg.get<std::string>();
    }
    return {};
}

Status readNames(const Json& entry, const InputPlace& place, RecognitionRule& rule) {
    BUBBLESCOPE_ASSIGN(const Json* const ops, listField(entry, "ops", place));
    for (std::size_t i = 0; i < ops->size(); ++i) {
        BUBBLESCOPE_ASSIGN(auto op, readOp((*ops)[i], place.at(fmt::format("ops[{}]", i))));
        rule.ops.push_back(std::move(op));
    }
    BUBBLESCOPE_ASSIGN(const Json* const transfers, optionalList(entry, "transfers", place));
    for (std::size_t i = 0; i < transfers->size(); ++i) {
        BUBBLESCOPE_ASSIGN(auto transfer, readTransfer((*transfers)[i], place.at(fmt::format("transfers[{}]", i))));
        rule.transfers.push_back(std::move(transfer));
    }
    BUBBLESCOPE_ASSIGN(const Json* const categories, optionalList(entry, "categories", place));
    for (const Json& category : *categories) {
        if (!category.is_string()) return place.at("categories").error("has an entry that is not a string");
        rule.categories.push_back(category.get<std::string>());
    }
    if (!entry.contains("kinds")) return {};
    if (!entry["kinds"].is_object()) return place.at("kinds").error("is not an object that maps words to kinds");
    for (const auto& [word, letter] : entry["kinds"].items()) {
        const InputPlace here = place.at("kinds").at(word);
        if (!letter.is_string()) return here.error("is not text");
        BUBBLESCOPE_ASSIGN(rule.kinds[word], kindFrom(letter.get_ref<const std::string&>(), here));
    }
    return {};
}

/// Checks that a rule determines every field of an op.
Status checkComplete(const RecognitionRule& rule, const InputPlace& place) {
    const auto arg = [&rule](RuleField field) { return !rule.args[static_cast<std::size_t>(field)].empty(); };
    for (std::size_t i = 0; i < rule.ops.size(); ++i) {
        const auto& op = rule.ops[i];
        const InputPlace here = place.at(fmt::format("ops[{}]", i));
        if (op.kinds.empty() && op.name.count(RuleField::Kind) == 0 && !arg(RuleField::Kind)) {
            return here.error("has no kind: add \"kind\", {kind} in its name, or an arg for the kind");
        }
        if (op.kinds.empty() && rule.kinds.empty())
            return place.at("kinds").error("is missing: define the kind that each word stands for");
        const bool optimizer = op.kinds == std::vector{OpKind::Optimizer};
        const bool numbered = op.name.count(RuleField::MicrobatchId) > 0 || arg(RuleField::MicrobatchId);
        if (!optimizer && !numbered && !rule.numbersMicrobatches()) {
            return here.error(
                "has no micro-batch, unlike other ops of the rule: use {microbatch} in all names or in none");
        }
    }
    return {};
}

Result<RecognitionRule> readRule(const Json& entry, const InputPlace& place) {
    BUBBLESCOPE_TRY(checkKeys(entry,
                              {"name", "format", "categories", "ops", "transfers", "kinds", "args", "transfer_args",
                               "thread", "process", "rank", "one_stage_a_rank", "backward_splits"},
                              place));
    RecognitionRule rule;
    BUBBLESCOPE_ASSIGN(rule.name, textField(entry, "name", place, true));
    BUBBLESCOPE_ASSIGN(rule.format, textField(entry, "format", place, false));
    BUBBLESCOPE_TRY(readNames(entry, place, rule));
    BUBBLESCOPE_TRY(readArgs(entry, "args", place, rule.args));
    rule.transfer_args = rule.args;
    BUBBLESCOPE_TRY(readArgs(entry, "transfer_args", place, rule.transfer_args));
    BUBBLESCOPE_ASSIGN(rule.thread, optionalPattern(entry, "thread", place));
    BUBBLESCOPE_ASSIGN(rule.process, optionalPattern(entry, "process", place));
    BUBBLESCOPE_ASSIGN(const std::string rank, textField(entry, "rank", place, false));
    const auto source = std::find_if(kRankSources.begin(), kRankSources.end(),
                                     [&](const auto& known) { return known.first == (rank.empty() ? "file" : rank); });
    if (source == kRankSources.end())
        return place.at("rank").error("is not one of 'file', 'process', 'processes', 'thread' and 'names'");
    rule.rank = source->second;
    BUBBLESCOPE_ASSIGN(rule.one_stage_per_rank, flagField(entry, "one_stage_a_rank", place));
    BUBBLESCOPE_ASSIGN(rule.backward_splits, flagField(entry, "backward_splits", place));
    BUBBLESCOPE_TRY(checkComplete(rule, place));
    return rule;
}

/// "AGENT [#] *" as a name: * is any text, # a number.
Result<LaneRule> readLane(const Json& entry, const InputPlace& place) {
    BUBBLESCOPE_TRY(checkKeys(entry, {"category", "process", "thread", "name", "is", "device", "source"}, place));
    LaneRule lane;
    BUBBLESCOPE_ASSIGN(lane.category, textField(entry, "category", place, false));
    BUBBLESCOPE_ASSIGN(lane.process, textField(entry, "process", place, false));
    BUBBLESCOPE_ASSIGN(lane.thread, textField(entry, "thread", place, false));
    BUBBLESCOPE_ASSIGN(lane.name, textField(entry, "name", place, false));
    BUBBLESCOPE_ASSIGN(lane.device, textField(entry, "device", place, false));
    BUBBLESCOPE_ASSIGN(lane.source, textField(entry, "source", place, false));
    BUBBLESCOPE_ASSIGN(const std::string is, textField(entry, "is", place, true));
    const auto kind = laneKindFrom(is);
    if (!kind) {
        return place.at("is").error(
            "is not one of 'host', 'device', 'copy', 'communication', 'compute', 'annotation' and 'idle'");
    }
    lane.kind = *kind;
    if (lane.category.empty() && lane.process.empty() && lane.thread.empty() && lane.name.empty())
        return place.error("does not name a category, process, thread or kernel");
    return lane;
}

Result<RulesFile> readTable(const Json& document, const InputPlace& place) {
    BUBBLESCOPE_TRY(checkKeys(document, {"rules", "lanes"}, place));
    RulesFile file;
    const bool lanes_only = document.is_object() && document.contains("lanes") && !document.contains("rules");
    BUBBLESCOPE_ASSIGN(const Json* const entries,
                       lanes_only ? optionalList(document, "rules", place) : listField(document, "rules", place));
    for (std::size_t i = 0; i < entries->size(); ++i) {
        BUBBLESCOPE_ASSIGN(RecognitionRule rule, readRule((*entries)[i], place.at(fmt::format("rules[{}]", i))));
        file.ops.push_back(std::move(rule));
    }
    BUBBLESCOPE_ASSIGN(const Json* const lanes, optionalList(document, "lanes", place));
    for (std::size_t i = 0; i < lanes->size(); ++i) {
        BUBBLESCOPE_ASSIGN(LaneRule lane, readLane((*lanes)[i], place.at(fmt::format("lanes[{}]", i))));
        file.lanes.push_back(std::move(lane));
    }
    return file;
}

} // namespace

bool RecognitionRule::namesStages() const {
    const bool by_arg = !args[static_cast<std::size_t>(RuleField::StageId)].empty();
    return by_arg || std::any_of(ops.begin(), ops.end(),
                                 [](const OpSpelling& op) { return op.name.count(RuleField::StageId) > 0; });
}

bool RecognitionRule::numbersMicrobatches() const {
    const bool by_arg = !args[static_cast<std::size_t>(RuleField::MicrobatchId)].empty();
    return !by_arg && std::none_of(ops.begin(), ops.end(),
                                   [](const OpSpelling& op) { return op.name.count(RuleField::MicrobatchId) > 0; });
}

bool RecognitionRule::namesChunks() const {
    const bool by_arg = !args[static_cast<std::size_t>(RuleField::ChunkId)].empty();
    return by_arg || std::any_of(ops.begin(), ops.end(),
                                 [](const OpSpelling& op) { return op.name.count(RuleField::ChunkId) > 0; });
}

Result<RulesFile> rulesFrom(std::string_view text, const std::string& file) {
    BUBBLESCOPE_ASSIGN(const WrittenInput input, inputFrom(text, file, "",
                                                           R"(rules look like {"rules": [{"name": "mine", "ops": )"
                                                           R"([{"name": "fwd {microbatch}", "kind": "F"}, …]}]})"));
    return readTable(input.document, input.place);
}

Result<RulesFile> readRules(const std::string& file) {
    BUBBLESCOPE_ASSIGN(const std::string text, readInputText(file));
    return rulesFrom(text, file);
}

std::string keyOf(const RecognitionRule& rule) {
    WireWriter out;
    out(rule.format, rule.categories, rule.args, rule.transfer_args, rule.thread.has_value(), rule.process.has_value(),
        rule.rank, rule.one_stage_per_rank, rule.backward_splits);
    for (const RecognitionRule::OpSpelling& op : rule.ops)
        out(op.name.text(), op.kinds, op.part);
    for (const RecognitionRule::TransferSpelling& transfer : rule.transfers)
        out(transfer.name.text(), transfer.kind, transfer.payload);
    for (const auto& [word, kind] : rule.kinds)
        out(word, kind);
    for (const auto& names : {rule.thread, rule.process})
        out(names ? names->text() : std::string());
    std::uint64_t hash = 0xcbf29ce484222325U; // FNV-1a
    for (const char byte : out.take())
        hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3U;
    return fmt::format("{} {:016x}", rule.name, hash);
}

std::span<const RecognitionRule> builtinRules() {
    static const std::vector<RecognitionRule> kRules = [] {
        auto rules = readTable(Json::parse(kBuiltinRules), {"built-in rules", "", ""});
        assert(rules.ok());
        return std::move(rules).value().ops;
    }();
    return kRules;
}

} // namespace bubblescope
