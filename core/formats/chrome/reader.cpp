#include "core/formats/chrome/reader.h"

#include "core/base/json_scanner.h"
#include "core/formats/chrome/batch_pipeline.h"
#include "core/formats/chrome/distributed_info.h"
#include "core/formats/chrome/event_parser.h"
#include "core/formats/chrome/event_sink.h"
#include "core/formats/source/schedule_file.h"
#include "core/trace/args.h"
#include "core/trace/json_mender.h"
#include "core/trace/trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace bubblescope::chrome {
namespace {

constexpr std::string_view kNotATraceHint = "a trace is an object with 'traceEvents' or an array of events with 'ph'";

/// If a quote or a bracket is missing, the rest of a file looks like one entry: bounds how much of it is scanned. This
/// is the total for all futile scans, because a file may have many such places.
constexpr std::size_t kLongestEvent = std::size_t{32} << 20;
constexpr std::size_t kMaxFutileBytes = std::size_t{256} << 20;
/// Damaged events are repaired up to this length.
constexpr std::size_t kLongestMended = std::size_t{1} << 20;
/// The number of bytes that may be scanned for an event once that is used up.
constexpr std::size_t kUsualEvent = std::size_t{2} << 10;
/// Maximum distance from a damaged entry to the next one.
constexpr std::size_t kFarthestBorder = std::size_t{1} << 30;
/// Maximum nesting of objects and arrays around the events.
constexpr int kDeepest = 16;
/// The distance from an object's start within which its keys must identify it as one with events.
constexpr std::size_t kFirstKeys = std::size_t{4} << 10;
/// The part of an object that is needed to decide whether it is an event.
constexpr std::size_t kFirstLine = std::size_t{64} << 10;

class Reader {
public:
    Reader(const FileBytes& bytes, const std::string& where, TraceBuilder& builder, DiagnosticLog& log,
           LoadProgress& progress)
        : bytes_(bytes), where_(where), builder_(builder), log_(log), progress_(progress),
          scanner_(bytes.text(), &progress.control()), sink_(bytes, builder, log, where) {}

    Status read();

private:
    enum class End { Whole, Damaged, Stopped };

    [[nodiscard]] Sentence here() const { return say("{}, byte {}", where_, scanner_.offset()); }
    // As in JsonScanner, for a text that may grow.
    [[nodiscard]] char peek();
    [[nodiscard]] bool atEnd() { return peek() == '\0' && scanner_.atEnd(); }
    [[nodiscard]] bool accept(char wanted) { return peek() == wanted && scanner_.accept(wanted); }
    [[nodiscard]] std::optional<std::string_view> nextValue();
    bool have(std::size_t size);
    bool haveMore();
    void readRest();
    void skipByteOrderMark();
    End document();
    [[nodiscard]] bool anotherDocument();
    End object();
    [[nodiscard]] bool toEvents();
    End field(std::string_view key);
    void baseTime(std::string_view value);
    void distributedInfo(std::string_view value);
    [[nodiscard]] bool holdsEvents();
    [[nodiscard]] bool listsTraces();
    void beginPieces();
    End events();
    End arrays();
    End lines();
    [[nodiscard]] bool oneEvent();
    [[nodiscard]] bool resume();
    /// True if damage before this event was skipped.
    [[nodiscard]] bool atBorder() const { return border_ && border_->second == scanner_.offset(); }
    void skipTo(std::size_t end);
    [[nodiscard]] bool mendEvent(std::optional<std::size_t> border);
    [[nodiscard]] bool toEndOfArray();
    [[nodiscard]] std::optional<std::string_view> entryHere();
    [[nodiscard]] std::optional<std::size_t> borderAfter(std::size_t offset);
    void releaseRead();
    void badEvent(std::size_t begin);
    void report(const TextFlaws& flaws, const std::vector<Event>& events);
    void add(const EventBatch& batch, bool is_used_again);
    End damaged();
    [[nodiscard]] Status judge(End end) const;

