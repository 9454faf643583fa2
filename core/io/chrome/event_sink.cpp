#include "core/io/chrome/event_sink.h"

#include "core/base/json_scanner.h"
#include "core/trace/json_args.h"

#include <fmt/format.h>

#include <string_view>
#include <variant>

namespace bubblescope::chrome {

std::string EventPlace::text() const {
    return fmt::format("{}, byte {}", where, offset);
}

void EventSink::begin(const EventBatch& batch) {
    texts_.resize(batch.texts.size());
    for (StringId id = 0; id < texts_.size(); ++id)
        texts_[id] = builder_.intern(batch.texts.text(id));
    last_track_ = kNoId;
}

RowId EventSink::rowId(RowId of_batch) const {
    if (of_batch.is_text) of_batch.number = text(static_cast<StringId>(of_batch.number));
    return of_batch;
}

ArgSetId EventSink::argsOf(const Event& event) {
    if (event.args == kNoArgs) return 0;
    if (!source_) source_ = builder_.args().addSource({bytes_.owner(), bytes_.text()});
    return builder_.args().addJson(*source_, event.args);
}

std::string_view EventSink::argsText(const Event& event) const {
    if (event.args == kNoArgs) return {};
    return JsonScanner(bytes_.text().substr(event.args)).value().value_or(std::string_view{});
}

void EventSink::add(const Event& event) {
    if (event.phase == 'M') return metadata(event);
    const auto place = [&] { return EventPlace{where_, event.offset}.text(); };
    if (event.phase == 0)
        return log_.add("no-phase", place(), "entries without a phase are no events and are left out");
    if (!event.time) {
        return log_.add(event.has_time ? "bad-time" : "no-time", place(), "events without a usable time are left out");
    }
    switch (event.phase) {
    case 'X': complete(event); break;
    case 'B':
    case 'E':
        pairing_.add({trackFor(event), event.phase == 'E', timeOf(event), text(event.name), text(event.category),
                      argsOf(event)});
        break;
    case 'b':
    case 'n':
    case 'e': async(event); break;
    case 'i':
    case 'I':
    case 'R':
        builder_.addInstant({trackFor(event), timeOf(event), text(event.name), text(event.category), argsOf(event)});
        break;
    case 's':
    case 't':
    case 'f': flow(event); break;
    case 'C': counter(event); break;
    default: log_.add("unknown-phase", place(), "events of phases that are not shown are left out");
    }
}

// PaddlePaddle's dynamic graph writes milliseconds where microseconds belong: of today's dates, the one is a thousandth
// of the other, so the two cannot be taken for each other.
TimeNs EventSink::timeOf(const Event& event) {
    constexpr TimeNs kYear2001{1'000'000'000'000'000}; // in milliseconds, read as microseconds
    const std::string_view category = builder_.text(text(event.category));
    if (*event.time < kYear2001 || *event.time >= 10 * kYear2001 || !category.ends_with("pipeline timeline"))
        return *event.time;
    log_.add("milliseconds", EventPlace{where_, event.offset}.text(),
             "times are milliseconds, not microseconds as the format wants; they are read as such");
    return *event.time * 1000;
}

void EventSink::complete(const Event& event) {
    TimeNs duration = event.duration.value_or(TimeNs{0});
    if (duration < TimeNs{0}) {
        log_.add("negative-duration", EventPlace{where_, event.offset}.text(),
                 "events that end before they start are shown without duration");
        duration = TimeNs{0};
    }
    builder_.addSlice(
        {trackFor(event), timeOf(event), duration, text(event.name), text(event.category), argsOf(event)});
}

void EventSink::async(const Event& event) {
    const TrackId track = asyncTrackFor(event);
    if (event.phase == 'n') {
        builder_.addInstant({track, timeOf(event), text(event.name), text(event.category), argsOf(event)});
        return;
    }
    pairing_.addAsync({track, event.phase == 'e', timeOf(event), text(event.name), text(event.category), argsOf(event)},
                      event.id);
}

TrackId EventSink::trackFor(const Event& event) {
    const Row row{event.pid, event.tid};
    if (last_track_ != kNoId && row == last_row_) return last_track_;
    const Row own{rowId(event.pid), rowId(event.tid)};
    auto known = tracks_.find(own);
    if (known == tracks_.end()) {
        const auto number = [](RowId id) { return id.is_text ? 0 : id.number; };
        known = tracks_.emplace(own, builder_.addTrack(number(own.first), number(own.second))).first;
    }
    last_row_ = row;
    last_track_ = known->second;
    return last_track_;
}

// Slices that have an id instead of a thread: one row for each process and name, where they may overlap.
TrackId EventSink::asyncTrackFor(const Event& event) {
    const std::pair key{rowId(event.pid), text(event.name)};
    auto known = async_tracks_.find(key);
    if (known == async_tracks_.end()) {
        const TrackId track = builder_.addTrack(key.first.is_text ? 0 : key.first.number, 0);
        builder_.track(track).may_overlap = true;
        known = async_tracks_.emplace(key, track).first;
    }
    return known->second;
}

void EventSink::metadata(const Event& event) {
    const std::string_view kind = builder_.text(text(event.name));
    if (kind == "trace_origin") { // of our own writer, whose times count from it
        const auto origin = findJsonArg(argsText(event), "origin_ns");
        if (origin && std::holds_alternative<std::int64_t>(*origin))
            builder_.setFileOffset(builder_.currentFile(), TimeNs{std::get<std::int64_t>(*origin)});
        return;
    }
    const bool process = kind == "process_name";
    if (!process && kind != "thread_name") return;
    const auto value = findJsonArg(argsText(event), "name");
    const std::string* const name = value ? std::get_if<std::string>(&*value) : nullptr;
    if (name == nullptr) return;
    const StringId id = builder_.intern(*name);
    if (process)
        process_names_[rowId(event.pid)] = id;
    else
        thread_names_[{rowId(event.pid), rowId(event.tid)}] = id;
}

void EventSink::counter(const Event& event) {
    const std::vector<Arg> args = parseJsonArgs(argsText(event));
    for (const Arg& arg : args) {
        double value = 0;
        if (const std::int64_t* const whole = std::get_if<std::int64_t>(&arg.value))
            value = static_cast<double>(*whole);
        else if (const double* const real = std::get_if<double>(&arg.value))
            value = *real;
        else
            continue;
        StringId name = text(event.name);
        if (args.size() > 1) name = builder_.intern(fmt::format("{} {}", builder_.text(name), arg.name));
        builder_.addCounter(event.pid.is_text ? 0 : event.pid.number, name, timeOf(event), value);
    }
}

void EventSink::flow(const Event& event) {
    // Ids are unique within a category only.
    const std::uint64_t id = event.id ^ (static_cast<std::uint64_t>(text(event.category)) << 48);
    builder_.addFlow({id, timeOf(event), trackFor(event), kNoId, false});
}

void EventSink::finish() {
    const auto nameProcess = [this](TrackId id, RowId process) {
        const auto known = process_names_.find(process);
        const StringId own = process.is_text ? static_cast<StringId>(process.number) : 0;
        builder_.track(id).process_name = known != process_names_.end() ? known->second : own;
    };
    for (const auto& [row, id] : tracks_) {
        nameProcess(id, row.first);
        const auto thread = thread_names_.find(row);
        const StringId own = row.second.is_text ? static_cast<StringId>(row.second.number) : 0;
        builder_.track(id).thread_name = thread != thread_names_.end() ? thread->second : own;
    }
    for (const auto& [key, id] : async_tracks_) {
        nameProcess(id, key.first);
        builder_.track(id).thread_name = key.second;
    }
    pairing_.finish(builder_, log_, where_);
}

} // namespace bubblescope::chrome
