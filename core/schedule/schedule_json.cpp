
#include "core/schedule/schedule_files.h"

#include "core/base/field.h"
#include "core/base/input_file.h"
#include "core/schedule/action_cell.h"
#include "core/schedule/action_check.h"
#include "core/schedule/dependency.h"
#include "core/schedule/schedule.h"
#include "core/schedule/stage_ways.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <limits>

namespace bubblescope {
namespace {

using Json = nlohmann::json;

std::string shapeOfSchedules() {
    return fmt::format(
        R"(schedules look like {{"ranks":[[["F",microbatch,chunk],…],…]}}, as printed by `bubblescope schedule {}`)",
        optionOf(Field("json")));
}

Result<std::int32_t> readInt(const Json& value, const std::string& where, std::string_view path) {
    const bool fits = value.is_number_integer() && value >= 0 && value <= std::numeric_limits<std::int32_t>::max();
    if (!fits)
        return inputError(where, fmt::format("{} is {}, not a whole number ≥ 0", path, value.dump()),
                          shapeOfSchedules());
    return value.get<std::int32_t>();
}

Result<Op> readOp(const Json& entry, const std::string& where, const std::string& path) {
    if (!entry.is_array() || entry.empty() || !entry[0].is_string() ||
        entry[0].get_ref<const std::string&>().size() != 1) {
        return inputError(where, fmt::format("{} is {}, not [kind, microbatch, chunk]", path, entry.dump()),
                          shapeOfSchedules());
    }
    const auto kind = opKindFromLetter(entry[0].get_ref<const std::string&>().front());
    if (!kind)
        return inputError(where, fmt::format("{}: unknown kind {}", path, entry[0].dump()),
                          "kinds are F, B, I, W and O");
    Op op;
    op.kind = *kind;
    if (entry.size() > 1) {
        BUBBLESCOPE_ASSIGN(op.microbatch.value, readInt(entry[1], where, path + "[1]"));
    }
    if (entry.size() > 2) {
        BUBBLESCOPE_ASSIGN(op.chunk.value, readInt(entry[2], where, path + "[2]"));
    }
    for (std::size_t extra = 3; extra < entry.size(); ++extra) {
        if (entry[extra] == "o") {
            op.overlapped = true;
        } else {
            BUBBLESCOPE_ASSIGN(const int slice, readInt(entry[extra], where, fmt::format("{}[{}]", path, extra)));
            if (slice >= kMaxSequenceSlices) {
                return inputError(where, fmt::format("{} names sequence slice {}", path, slice),
                                  fmt::format("number slices from 0; at most {} are allowed", kMaxSequenceSlices));
            }
            op.sequence = sequenceSlice(slice);
        }
    }
    if (*kind != OpKind::Optimizer && entry.size() == 1) {
        return inputError(where, fmt::format("{} does not name a micro-batch", path), shapeOfSchedules());
    }
    return op;
}

Status readRanks(const Json& document, const std::string& where, Schedule& schedule) {
    const auto ranks = document.find("ranks");
    if (ranks == document.end() || !ranks->is_array())
        return inputError(where, "list \"ranks\" missing", shapeOfSchedules());
    if (ranks->empty()) return inputError(where, "the list \"ranks\" is empty", shapeOfSchedules());
    for (std::size_t r = 0; r < ranks->size(); ++r) {
        const Json& list = (*ranks)[r];
        if (!list.is_array()) return inputError(where, fmt::format("ranks[{}] is not a list", r), shapeOfSchedules());
        auto& ops = schedule.ranks.emplace_back();
        for (std::size_t i = 0; i < list.size(); ++i) {
            BUBBLESCOPE_ASSIGN(const Op op, readOp(list[i], where, fmt::format("ranks[{}][{}]", r, i)));
            ops.push_back(op);
        }
    }
    return {};
}

/// A size given in the document, or else implied by the ops.
Status readSize(const Json& document, const std::string& where, const char* key, int implied, int& size) {
    size = implied;
    const auto stated = document.find(key);
    if (stated == document.end()) return {};
    BUBBLESCOPE_ASSIGN(size, readInt(*stated, where, key));
    if (size < 1) return inputError(where, fmt::format("{} is {}", key, size), "sizes start at 1");
    // A given size far beyond the ops would only reserve memory for missing ops.
    constexpr int kSlack = 1'000'000;
    if (size > std::max(implied, 1) + kSlack) {
        return inputError(where, fmt::format("{} is {}, but the ops only go up to {}", key, size, implied),
                          "correct the size");
    }
    return {};
}

Result<std::string> readText(const Json& document, const std::string& where, const char* key) {
    const auto value = document.find(key);
    if (value == document.end() || value->is_null()) return std::string{};
    if (!value->is_string()) return inputError(where, fmt::format("{} is {}, not a string", key, value->dump()));
    return value->get<std::string>();
}

Result<Schedule> readSchedule(const Json& document, const std::string& where) {
    if (!document.is_object()) return inputError(where, "not a JSON object", shapeOfSchedules());
    Schedule schedule;
    BUBBLESCOPE_TRY(readRanks(document, where, schedule));
    int last_microbatch = 0;
    int last_chunk = 0;
    int last_slice = 0;
    for (const auto& ops : schedule.ranks) {
        for (const Op& op : ops) {
            last_microbatch = std::max(last_microbatch, op.microbatch.value);
            last_chunk = std::max(last_chunk, op.chunk.value);
            last_slice = std::max<int>(last_slice, op.sequence);
        }
    }
    constexpr int kMax = 100'000'000;
    if (last_microbatch >= kMax || last_chunk >= kMax) {
        return inputError(where, "a micro-batch or chunk number exceeds 100 million", "number them from 0");
    }
    BUBBLESCOPE_TRY(readSize(document, where, "pp", static_cast<int>(schedule.ranks.size()), schedule.pp));
    BUBBLESCOPE_TRY(readSize(document, where, "microbatches", last_microbatch + 1, schedule.microbatches));
    BUBBLESCOPE_TRY(readSize(document, where, "vpp", last_chunk + 1, schedule.vpp));
    BUBBLESCOPE_ASSIGN(schedule.name, readText(document, where, "schedule"));
    BUBBLESCOPE_ASSIGN(schedule.flavor, readText(document, where, "flavor"));
    if (schedule.name.empty()) schedule.name = "custom";
    BUBBLESCOPE_ASSIGN(const std::string placement, readText(document, where, "placement"));
    const auto known = placementFromName(placement.empty() ? "loop" : placement);
    if (!known || *known == Placement::Moving)
        return inputError(where, fmt::format("unknown placement \"{}\"", placement),
                          "placements are loop, v, bidirectional, and encoders-N or encoders-N-N");
    schedule.placement = *known;
    if (schedule.vpp % routes(schedule.placement) != 0) {
        return inputError(where,
                          fmt::format("vpp is {}, but placement \"{}\" is for two pipelines", schedule.vpp, placement),
                          "use an even number of chunks per rank, with the even chunks for the first pipeline");
    }
    if (!StageWays::encodersFit(schedule.placement, schedule.pp, schedule.vpp)) {
        return inputError(where,
                          fmt::format("placement \"{}\" does not fit {} ranks with {} chunks each", placement,
                                      schedule.pp, schedule.vpp),
                          "encoders need one chunk per rank and leave at least one rank for the trunk");
    }
    BUBBLESCOPE_TRY(checkSizes(schedule, last_slice + 1, where));
    return schedule;
}

/// Reads the names of a rank's actions and finds the ops among them in the rank's list.
class ActionNames {
public:
    ActionNames(const Schedule& order, Rank rank, const std::string& where)
        : order_(order), rank_(rank), where_(where) {}

