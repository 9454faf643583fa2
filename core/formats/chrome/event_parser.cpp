#include "core/formats/chrome/event_parser.h"

#include "core/base/per_thread.h"
#include "core/base/text.h"
#include "core/formats/chrome/decimal.h"
#include "core/formats/chrome/digits.h"
#include "core/trace/json_mender.h"

#include <simdjson.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <functional>
#include <new>
#include <utility>

namespace bubblescope::chrome {
namespace {

/// Uses stage1() with its structural_indexes, and parse_string(), which are not part of simdjson's documented
/// interface.
using Simdjson = simdjson::internal::dom_parser_implementation;

/// Returns the end of the written text; null for an invalid escape. Since simdjson 3.1, a third argument selects
/// whether unpaired surrogates are replaced.
template <class Parser>
const std::uint8_t* unescape(const Parser& parser, const std::uint8_t* from, std::uint8_t* to) {
    if constexpr (requires { parser.parse_string(from, to); })
        return parser.parse_string(from, to);
    else
        return parser.parse_string(from, to, false);
}

bool isJsonSpace(char c) {
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

/// The end of a text without trailing white space. There must be something else before `begin`.
const char* endOfText(const char* begin, const char* end) {
    while (end > begin && isJsonSpace(end[-1]))
        --end;
    return end;
}

std::uint64_t wordAt(const char* at) {
    static_assert(std::endian::native == std::endian::little);
    std::uint64_t word = 0;
    std::memcpy(&word, at, sizeof word);
    return word;
}

constexpr std::uint64_t kEachByte = 0x0101010101010101;

/// The lowest set bit is in the first byte of the word that equals this letter; 0 if there is none.
constexpr std::uint64_t bytesThatAre(char letter, std::uint64_t word) {
    const std::uint64_t others = word ^ (kEachByte * static_cast<unsigned char>(letter));
    return (others - kEachByte) & ~others & (kEachByte << 7U);
}

/// The change of depth by an opening or closing bracket.
constexpr std::array<std::int8_t, 256> kDepths = [] {
    std::array<std::int8_t, 256> depths{};
    depths['{'] = depths['['] = 1;
    depths['}'] = depths[']'] = -1;
    return depths;
}();

/// The change in the number of values without a separator, by a value or a separator. An object or an array may leave
/// at most one. More are left if an extra quote swaps strings and the text between them, up to another such quote.
constexpr std::array<std::int8_t, 256> kValues = [] {
    std::array<std::int8_t, 256> values{};
    values.fill(1);
    values['{'] = values['['] = values['}'] = values[']'] = 0;
    values[','] = values[':'] = -1;
    return values;
}();

/// The letters that begin values other than strings, objects and arrays.
constexpr std::array<bool, 256> kBeginsScalar = [] {
    std::array<bool, 256> begins{};
    for (const char letter : {'-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 't', 'f', 'n'})
        begins[static_cast<unsigned char>(letter)] = true;
    return begins;
}();

/// Fills events from the entries of a text that is followed by kBehind readable bytes. Moves from token to token:
/// brackets, colons, commas, strings and other values. The last token is followed by something that cannot continue an
/// entry, so functions that expect a token never go further: for a copied text the 0 at its end, for a text read in
/// place its last brace again. Functions return false if the text is not JSON; the inside of values that are not needed
/// is not checked.
class EntryReader {
public:
    EntryReader(const char* document, std::uint64_t offset, const Simdjson& simdjson, std::vector<char>& unescaped,
                EventBatch& batch)
        : document_(document), offset_(offset), at_(simdjson.structural_indexes.get()),
          end_(at_ + simdjson.n_structural_indexes), simdjson_(simdjson), unescaped_(unescaped), batch_(batch) {}

    [[nodiscard]] bool accept(char wanted) {
        if (letter() != wanted) return false;
        ++at_;
        return true;
    }
    [[nodiscard]] bool atEnd() const { return at_ == end_; }
    /// The offset after the last bracket read.
    [[nodiscard]] std::size_t end() const { return at_[-1] + std::size_t{1}; }

    bool entry() {
        Event& event = batch_.events.emplace_back();
        event.offset = placeOf(*at_);
        if (!accept('{')) return false;
        if (accept('}')) return true;
        do {
            const char* const key = here() + 1;
            if (!accept('"') || !accept(':') || !fill(keyAt(key), event)) return false;
        } while (accept(','));
        if (!event.has_tid && !event.pid.is_text) event.tid = event.pid; // as the viewers of this format do
        return accept('}');
    }

private:
    // Relevant keys have at most eight letters and are compared as one number; thanks to the padding, reading this far
    // past any key is safe. A key that contains escapes is not recognised; no other viewer recognises such keys either.
    using Key = std::uint64_t;

    /// The key for these letters and, if there is room, the quote after them.
    [[nodiscard]] static constexpr Key keyOf(std::string_view text) {
        Key key = 0;
        for (std::size_t i = 0; i < sizeof key; ++i) {
            const char letter = i < text.size() ? text[i] : i == text.size() ? '"' : '\0';
            key |= static_cast<Key>(static_cast<unsigned char>(letter)) << (8 * i);
        }
        return key;
    }
    /// The key for the text up to the next quote; 0 for longer ones.
    [[nodiscard]] static Key keyAt(const char* text) {
        const Key key = wordAt(text);
        const std::uint64_t quotes = bytesThatAre('"', key);
        if (quotes == 0) return text[sizeof key] == '"' ? key : 0;
        const int beyond = 56 - std::countr_zero(quotes) / 8 * 8; // bits
        return key << beyond >> beyond;
    }

    [[nodiscard]] const char* here() const { return document_ + *at_; }
    [[nodiscard]] char letter() const { return *here(); }
    [[nodiscard]] std::uint64_t placeOf(std::size_t at) const { return offset_ + at; }

    bool fill(Key key, Event& event) {
        switch (key) {
        case keyOf("ph"): return phase(event);
        case keyOf("ts"): event.has_time = true; return time(event.time);
        case keyOf("id"): event.has_id = true; return flowId(event.id);
        case keyOf("bp"): return equals("e", event.binds_enclosing);
        case keyOf("s"): return scope(event.scope);
        case keyOf("dur"): event.has_duration = true; return time(event.duration);
        case keyOf("pid"): return rowId(event.pid);
        case keyOf("tid"): event.has_tid = true; return rowId(event.tid);
        case keyOf("cat"): return text(event.category);
        case keyOf("id2"): return asyncId(event);
        case keyOf("name"): return text(event.name);
        case keyOf("args"): return args(event);
        case keyOf("bind_id"): return flowId(event.bind);
        case keyOf("flow_in"): return equals("true", event.flows_in);
        case keyOf("flow_out"): return equals("true", event.flows_out);
        default: return skip();
        }
    }

    /// Skips any value. Counts brackets, whatever their kind, and checks that values are separated.
    bool skip() {
        switch (letter()) {
        case '{':
        case '[': break;
        case '}':
        case ']':
        case ',':
        case ':': return false;
        default:
            if (atEnd()) return false;
            ++at_;
            return true;
        }
        int depth = 0;
        int values = 0;
        do {
            if (atEnd()) return false;
            const auto begins = static_cast<unsigned char>(letter());
            depth += kDepths[begins];
            values += kValues[begins];
            ++at_;
        } while (depth > 0);
        return values <= 1;
    }

    /// The text between the quotes of the string that was just read.
    [[nodiscard]] std::string_view rawText(const char* begin) const {
        const char* const end = endOfText(begin, here()); // after the quote
        return {begin + 1, static_cast<std::size_t>(end - begin) - 2};
    }
    [[nodiscard]] std::string_view unescaped(std::string_view raw) {
        if (raw.find('\\') == std::string_view::npos) return raw;
        if (holdsWindowsPath(raw)) return leniently(raw);
        unescaped_.resize(std::max(unescaped_.size(), raw.size() + 1 + simdjson::SIMDJSON_PADDING));
        const auto* const from = reinterpret_cast<const std::uint8_t*>(raw.data());
        auto* const to = reinterpret_cast<std::uint8_t*>(unescaped_.data());
        const std::uint8_t* const end = unescape(simdjson_, from, to);
        if (end == nullptr) return leniently(raw);
        return {unescaped_.data(), static_cast<std::size_t>(end - to)};
    }
    [[nodiscard]] std::string_view leniently(std::string_view raw) {
        batch_.flaws.backslashes.push_back(placeOf(static_cast<std::size_t>(raw.data() - document_)));
        const std::string text = unescapeLeniently(raw);
        unescaped_.assign(text.begin(), text.end());
        return {unescaped_.data(), text.size()};
    }

    /// Reads a value: the content of a string, or the letters of a number, true, false or null; empty for anything
    /// else.
    bool scalar(std::string_view& text) {
        const char* const begin = here();
        if (*begin == '"') {
            ++at_;
            text = unescaped(rawText(begin));
        } else if (const auto letters = plainScalar()) {
            text = *letters;
        } else {
            text = {};
            return skip();
        }
        return true;
    }

    bool phase(Event& event) {
        constexpr std::size_t kSize = 3; // including quotes
        const char* const begin = here();
        const char letter = begin[1];
        if (*begin == '"' && letter != '"' && letter != '\\' && begin[kSize - 1] == '"') {
            ++at_;
            event.phase = letter;
            return true;
        }
        std::string_view text;
        if (!scalar(text)) return false;
        event.phase = text.size() == 1 ? text.front() : '?';
        return true;
    }
    bool scope(char& scope) {
        std::string_view text;
        if (!scalar(text)) return false;
        if (text == "p" || text == "g") scope = text.front();
        return true;
    }
    bool equals(std::string_view wanted, bool& does) {
        std::string_view text;
        if (!scalar(text)) return false;
        does = text == wanted;
        return true;
    }
    /// Reads a number, true, false or null and returns its letters; nothing for other values.
    [[nodiscard]] std::optional<std::string_view> plainScalar() {
        const char* const begin = here();
        if (!kBeginsScalar[static_cast<unsigned char>(*begin)]) return std::nullopt;
        ++at_;
        return std::string_view(begin, static_cast<std::size_t>(endOfText(begin, here()) - begin));
    }
    bool time(std::optional<TimeNs>& time) {
        if (const auto letters = plainScalar()) {
            const auto plain = plainThousandths(letters->data(), letters->data() + letters->size());
            time = plain ? TimeNs{*plain} : microsecondsToNs(*letters);
            return true;
        }
        std::string_view text;
        if (!scalar(text)) return false;
        time = microsecondsToNs(text);
        return true;
    }
    bool rowId(RowId& row) {
        if (const auto letters = plainScalar()) {
            if (const auto plain = plainInteger(letters->data(), letters->data() + letters->size())) {
                row.is_text = false;
                row.number = *plain;
            } else {
                setRow(*letters, row);
            }
            return true;
        }
        std::string_view text;
        if (!scalar(text)) return false;
        setRow(text, row);
        return true;
    }
    void setRow(std::string_view text, RowId& row) {
        if (text.ends_with(".0")) text.remove_suffix(2); // an integer that passed through a table of floats
        const auto number = parseNumber<std::int64_t>(text);
        row.is_text = !number;
        row.number = number ? *number : batch_.texts.intern(text);
    }
    bool flowId(std::uint64_t& id) {
        std::string_view text;
        if (const auto letters = plainScalar()) {
            const auto plain = plainInteger(letters->data(), letters->data() + letters->size());
            if (plain) return id = static_cast<std::uint64_t>(*plain), true;
            text = *letters;
        } else if (!scalar(text)) {
            return false;
        }
        const auto number = parseNumber<std::int64_t>(text);
        id = number ? static_cast<std::uint64_t>(*number) : std::hash<std::string_view>{}(text);
        return true;
    }

    bool text(StringId& id) {
        const char* const begin = here();
        if (*begin != '"') {
            std::string_view text;
            if (!scalar(text)) return false;
            id = batch_.texts.intern(text);
            return true;
        }
        ++at_;
        const std::string_view raw = rawText(begin);
        std::uint64_t hash = raw.size();
        std::uint64_t escapes = 0;
        constexpr std::uint64_t kMix = 0x9E3779B97F4A7C15;
        std::size_t done = 0;
        for (; done + sizeof(std::uint64_t) <= raw.size(); done += sizeof(std::uint64_t)) {
            const std::uint64_t word = wordAt(raw.data() + done);
            escapes |= bytesThatAre('\\', word);
            hash = (std::rotl(hash, 5) ^ word) * kMix;
        }
        if (done < raw.size()) {
            const std::uint64_t word = wordAt(raw.data() + done) << (64 - 8 * (raw.size() - done));
            escapes |= bytesThatAre('\\', word);
            hash = (std::rotl(hash, 5) ^ word) * kMix;
        }
        id = escapes == 0 ? batch_.recent.intern(raw, hash >> 32U, batch_.texts) : batch_.texts.intern(unescaped(raw));
        return true;
    }

    /// Reads an object, and everything up to the next comma or bracket.
    bool args(Event& event) {
        const std::size_t begin = *at_;
        const bool is_object = letter() == '{';
        if (!skip()) return false;
        const std::size_t size = *at_ - begin;
        if (is_object && size > 2) {
            event.args = placeOf(begin);
            event.args_size = static_cast<std::uint32_t>(size); // entries are shorter than that
        }
        return true;
    }

    // {"local": …} or {"global": …}
    bool asyncId(Event& event) {
        if (letter() != '{') return skip();
        ++at_;
        if (accept('}')) return true;
        do {
            const Key key = keyAt(here() + 1);
            if (!accept('"') || !accept(':') || !flowId(event.id)) return false;
            event.has_global_id = key == keyOf("global");
        } while (accept(','));
        return accept('}');
    }

    const char* document_;
    std::uint64_t offset_;
    const std::uint32_t* at_;
    const std::uint32_t* end_;
    const Simdjson& simdjson_;
    std::vector<char>& unescaped_;
    EventBatch& batch_;
};

} // namespace

/// A document and its token positions.
struct EventParser::Places {
    std::unique_ptr<Simdjson> simdjson;
    std::unique_ptr<char[]> document; // NOLINT(modernize-avoid-c-arrays): "[" text "]", and room that may be read
    std::size_t room = 0;             ///< size of the document; 0 if memory ran out
    std::size_t size = 0;             ///< size of the text
    std::vector<char> unescaped;

    void expect(std::size_t bytes) {
        if (bytes <= room) return;
        const std::size_t wanted = std::max(bytes, room + room / 4);
        room = 0;                                                  // until all of it has been allocated
        document = std::make_unique_for_overwrite<char[]>(wanted); // NOLINT(modernize-avoid-c-arrays)
        constexpr std::size_t kDepth = 1;                          // for the second stage, which is not used
        const auto failed =
            simdjson == nullptr
                ? simdjson::get_active_implementation()->create_dom_parser_implementation(wanted, kDepth, simdjson)
                : simdjson->allocate(wanted, kDepth);
        if (failed != simdjson::SUCCESS) throw std::bad_alloc{};
        room = wanted;
    }
    [[nodiscard]] simdjson::error_code find() {
        return simdjson->stage1(reinterpret_cast<const std::uint8_t*>(document.get()), size + 2,
                                simdjson::stage1_mode::regular);
    }
};

namespace {

/// The memory for a small text, kept for the next parser of the thread, because allocating new pages takes as long as
/// parsing.
std::unique_ptr<EventParser::Places>& sparePlaces() {
    return perThread<std::unique_ptr<EventParser::Places>>();
}

/// Reserves room for the events of a text of this size.
void expectEvents(std::size_t text, EventBatch& batch) {
    constexpr std::size_t kUsualEvent = 200;
    if (text > 8 * kUsualEvent) batch.events.reserve(batch.events.size() + text / kUsualEvent);
}

} // namespace

EventParser::EventParser() = default;

EventParser::~EventParser() {
    constexpr std::size_t kMost = std::size_t{256} << 10;
    if (places_ == nullptr || places_->room == 0 || places_->room > kMost) return;
    try {
        std::unique_ptr<Places>& spare = sparePlaces();
        if (spare == nullptr || spare->room < places_->room) spare = std::move(places_);
    } catch (const std::bad_alloc&) {
        // Nothing is kept.
    }
}

EventParser::Places& EventParser::placesFor(std::string_view text) {
    if (places_ == nullptr) places_ = std::exchange(sparePlaces(), nullptr);
    if (places_ == nullptr) places_ = std::make_unique<Places>();
    places_->expect(text.size() + 2 + simdjson::SIMDJSON_PADDING);
    places_->size = text.size();
    return *places_;
}

/// Returns false if the text is not JSON, regardless of where its strings end.
bool EventParser::find(std::string_view text, std::uint64_t offset, TextFlaws& flaws) {
    (void)placesFor(text);
    char* const document = places_->document.get();
    document[0] = '[';
    if (!text.empty()) std::memcpy(document + 1, text.data(), text.size());
    document[text.size() + 1] = ']';
    std::memset(document + text.size() + 2, 0, simdjson::SIMDJSON_PADDING);
    const auto failed = places_->find();
    if (failed == simdjson::UTF8_ERROR || failed == simdjson::UNESCAPED_CHARS)
        return findDespiteFlaws(text, offset, flaws);
    return failed == simdjson::SUCCESS;
}

/// If texts are the only flaw, they are kept, except for bytes that are not UTF-8.
bool EventParser::findDespiteFlaws(std::string_view text, std::uint64_t offset, TextFlaws& flaws) {
    char* const document = places_->document.get();
    replaceInvalidBytes(text, offset, document, flaws);
    const std::vector<std::size_t> hidden = hideControls(text, document);
    const bool found = places_->find() == simdjson::SUCCESS;
    for (const std::size_t at : hidden) {
        document[at + 1] = text[at];
        flaws.controls.push_back(offset + at);
    }
    return found;
}

/// `whole`: the array must end where the document does.
std::optional<std::size_t> EventParser::read(std::uint64_t offset, EventBatch& batch, bool whole) {
    const std::size_t before = batch.events.size();
    expectEvents(places_->size, batch);
    const auto failed = [&] {
        batch.events.resize(before);
        return std::nullopt;
    };
    // The first letter of the document, a bracket, is not part of the text.
    EntryReader reader(places_->document.get(), offset - 1, *places_->simdjson, places_->unescaped, batch);
    std::size_t end = 0; // end of the last entry
    if (!reader.accept('[')) return failed();
    if (!reader.accept(']')) {
        do {
            if (!reader.entry()) return failed();
            end = reader.end() - 1;
        } while (reader.accept(','));
        if (!reader.accept(']')) return failed();
    }
    if (whole && !reader.atEnd()) return failed();
    return end;
}

bool EventParser::parse(std::string_view text, std::uint64_t offset, EventBatch& batch) {
    return find(text, offset, batch.flaws) && read(offset, batch, true);
}

bool EventParser::parseInPlace(std::string_view text, std::uint64_t offset, EventBatch& batch) {
    static_assert(kBehind >= simdjson::SIMDJSON_PADDING);
    Simdjson& simdjson = *placesFor(text).simdjson;
    const auto failed = simdjson.stage1(reinterpret_cast<const std::uint8_t*>(text.data()), text.size(),
                                        simdjson::stage1_mode::regular);
    if (failed == simdjson::UTF8_ERROR || failed == simdjson::UNESCAPED_CHARS) return parse(text, offset, batch);
    if (failed != simdjson::SUCCESS) return false;
    // The last token position is followed by the rest of the text, not by a 0. Repeat the last brace there: it ends at
    // most an entry without its brace, which is detected because the end is then passed.
    std::uint32_t* const end = simdjson.structural_indexes.get() + simdjson.n_structural_indexes;
    end[0] = end[1] = static_cast<std::uint32_t>(text.size() - 1);
    const std::size_t before = batch.events.size();
    expectEvents(text.size(), batch);
    EntryReader reader(text.data(), offset, simdjson, places_->unescaped, batch);
    bool whole = true;
    do
        whole = reader.entry();
    while (whole && reader.accept(','));
    if (whole && reader.atEnd()) return true;
    batch.events.resize(before);
    return false;
}

std::optional<std::size_t> EventParser::parseToEnd(std::string_view text, std::uint64_t offset, EventBatch& batch) {
    if (!find(text, offset, batch.flaws)) return std::nullopt;
    const std::optional<std::size_t> end = read(offset, batch, false);
    if (end) batch.flaws.endAt(offset + *end); // flaws after the array do not belong to the batch
    return end;
}

std::optional<std::int64_t> EventParser::integer(std::string_view text) {
    while (!text.empty() && isJsonSpace(text.back()))
        text.remove_suffix(1);
    if (text.size() >= 2 && text.front() == '"' && text.back() == '"') text = text.substr(1, text.size() - 2);
    return parseNumber<std::int64_t>(text);
}

} // namespace bubblescope::chrome
