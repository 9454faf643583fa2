#include "core/formats/chrome/event_sink.h"

#include "core/base/json_scanner.h"
#include "core/base/text.h"
#include "core/formats/chrome/decimal.h"
#include "core/trace/args.h"
#include "core/trace/processes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <string_view>
#include <unordered_map>
#include <variant>

namespace bubblescope::chrome {
namespace {

// Kineto's names, the current ones and those of 2021.
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
    mended_ = batch.mended;
    texts_.reserve(batch.texts.size());
    for (auto id = static_cast<StringId>(texts_.size()); id < batch.texts.size(); ++id)
        texts_.push_back(builder_.intern(paddle_ ? withoutDuration(batch.texts.text(id)) : batch.texts.text(id)));
}

RowId EventSink::rowId(RowId of_batch) const {
    if (of_batch.is_text) of_batch.number = text(static_cast<StringId>(of_batch.number));
    of_batch.document = document_;
    return of_batch;
}

ArgSetId EventSink::argsOf(const Event& event) {
    if (event.args == kNoArgs) return 0;
    if (!mended_.empty()) return storedArgs(argsText(event));
    if (!source_) {
        source_ = builder_.args().addSource(packer_ ? ArgSource{nullptr, {}, packer_->reader()}
                                                    : ArgSource{bytes_.owner(), bytes_.text()});
    }
    return ArgStore::inSource(*source_, packer_ ? packer_->add(argsText(event)) : event.args);
}

std::string_view EventSink::argsText(const Event& event) const {
    if (event.args == kNoArgs) return {};
    return (mended_.empty() ? bytes_.text() : mended_).substr(event.args, event.args_size);
}

ArgSetId EventSink::storedArgs(std::string_view object) {
    std::vector<StoredArg> row;
    for (const Arg& arg : parseJsonArgs(object))
        row.push_back(builder_.stored(arg));
    return builder_.args().add(row);
}

void EventSink::add(const Event& event) {
    if (event.phase == 'M') return metadata(event);
    if (event.empty()) return;
    const auto place = [&] { return EventPlace{where_, event.offset}.text(); };
    if (event.phase == 0) return log_.add("no-phase", place(), say("skipped entries without a phase: not events"));
    if (!event.time || !isWithinReach(*event.time)) {
        return log_.add(event.has_time ? "bad-time" : "no-time", place(), say("skipped events without a usable time"));
    }
    switch (event.phase) {
    case 'X': complete(event, trackFor(event)); break;
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
    case 'p':
    case 'F': async(event); break;
    case 'T': // also older; with a duration, the state of a thread
        if (event.has_duration)
            complete(event, stateTrackFor(event));
        else
            async(event);
        break;
    case 'i':
    case 'I':
    case 'R':
        builder_.addInstant(
            {trackFor(event), timeOf(event), text(event.name), text(event.category), argsOf(event), event.scope});
        break;
    case 's':
    case 't':
    case 'f': flow(event); break;
    case 'C': counter(event); break;
    default: log_.add("unknown-phase", place(), say("skipped events with unsupported phases"));
    }
}

// PaddlePaddle's dynamic graph writes milliseconds instead of microseconds. For current dates one is a thousandth of
// the other, so they cannot be confused.
TimeNs EventSink::timeOf(const Event& event) {
    constexpr TimeNs kYear2001{1'000'000'000'000'000}; // in milliseconds, read as microseconds
    if (*event.time < kYear2001 || *event.time > kFarthestTime / 1000) return *event.time;
    if (!builder_.text(text(event.category)).ends_with("pipeline timeline")) return *event.time;
    log_.add("milliseconds", EventPlace{where_, event.offset}.text(),
             say("times are in milliseconds, not microseconds as the format requires; read as milliseconds"));
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

/// CUPTI leaves records without times when it runs out of buffers; these would stretch the trace back to 1970.
bool EventSink::lostItsTimes(const Event& event) const {
    if (own_ || *event.time > TimeNs{0} || event.duration.value_or(TimeNs{0}) > TimeNs{0}) return false;
    const std::string_view category = builder_.text(text(event.category));
    return std::find(kDeviceCategories.begin(), kDeviceCategories.end(), category) != kDeviceCategories.end();
}

TimeNs EventSink::durationOf(const Event& event) {
    const auto report = [&](std::string_view kind, const Sentence& message) {
        log_.add(std::string(kind), EventPlace{where_, event.offset}.text(), message);
        return TimeNs{0};
    };
    if (!event.has_duration) return report("no-duration", say("events without a duration; shown with duration 0"));
    if (!event.duration || !isWithinReach(*event.duration))
        return report("bad-duration", say("events with an invalid duration; shown with duration 0"));
    if (*event.duration < TimeNs{0})
        return report("negative-duration", say("events that end before they start; shown with duration 0"));
    return *event.duration;
}

void EventSink::complete(const Event& event, TrackId track) {
    if (lostItsTimes(event)) {
        return log_.add("zero-time", EventPlace{where_, event.offset}.text(),
                        say("skipped device events with lost times (start and duration 0)"));
    }
    const TimeNs start = startOf(event);
    const TimeNs duration = durationOf(event);
    const StringId category = text(event.category);
    const SliceId slice = builder_.addSlice({track, start, duration, text(event.name), category, argsOf(event)});
    if (isKernel(category)) streams_.add(track, start, start + duration);
    bind(event, track, slice);
}

bool EventSink::isKernel(StringId category) {
    if (category != category_.first) category_ = {category, builder_.text(category) == "kernel"};
    return category_.second;
}

/// False if the job is stopped.
bool EventSink::orderStreams(const JobControl& control) {
    const auto found =
        streams_.finish([this](SliceId slice) { return isKernel(builder_.sliceCategory(slice)); }, control);
    if (!found) return false;
    if (const auto [first, count] = *found; count > 0) {
        log_.add("overrun", say("{}, slice '{}'", where_, builder_.text(builder_.sliceName(first))),
                 say("truncated kernels that overlap the next kernel of their stream"), count);
    }
    return true;
}

/// Adds the arrows that slices refer to themselves. Those without a direction are ignored.
void EventSink::bind(const Event& event, TrackId track, SliceId slice) {
    if (!event.flows_in && !event.flows_out) return;
    constexpr std::uint64_t kOfSlices = 0x62696e645f696400; // separates their ids from those of flow events
    builder_.addFlow({event.bind ^ kOfSlices, timeOf(event), track, slice, false});
}

/// NCCL's profiler plugin writes 0 for a start that it did not record, which would extend the trace back to the
/// machine's boot.
bool EventSink::beginsUnknown(const Event& event, const AsyncId& id, bool begins, bool ends) {
    constexpr std::array<std::string_view, 6> kOfNccl{"GROUP_API",     "COLL_API", "P2P_API",
                                                      "KERNEL_LAUNCH", "COLL",     "P2P"};
    if (ends) return begin_unknown_.erase(id) > 0;
    if (!begins || own_ || *event.time != TimeNs{0}) return false;
    if (std::ranges::find(kOfNccl, builder_.text(text(event.category))) == kOfNccl.end()) return false;
    log_.add("zero-time", EventPlace{where_, event.offset}.text(), say("skipped NCCL calls without a recorded start"));
    begin_unknown_.insert(id);
    return true;
}

void EventSink::async(const Event& event) {
    const bool ends = event.phase == 'e' || event.phase == 'F';
    const bool begins = event.phase == 'b' || event.phase == 'S';
    constexpr std::uint64_t kOfAll = 0x676c6f62616c0000; // separates ids of all processes from those of one
    const std::uint64_t number = event.has_global_id ? event.id ^ kOfAll : event.id;
    const AsyncId id{event.has_global_id ? RowId{} : rowId(event.pid), text(event.category), number};
    if (beginsUnknown(event, id, begins, ends)) return;
    const auto known = open_async_.find(id); // events that happen while it is open belong to its row
    const TrackId track = known != open_async_.end() ? known->second.front().track : asyncTrackFor(event);
    if (!begins && !ends) {
        builder_.addInstant({track, timeOf(event), text(event.name), text(event.category), argsOf(event)});
        return;
    }
    pairing_.addAsync({track, ends, timeOf(event), text(event.name), text(event.category), argsOf(event)}, number);
    if (begins) {
        open_async_[id].push_back({text(event.name), track});
    } else if (known != open_async_.end()) {
        std::vector<OpenAsync>& open = known->second;
        const StringId name = text(event.name);
        const auto own = std::find_if(open.rbegin(), open.rend(),
                                      [name](const OpenAsync& slice) { return name == 0 || slice.name == name; });
        if (own != open.rend()) open.erase(std::next(own).base());
        if (open.empty()) open_async_.erase(known);
    }
}

void EventSink::beginDocument() {
    if (document_ranks_.empty()) return; // documents without ranks are parts of one trace
    document_ = static_cast<std::uint32_t>(document_ranks_.size());
    document_ranks_.emplace_back();
    recent_rows_.fill({});
}

void EventSink::stateRank(std::int32_t rank) {
    if (document_ranks_.empty()) document_ranks_.emplace_back();
    const auto [known, is_new] = document_of_rank_.try_emplace(rank, document_);
    std::optional<std::int32_t>& current = document_ranks_[document_];
    if (!current) current = rank; // may come after the document's events
    if (is_new && *current != rank) {
        known->second = static_cast<std::uint32_t>(document_ranks_.size());
        document_ranks_.emplace_back(rank);
    }
    document_ = known->second;
    recent_rows_.fill({});
}

std::optional<std::int32_t> EventSink::rankOf(const RowId& process) const {
    const auto labelled = process_ranks_.find(process);
    if (labelled != process_ranks_.end()) return labelled->second;
    return document_of_rank_.size() > 1 ? document_ranks_[process.document] : std::nullopt;
}

void EventSink::reportRanksWithoutEvents() {
    std::set<std::int32_t> with_events;
    if (document_of_rank_.size() < 2) return;
    for (const auto& [row, track] : tracks_) {
        if (const auto& rank = document_ranks_[row.first.document]) with_events.insert(*rank);
    }
    if (with_events.size() < document_of_rank_.size())
        log_.add("several-ranks", where_, say("the file contains several ranks; using the first"));
}

/// Assigns numbers to processes that a text identifies, because all later code distinguishes processes by number: the
/// one at the end of the text, which programs that merge files keep there, unless another process of the same label has
/// it.
std::int64_t EventSink::processNumber(RowId process) {
    constexpr std::int64_t kFirst = 2'000'000'000; // above those of operating systems, and fits into 32 bits
    if (!process.is_text) return process.number;
    const auto [known, is_new] = text_processes_.try_emplace(process, 0);
    if (!is_new) return known->second;
    const std::string_view text = builder_.text(static_cast<StringId>(process.number));
    const auto label = labelOfProcess(text);
    const auto own = parseNumber<std::int32_t>(text.substr(text.find_last_not_of("0123456789") + 1));
    const bool is_free = own && *own < kFirst && text_numbers_.emplace(label ? label->text : "", *own).second;
    known->second = is_free ? *own : kFirst + static_cast<std::int64_t>(text_processes_.size()) - 1;
    return known->second;
}

TrackId EventSink::trackFor(const Event& event) {
    const Row row{event.pid, event.tid};
    RecentRow& recent =
        recent_rows_[static_cast<std::uint64_t>(event.pid.number ^ event.tid.number) % recent_rows_.size()];
    if (recent.track != kNoId && row == recent.row) return recent.track;
    const Row own{rowId(event.pid), rowId(event.tid)};
    auto known = tracks_.find(own);
    if (known == tracks_.end()) {
        const std::int64_t thread = own.second.is_text ? 0 : own.second.number;
        known = tracks_.emplace(own, builder_.addTrack(processNumber(own.first), thread)).first;
    }
    recent = {row, known->second};
    return known->second;
}

// Slices with an id instead of a thread: one row per process, category and name, where they may overlap.
TrackId EventSink::asyncTrackFor(const Event& event) {
    const RowId process = rowId(event.pid);
    const AsyncRow key{process, text(event.category), text(event.name)};
    auto known = async_tracks_.find(key);
    if (known == async_tracks_.end()) {
        const TrackId track = builder_.addTrack(processNumber(process), 0);
        builder_.track(track).may_overlap = true;
        known = async_tracks_.emplace(key, track).first;
    }
    return known->second;
}

/// Separate from the slices of the thread, because they do not nest with them.
TrackId EventSink::stateTrackFor(const Event& event) {
    const TrackId thread = trackFor(event);
    const auto [known, is_new] = state_tracks_.try_emplace({rowId(event.pid), rowId(event.tid)}, kNoId);
    if (is_new) {
        known->second = builder_.addTrack(builder_.track(thread).pid, builder_.track(thread).tid);
        builder_.track(known->second).may_overlap = true;
    }
    return known->second;
}

void EventSink::metadata(const Event& event) {
    const std::string_view kind = builder_.text(text(event.name));
    if (kind == "trace_origin") { // from Bubblescope's writer, whose times are relative to this origin
        own_ = true;
        const auto origin = findJsonArg(argsText(event), "origin_ns");
        if (origin && std::holds_alternative<std::int64_t>(*origin)) {
            origin_ = TimeNs{std::get<std::int64_t>(*origin)};
            builder_.setFileOffset(builder_.currentFile(), origin_);
        }
        return;
    }
    if (kind == "trace_files") { // from Bubblescope's writer too
        sources_ = decodedSourceFiles(argsText(event), where_, log_);
        return;
    }
    if (kind == "process_sort_index" || kind == "thread_sort_index") return takeOrder(event, kind.starts_with('p'));
    if (kind == "process_labels") return takeLabels(event);
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

/// Keeps labels that contain a rank, because the name of the process may not contain it.
void EventSink::takeLabels(const Event& event) {
    const auto stated = findJsonArg(argsText(event), "labels");
    const auto* const labels = stated ? std::get_if<std::string>(&*stated) : nullptr;
    if (labels == nullptr) return;
    const auto label = labelOfProcess(*labels);
    if (label && label->rank) process_ranks_[rowId(event.pid)] = *label->rank;
}

void EventSink::takeOrder(const Event& event, bool process) {
    const auto stated = findJsonArg(argsText(event), "sort_index");
    const auto* const number = stated ? std::get_if<std::int64_t>(&*stated) : nullptr;
    if (number == nullptr) return;
    const auto order = static_cast<std::int32_t>(std::clamp<std::int64_t>(*number, INT32_MIN, INT32_MAX));
    if (process)
        process_orders_[rowId(event.pid)] = order;
    else
        thread_orders_[{rowId(event.pid), rowId(event.tid)}] = order;
}

namespace {

constexpr int kDeepestCounter = 8;

/// The number in a text, even if it is not valid JSON.
std::optional<double> numberIn(std::string_view text) {
    text = trimmed(text);
    if (text.starts_with('+')) text.remove_prefix(1);
    const auto number = parseNumber<double>(text);
    return number && std::isfinite(*number) ? number : std::nullopt;
}

std::optional<double> numberOf(const ArgValue& value) {
    if (const auto* const whole = std::get_if<std::int64_t>(&value)) return static_cast<double>(*whole);
    if (const auto* const flag = std::get_if<bool>(&value)) return *flag ? 1 : 0;
    if (const auto* const real = std::get_if<double>(&value)) return *real;
    return numberIn(std::get<std::string>(value));
}

} // namespace

/// The id of an event as written in the file.
std::string EventSink::idText(const Event& event) const {
    const std::string_view text = mended_.empty() ? bytes_.text().substr(event.offset) : mended_;
    const auto id = findJsonArg(JsonScanner(text).value().value_or(std::string_view{}), "id");
    if (!id) return {};
    if (const auto* const number = std::get_if<std::int64_t>(&*id)) return fmt::to_string(*number);
    const auto* const name = std::get_if<std::string>(&*id);
    return name == nullptr ? std::string{} : *name;
}

void EventSink::counter(const Event& event) {
    std::string name(builder_.text(text(event.name)));
    if (event.has_id) name += fmt::format("[{}]", idText(event)); // as the viewers of this format do
    counterValues(event, name, parseJsonArgs(argsText(event)), 0);
}

void EventSink::counterValues(const Event& event, const std::string& name, const std::vector<Arg>& values, int depth) {
    for (const Arg& arg : values) {
        const std::string series = values.size() > 1 || depth > 0 ? fmt::format("{} {}", name, arg.name) : name;
        const auto* const text = std::get_if<std::string>(&arg.value);
        if (text != nullptr && text->starts_with('{') && depth < kDeepestCounter) {
            counterValues(event, series, parseJsonArgs(*text), depth + 1);
        } else if (const auto value = numberOf(arg.value)) {
            builder_.addCounter(processNumber(rowId(event.pid)), builder_.intern(series), timeOf(event), *value);
        } else {
            log_.add("no-number", EventPlace{where_, event.offset}.text(),
                     say("skipped counter values that are not numbers"));
        }
    }
}

void EventSink::flow(const Event& event) {
    // Ids are unique within a category only.
    std::uint64_t id = event.id ^ (static_cast<std::uint64_t>(text(event.category)) << 48);
    // If processes came from several files, arrows may connect processes of one file, but not of different files.
    const bool merged = sources_.has_value();
    if (merged) id ^= std::hash<std::string>{}(where_);
    if (event.phase == 'f' && !event.binds_enclosing) {
        pointers_.push_back({id, timeOf(event), trackFor(event)});
        return;
    }
    builder_.addFlow({id, timeOf(event), trackFor(event), kNoId, merged});
}

/// Call it when all slices are known. False if the job is stopped.
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
    reportRanksWithoutEvents();
    const auto nameProcess = [this](TrackId id, RowId process) {
        const auto known = process_names_.find(process);
        const StringId own = process.is_text ? static_cast<StringId>(process.number) : 0;
        const StringId name = known != process_names_.end() ? known->second : own;
        builder_.track(id).process_name = name;
        const auto rank = rankOf(process);
        if (rank && !labelOfProcess(builder_.text(name)))
            builder_.track(id).process_name = builder_.intern(fmt::format("{} [rank {}]", builder_.text(name), *rank));
        const auto order = process_orders_.find(process);
        if (order != process_orders_.end()) builder_.track(id).process_order = order->second;
    };
    for (const auto& [row, id] : tracks_) {
        nameProcess(id, row.first);
        const auto thread = thread_names_.find(row);
        const StringId own = row.second.is_text ? static_cast<StringId>(row.second.number) : 0;
        builder_.track(id).thread_name = thread != thread_names_.end() ? thread->second : own;
        const auto order = thread_orders_.find(row);
        if (order != thread_orders_.end()) builder_.track(id).thread_order = order->second;
    }
    for (const auto& [row, id] : state_tracks_) {
        nameProcess(id, row.first);
        const Track& thread = builder_.track(tracks_.at(row));
        const std::string_view name = builder_.text(thread.thread_name);
        builder_.track(id).thread_name =
            builder_.intern(fmt::format("{} (states)", name.empty() ? fmt::to_string(thread.tid) : std::string(name)));
    }
    for (const auto& [key, id] : async_tracks_) {
        nameProcess(id, std::get<0>(key));
        builder_.track(id).thread_name = std::get<2>(key);
    }
    if (!orderStreams(progress.control()) || !pairing_.finish(log_, where_, progress) ||
        !resolvePointers(progress.control()))
        return false;
    if (sources_) assignSourceFiles(*sources_, builder_);
    if (packer_) packer_->finish();
    return true;
}

} // namespace bubblescope::chrome