    Result<std::vector<Action>> read(const Json& names) {
        if (!names.is_array()) return fault("is not a list");
        for (std::size_t i = 0; i < names.size(); ++i) {
            const auto cell = names[i].is_string() ? parseActionCell(names[i].get_ref<const std::string&>())
                                                   : std::optional<ActionCell>{};
            if (!cell) return fault(fmt::format("contains {}, which is not the name of an action", names[i].dump()));
            if (!cell->ops.empty()) BUBBLESCOPE_TRY(takeOps(*cell));
            actions_.insert(actions_.end(), cell->actions.begin(), cell->actions.end());
        }
        if (skipOptimizer() < ops().size()) return fault("is missing ops of \"ranks\"");
        return std::move(actions_);
    }

private:
    [[nodiscard]] const std::vector<Op>& ops() const { return order_.ranks[rank_.index()]; }
    [[nodiscard]] Error fault(const std::string& what) const {
        return inputError(where_, fmt::format("lowered[{}] {}", rank_.value, what),
                          "list the ops of \"ranks\" in the same order in \"lowered\"");
    }
    std::size_t skipOptimizer() {
        while (next_ < ops().size() && ops()[next_].kind == OpKind::Optimizer)
            ++next_;
        return next_;
    }
    Status takeOps(const ActionCell& cell) {
        Action compute;
        compute.op = static_cast<std::int32_t>(skipOptimizer());
        compute.stage = cell.ops.front().stage;
        compute.microbatch = cell.ops.front().op.microbatch;
        for (StageOp named : cell.ops) {
            named.op.chunk = locate(order_.placement, order_.pp, named.stage).chunk;
            const bool same = next_ < ops().size() && ops()[next_] == named.op &&
                              order_.stageOf(rank_, named.op.chunk) == named.stage;
            if (!same)
                return fault(fmt::format("has stage {}'s {} where \"ranks\" has another op or none", named.stage.value,
                                         opName(named.op)));
            ++next_;
        }
        actions_.push_back(compute);
        return {};
    }

