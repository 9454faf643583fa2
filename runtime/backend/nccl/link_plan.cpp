#include "runtime/backend/nccl/link_plan.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

namespace bubblescope::runtime {
namespace {

using OneWay = std::tuple<Content, Rank, Rank>; ///< content, from, to

/// The connected components of ranks that exchange something.
class Groups {
public:
    explicit Groups(int ranks) {
        for (int r = 0; r < ranks; ++r)
            parent_.push_back(r);
    }
    void join(Rank a, Rank b) { parent_[static_cast<std::size_t>(of(a))] = of(b); }
    [[nodiscard]] int of(Rank rank) const {
        int at = rank.value;
        while (parent_[static_cast<std::size_t>(at)] != at)
            at = parent_[static_cast<std::size_t>(at)];
        return at;
    }

private:
    std::vector<int> parent_;
};

void addSums(const Schedule& schedule, const CommTopology& topology, Rank self, std::vector<LinkMessage>& sums) {
    for (int c = 0; c < schedule.vpp; ++c) {
        const Stage stage = topology.stageOf(Chunk{c});
        for (const CommTopology::Copy& copy : topology.copiesOf(stage)) {
            if (copy.holder != self) sums.push_back({self, copy.holder, CommTopology::sumKey(stage, copy.stage)});
        }
    }
}

/// Adds the links for parts of sums inside ops, among the ranks that share stages.
void addParts(RunMesh mesh, std::vector<PeerLink>& links) {
    for (int first = 0; mesh.tensor_ranks > 1 && first < mesh.ranks(); first += mesh.tensor_ranks) {
        for (std::int32_t number = 0; number < kPartsUnderWay; ++number) {
            PeerLink& link = links.emplace_back();
            link.one_way = false;
            for (int r = first; r < first + mesh.tensor_ranks; ++r)
                link.members.push_back(Rank{r});
            for (const Rank from : link.members) {
                for (const Rank to : link.members) {
                    if (from != to) link.messages.push_back({from, to, {Content::Part, {}, {}, {}, number}});
                }
            }
        }
    }
}

} // namespace

std::string purposeOf(const PeerLink& link, Rank self) {
    const MessageKey& first = link.messages.front().key;
    std::string_view what = "activations";
    if (first.content == Content::Gradient) what = "gradients";
    if (first.content == Content::GradientSum) what = "sums of gradients";
    if (first.content == Content::Part) what = first.sequence % 2 == 0 ? "even sums" : "odd sums";
    std::vector<std::string> others;
    for (const Rank member : link.members) {
        if (member != self) others.push_back(std::to_string(member.value));
    }
    const std::string_view way = !link.one_way ? "with" : link.members.front() == self ? "to" : "from";
    return fmt::format("link {} rank{} {}: {}", way, others.size() > 1 ? "s" : "", fmt::join(others, ", "), what);
}

std::vector<PeerLink> planLinks(const Schedule& schedule, const DataPlan& plan, RunMesh mesh) {
    std::map<OneWay, std::vector<LinkMessage>> ways;
    std::vector<LinkMessage> sums;
    for (int r = 0; r < mesh.ranks(); ++r) {
        const Rank self{r};
        const CommTopology topology(schedule, plan, mesh, self);
        for (const Op& op : schedule.ranks[mesh.rankOf(self).index()]) {
            if (op.kind == OpKind::Optimizer) continue;
            const auto output = topology.outputOf(op);
            if (output && output->peer != self)
                ways[{output->key.content, self, output->peer}].push_back({self, output->peer, output->key});
        }
        addSums(schedule, topology, self, sums);
    }
    std::vector<PeerLink> links;
    for (auto& [way, messages] : ways)
        links.push_back({{std::get<1>(way), std::get<2>(way)}, true, std::move(messages)});

    Groups groups(mesh.ranks());
    for (const LinkMessage& sum : sums)
        groups.join(sum.from, sum.to);
    std::map<int, PeerLink> exchanges;
    for (const LinkMessage& sum : sums) {
        PeerLink& link = exchanges[groups.of(sum.from)];
        link.one_way = false;
        link.messages.push_back(sum);
    }
    for (auto& [group, link] : exchanges) {
        for (int r = 0; r < mesh.ranks(); ++r) {
            if (groups.of(Rank{r}) == group) link.members.push_back(Rank{r});
        }
        links.push_back(std::move(link));
    }
    addParts(mesh, links);
    return links;
}

} // namespace bubblescope::runtime
