#include "core/formats/chrome/reader.h"

#include "core/base/json_scanner.h"
#include "core/base/text.h"
#include "core/formats/chrome/batch_pipeline.h"
#include "core/formats/chrome/event_parser.h"
#include "core/formats/chrome/event_sink.h"
#include "core/formats/source/schedule_file.h"
#include "core/trace/args.h"
#include "core/trace/trace.h"

#include <fmt/format.h>
#include <simdjson.h>

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

std::vector<std::int64_t> numbersIn(std::string_view text) {
    std::vector<std::int64_t> numbers;
    while (!text.empty()) {
        if (const auto number = takeNumber<std::int64_t>(text))
            numbers.push_back(*number);
        else
            text.remove_prefix(1);
    }
    return numbers;
}

std::vector<std::int64_t> ranksOf(simdjson::dom::element group) {
    std::string_view text;
    if (group["ranks"].get(text) == simdjson::SUCCESS) return numbersIn(text);
    std::vector<std::int64_t> ranks;
    simdjson::dom::array list;
    if (group["ranks"].get(list) != simdjson::SUCCESS) return ranks;
    for (const simdjson::dom::element item : list) {
        std::int64_t rank = 0;
        if (item.get(rank) == simdjson::SUCCESS) ranks.push_back(rank);
    }
    return ranks;
}

void addGroups(simdjson::dom::array list, std::vector<ProcessGroup>& groups) {
    for (const simdjson::dom::element group : list) {
        std::string_view description;
        if (group["pg_desc"].get(description) == simdjson::SUCCESS)
            groups.push_back({std::string(description), ranksOf(group)});
    }
}

/// The groups in Kineto's distributedInfo (a JSON object), under pg_config; their ranks are a list there or, in traces
/// taken on demand, the text of one. Damaged entries are omitted.
std::vector<ProcessGroup> processGroups(std::string_view distributed_info) {
    std::vector<ProcessGroup> groups;
    simdjson::dom::parser parser;
    simdjson::dom::element document;
    const simdjson::padded_string padded(distributed_info);
    if (parser.parse(padded).get(document) != simdjson::SUCCESS) return groups;
    simdjson::dom::array list;
    if (document["pg_config"].get(list) == simdjson::SUCCESS) addGroups(list, groups);
    return groups;
}

/// A number of an object, or the text of one, from 0 to what an int holds.
std::optional<std::int32_t> countIn(std::string_view object, std::string_view name) {
    const auto found = findJsonArg(object, name);
    std::optional<std::int64_t> number;
    if (found && std::holds_alternative<std::int64_t>(*found)) number = std::get<std::int64_t>(*found);
    if (found && std::holds_alternative<std::string>(*found))
        number = EventParser::integer(std::get<std::string>(*found));
    if (!number || *number < 0 || *number > INT32_MAX) return std::nullopt;
    return static_cast<std::int32_t>(*number);
}

constexpr std::string_view kNotATraceHint = "a trace is an object with 'traceEvents' or an array of events with 'ph'";

/// If a quote or a bracket is missing, the rest of a file looks like one entry: bounds how much of it is scanned. A
/// file may be damaged like that repeatedly: this is the total for all futile scans.
constexpr std::size_t kLongestEvent = std::size_t{32} << 20;
constexpr std::size_t kMaxFutileBytes = std::size_t{256} << 20;
/// What an event may still take when that is used up.
constexpr std::size_t kUsualEvent = std::size_t{2} << 10;
/// How far after a damaged entry the next one may begin.
constexpr std::size_t kFarthestBorder = std::size_t{1} << 30;

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
    // The scanner's, on a text of which more may come.
    [[nodiscard]] char peek();
    [[nodiscard]] bool atEnd() { return peek() == '\0' && scanner_.atEnd(); }
    [[nodiscard]] bool accept(char wanted) { return peek() == wanted && scanner_.accept(wanted); }
    [[nodiscard]] std::optional<std::string_view> nextValue();
    bool have(std::size_t size);
    bool haveMore();
    void readRest();
    End object();
    End field(std::string_view key);
    void beginPieces();
    End events();
    End lines();
    bool oneEvent();
    [[nodiscard]] std::optional<std::string_view> entryHere();
    [[nodiscard]] std::optional<std::size_t> borderAfter(std::size_t offset);
    void releaseRead();
    void badEvent(std::size_t begin);
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
    std::optional<BatchPipeline> pipeline_;  ///< since the first array of events
    bool reuses_batch_ = false;              ///< its pieces are all parsed into the same batch
    const EventBatch* used_again_ = nullptr; ///< that the sink knows
    Status text_failed_;                     ///< why no more of the text came
    std::size_t futile_bytes_ = 0;           ///< bytes scanned without finding the end of an entry
    bool is_array_ = false;
    bool has_events_ = false; ///< there is an array of events
    bool kineto_ = false;
    bool paddle_ = false;       ///< paddle.profiler's
    bool is_event_ = false;     ///< the top-level object is itself an event
    std::int64_t entries_ = 0;  ///< of that array
    std::int64_t readable_ = 0; ///< those that are events
    std::size_t released_ = 0;  ///< of the file, up to here
    std::string keys_;          ///< of the top-level object, for the error
};

