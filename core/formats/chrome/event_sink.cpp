#include "core/formats/chrome/event_sink.h"

#include "core/formats/chrome/decimal.h"
#include "core/trace/args.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <string_view>
#include <unordered_map>
#include <variant>

namespace bubblescope::chrome {
namespace {

// Kineto's names, of today and of 2021.
constexpr std::array<std::string_view, 6> kDeviceCategories{"kernel", "gpu_memcpy", "gpu_memset",
                                                            "Kernel", "Memcpy",     "Memset"};

/// "forward0-3" for "forward0-3[812.400 us]".
std::string_view withoutDuration(std::string_view name) {
    const std::size_t open = name.rfind('[');
    return open != std::string_view::npos && open > 0 && name.ends_with("s]") ? name.substr(0, open) : name;
}

} // namespace

Sentence EventPlace::text() const {
    return say("{}, byte {}", where, offset);
}

void EventSink::begin(const EventBatch& batch, bool goes_on) {
    if (!goes_on) {
        texts_.clear();
        recent_rows_.fill({});
    }
    texts_.reserve(batch.texts.size());
    for (auto id = static_cast<StringId>(texts_.size()); id < batch.texts.size(); ++id)
        texts_.push_back(builder_.intern(paddle_ ? withoutDuration(batch.texts.text(id)) : batch.texts.text(id)));
}

RowId EventSink::rowId(RowId of_batch) const {
    if (of_batch.is_text) of_batch.number = text(static_cast<StringId>(of_batch.number));
    return of_batch;
}

ArgSetId EventSink::argsOf(const Event& event) {
    if (event.args == kNoArgs) return 0;
    if (!source_) {
        source_ = builder_.args().addSource(packer_ ? ArgSource{nullptr, {}, packer_->reader()}
                                                    : ArgSource{bytes_.owner(), bytes_.text()});
    }
    return ArgStore::inSource(*source_, packer_ ? packer_->add(argsText(event)) : event.args);
}

std::string_view EventSink::argsText(const Event& event) const {
    if (event.args == kNoArgs) return {};
    return bytes_.text().substr(event.args, event.args_size);
}

void EventSink::add(const Event& event) {
    if (event.phase == 'M') return metadata(event);
    if (event.empty()) return;
    const auto place = [&] { return EventPlace{where_, event.offset}.text(); };
    if (event.phase == 0)
        return log_.add("no-phase", place(), say("entries without a phase are not events and are left out"));
    const bool usable = event.time && isWithinReach(*event.time) && isWithinReach(event.duration.value_or(TimeNs{0}));
    if (!usable) {
        return log_.add(event.has_time ? "bad-time" : "no-time", place(),
                        say("events without a usable time are left out"));
    }
    switch (event.phase) {
    case 'X': complete(event); break;
    case 'B':
    case 'E': {
        const TrackId track = trackFor(event);
        pairing_.add({track, event.phase == 'E', timeOf(event), text(event.name), text(event.category), argsOf(event)});
        bind(event, track, kNoId);
        break;
    }
    case 'b':
    case 'n':
    case 'e':
    case 'S': // the older spelling of these three
    case 'T':
    case 'p':
    case 'F': async(event); break;
    case 'i':
    case 'I':
    case 'R':
        builder_.addInstant({trackFor(event), timeOf(event), text(event.name), text(event.category), argsOf(event)});
        break;
    case 's':
    case 't':
    case 'f': flow(event); break;
    case 'C': counter(event); break;
    default: log_.add("unknown-phase", place(), say("events of phases that are not shown are left out"));
    }
}

// PaddlePaddle's dynamic graph writes milliseconds instead of microseconds: for today's dates one is a thousandth of
// the other, so the two cannot be confused.
TimeNs EventSink::timeOf(const Event& event) {
    constexpr TimeNs kYear2001{1'000'000'000'000'000}; // in milliseconds, read as microseconds
    if (*event.time < kYear2001 || *event.time > kFarthestTime / 1000) return *event.time;
    if (!builder_.text(text(event.category)).ends_with("pipeline timeline")) return *event.time;
    log_.add("milliseconds", EventPlace{where_, event.offset}.text(),
             say("times are milliseconds, not microseconds as the format wants; they are read as such"));
    return *event.time * 1000;
}

// paddle.profiler's "start_time": "100.400 us", where `ts` is 100.
TimeNs EventSink::startOf(const Event& event) {
    const TimeNs time = timeOf(event);
    if (!paddle_) return time;
    const auto arg = findJsonArg(argsText(event), "start_time");
    const std::string* const exact = arg ? std::get_if<std::string>(&*arg) : nullptr;
    if (exact == nullptr || !exact->ends_with(" us")) return time;
    const auto start = microsecondsToNs(std::string_view(*exact).substr(0, exact->size() - 3));
    return start && *start >= time && *start < time + TimeNs{1000} ? *start : time;
}

/// CUPTI leaves records without times when it runs out of buffers; they would stretch the trace to 1970.
bool EventSink::lostItsTimes(const Event& event) const {
    if (own_ || *event.time > TimeNs{0} || event.duration.value_or(TimeNs{0}) > TimeNs{0}) return false;
    const std::string_view category = builder_.text(text(event.category));
    return std::find(kDeviceCategories.begin(), kDeviceCategories.end(), category) != kDeviceCategories.end();
}

void EventSink::complete(const Event& event) {
    if (lostItsTimes(event)) {
        return log_.add("zero-time", EventPlace{where_, event.offset}.text(),
                        say("device events whose times were lost (start and duration are 0) are left out"));
    }
    TimeNs duration = event.duration.value_or(TimeNs{0});
    if (duration < TimeNs{0}) {
        log_.add("negative-duration", EventPlace{where_, event.offset}.text(),
                 say("events that end before they start are shown without duration"));
        duration = TimeNs{0};
    }
    const TrackId track = trackFor(event);
    const SliceId slice =
        builder_.addSlice({track, startOf(event), duration, text(event.name), text(event.category), argsOf(event)});
    bind(event, track, slice);
}

/// Arrows that slices themselves name; those without a direction are ignored.
void EventSink::bind(const Event& event, TrackId track, SliceId slice) {
    if (!event.flows_in && !event.flows_out) return;
    constexpr std::uint64_t kOfSlices = 0x62696e645f696400; // separates their ids from those of flow events
    builder_.addFlow({event.bind ^ kOfSlices, timeOf(event), track, slice, false});
}

void EventSink::async(const Event& event) {
    const bool ends = event.phase == 'e' || event.phase == 'F';
    const bool begins = event.phase == 'b' || event.phase == 'S';
    const TrackId track = asyncTrackFor(event);
    if (!begins && !ends) {
        builder_.addInstant({track, timeOf(event), text(event.name), text(event.category), argsOf(event)});
        return;
    }
    pairing_.addAsync({track, ends, timeOf(event), text(event.name), text(event.category), argsOf(event)}, event.id);
    const AsyncId id{rowId(event.pid), text(event.category), event.id};
    if (begins) {
        open_async_[id].push_back(track);
    } else if (const auto open = open_async_.find(id); open != open_async_.end()) {
        const auto own = std::find(open->second.rbegin(), open->second.rend(), track);
        if (own != open->second.rend()) open->second.erase(std::next(own).base());
        if (open->second.empty()) open_async_.erase(open);
    }
}

TrackId EventSink::trackFor(const Event& event) {
    const Row row{event.pid, event.tid};
    RecentRow& recent =
        recent_rows_[static_cast<std::uint64_t>(event.pid.number ^ event.tid.number) % recent_rows_.size()];
    if (recent.track != kNoId && row == recent.row) return recent.track;
    const Row own{rowId(event.pid), rowId(event.tid)};
    auto known = tracks_.find(own);
    if (known == tracks_.end()) {
        const auto number = [](RowId id) { return id.is_text ? 0 : id.number; };
        known = tracks_.emplace(own, builder_.addTrack(number(own.first), number(own.second))).first;
    }
    recent = {row, known->second};
    return known->second;
}

// Slices that have an id instead of a thread: one row for each process, category and name, where they may overlap.
// Events inside a slice, and an end without a name, belong to the row of the innermost open slice.
TrackId EventSink::asyncTrackFor(const Event& event) {
    const RowId process = rowId(event.pid);
    const AsyncRow key{process, text(event.category), text(event.name)};
    auto known = async_tracks_.find(key);
    const bool begins = event.phase == 'b' || event.phase == 'S';
    if (!begins && (known == async_tracks_.end() || event.name == 0)) {
        const auto open = open_async_.find({process, text(event.category), event.id});
        if (open != open_async_.end()) return open->second.back();
    }
    if (known == async_tracks_.end()) {
        const TrackId track = builder_.addTrack(process.is_text ? 0 : process.number, 0);
        builder_.track(track).may_overlap = true;
        known = async_tracks_.emplace(key, track).first;
    }
    return known->second;
}

void EventSink::metadata(const Event& event) {
    const std::string_view kind = builder_.text(text(event.name));
    if (kind == "trace_origin") { // of our own writer, whose times count from it
        own_ = true;
        const auto origin = findJsonArg(argsText(event), "origin_ns");
        if (origin && std::holds_alternative<std::int64_t>(*origin)) {
            origin_ = TimeNs{std::get<std::int64_t>(*origin)};
            builder_.setFileOffset(builder_.currentFile(), origin_);
        }
        return;
    }
    if (kind == "trace_file" && !event.pid.is_text) { // of our own writer too
        const auto number = findJsonArg(argsText(event), "file");
        const auto rank = findJsonArg(argsText(event), "rank");
        if (!number || !std::holds_alternative<std::int64_t>(*number)) return;
        SourceFile& source = sources_[event.pid.number];
        source.number = std::get<std::int64_t>(*number);
        if (rank && std::holds_alternative<std::int64_t>(*rank))
            source.rank = static_cast<std::int32_t>(std::get<std::int64_t>(*rank) & INT32_MAX);
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
    std::uint64_t id = event.id ^ (static_cast<std::uint64_t>(text(event.category)) << 48);
    // If processes came from several files, arrows may connect processes of one file, but not of different ones.
    const bool merged = !sources_.empty();
    if (merged) id ^= std::hash<std::string>{}(where_);
    if (event.phase == 'f' && !event.binds_enclosing) {
        pointers_.push_back({id, timeOf(event), trackFor(event)});
        return;
    }
    builder_.addFlow({id, timeOf(event), trackFor(event), kNoId, merged});
}

void EventSink::assignFiles() {
    if (sources_.empty()) return;
    const auto files = addSourceFiles(sources_, origin_, builder_);
    const auto assign = [&](RowId process, TrackId id) {
        const auto file = files.find(process.number);
        if (!process.is_text && file != files.end()) builder_.track(id).file = file->second;
    };
    for (const auto& [row, id] : tracks_)
        assign(row.first, id);
    for (const auto& [row, id] : async_tracks_)
        assign(std::get<0>(row), id);
}

/// After all slices are known. False if the job is stopped.
bool EventSink::resolvePointers(const JobControl& control) {
    if (pointers_.empty()) return true;
    StopCheck stop(control);
    std::unordered_map<TrackId, std::vector<std::pair<TimeNs, SliceId>>> starts;
    for (const Pointer& pointer : pointers_)
        starts[pointer.track];
    for (SliceId slice = 0; slice < builder_.sliceCount(); ++slice) {
        if (stop.requested()) return false;
        const auto track = starts.find(builder_.sliceTrack(slice));
        if (track != starts.end()) track->second.emplace_back(builder_.sliceStart(slice), slice);
    }
    for (auto& [track, slices] : starts) {
        if (!sortStably(slices, std::less<>{}, control)) return false;
    }
    for (const Pointer& pointer : pointers_) {
        const auto& slices = starts[pointer.track];
        const auto next = std::lower_bound(slices.begin(), slices.end(), std::pair{pointer.time, SliceId{0}});
        builder_.addFlow({pointer.id, pointer.time, pointer.track, next == slices.end() ? kNoId : next->second, false});
    }
    pointers_.clear();
    return true;
}

bool EventSink::finish(const LoadProgress& progress) {
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
        nameProcess(id, std::get<0>(key));
        builder_.track(id).thread_name = std::get<2>(key);
    }
    if (!pairing_.finish(log_, where_, progress) || !resolvePointers(progress.control())) return false;
    assignFiles();
    if (packer_) packer_->finish();
    return true;
}

} // namespace bubblescope::chrome
