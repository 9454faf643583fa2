#include "profiler/capture/comm_writer.h"

#include "profiler/nccl/abi.h"

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

namespace bubblescope::profiler {
namespace {

namespace abi = nccl::abi;
using nccl::CommEvent;

constexpr std::string_view kCategory = "nccl";
constexpr std::int32_t kOrder = 2000;
constexpr std::size_t kMaxWaiting = 1 << 16;

std::string_view typeName(std::uint32_t type) {
    switch (type) {
    case abi::kGroup: return "group";
    case abi::kProxyOp: return "proxy operation";
    case abi::kProxyStep: return "proxy step";
    case abi::kProxyCtrl: return "proxy control";
    case abi::kKernelChannel: return "kernel channel";
    case abi::kNetPlugin: return "network plugin";
    case abi::kGroupApi: return "ncclGroup";
    case abi::kKernelLaunch: return "kernel launch";
    default: return "event";
    }
}

std::string hexadecimal(std::uint64_t number) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    std::string text;
    for (int shift = 60; shift >= 0; shift -= 4)
        text += kDigits[number >> shift & 0xf];
    return text;
}

} // namespace

std::string CommWriter::rowOf(const CommEvent& event) const {
    switch (event.type) {
    case abi::kColl:
    case abi::kP2p: {
        const auto known = communicators_.find(event.comm);
        if (known && !known->name.empty()) return "NCCL " + known->name;
        return event.comm == 0 ? "NCCL" : "NCCL " + hexadecimal(event.comm);
    }
    case abi::kProxyOp:
    case abi::kProxyStep:
    case abi::kProxyCtrl:
    case abi::kNetPlugin: return "NCCL proxy";
    default: return "NCCL groups";
    }
}

CommWriter::Begun CommWriter::begun(const HostRecord& record, const CommEvent& event, TimeNs start) const {
    Begun begun{start, rowOf(event), std::string(event.function), {}};
    if (event.type == abi::kProxyOp)
        begun.name = event.is_send ? "proxy send" : "proxy receive";
    else if (begun.name.empty())
        begun.name = typeName(event.type);
    OwnedArgs& args = begun.args;
    const auto number = [&args](std::string_view name, std::int64_t value) {
        args.push_back({std::string(name), value});
    };
    number("event", static_cast<std::int64_t>(record.id));
    if (record.parent != 0) number("parent", static_cast<std::int64_t>(record.parent));
    if (event.type == abi::kGroup || event.type == abi::kKernelLaunch) return begun;
    if (event.type == abi::kGroupApi) {
        number("depth", event.steps);
        return begun;
    }
    if (event.type == abi::kProxyOp) {
        number("peer", event.peer);
        number("channel", event.channels);
        number("steps", event.steps);
        number("chunk_bytes", static_cast<std::int64_t>(event.count));
        return begun;
    }
    if (event.comm != 0) {
        args.push_back({"comm", hexadecimal(event.comm)});
        if (const auto known = communicators_.find(event.comm)) {
            if (!known->name.empty()) args.push_back({"comm_name", known->name});
            number("comm_ranks", known->ranks);
        }
    }
    number("comm_rank", event.rank);
    if (event.type == abi::kP2p) number("peer", event.peer);
    if (event.type == abi::kColl) {
        number("sequence", static_cast<std::int64_t>(event.sequence));
        number("root", event.root);
    }
    number("count", static_cast<std::int64_t>(event.count));
    if (!event.datatype.empty()) {
        args.push_back({"datatype", std::string(event.datatype)});
        // An impossibly large count comes from a damaged record: it is written, but not used for computation.
        const std::int64_t bytes = nccl::elementBytes(event.datatype);
        if (bytes > 0 && event.count <= static_cast<std::uint64_t>(INT64_MAX / bytes))
            number("bytes", static_cast<std::int64_t>(event.count) * bytes);
    }
    if (event.channels != 0) number("channels", event.channels);
    for (const auto& [name, text] : {std::pair<std::string_view, std::string_view>("algorithm", event.algorithm),
                                     std::pair<std::string_view, std::string_view>("protocol", event.protocol)}) {
        if (!text.empty()) args.push_back({std::string(name), std::string(text)});
    }
    if (event.graph_captured) number("graph_captured", 1);
    return begun;
}

void CommWriter::write(const Begun& event, TimeNs end) {
    const bool fits = rows_.try_emplace(event.row, event.row, kOrder)
                          .first->second.add(file_, event.start, end, kCategory, event.name, event.args);
    ++(fits ? counts_.comm_events : counts_.not_written);
}

void CommWriter::take(const HostRecord& record, TimeNs time) {
    if (record.type == HostRecord::Type::CommEnd) {
        if (const auto known = begun_.find(record.id); known != begun_.end()) {
            write(known->second, time);
            begun_.erase(known);
        } else if (ended_early_.size() < kMaxWaiting) {
            ended_early_.emplace(record.id, time);
        }
        return;
    }
    const auto event = nccl::commEventOf(record);
    if (!event) return;
    window_.observe({}, time);
    if (!window_.contains(time)) return void(++counts_.outside_window);
    Begun begin = begun(record, *event, time);
    if (const auto early = ended_early_.find(record.id); early != ended_early_.end()) {
        write(begin, early->second);
        ended_early_.erase(early);
        return;
    }
    if (begun_.size() >= kMaxWaiting) {
        begun_.erase(begun_.begin());
        ++counts_.unmatched;
    }
    begun_.emplace(record.id, std::move(begin));
}

} // namespace bubblescope::profiler
