#include "core/formats/chakra/writer.h"

#include "core/formats/source/replacing_file.h"
#include "core/timeline/transfers.h"

#include <fmt/format.h>
#include <protozero/pbf_writer.hpp>
#include <protozero/varint.hpp>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace bubblescope::chakra {
namespace {

constexpr std::string_view kVersion = "0.0.4";

enum class NodeType : std::int32_t { Compute = 4, Send = 5, Receive = 6 };

namespace field {
constexpr protozero::pbf_tag_type kVersionOf = 1;
constexpr protozero::pbf_tag_type kId = 1;
constexpr protozero::pbf_tag_type kName = 2;
constexpr protozero::pbf_tag_type kType = 3;
constexpr protozero::pbf_tag_type kDataDependencies = 5;
constexpr protozero::pbf_tag_type kStart = 6;
constexpr protozero::pbf_tag_type kDuration = 7;
constexpr protozero::pbf_tag_type kAttribute = 10;
constexpr protozero::pbf_tag_type kAttributeName = 1;
constexpr protozero::pbf_tag_type kInt32 = 7;
constexpr protozero::pbf_tag_type kInt64 = 9;
constexpr protozero::pbf_tag_type kBool = 27;
} // namespace field

struct Node {
    NodeType type = NodeType::Compute;
    std::string name;
    TimeNs start{0};
    TimeNs duration{0};
    std::vector<std::uint64_t> after; ///< ids
    // for transfers
    Rank from;
    Rank to;
    std::int32_t tag = 0;
};

std::int64_t microsecondsOf(TimeNs time) {
    constexpr std::int64_t kNsPerUs = 1000;
    return (time.count() + kNsPerUs / 2) / kNsPerUs;
}

template <class Put>
void attribute(protozero::pbf_writer& node, std::string_view name, Put put) {
    std::string bytes;
    protozero::pbf_writer attribute(bytes);
    attribute.add_string(field::kAttributeName, name.data(), name.size());
    put(attribute);
    node.add_message(field::kAttribute, bytes);
}

void put(ReplacingFile& file, const std::string& message) {
    protozero::write_varint(std::back_inserter(file), message.size());
    file.write(message);
}

/// The nodes of all ranks. Node numbers are unique within a rank.
class Graph {
public:
    explicit Graph(const StepTimeline& step) : step_(step), nodes_(step.ranks.size()), node_of_(step.ranks.size()) {
        for (std::size_t rank = 0; rank < step.ranks.size(); ++rank)
            addOps(rank);
        std::int32_t tag = 0;
        for (const OpTransfer& transfer : transfersBetweenRanks(step))
            addTransfer(transfer, ++tag);
    }

    [[nodiscard]] const std::vector<Node>& of(std::size_t rank) const { return nodes_[rank]; }

private:
    void addOps(std::size_t rank) {
        const std::vector<TimelineOp>& ops = step_.ranks[rank];
        for (std::size_t i = 0; i < ops.size(); ++i) {
            const OpPlace place{Rank{static_cast<std::int32_t>(rank)}, i};
            const std::optional<OpPlace> half = otherHalfOf(step_, place);
            if (half && half->index < i) {
                node_of_[rank].push_back(node_of_[rank][half->index]);
                nodes_[rank].back().name += "+" + opName(ops[i].op);
            } else {
                Node node;
                node.name = opName(ops[i].op);
                node.start = ops[i].start - step_.begin;
                node.duration = ops[i].duration();
                if (!nodes_[rank].empty()) node.after.push_back(nodes_[rank].size() - 1);
                node_of_[rank].push_back(nodes_[rank].size());
                nodes_[rank].push_back(std::move(node));
            }
        }
    }

    void addTransfer(const OpTransfer& transfer, std::int32_t tag) {
        const auto end = [&](NodeType type, const TransferEnd& at) {
            Node node;
            node.type = type;
            node.name = fmt::format("{} {} of {}", type == NodeType::Send ? "send" : "receive",
                                    transfer.payload == Payload::Gradient ? "gradient" : "activation",
                                    opName(transfer.producer.in(step_).op));
            node.start = std::max(TimeNs{0}, at.time - step_.begin);
            node.from = transfer.producer.rank;
            node.to = transfer.consumer.rank;
            node.tag = tag;
            return node;
        };
        const std::size_t from = transfer.producer.rank.index();
        const std::size_t to = transfer.consumer.rank.index();
        Node send = end(NodeType::Send, transfer.sent);
        send.after.push_back(node_of_[from][transfer.producer.index]);
        nodes_[from].push_back(std::move(send));
        const std::size_t consumer = node_of_[to][transfer.consumer.index];
        nodes_[to][consumer].after.push_back(nodes_[to].size());
        nodes_[to].push_back(end(NodeType::Receive, transfer.received));
    }

    const StepTimeline& step_;
    std::vector<std::vector<Node>> nodes_;          ///< per rank, by id
    std::vector<std::vector<std::size_t>> node_of_; ///< per rank, by op
};

std::string encoded(std::uint64_t id, const Node& node, TimeNs& rounded_until, std::int64_t bytes) {
    std::string message;
    protozero::pbf_writer writer(message);
    writer.add_uint64(field::kId, id);
    writer.add_string(field::kName, node.name);
    writer.add_enum(field::kType, static_cast<std::int32_t>(node.type));
    writer.add_packed_uint64(field::kDataDependencies, node.after.begin(), node.after.end());
    writer.add_uint64(field::kStart, static_cast<std::uint64_t>(microsecondsOf(node.start)));
    const auto number = [&](std::string_view name, std::int64_t value, protozero::pbf_tag_type type) {
        attribute(writer, name, [&](protozero::pbf_writer& to) {
            if (type == field::kInt32)
                to.add_int32(type, static_cast<std::int32_t>(value));
            else
                to.add_int64(type, value);
        });
    };
    attribute(writer, "is_cpu_op", [](protozero::pbf_writer& to) { to.add_bool(field::kBool, false); });
    if (node.type == NodeType::Compute) {
        const std::int64_t before = microsecondsOf(rounded_until);
        rounded_until += node.duration;
        writer.add_uint64(field::kDuration, static_cast<std::uint64_t>(microsecondsOf(rounded_until) - before));
    } else {
        number("comm_size", bytes, field::kInt64);
        number("comm_src", node.from.value, field::kInt32);
        number("comm_dst", node.to.value, field::kInt32);
        number("comm_tag", node.tag, field::kInt32);
    }
    return message;
}

} // namespace

Status writeStep(const std::filesystem::path& folder, const StepTimeline& step, std::int64_t transfer_bytes) {
    BUBBLESCOPE_ASSIGN(ReplacingFiles files, ReplacingFiles::in(folder));
    const Graph graph(step);
    for (std::size_t rank = 0; rank < step.ranks.size(); ++rank) {
        BUBBLESCOPE_ASSIGN(ReplacingFile* const next, files.begin(fmt::format("rank.{}.et", rank)));
        ReplacingFile& file = *next;
        std::string metadata;
        protozero::pbf_writer(metadata).add_string(field::kVersionOf, kVersion.data(), kVersion.size());
        put(file, metadata);
        TimeNs rounded_until{0};
        const std::vector<Node>& nodes = graph.of(rank);
        for (std::size_t id = 0; id < nodes.size(); ++id)
            put(file, encoded(id, nodes[id], rounded_until, transfer_bytes));
    }
    return files.commit();
}

} // namespace bubblescope::chakra
