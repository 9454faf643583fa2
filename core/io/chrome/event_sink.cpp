#include "core/io/chrome/event_sink.h"

#include <fmt/format.h>

#include <string_view>

namespace bubblescope::chrome {

std::string EventPlace::text() const {
    return fmt::format("{}, byte {} (event {})", where, offset, index);
}

void EventSink::add(const Event& event, const EventPlace& place) {
    if (event.phase == 'M') return metadata(event);
    if (!event.time) {
        log_.add(event.has_time ? "bad-time" : "no-time", place.text(), "events without a usable time are left out");
        return;
    }
    switch (event.phase) {
    case 'X': complete(event, place); break;
    case 'B':
    case 'E':
        pairing_.add({trackFor(event), event.phase == 'E', *event.time, event.name, event.category,
                      builder_.addArgs(event.args)});
        break;
    case 'i':
    case 'I':
    case 'R':
        builder_.addInstant({trackFor(event), *event.time, event.name, event.category, builder_.addArgs(event.args)});
        break;
    case 's':
    case 't':
    case 'f': flow(event); break;
    case 'C': counter(event); break;
    case 0: log_.add("no-phase", place.text(), "entries without a phase are no events and are left out"); break;
    default: log_.add("unknown-phase", place.text(), "events of phases that are not shown are left out");
    }
}

void EventSink::complete(const Event& event, const EventPlace& place) {
    TimeNs duration = event.duration.value_or(TimeNs{0});
    if (duration < TimeNs{0}) {
        log_.add("negative-duration", place.text(), "events that end before they start are shown without duration");
        duration = TimeNs{0};
    }
    builder_.addSlice(
        {trackFor(event), *event.time, duration, event.name, event.category, builder_.addArgs(event.args)});
}

TrackId EventSink::trackFor(const Event& event) {
    const Row row{event.pid, event.tid};
    if (last_track_ != kNoId && row == last_row_) return last_track_;
    auto known = tracks_.find(row);
    if (known == tracks_.end()) {
        known = tracks_.emplace(row, builder_.addTrack(event.pid.number, event.tid.number)).first;
    }
    last_row_ = row;
    last_track_ = known->second;
    return last_track_;
}

void EventSink::metadata(const Event& event) {
    const std::string_view kind = builder_.text(event.name);
    const bool process = kind == "process_name";
    if (!process && kind != "thread_name") return;
    for (const Arg& arg : event.args) {
        if (arg.value.type != ArgValue::Type::Text || builder_.text(arg.name) != "name") continue;
        if (process)
            process_names_[event.pid] = arg.value.text();
        else
            thread_names_[{event.pid, event.tid}] = arg.value.text();
    }
}

void EventSink::counter(const Event& event) {
    for (const Arg& arg : event.args) {
        const bool whole = arg.value.type == ArgValue::Type::Int;
        if (!whole && arg.value.type != ArgValue::Type::Double) continue;
        const double value = whole ? static_cast<double>(arg.value.number) : arg.value.real();
        StringId name = event.name;
        if (event.args.size() > 1) {
            name = builder_.intern(fmt::format("{} {}", builder_.text(event.name), builder_.text(arg.name)));
        }
        builder_.addCounter(event.pid.number, name, *event.time, value);
    }
}

void EventSink::flow(const Event& event) {
    // Ids are unique within a category only.
    const std::uint64_t id = event.id ^ (static_cast<std::uint64_t>(event.category) << 48);
    builder_.addFlow({id, *event.time, trackFor(event), kNoId, false});
}

void EventSink::finish() {
    for (const auto& [row, id] : tracks_) {
        Track& track = builder_.track(id);
        const auto process = process_names_.find(row.first);
        const auto thread = thread_names_.find(row);
        track.process_name = process != process_names_.end() ? process->second : row.first.text;
        track.thread_name = thread != thread_names_.end() ? thread->second : row.second.text;
    }
    pairing_.finish(builder_, log_, where_);
}

} // namespace bubblescope::chrome