Status Reader::read() {
    if (bytes_.text().starts_with("\xEF\xBB\xBF")) scanner_.moveTo(3); // a byte-order mark
    is_array_ = peek() == '[';
    End end = is_array_ ? events() : object();
    if (!is_array_ && end == End::Whole && is_event_) {
        scanner_.moveTo(0);
        end = lines();
    }
    if (end != End::Stopped) readRest();
    if (end == End::Stopped || progress_.stopRequested()) return cancelledError();
    BUBBLESCOPE_TRY(std::move(text_failed_));
    BUBBLESCOPE_TRY(judge(end));
    builder_.file(builder_.currentFile()).format = paddle_ ? "paddle" : kineto_ ? "kineto" : "chrome";
    return sink_.finish(progress_) ? Status{} : Status{cancelledError()};
}

/// Whether there is more of the text now, which was to have so many bytes.
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

/// What comes after the events may be damaged as well.
void Reader::readRest() {
    while (haveMore())
        bytes_.discard(bytes_.text().size());
}

char Reader::peek() {
    char next = scanner_.peek();
    while (next == '\0' && scanner_.atEnd() && haveMore())
        next = scanner_.peek();
    return next;
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
            return inputError(here().text(), "the JSON is cut off or damaged before the first event");
        if (keys_.find("schedule") != std::string::npos && keys_.find("ranks") != std::string::npos)
            return scheduleError(where_);
        return inputError(where_, fmt::format("is JSON, but not a trace: no 'traceEvents' among its keys ({})", keys_),
                          std::string(kNotATraceHint));
    }
    if (readable_ > 0) return {};
    if (entries_ > 0) {
        return inputError(where_, fmt::format("is JSON, but not a trace: none of its {} entries is an event", entries_),
                          std::string(kNotATraceHint));
    }
    if (end == End::Damaged) return inputError(here().text(), "the JSON is cut off or damaged before the first event");
    return inputError(where_, "is an empty trace: it holds no event");
}

Reader::End Reader::damaged() {
    const bool at_end = atEnd();
    const Sentence place = here();
    if (at_end || !entryHere()) {
        log_.add("truncated", place, say("the JSON ends too early; everything before it is read"));
    } else {
        log_.add("corrupt", place, say("the JSON is damaged; everything before it is read"));
    }
    return End::Damaged;
}

Reader::End Reader::object() {
    if (!accept('{')) return damaged();
    while (!accept('}')) {
        if (peek() != '"') return damaged();
        const auto key = nextValue();
        if (!key || !accept(':')) return damaged();
        const End end = field(key->substr(1, key->size() - 2));
        if (end != End::Whole) return end;
        if (!accept(',') && peek() != '}') return damaged();
    }
    return End::Whole;
}

Reader::End Reader::field(std::string_view key) {
    if (key == "traceEvents" && peek() == '[') return events();
    const auto value = nextValue();
    if (!value) return damaged();
    if (key == "ph") is_event_ = true;
    if (keys_.size() < 100) keys_ += fmt::format("{}{}", keys_.empty() ? "" : ", ", key);

    if (key == "baseTimeNanoseconds") {
        kineto_ = true;
        const auto base = EventParser::integer(*value);
        if (base && isWithinReach(TimeNs{*base}))
            builder_.setFileOffset(builder_.currentFile(), TimeNs{*base});
        else
            log_.add("bad-time", here(), say("baseTimeNanoseconds is not a usable time and is ignored"));
    } else if (key == "distributedInfo") {
        kineto_ = true;
        TraceFile& file = builder_.file(builder_.currentFile());
        if (const auto rank = countIn(*value, "rank")) file.rank = rank;
        file.world_size = countIn(*value, "world_size");
        file.groups = processGroups(*value);
    } else if (key == "host_name") {
        const auto host = findJsonArg(fmt::format(R"({{"host":{}}})", *value), "host");
        if (host && std::holds_alternative<std::string>(*host))
            builder_.file(builder_.currentFile()).host = std::get<std::string>(*host);
    } else if (key == "schemaVersion" && value->starts_with('"')) { // Kineto's is a number
        paddle_ = true;
        sink_.expectPaddle();
    } else if (key == "deviceProperties" || key == "schemaVersion") {
        kineto_ = true;
    }
    return End::Whole;
}

