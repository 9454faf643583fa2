#include "app/gui/models/stack_tree.h"

#include "app/gui/language/text.h"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>

namespace bubblescope::gui {

namespace {

class TreeBuilder {
public:
    TreeBuilder(const Session& session, const TimeRange& range, std::stop_token stop)
        : session_(session), trace_(*session.run.trace), range_(range), stop_(std::move(stop)) {
        tree_.nodes.emplace_back();
    }

    void add(const RawLane& lane) {
        const TimeRange wanted = lane.toLaneTime(range_);
        struct Open {
            TimeNs end;
            int node;
        };
        std::vector<Open> open;
        for (const SliceId slice : session_.raw.row(lane, 0, 1).slices(wanted)) {
            if (stop_.stop_requested()) return;
            const TimeRange own{trace_.start(slice), trace_.end(slice)};
            while (!open.empty() && open.back().end <= own.begin)
                open.pop_back();
            const TimeNs time = overlap(own, wanted);
            const int parent = open.empty() ? 0 : open.back().node;
            const int at = child(parent, trace_.sliceNames()[slice]);
            StackNode& node = tree_.nodes[static_cast<std::size_t>(at)];
            ++node.count;
            node.total += time;
            node.self += time;
            if (node.longest == kNoId || own.length() > node.longest_time) {
                node.longest = slice;
                node.longest_time = own.length();
            }
            StackNode& around = tree_.nodes[static_cast<std::size_t>(parent)];
            if (parent == 0)
                around.total += time;
            else
                around.self -= time;
            open.push_back({own.end, at});
        }
    }

    [[nodiscard]] StackTree take() { return std::move(tree_); }

private:
    /// The child with this name, or the parent if there are too many nodes.
    int child(int parent, StringId name) {
        const auto next = static_cast<int>(tree_.nodes.size());
        const auto known = children_.find({parent, name});
        if (known != children_.end()) return known->second;
        if (tree_.nodes.size() >= StackTree::kMost) {
            tree_.cut = true;
            return parent;
        }
        children_.emplace(std::pair(parent, name), next);
        StackNode node;
        node.name = name;
        node.parent = parent;
        node.depth = tree_.nodes[static_cast<std::size_t>(parent)].depth + 1;
        tree_.nodes.push_back(node);
        return next;
    }

    const Session& session_;
    const Trace& trace_;
    TimeRange range_;
    std::stop_token stop_;
    StackTree tree_;
    std::map<std::pair<int, StringId>, int> children_;
};

/// Adds up nodes by name.
class NameSums {
public:
    NameSums(const Session& session) : session_(session) {}

    void add(StringId name, const StackNode& node, bool counts_time) {
        RangeRow& row = rows_[name];
        row.count += node.count;
        row.self += node.self;
        if (counts_time) row.total += node.total;
        if (node.longest == kNoId || (row.longest_item && node.longest_time <= row.longest)) return;
        row.longest = node.longest_time;
        row.longest_item = session_.sliceItem(node.longest);
    }
    [[nodiscard]] std::vector<RangeRow> take() {
        std::vector<RangeRow> out;
        for (auto& [name, row] : rows_) {
            row.name = fromUtf8(session_.run.trace->text(name));
            out.push_back(std::move(row));
        }
        std::ranges::sort(out, [](const RangeRow& a, const RangeRow& b) {
            return std::pair(b.total, a.name) < std::pair(a.total, b.name);
        });
        return out;
    }

private:
    const Session& session_;
    std::unordered_map<StringId, RangeRow> rows_;
};

/// True if a node with this name encloses the node.
bool isInside(const StackTree& tree, const StackNode& node, StringId name) {
    for (int at = node.parent; at > 0; at = tree.nodes[static_cast<std::size_t>(at)].parent) {
        if (tree.nodes[static_cast<std::size_t>(at)].name == name) return true;
    }
    return false;
}

} // namespace

StackTree stackTree(const Session& session, const TimeRange& range, const std::vector<TrackId>& tracks,
                    std::stop_token stop) {
    if (!session.raw.any()) return {{StackNode{}}, false};
    TreeBuilder builder(session, range, std::move(stop));
    std::vector<const RawLane*> lanes;
    bool hosts = false;
    std::vector<bool> seen(session.run.trace->tracks().size()); // because ranks of one process have the same tracks
    for (int line = 0; line < static_cast<int>(session.lanes.lineCount()); ++line) {
        for (const RawLane& lane : session.raw.of(line)) {
            const bool wanted = tracks.empty() || std::ranges::binary_search(tracks, lane.track);
            if (!wanted || seen[lane.track]) continue;
            seen[lane.track] = true;
            lanes.push_back(&lane);
            hosts = hosts || !lane.device;
        }
    }
    for (const RawLane* lane : lanes) {
        if (!tracks.empty() || !hosts || !lane->device) builder.add(*lane);
    }
    return builder.take();
}

CallTables callsOf(const Session& session, const StackTree& tree, StringId name) {
    NameSums callers(session);
    NameSums callees(session);
    for (std::size_t i = 1; i < tree.nodes.size(); ++i) {
        const StackNode& node = tree.nodes[i];
        const StackNode& around = tree.nodes[static_cast<std::size_t>(node.parent)];
        if (node.name == name && node.parent > 0) callers.add(around.name, node, !isInside(tree, node, name));
        if (node.parent > 0 && around.name == name) callees.add(node.name, node, !isInside(tree, around, name));
    }
    return {callers.take(), callees.take()};
}

std::vector<RangeRow> namesOf(const Session& session, const StackTree& tree) {
    NameSums names(session);
    for (std::size_t i = 1; i < tree.nodes.size(); ++i)
        names.add(tree.nodes[i].name, tree.nodes[i], !isInside(tree, tree.nodes[i], tree.nodes[i].name));
    return names.take();
}

std::vector<SliceId> slicesOf(const Session& session, StringId name, std::stop_token stop) {
    std::vector<SliceId> out;
    const Trace& trace = *session.run.trace;
    for (TrackId track = 0; track < trace.tracks().size() && !stop.stop_requested(); ++track) {
        if (session.raw.lineOf(track) < 0) continue;
        for (SliceId slice = trace.tracks()[track].first_slice; slice < trace.tracks()[track].end_slice; ++slice) {
            if (trace.sliceNames()[slice] == name) out.push_back(slice);
        }
    }
    std::ranges::sort(out);
    return out;
}

} // namespace bubblescope::gui
