#include "tests/oracle/oracle_file.h"

#include <cmath>

namespace bubblescope::test {
namespace {

/// PaddlePaddle and PyTorch call a whole backward B; the other sources call it BW and its input half B.
bool wholeBackwardIsB(const Json& one) {
    const Json& params = one.at("params");
    return one.contains("stage_to_rank") || params.contains("pp_degree") || params.contains("pp_group_size");
}

std::optional<OpKind> kindOf(const std::string& letter, bool whole_is_b) {
    if (letter == "F") return OpKind::Forward;
    if (letter == "B") return whole_is_b ? OpKind::Backward : OpKind::BackwardInput;
    if (letter == "BW") return OpKind::Backward;
    if (letter == "I" || letter == "b") return OpKind::BackwardInput;
    if (letter == "W") return OpKind::BackwardWeight;
    return std::nullopt;
}

/// Entries are [letter, micro-batch, chunk or stage, then start and end where the case has times, then the
/// sequence slice, then a mark on halves of overlapped pairs].
std::optional<Op> opOf(const Json& entry, const Json& one, int pp, bool times) {
    const auto kind = kindOf(entry.at(0).get<std::string>(), wholeBackwardIsB(one));
    if (!kind) return std::nullopt;
    const int part = entry.at(2).get<int>();
    Op op{*kind, Microbatch{entry.at(1).get<int>()}, Chunk{one.contains("stage_to_rank") ? part / pp : part}};
    for (std::size_t i = times ? 5 : 3; i < entry.size(); ++i) {
        if (entry[i].is_string()) {
            op.overlapped = true;
        } else {
            op.sequence = sequenceSlice(entry[i].get<int>());
        }
    }
    return op;
}

} // namespace

std::vector<Json> oracleList(const std::string& file, const std::string& key) {
    return oracleDocument(file).at(Json::json_pointer("/" + key)).get<std::vector<Json>>();
}

std::vector<Json> oracleCases(const std::string& file) {
    std::vector<Json> cases;
    for (const Json& one : oracleList(file, "cases")) {
        if (!one.contains("rejected")) cases.push_back(one);
    }
    return cases;
}

int param(const Json& one, std::initializer_list<const char*> names, int fallback) {
    for (const char* const name : names) {
        const auto found = one.at("params").find(name);
        if (found != one.at("params").end()) return found->get<int>();
    }
    return fallback;
}

std::vector<std::vector<Op>> oracleOrder(const Json& one, const std::string& key) {
    const int pp = static_cast<int>(one.at(key).size());
    const bool times = one.contains("makespan");
    std::vector<std::vector<Op>> ranks;
    for (const Json& list : one.at(key)) {
        auto& ops = ranks.emplace_back();
        for (const Json& entry : list) {
            if (!entry.is_array()) continue;    // an empty slot
            if (entry.at(0) == "OVERLAP_F_B") { // torch nests the two halves
                for (const Json& half : entry.at(3)) {
                    ops.push_back(*opOf(half, one, pp, false));
                    ops.back().overlapped = true;
                }
            } else if (const auto op = opOf(entry, one, pp, times)) {
                ops.push_back(*op);
            }
        }
    }
    return ranks;
}

std::vector<std::vector<TimelineOp>> oracleTimes(const Json& one) {
    const auto order = oracleOrder(one);
    const auto time = [](const Json& value) { return TimeNs{std::llround(value.get<double>() * 1000)}; };
    std::vector<std::vector<TimelineOp>> ranks(order.size());
    for (std::size_t r = 0; r < order.size(); ++r) {
        for (std::size_t i = 0; i < order[r].size(); ++i) {
            const Json& entry = one.at("jobs").at(r).at(i);
            ranks[r].push_back({order[r][i], time(entry.at(3)), time(entry.at(4))});
        }
    }
    return ranks;
}

} // namespace bubblescope::test
