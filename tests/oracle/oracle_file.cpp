#include "tests/oracle/oracle_file.h"

#include "tests/support/shared_data.h"

#include <cmath>
#include <fstream>

namespace bubblescope::test {
namespace {

std::optional<OpKind> kindOf(const std::string& letter) {
    if (letter == "F") return OpKind::Forward;
    if (letter == "BW") return OpKind::Backward;
    if (letter == "B") return OpKind::Backward;
    return std::nullopt;
}

} // namespace

std::vector<Json> oracleCases(const std::string& file) {
    std::ifstream in(sharedDir() / "oracles" / file);
    const Json document = Json::parse(in);
    std::vector<Json> cases;
    for (const Json& one : document.at("cases")) {
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
    const bool stages = one.contains("stage_to_rank");
    const int pp = static_cast<int>(one.at(key).size());
    std::vector<std::vector<Op>> ranks;
    for (const Json& list : one.at(key)) {
        auto& ops = ranks.emplace_back();
        for (const Json& entry : list) {
            if (entry.is_null()) continue;
            const auto kind = kindOf(entry.at(0).get<std::string>());
            if (!kind) continue;
            const int chunk = entry.at(2).get<int>();
            ops.push_back({*kind, Microbatch{entry.at(1).get<int>()}, Chunk{stages ? chunk / pp : chunk}});
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
            ranks[r].push_back({order[r][i], time(entry.at(3)), time(entry.at(4)), TimeNs{0}});
        }
    }
    return ranks;
}

} // namespace bubblescope::test