    const FileBytes& bytes_;
    const std::string& where_;
    TraceBuilder& builder_;
    DiagnosticLog& log_;
    LoadProgress& progress_;
    JsonScanner scanner_;
    EventParser parser_;
    EventSink sink_;
    std::optional<BatchPipeline> pipeline_;  ///< created with the first array of events
    bool reuses_batch_ = false;              ///< all its pieces are parsed into the same batch
    const EventBatch* used_again_ = nullptr; ///< the batch that the sink already has
    Status text_failed_;                     ///< the reason why no more of the text is available
    std::size_t futile_bytes_ = 0;           ///< bytes scanned without finding the end of an entry
    int depth_ = 0;                          ///< nesting of objects and arrays around the events
    bool has_events_ = false;                ///< there is an array of events
    bool reported_ = false;                  ///< the damage to the JSON has been reported
    std::optional<TimeNs> base_;             ///< recorded in the file before its events
    /// The start and result of the last search for a border; no result means that there is none up to the end.
    std::optional<std::pair<std::size_t, std::optional<std::size_t>>> border_;
    bool kineto_ = false;
    bool paddle_ = false;       ///< written by paddle.profiler
    std::int64_t entries_ = 0;  ///< number of entries of the array of events
    std::int64_t readable_ = 0; ///< entries that are events
    std::size_t released_ = 0;  ///< the file's pages up to here were released
    std::string keys_;          ///< keys of the top-level object, for the error message
};

Status Reader::read() {
    skipByteOrderMark();
    End end = document();
    while (end == End::Whole && anotherDocument()) {
        sink_.beginDocument();
        end = document();
    }
    if (end != End::Stopped) readRest();
    if (end == End::Stopped || progress_.stopRequested()) return cancelledError();
    BUBBLESCOPE_TRY(std::move(text_failed_));
    BUBBLESCOPE_TRY(judge(end));
    if (TraceFile& file = builder_.file(builder_.currentFile()); !file.is_converted)
        file.format = paddle_ ? "paddle" : kineto_ ? "kineto" : "chrome";
    return sink_.finish(progress_) ? Status{} : Status{cancelledError()};
}

void Reader::skipByteOrderMark() {
    constexpr std::string_view kMark = "\xEF\xBB\xBF";
    (void)peek();
    have(scanner_.offset() + kMark.size());
    if (bytes_.text().substr(scanner_.offset()).starts_with(kMark)) scanner_.moveTo(scanner_.offset() + kMark.size());
}

Reader::End Reader::document() {
    if (peek() == '[') return events();
    if (holdsEvents()) return object();
    have(scanner_.offset() + kFirstLine);
    return EventBorders::beginsEvent(bytes_.text().substr(scanner_.offset())) ? lines() : object();
}

/// A file contains several documents if a program appended to it or if files were joined.
bool Reader::anotherDocument() {
    while (accept(',')) {
    }
    skipByteOrderMark();
    const char next = peek();
    if (next == '{' || next == '[') return true;
    if (next != '\0') log_.add("ignored-text", here(), say("ignored text after the last event: not JSON"));
    return false;
}

/// True if the text has grown to at least `size` bytes.
bool Reader::have(std::size_t size) {
    const std::size_t before = bytes_.text().size();
    if (before >= size || bytes_.complete() || !text_failed_.ok()) return false;
    text_failed_ = bytes_.extend(size);
    scanner_.extend(bytes_.text());
    if (pipeline_) pipeline_->extend(bytes_.text(), bytes_.complete());
    return bytes_.text().size() > before || bytes_.complete();
}

bool Reader::haveMore() {
    const std::size_t rest = bytes_.text().size() - std::min(scanner_.offset(), bytes_.text().size());
    return have(bytes_.text().size() + std::max(rest, std::size_t{1}));
}

/// The text after the events may be damaged as well.
void Reader::readRest() {
    while (haveMore())
        bytes_.discard(bytes_.text().size());
}

/// Treats comments as white space.
char Reader::peek() {
    for (;;) {
        char next = scanner_.peek();
        while (next == '\0' && scanner_.atEnd() && haveMore())
            next = scanner_.peek();
        if (next != '/') return next;
        const std::size_t begin = scanner_.offset();
        have(begin + 2);
        const std::string_view opening = bytes_.text().substr(begin, 2);
        if (opening != "//" && opening != "/*") return next;
        const std::string_view closing = opening == "//" ? "\n" : "*/";
        std::size_t end = bytes_.text().find(closing, begin + 2);
        while (end == std::string_view::npos && haveMore())
            end = bytes_.text().find(closing, begin + 2);
        if (end == std::string_view::npos) return next;
        scanner_.moveTo(end + closing.size());
    }
}

std::optional<std::string_view> Reader::nextValue() {
    auto found = scanner_.value();
    while (!found && haveMore())
        found = scanner_.value();
    return found;
}

Status Reader::judge(End end) const {
    if (!has_events_) {
        if (end == End::Damaged)
            return inputError(here().text(), "the JSON is truncated or corrupt before the first event");
        if (keys_.find("schedule") != std::string::npos && keys_.find("ranks") != std::string::npos)
            return scheduleError(where_);
        if (keys_.find("traceEvents") != std::string::npos)
            return inputError(where_, "is JSON, but not a trace: its 'traceEvents' is not a list of events",
                              std::string(kNotATraceHint));
        return inputError(where_, fmt::format("is JSON, but not a trace: no 'traceEvents' among its keys ({})", keys_),
                          std::string(kNotATraceHint));
    }
    if (readable_ > 0) return {};
    if (entries_ > 0) {
        return inputError(where_, fmt::format("is JSON, but not a trace: none of its {} entries is an event", entries_),
                          std::string(kNotATraceHint));
    }
    if (end == End::Damaged)
        return inputError(here().text(), "the JSON is truncated or corrupt before the first event");
    return inputError(where_, "is a trace without events");
}

Reader::End Reader::damaged() {
    reported_ = true;
    const bool at_end = atEnd();
    const Sentence place = here();
    if (at_end || !entryHere()) {
        log_.add("truncated", place, say("the JSON ends early; everything up to that point was read"));
    } else {
        log_.add("corrupt", place, say("the JSON is corrupt; everything before the corruption was read"));
    }
    return End::Damaged;
}

Reader::End Reader::object() {
    if (!accept('{')) return damaged();
    while (!accept('}')) {
        if (accept(',')) continue;
        const auto key = peek() == '"' ? nextValue() : std::nullopt;
        const End end = key && accept(':') ? field(key->substr(1, key->size() - 2)) : End::Damaged;
        if (end == End::Stopped) return end;
        if (end == End::Damaged && !toEvents()) return reported_ ? end : damaged();
    }
    return End::Whole;
}

/// Continues from damage before the events to the events.
bool Reader::toEvents() {
    constexpr std::string_view kKey = "\"traceEvents\"";
    const std::size_t begin = scanner_.offset();
    std::size_t key = has_events_ ? std::string_view::npos : bytes_.text().find(kKey, begin);
    while (!has_events_ && key == std::string_view::npos && haveMore())
        key = bytes_.text().find(kKey, begin);
    if (key == std::string_view::npos) return false;
    log_.add("corrupt", here(), say("skipped corrupt JSON before the events"));
    scanner_.moveTo(key);
    return true;
}

/// True if an object with 'traceEvents' among its first keys, before those of an event, begins here.
bool Reader::holdsEvents() {
    if (peek() != '{') return false;
    have(scanner_.offset() + kFirstKeys);
    constexpr std::string_view kKey = "\"traceEvents\"";
    std::string_view beginning = bytes_.text().substr(scanner_.offset(), kFirstKeys);
    beginning = beginning.substr(0, beginning.find("\"ph\""));
    if (beginning.find(kKey) == std::string_view::npos) return false;
    JsonScanner keys(beginning);
    if (!keys.accept('{')) return false;
    while (const auto key = keys.value()) {
        if (*key == kKey) return true;
        if (!keys.accept(':') || !keys.value() || !keys.accept(',')) return false;
    }
    return false;
}

/// True if an array of objects with events begins here.
bool Reader::listsTraces() {
    if (peek() != '[') return false;
    const std::size_t begin = scanner_.offset();
    scanner_.moveTo(begin + 1);
    const bool lists = holdsEvents();
    scanner_.moveTo(begin);
    return lists;
}

Reader::End Reader::field(std::string_view key) {
    if (key == "traceEvents" && peek() == '[') return events();
    if (depth_ < kDeepest && holdsEvents()) {
        ++depth_;
        const End end = object();
        --depth_;
        return end;
    }
    if (depth_ < kDeepest && listsTraces()) return events();
    const auto value = nextValue();
    if (!value) return End::Damaged;
    if (keys_.size() < 100) keys_ += fmt::format("{}{}", keys_.empty() ? "" : ", ", key);

    if (key == "baseTimeNanoseconds") {
        baseTime(*value);
    } else if (key == "distributedInfo") {
        distributedInfo(*value);
    } else if (key == "host_name") {
        const auto host = findJsonArg(fmt::format(R"({{"host":{}}})", *value), "host");
        if (host && std::holds_alternative<std::string>(*host))
            builder_.file(builder_.currentFile()).host = std::get<std::string>(*host);
    } else if (key == "metadata" || key == "otherData") {
        constexpr std::size_t kMost = std::size_t{1} << 20;
        if (value->starts_with('{') && value->size() <= kMost)
            builder_.file(builder_.currentFile()).metadata = strictJson(*value);
    } else if (key == "schemaVersion" && value->starts_with('"')) { // Kineto's is a number
        paddle_ = true;
        sink_.expectPaddle();
    } else if (key == "deviceProperties" || key == "schemaVersion") {
        kineto_ = true;
        if (value->find("AMD") != std::string_view::npos) sink_.expectOverflows();
        std::string& metadata = builder_.file(builder_.currentFile()).metadata;
        if (value->starts_with('[') && value->size() < (1U << 20U) && metadata.empty())
            metadata = strictJson(fmt::format(R"({{"{}":{}}})", key, *value));
    }
    return End::Whole;
}

void Reader::baseTime(std::string_view value) {
    kineto_ = true;
    const auto base = EventParser::integer(value);
    if (!base || !isWithinReach(TimeNs{*base}))
        return log_.add("bad-time", here(), say("ignored baseTimeNanoseconds: not a usable time"));
    if (base_ && *base_ != TimeNs{*base}) {
        return log_.add("bad-time", here(),
                        say("the file contains different base times; the first is used for all events"));
    }
    base_ = TimeNs{*base};
    builder_.setFileOffset(builder_.currentFile(), *base_);
}

void Reader::distributedInfo(std::string_view value) {
    kineto_ = true;
    if (const auto rank = takeDistributedInfo(value, builder_.file(builder_.currentFile()))) sink_.stateRank(*rank);
}

/// Each piece of a small text is parsed into the same batch.
void Reader::beginPieces() {
    const std::size_t begin = scanner_.offset();
    reuses_batch_ = bytes_.complete() && bytes_.text().size() < BatchPipeline::kForOneThread;
    if (reuses_batch_) {
        constexpr std::size_t kUsualSlice = 400; // bytes
        builder_.expectSlices((bytes_.text().size() - begin) / kUsualSlice);
        pipeline_.emplace(bytes_.text(), begin, BatchPipeline::kPieceOfOneThread, true, BatchPipeline::Threads::ThisOne,
                          !bytes_.mapped());
    } else {
        pipeline_.emplace(bytes_.text(), begin, BatchPipeline::pieceBytes(bytes_.expectedSize()), bytes_.complete());
    }
}

Reader::End Reader::events() {
    if (!accept('[')) return damaged();
    (void)peek();
    have(scanner_.offset() + BatchPipeline::kUseful);
    if (peek() == '[' || holdsEvents()) return arrays();
    has_events_ = true;
    if (!pipeline_) beginPieces(); // one pipeline serves several arrays, so that futile searches are not repeated
    while (!accept(']')) {
        if (atEnd()) return damaged();
        if (!progress_.reached(scanner_.offset(), bytes_.expectedSize())) return End::Stopped;
        releaseRead();
        have(scanner_.offset() + BatchPipeline::kUseful);
        if (accept(',')) continue;
        if (const BatchPipeline::Piece* const piece = pipeline_->take(scanner_.offset())) {
            add(piece->batch, reuses_batch_);
            scanner_.moveTo(piece->end);
        } else if (!oneEvent() && !resume() && !toEndOfArray()) {
            return damaged();
        }
        if (accept(',') || peek() == ']' || atEnd() || atBorder()) continue;
        if (peek() == '{')
            log_.add("missing-comma", here(), say("missing commas between events; the events were read"));
        else if (!resume() && !toEndOfArray())
            return damaged();
    }
    return End::Whole;
}

/// Reads an array that contains arrays of events, or objects with such arrays.
Reader::End Reader::arrays() {
    while (!accept(']')) {
        if (accept(',')) continue;
        if (atEnd() || depth_ == kDeepest) return damaged();
        ++depth_;
        if (peek() == '{') sink_.beginDocument();
        const End end = peek() == '[' ? events() : object();
        --depth_;
        if (end != End::Whole) return end;
    }
    return End::Whole;
}

/// Reads events one after another, without an array around them: a log that is appended to, or an excerpt of an array.
Reader::End Reader::lines() {
    has_events_ = true;
    if (!pipeline_) beginPieces();
    while (!atEnd()) {
        if (!progress_.reached(scanner_.offset(), bytes_.expectedSize())) return End::Stopped;
        releaseRead();
        if (accept(',')) continue;
        if (peek() == '[' || holdsEvents()) return End::Whole; // another document
        if (!oneEvent() && !resume()) return damaged();
    }
    return End::Whole;
}

std::optional<std::size_t> Reader::borderAfter(std::size_t offset) {
    if (border_ && offset >= border_->first && (!border_->second || offset < *border_->second)) return border_->second;
    auto border = pipeline_->borderAfter(offset, kFarthestBorder);
    while (!border && haveMore())
        border = pipeline_->borderAfter(offset, kFarthestBorder);
    border_.emplace(offset, border);
    return border;
}

/// Continues after damage, at the next event; false if there is none.
bool Reader::resume() {
    const auto border = borderAfter(scanner_.offset());
    if (peek() == '{' && mendEvent(border)) return true;
    if (border) skipTo(*border);
    return border.has_value();
}

void Reader::skipTo(std::size_t end) {
    const std::size_t begin = scanner_.offset();
    const std::string_view skipped = bytes_.text().substr(begin, end - begin);
    if (skipped.find_first_not_of(" \t\r\n,{}[]") == std::string_view::npos)
        log_.add("stray-brackets", here(), say("skipped unmatched brackets between events"));
    else
        badEvent(begin);
    scanner_.moveTo(end);
}

/// Repairs and reads the damaged event that starts here. The event ends before the border, if there is one.
bool Reader::mendEvent(std::optional<std::size_t> border) {
    const std::size_t begin = scanner_.offset();
    const std::size_t most = border.value_or(bytes_.text().size()) - begin;
    auto mended = mendJson(bytes_.text().substr(begin, std::min(most, kLongestMended)));
    if (!mended || (mended->unclosed && !border)) return false;
    EventBatch batch;
    if (!parser_.parse(mended->text, 0, batch)) return false;
    const Event& event = batch.events.front();
    const bool whole = event.phase == 'M' || (event.has_time && (event.phase != 'X' || event.has_duration));
    if (event.phase == 0 || !whole) return false;
    batch.mended = std::move(mended->text);
    batch.events.front().offset = begin;
    batch.flaws = {};
    log_.add("mended-event", EventPlace{where_, begin}.text(),
             say("repaired events that are not valid JSON; their content is a guess"));
    add(batch, false);
    scanner_.moveTo(begin + mended->end);
    return true;
}

/// Continues after a damaged last event to the bracket that ends the array.
bool Reader::toEndOfArray() {
    const std::string_view text = bytes_.text();
    constexpr std::string_view kSpace = " \t\r\n";
    const std::size_t begin = scanner_.offset();
    std::ptrdiff_t depth = 0; // below 0 after the end of the array
    for (std::size_t end = begin; end < text.size(); ++end) {
        if (text[end] == '{' || text[end] == '[') ++depth;
        if (text[end] == '}' || text[end] == ']') --depth;
        if (text[end] != ']' || depth >= 0) continue;
        const std::size_t before = text.find_last_not_of(kSpace, end - 1);
        const std::size_t behind = text.find_first_not_of(kSpace, end + 1);
        const bool ends = behind == std::string_view::npos || text[behind] == '}' || text[behind] == ',';
        if (!ends || before < begin || text[before] != '}') continue;
        skipTo(end);
        return true;
    }
    return false;
}

std::optional<std::string_view> Reader::entryHere() {
    const std::size_t begin = scanner_.offset();
    have(begin + kLongestEvent);
    return JsonScanner(bytes_.text().substr(begin, kLongestEvent)).value();
}

/// False if no event ends here: the file is truncated, or a quote is missing and the rest looks like text.
bool Reader::oneEvent() {
    const std::size_t begin = scanner_.offset();
    const std::size_t longest = futile_bytes_ < kMaxFutileBytes ? kLongestEvent : kUsualEvent;
    JsonScanner within({});
    const auto scan = [&] {
        within = JsonScanner(bytes_.text().substr(0, begin + std::min(longest, bytes_.text().size() - begin)));
        within.moveTo(begin);
        return within.value();
    };
    auto entry = scan();
    while (!entry && bytes_.text().size() < begin + longest && haveMore())
        entry = scan();
    EventBatch batch;
    if (entry && parser_.parse(*entry, begin, batch)) {
        scanner_.moveTo(within.offset());
        add(batch, false);
        return true;
    }
    if (entry && entry->front() != '{' && (within.peek() == ',' || within.peek() == ']')) { // a value of another kind
        badEvent(begin);
        scanner_.moveTo(within.offset());
        return true;
    }
    futile_bytes_ += entry ? entry->size() : std::min(longest, bytes_.text().size() - begin);
    return false;
}

/// Text that has been read is needed again only if users ask for args, and never if it comes from a compressed file.
void Reader::releaseRead() {
    const std::size_t step = bytes_.mapped() ? std::size_t{8} << 20 : BatchPipeline::kPieceBytes * 4;
    if (scanner_.offset() - released_ < step) return;
    bytes_.release(released_, scanner_.offset());
    bytes_.discard(scanner_.offset());
    released_ = scanner_.offset();
}

void Reader::badEvent(std::size_t begin) {
    log_.add("bad-event", EventPlace{where_, begin}.text(),
             say("skipped entries that are too long or not valid JSON objects"));
    ++entries_;
}

/// Counts the events with each kind of flaw in their texts.
void Reader::report(const TextFlaws& flaws, const std::vector<Event>& events) {
    const auto count = [&](std::string_view kind, const std::vector<std::uint64_t>& places, const Sentence& message) {
        const Event* last = nullptr;
        for (const std::uint64_t place : places) {
            const auto after = std::ranges::upper_bound(events, place, {}, &Event::offset);
            if (after == events.begin() || &*std::prev(after) == last) continue;
            last = &*std::prev(after);
            log_.add(std::string(kind), EventPlace{where_, last->offset}.text(), message);
        }
    };
    count("bad-text", flaws.not_utf8, say("strings that are not UTF-8; invalid bytes are shown as '?'"));
    count("bad-text", flaws.controls, say("strings with unescaped control characters, read literally"));
    count("bad-escape", flaws.backslashes, say("strings with invalid escapes, read literally"));
}

/// If `is_used_again`, the sink already has the batch, which has more texts now.
void Reader::add(const EventBatch& batch, bool is_used_again) {
    report(batch.flaws, batch.events);
    const EventBatch* const before = std::exchange(used_again_, is_used_again ? &batch : nullptr);
    sink_.begin(batch, before == &batch);
    for (const Event& event : batch.events) {
        if (event.phase != 0) ++readable_;
        sink_.add(event);
    }
    entries_ += static_cast<std::int64_t>(batch.events.size());
}

} // namespace

Status readChrome(const FileBytes& bytes, const std::string& where, TraceBuilder& builder, DiagnosticLog& log,
                  LoadProgress& progress) {
    return Reader(bytes, where, builder, log, progress).read();
}

bool isNoTrace(const Error& error) {
    return error.hint == kNotATraceHint;
}

} // namespace bubblescope::chrome
