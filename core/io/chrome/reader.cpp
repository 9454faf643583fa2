#include "core/io/chrome/reader.h"

#include "core/io/chrome/event_parser.h"
#include "core/io/chrome/event_sink.h"
#include "core/io/chrome/json_scanner.h"

#include <fmt/format.h>

#include <cstdint>
#include <optional>

namespace bubblescope::chrome {
namespace {

constexpr std::string_view kNotATraceHint = "a trace is an object with 'traceEvents' or an array of events with 'ph'";

class Reader {
public:
    Reader(std::string_view text, const std::string& where, TraceBuilder& builder, DiagnosticLog& log,
           LoadProgress& progress)
        : text_(text), where_(where), builder_(builder), log_(log), progress_(progress), scanner_(text),
          parser_(builder), sink_(builder, log, where) {}

    Status read();

private:
    enum class End { Whole, Damaged, Stopped };

    [[nodiscard]] std::string here() const { return fmt::format("{}, byte {}", where_, scanner_.offset()); }
    End object();
    End field(std::string_view key);
    End events();
    End damaged();
    [[nodiscard]] Status judge(End end) const;

    std::string_view text_;
    const std::string& where_;
    TraceBuilder& builder_;
    DiagnosticLog& log_;
    LoadProgress& progress_;
    JsonScanner scanner_;
    EventParser parser_;
    EventSink sink_;
    bool is_array_ = false;
    bool has_events_ = false; ///< there is an array of events
    bool kineto_ = false;
    std::int64_t entries_ = 0;  ///< of that array
    std::int64_t readable_ = 0; ///< those that are events
    std::string keys_;          ///< of the top-level object, for the error
};

Status Reader::read() {
    is_array_ = scanner_.peek() == '[';
    const End end = is_array_ ? events() : object();
    if (end == End::Stopped) return cancelledError();
    BUBBLESCOPE_TRY(judge(end));
    builder_.file(builder_.currentFile()).format = kineto_ ? "kineto" : "chrome";
    sink_.finish();
    return {};
}

Status Reader::judge(End end) const {
    if (!has_events_) {
        if (end == End::Damaged) return inputError(here(), "the JSON is cut off or damaged before the first event");
        return inputError(where_, fmt::format("is JSON, but not a trace: no 'traceEvents' among its keys ({})", keys_),
                          std::string(kNotATraceHint));
    }
    if (readable_ > 0) return {};
    if (entries_ > 0) {
        return inputError(where_, fmt::format("is JSON, but not a trace: none of its {} entries is an event", entries_),
                          std::string(kNotATraceHint));
    }
    if (end == End::Damaged) return inputError(here(), "the JSON is cut off or damaged before the first event");
    return inputError(where_, "is an empty trace: it holds no event");
}

Reader::End Reader::damaged() {
    const bool at_end = scanner_.peek() == '\0';
    const std::string place = here();
    if (at_end || !scanner_.value()) {
        log_.add("truncated", place, "the JSON ends too early; everything before it is read");
    } else {
        log_.add("corrupt", place, "the JSON is damaged; everything before it is read");
    }
    return End::Damaged;
}

Reader::End Reader::object() {
    if (!scanner_.accept('{')) return damaged();
    while (!scanner_.accept('}')) {
        if (scanner_.peek() != '"') return damaged();
        const auto key = scanner_.value();
        if (!key || !scanner_.accept(':')) return damaged();
        const End end = field(key->substr(1, key->size() - 2));
        if (end != End::Whole) return end;
        if (!scanner_.accept(',') && scanner_.peek() != '}') return damaged();
    }
    return End::Whole;
}

Reader::End Reader::field(std::string_view key) {
    if (key == "traceEvents" && scanner_.peek() == '[') return events();
    const auto value = scanner_.value();
    if (!value) return damaged();
    if (keys_.size() < 100) keys_ += fmt::format("{}{}", keys_.empty() ? "" : ", ", key);

    if (key == "baseTimeNanoseconds") {
        kineto_ = true;
        const auto base = EventParser::integer(*value);
        if (base)
            builder_.setFileOffset(builder_.currentFile(), TimeNs{*base});
        else
            log_.add("bad-time", here(), "baseTimeNanoseconds is no whole number and is not used");
    } else if (key == "distributedInfo") {
        kineto_ = true;
        if (const auto rank = parser_.integerField(*value, "rank"); rank && *rank >= 0 && *rank <= INT32_MAX) {
            builder_.file(builder_.currentFile()).rank = static_cast<std::int32_t>(*rank);
        }
    } else if (key == "deviceProperties" || key == "schemaVersion") {
        kineto_ = true;
    }
    return End::Whole;
}

Reader::End Reader::events() {
    if (!scanner_.accept('[')) return damaged();
    has_events_ = true;
    while (!scanner_.accept(']')) {
        if (!progress_.reached(scanner_.offset(), text_.size())) return End::Stopped;
        if (scanner_.peek() == '\0') return damaged();
        const EventPlace place{where_, scanner_.offset(), entries_};
        const auto entry = scanner_.value();
        if (!entry) return damaged();
        if (parser_.parse(*entry)) {
            const Event& event = parser_.event();
            if (event.phase != 0) ++readable_;
            sink_.add(event, place);
        } else {
            log_.add("bad-event", place.text(), "entries that are no valid JSON objects are left out");
        }
        ++entries_;
        if (!scanner_.accept(',') && scanner_.peek() != ']') return damaged();
    }
    return End::Whole;
}

} // namespace

Status readChrome(std::string_view text, const std::string& where, TraceBuilder& builder, DiagnosticLog& log,
                  LoadProgress& progress) {
    return Reader(text, where, builder, log, progress).read();
}

} // namespace bubblescope::chrome