    const Schedule& order_;
    Rank rank_;
    const std::string& where_;
    std::size_t next_ = 0;
    std::vector<Action> actions_;
};

Status readActions(const Json& document, const std::string& where, LoweredSchedule& lowered) {
    const auto lists = document.find("lowered");
    if (lists == document.end() || lists->is_null()) return {};
    const std::size_t ranks = lowered.order.ranks.size();
    if (!lists->is_array() || lists->size() != ranks || routes(lowered.order.placement) > 1 ||
        joins(lowered.order.placement))
        return inputError(where, "\"lowered\" is not a list of action names for each rank of one pipeline",
                          shapeOfSchedules());
    for (std::size_t r = 0; r < ranks; ++r) {
        BUBBLESCOPE_ASSIGN(auto actions, ActionNames(lowered.order, Rank{r}, where).read((*lists)[r]));
        lowered.actions.push_back(std::move(actions));
    }
    return {};
}

/// If the document does not give sizes, they are also derived from the actions.
Result<LoweredSchedule> readLowered(const Json& document, const std::string& where) {
    LoweredSchedule lowered;
    BUBBLESCOPE_ASSIGN(lowered.order, readSchedule(document, where));
    BUBBLESCOPE_TRY(readActions(document, where, lowered));
    return lowered;
}

} // namespace

std::string scheduleToJson(const LoweredSchedule& lowered) {
    std::string out = scheduleToJson(lowered.order);
    if (lowered.actions.empty()) return out;
    out.pop_back(); // the document's closing brace
    out += ",\"lowered\":[";
    for (std::size_t r = 0; r < lowered.actions.size(); ++r)
        out += (r == 0 ? "\n" : ",\n") + Json(actionCells(lowered, Rank{r})).dump();
    return out + "]}";
}

std::string scheduleToJson(const Schedule& schedule) {
    std::string out =
        fmt::format(R"({{"schedule":{},"flavor":{},"pp":{},"microbatches":{},"vpp":{},"placement":"{}","ranks":[)",
                    Json(schedule.name).dump(), Json(schedule.flavor).dump(), schedule.pp, schedule.microbatches,
                    schedule.vpp, placementName(schedule.placement));
    const bool sliced = std::ranges::any_of(schedule.ranks, [](const auto& ops) {
        return std::ranges::any_of(ops, [](const Op& op) { return op.sequence > 0; });
    });
    for (std::size_t r = 0; r < schedule.ranks.size(); ++r) {
        out += r == 0 ? "\n[" : ",\n[";
        for (std::size_t i = 0; i < schedule.ranks[r].size(); ++i) {
            const Op& op = schedule.ranks[r][i];
            out += fmt::format(R"({}["{}",{},{})", i == 0 ? "" : ",", opLetter(op.kind), op.microbatch.value,
                               op.chunk.value);
            if (sliced) out += fmt::format(",{}", op.sequence);
            out += op.overlapped ? R"(,"o"])" : "]";
        }
        out += "]";
    }
    return out + "]}";
}

Result<LoweredSchedule> loweredFromJson(std::string_view text, const std::string& where) {
    BUBBLESCOPE_ASSIGN(const Json document, parseJsonDocument(text, where, shapeOfSchedules()));
    try {
        return readLowered(document, where);
    } catch (const Json::exception& error) {
        return inputError(where, fmt::format("not a schedule: {}", error.what()), shapeOfSchedules());
    }
}

Result<Schedule> scheduleFromJson(std::string_view text, const std::string& where) {
    BUBBLESCOPE_ASSIGN(LoweredSchedule lowered, loweredFromJson(text, where));
    const auto problems = checkActions(lowered);
    if (problems.empty()) return std::move(lowered.order);
    const ActionProblem& first = problems.front();
    return inputError(where, fmt::format("lowered[{}]: {}", first.rank.value, first.message.text()), first.hint);
}

namespace {

bool looksLikeCsv(std::string_view content) {
    const auto first = content.find_first_not_of(" \t\r\n,");
    return first != std::string_view::npos &&
           (content[first] == '(' || (content[first] >= '0' && content[first] <= '9'));
}

} // namespace

Result<Schedule> readScheduleFile(const std::filesystem::path& file) {
    BUBBLESCOPE_ASSIGN(const std::string content, readInputText(file.string(), "a schedule file"));
    return looksLikeCsv(content) ? scheduleFromCsv(content, file.string()) : scheduleFromJson(content, file.string());
}

Result<LoweredSchedule> readLoweredFile(const std::filesystem::path& file) {
    BUBBLESCOPE_ASSIGN(const std::string content, readInputText(file.string(), "a schedule file"));
    return looksLikeCsv(content) ? loweredFromCsv(content, file.string()) : loweredFromJson(content, file.string());
}

Status checkSizes(const Schedule& schedule, int slices, const std::string& where) {
    constexpr double kSlack = 1000;
    const double wanted = static_cast<double>(schedule.stages()) * schedule.microbatches * slices;
    if (wanted <= 4.0 * static_cast<double>(schedule.opCount()) + kSlack) return {};
    return inputError(where,
                      fmt::format("pp, vpp and microbatches require {:.0f} forwards, but the lists contain {} ops",
                                  wanted, schedule.opCount()),
                      "correct the sizes");
}

} // namespace bubblescope
