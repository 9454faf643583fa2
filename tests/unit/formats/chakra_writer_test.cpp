#include "core/formats/chakra/writer.h"

#include "core/families/registry.h"
#include "core/graph/simulate.h"
#include "tests/support/scratch_folder.h"

#include <gtest/gtest.h>
#include <protozero/pbf_reader.hpp>
#include <protozero/varint.hpp>

#include <algorithm>
#include <fstream>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace bubblescope {
namespace {

struct Node {
    std::int64_t type = 0;
    std::vector<std::uint64_t> after;
    std::int64_t duration = 0;
    std::map<std::string, std::int64_t> attributes;
};

/// The numbers are those of et_def.proto.
Node nodeOf(protozero::pbf_reader message) {
    Node node;
    while (message.next()) {
        switch (message.tag()) {
        case 3: node.type = message.get_enum(); break;
        case 5:
            for (const std::uint64_t id : message.get_packed_uint64())
                node.after.push_back(id);
            break;
        case 7: node.duration = static_cast<std::int64_t>(message.get_uint64()); break;
        case 10: {
            protozero::pbf_reader attribute = message.get_message();
            std::string name;
            while (attribute.next()) {
                if (attribute.tag() == 1)
                    name = attribute.get_string();
                else
                    node.attributes[name] = static_cast<std::int64_t>(attribute.get_int64()); // of any width
            }
            break;
        }
        default: message.skip();
        }
    }
    return node;
}

std::vector<Node> nodesIn(const std::string& bytes) {
    std::vector<Node> nodes;
    const char* at = bytes.data();
    const char* const end = at + bytes.size();
    for (bool is_metadata = true; at != end; is_metadata = false) {
        const auto size = static_cast<std::size_t>(protozero::decode_varint(&at, end));
        const protozero::pbf_reader message(at, size);
        at += size;
        if (!is_metadata) nodes.push_back(nodeOf(message));
    }
    return nodes;
}

constexpr std::int64_t kCompute = 4;
constexpr std::int64_t kSend = 5;
constexpr std::int64_t kReceive = 6;

/// When the last node ends if transfers take no time; -1 if nodes wait for each other.
std::int64_t play(const std::vector<std::vector<Node>>& ranks) {
    std::map<std::pair<std::size_t, std::size_t>, std::int64_t> ended;
    std::map<std::tuple<std::int64_t, std::int64_t, std::int64_t>, std::int64_t> sent;
    std::int64_t last = 0;
    for (bool went_on = true; std::exchange(went_on, false);) {
        for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
            for (std::size_t id = 0; id < ranks[rank].size(); ++id) {
                const Node& node = ranks[rank][id];
                const std::pair place(rank, id);
                if (ended.contains(place) || !std::ranges::all_of(node.after, [&](std::uint64_t other) {
                        return ended.contains({rank, other});
                    }))
                    continue;
                std::int64_t time = 0;
                for (const std::uint64_t other : node.after)
                    time = std::max(time, ended.at({rank, other}));
                if (node.type != kCompute) {
                    const std::tuple message(node.attributes.at("comm_src"), node.attributes.at("comm_dst"),
                                             node.attributes.at("comm_tag"));
                    if (node.type == kReceive && !sent.contains(message)) continue;
                    EXPECT_TRUE(node.type == kReceive || sent.emplace(message, time).second) << "one of its own";
                    time = std::max(time, sent.at(message));
                }
                ended[place] = time + node.duration;
                last = std::max(last, ended[place]);
                went_on = true;
            }
        }
    }
    std::size_t nodes = 0;
    for (const auto& rank : ranks)
        nodes += rank.size();
    return ended.size() == nodes ? last : -1;
}

/// Who follows the dependencies as a simulator does arrives where our own simulation does.
TEST(ChakraWriter, EverySchedulePlaysAsItIsSimulated) {
    for (const char* const family : {"gpipe", "1f1b", "interleaved", "zb-h1", "zb-v", "dualpipe", "1f1b-overlap"}) {
        SCOPED_TRACE(family);
        ScheduleSpec spec;
        spec.name = family;
        spec.pp = 4;
        spec.microbatches = 8;
        const bool two_chunks = spec.name == "interleaved" || spec.name == "zb-v" || spec.name == "dualpipe";
        spec.vpp = two_chunks ? 2 : 1;
        const Result<Schedule> schedule = makeSchedule(spec);
        ASSERT_TRUE(schedule.ok()) << schedule.error().text();
        CostModel costs;
        costs.times = {TimeNs{1'000'333}, TimeNs{2'000'777}, TimeNs{1'000'111}, TimeNs{900'666}, TimeNs{0}};
        const Result<StepTimeline> step = simulate(schedule.value(), costs);
        ASSERT_TRUE(step.ok()) << step.error().text();
        const test::ScratchFolder folder;
        ASSERT_TRUE(chakra::writeStep(folder.path() / "et", step.value(), 4096).ok());
        std::vector<std::vector<Node>> ranks;
        std::size_t sends = 0;
        std::size_t receives = 0;
        for (int rank = 0; rank < 4; ++rank) {
            ranks.push_back(nodesIn(test::readAll(folder.path() / "et" / ("rank." + std::to_string(rank) + ".et"))));
            for (const Node& node : ranks.back()) {
                sends += node.type == kSend ? 1 : 0;
                receives += node.type == kReceive ? 1 : 0;
                EXPECT_TRUE(node.type == kCompute || node.attributes.at("comm_size") == 4096);
            }
        }
        EXPECT_EQ(sends, receives);
        EXPECT_GE(sends, 48U);
        constexpr double kNsPerUs = 1000;
        // Times are rounded on each rank by at most half a microsecond, which adds up where paths change ranks.
        EXPECT_NEAR(static_cast<double>(play(ranks)), static_cast<double>(step.value().wall().count()) / kNsPerUs, 60);
    }
}

TEST(ChakraWriter, NamesTheFolderThatCannotBeMade) {
    const test::ScratchFolder folder;
    std::ofstream(folder.path() / "file") << "in the way";
    const Status written = chakra::writeStep(folder.path() / "file" / "et", StepTimeline{}, 1);
    ASSERT_FALSE(written.ok());
    EXPECT_EQ(written.error().kind, ErrorKind::Input);
    EXPECT_EQ(written.error().where, (folder.path() / "file" / "et").string());
}

} // namespace
} // namespace bubblescope