/// Of small texts each piece is parsed into the same batch.
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
    has_events_ = true;
    (void)peek();
    have(scanner_.offset() + BatchPipeline::kUseful);
    if (!pipeline_) beginPieces(); // of several arrays one serves all: what was searched in vain is not searched again
    while (!accept(']')) {
        if (atEnd()) return damaged();
        if (!progress_.reached(scanner_.offset(), bytes_.expectedSize())) return End::Stopped;
        releaseRead();
        have(scanner_.offset() + BatchPipeline::kUseful);
        if (const BatchPipeline::Piece* const piece = pipeline_->take(scanner_.offset())) {
            add(piece->batch, reuses_batch_);
            scanner_.moveTo(piece->end);
            if (!accept(',') && peek() != ']') return damaged();
            continue;
        }
        const std::size_t begin = scanner_.offset();
        const bool whole = oneEvent();
        if (whole && (accept(',') || peek() == ']')) continue;
        const auto border = borderAfter(whole ? scanner_.offset() : begin);
        if (!border) return damaged();
        badEvent(whole ? scanner_.offset() : begin);
        scanner_.moveTo(*border);
    }
    return End::Whole;
}

/// Events one after another, without an array around them: a log that is appended to, or one taken from an array.
Reader::End Reader::lines() {
    has_events_ = true;
    while (!atEnd()) {
        if (!progress_.reached(scanner_.offset(), bytes_.expectedSize())) return End::Stopped;
        releaseRead();
        if (peek() != '{' || !oneEvent()) {
            const std::size_t begin = scanner_.offset();
            std::size_t line = bytes_.text().find("\n{", begin);
            while (line == std::string_view::npos && haveMore())
                line = bytes_.text().find("\n{", begin);
            if (line == std::string_view::npos) return damaged();
            badEvent(begin);
            scanner_.moveTo(line + 1);
        }
        (void)accept(',');
    }
    return End::Whole;
}

std::optional<std::size_t> Reader::borderAfter(std::size_t offset) {
    auto border = pipeline_->borderAfter(offset, kFarthestBorder);
    while (!border && haveMore())
        border = pipeline_->borderAfter(offset, kFarthestBorder);
    return border;
}

std::optional<std::string_view> Reader::entryHere() {
    const std::size_t begin = scanner_.offset();
    have(begin + kLongestEvent);
    return JsonScanner(bytes_.text().substr(begin, kLongestEvent)).value();
}

/// False if no entry ends here: the file is truncated, or a quote is missing and the rest reads as text.
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
    if (!entry) {
        futile_bytes_ += std::min(longest, bytes_.text().size() - begin);
        return false;
    }
    scanner_.moveTo(within.offset());
    EventBatch batch;
    if (parser_.parse(*entry, begin, batch))
        add(batch, false);
    else
        badEvent(begin);
    return true;
}

/// Text that was read is needed again only when users ask for args, and not where it is a packed file's.
void Reader::releaseRead() {
    const std::size_t step = bytes_.mapped() ? std::size_t{8} << 20 : BatchPipeline::kPieceBytes * 4;
    if (scanner_.offset() - released_ < step) return;
    bytes_.release(released_, scanner_.offset());
    bytes_.discard(scanner_.offset());
    released_ = scanner_.offset();
}

void Reader::badEvent(std::size_t begin) {
    log_.add("bad-event", EventPlace{where_, begin}.text(),
             say("entries that are not valid JSON objects, or absurdly long, are left out"));
    ++entries_;
}

/// `is_used_again`: with more texts.
void Reader::add(const EventBatch& batch, bool is_used_again) {
    if (batch.repaired && !batch.events.empty()) {
        log_.add("bad-text", EventPlace{where_, batch.events.front().offset}.text(),
                 say("texts that are not UTF-8 are shown with '?' in place of invalid bytes"));
    }
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

} // namespace bubblescope::chrome
