#include "core/formats/perfetto/track_table.h"

#include <string_view>

namespace bubblescope::perfetto {
namespace {

// Deeper than any real tree of tracks, but limited, because a damaged file may contain a cycle.
constexpr int kDeepestParents = 64;

} // namespace

void TrackTable::addDescriptor(std::string_view message) {
    TrackDescriptor stated;
    stated.read(message);
    Descriptor found;
    found.parent = stated.parent;
    found.counter = {stated.adds_up, stated.multiplier};
    add(stated, found);
    descriptors_[stated.uuid] = found;
}

void TrackTable::addProcess(std::uint64_t uuid, std::string_view message) {
    TrackDescriptor stated;
    stated.readProcess(message);
    add(stated, descriptors_[uuid]);
}

void TrackTable::addThread(std::uint64_t uuid, std::string_view message) {
    TrackDescriptor stated;
    stated.readThread(message);
    add(stated, descriptors_[uuid]);
}

void TrackTable::add(const TrackDescriptor& stated, Descriptor& out) {
    const auto setName = [this](std::string_view text, StringId& name) {
        if (!text.empty()) name = builder_.intern(text);
    };
    setName(stated.name, out.name);
    setName(stated.process_name, out.process_name);
    setName(stated.thread_name, out.thread_name);
    if (stated.pid) out.pid = stated.pid;
    if (stated.tid) out.tid = stated.tid;
}

TrackTable::CounterUnit TrackTable::counterUnitOf(std::uint64_t uuid) const {
    const auto found = descriptors_.find(uuid);
    return found == descriptors_.end() ? CounterUnit{} : found->second.counter;
}

TrackId TrackTable::trackFor(std::uint64_t uuid) {
    if (last_.second != kNoId && last_.first == uuid) return last_.second;
    const auto [known, is_new] = tracks_.try_emplace(uuid, kNoId);
    if (is_new) known->second = builder_.addTrack(0, 0);
    last_ = *known;
    return known->second;
}

template <class Visit>
void TrackTable::climb(std::uint64_t uuid, const Visit& visit) const {
    for (int depth = 0; depth < kDeepestParents; ++depth) {
        const auto found = descriptors_.find(uuid);
        if (found == descriptors_.end() || visit(found->second)) return;
        if (found->second.parent == 0) return;
        uuid = found->second.parent;
    }
}

StringId TrackTable::nameOf(std::uint64_t uuid) const {
    const auto found = descriptors_.find(uuid);
    if (found == descriptors_.end()) return 0;
    return found->second.name != 0 ? found->second.name : found->second.thread_name;
}

std::int64_t TrackTable::pidOf(std::uint64_t uuid) const {
    std::int64_t pid = 0;
    climb(uuid, [&pid](const Descriptor& above) {
        pid = above.pid.value_or(0);
        return above.pid.has_value();
    });
    return pid;
}

void TrackTable::restoreRows(const SourceFiles& sources) {
    const auto find = [this](TrackId written) {
        const auto known = tracks_.find(kFirstTrackUuid + written);
        return known == tracks_.end() ? kNoId : known->second;
    };
    for (const auto& [written, row] : sources.rows) {
        const TrackId id = find(written);
        if (id == kNoId) continue;
        Track& track = builder_.track(id);
        track.tid = row.tid;
        track.may_overlap = row.may_overlap;
        if (row.unnamed) track.thread_name = 0;
        const TrackId home = row.spilled_from ? find(*row.spilled_from) : kNoId;
        if (home == kNoId || home >= id) continue; // a row comes after the one that it extends
        track.spilled_from = home;
        track.thread_name = builder_.track(home).thread_name;
    }
}

void TrackTable::finish() {
    // A process is named once, often on a descriptor that is not an ancestor of the thread's.
    std::unordered_map<std::int64_t, StringId> process_names;
    for (const auto& [uuid, descriptor] : descriptors_) {
        if (descriptor.pid && descriptor.process_name != 0) process_names[*descriptor.pid] = descriptor.process_name;
    }
    for (const auto& [uuid, id] : tracks_) {
        Track& track = builder_.track(id);
        track.thread_name = nameOf(uuid);
        track.pid = pidOf(uuid);
        climb(uuid, [&track](const Descriptor& above) {
            if (above.tid) track.tid = *above.tid;
            if (track.process_name == 0) track.process_name = above.process_name;
            return above.tid.has_value();
        });
        if (track.process_name != 0) continue;
        if (const auto name = process_names.find(track.pid); name != process_names.end()) {
            track.process_name = name->second;
        }
    }
}

} // namespace bubblescope::perfetto
