#include "core/recognise/replicas.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>

namespace bubblescope {
namespace {

struct Place {
    std::int64_t home = 0; ///< the one of replica 0
    std::int64_t replica = 0;
};

} // namespace

Status splitReplicas(FoundOps& found, const std::string& where) {
    if (found.parts != Parts::Stages) return {};
    std::map<std::int64_t, std::set<std::int64_t>> homes_of_stage;
    for (const FoundOp& op : found.ops) {
        if (op.kind != OpKind::Optimizer) homes_of_stage[op.part].insert(op.home);
    }
    const auto several = [](const auto& entry) { return entry.second.size() > 1; };
    if (std::none_of(homes_of_stage.begin(), homes_of_stage.end(), several)) return {};

    std::map<std::int64_t, Place> places;
    const std::size_t replicas = homes_of_stage.begin()->second.size();
    for (const auto& [stage, homes] : homes_of_stage) {
        if (homes.size() != replicas) {
            return inputError(where,
                              fmt::format("{} ranks ran stage {}, but {} ran stage {}", replicas,
                                          homes_of_stage.begin()->first, homes.size(), stage),
                              "load the files of whole pipelines: all pipeline ranks of each replica");
        }
        std::int64_t replica = 0;
        for (const std::int64_t home : homes) {
            const Place& place = places.emplace(home, Place{*homes.begin(), replica}).first->second;
            if (place.replica != replica) {
                return inputError(where,
                                  fmt::format("rank {} belongs to replica {} by one of its stages and to {} by another",
                                              home, place.replica, replica),
                                  "load the files of one replica");
            }
            ++replica;
        }
    }
    const auto move = [&places](auto& item) {
        const auto place = places.find(item.home);
        if (place == places.end()) return;
        item.replica = place->second.replica;
        item.home = place->second.home;
    };
    std::for_each(found.ops.begin(), found.ops.end(), move);
    std::for_each(found.comm.begin(), found.comm.end(), move);
    return {};
}

} // namespace bubblescope
