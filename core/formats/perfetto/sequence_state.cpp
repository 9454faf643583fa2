#include "core/formats/perfetto/sequence_state.h"

#include "core/formats/perfetto/field_reader.h"
#include "core/formats/perfetto/fields.h"
#include "core/trace/args.h"

#include <fmt/format.h>

#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace bubblescope::perfetto {
namespace {

void addEntry(SequenceState::Table& table, std::string_view message, TraceBuilder& builder) {
    FieldReader entry(message);
    std::uint64_t iid = 0;
    std::string_view text;
    while (entry.next()) {
        switch (entry.tag()) {
        case fields::interned::kIid: iid = entry.uint64(); break;
        case fields::interned::kText: text = entry.bytes(); break;
        default: entry.skip();
        }
    }
    table.set(iid, builder.intern(text));
}

} // namespace

void SequenceState::clear() {
    *this = SequenceState{};
    usable_ = true;
}

void SequenceState::addInterned(std::string_view message, TraceBuilder& builder) {
    FieldReader data(message);
    while (data.next()) {
        switch (data.tag()) {
        case fields::interned::kCategories: addEntry(categories_, data.bytes(), builder); break;
        case fields::interned::kNames: addEntry(names_, data.bytes(), builder); break;
        case fields::interned::kArgNames: addEntry(arg_names_, data.bytes(), builder); break;
        case fields::interned::kArgStrings: addEntry(arg_texts_, data.bytes(), builder); break;
        default: data.skip();
        }
    }
}

void SequenceState::setDefaults(std::string_view message) {
    FieldReader defaults(message);
    while (defaults.next()) {
        switch (defaults.tag()) {
        case fields::defaults::kTimestampClockId: default_clock_ = defaults.uint32(); break;
        case fields::defaults::kTrackEventDefaults: {
            FieldReader event(defaults.bytes());
            while (event.next()) {
                if (event.tag() == fields::defaults::kTrackUuid)
                    default_track_ = event.uint64();
                else
                    event.skip();
            }
            break;
        }
        default: defaults.skip();
        }
    }
}

namespace {

namespace annotation = fields::annotation;

// Deeper than any real value; a hostile file must not exhaust the stack.
constexpr int kDeepestArgs = 50;
// Names and texts are written once in the file and may be used many times. The value of an arg is cut at this length
// plus so many bytes for each of its own, so that memory grows with the file.
constexpr std::size_t kLongestJson = 1024;
constexpr std::size_t kJsonPerByte = 16;

class Parser {
public:
    Parser(const SequenceState& state, TraceBuilder& builder, bool& lost)
        : state_(state), builder_(builder), lost_(lost) {}

    StoredArg arg(std::string_view message) {
        FieldReader reader(message);
        StoredArg arg;
        bool nested = false;
        while (reader.next()) {
            switch (reader.tag()) {
            case annotation::kNameIid: arg.name = known(state_.argName(reader.uint64())); break;
            case annotation::kName: arg.name = builder_.intern(reader.bytes()); break;
            case annotation::kBool: arg.setBool(reader.boolean()); break;
            case annotation::kInt:
            case annotation::kUint:
            case annotation::kPointer: arg.setInt(reader.int64()); break;
            case annotation::kDouble: arg.setReal(reader.real()); break;
            case annotation::kString:
            case annotation::kLegacyJson: arg.setText(builder_.intern(reader.bytes())); break;
            case annotation::kStringIid: arg.setText(known(state_.argText(reader.uint64()))); break;
            case annotation::kDictEntries:
            case annotation::kArrayValues:
                nested = true; // they come one by one: the whole message is the value
                reader.skip();
                break;
            default: reader.skip();
            }
        }
        if (nested) {
            json_.clear();
            longest_ = kLongestJson + kJsonPerByte * message.size();
            addJson(message, 0);
            arg.setText(builder_.intern(json_));
        }
        return arg;
    }

private:
    StringId known(StringId text) {
        lost_ = lost_ || text == 0;
        return text;
    }

    bool full() const { return json_.size() >= longest_; }

    /// Appends text that is written elsewhere in the file, cut where the arg gets too long.
    void addText(std::string_view text) {
        const std::size_t room = full() ? 0 : longest_ - json_.size();
        json_ += text.size() <= room ? quotedJson(text) : quotedJson(std::string(text.substr(0, room)) + "…");
    }

    /// Entries of dictionaries take precedence over values of lists, those over a single value.
    void addJson(std::string_view message, int depth) {
        if (depth > kDeepestArgs || full()) {
            json_ += "null";
            return;
        }
        bool dictionary = false;
        bool list = false;
        for (FieldReader reader(message); reader.next(); reader.skip()) {
            dictionary = dictionary || reader.tag() == annotation::kDictEntries;
            list = list || reader.tag() == annotation::kArrayValues;
        }
        if (dictionary || list) {
            addEntries(message, depth, dictionary);
        } else {
            addValue(message);
        }
    }

    void addEntries(std::string_view message, int depth, bool dictionary) {
        const auto wanted = dictionary ? annotation::kDictEntries : annotation::kArrayValues;
        json_ += dictionary ? '{' : '[';
        bool first = true;
        for (FieldReader reader(message); reader.next();) {
            if (reader.tag() != wanted) {
                reader.skip();
                continue;
            }
            const std::string_view entry = reader.bytes();
            if (!std::exchange(first, false)) json_ += ", ";
            if (full()) {
                json_ += dictionary ? "\"…\": null" : "\"…\"";
                break;
            }
            if (dictionary) {
                addText(name(entry));
                json_ += ": ";
            }
            addJson(entry, depth + 1);
        }
        json_ += dictionary ? '}' : ']';
    }

    void addValue(std::string_view message) {
        std::string value = "null";
        std::optional<std::string_view> text;
        const auto set = [&](std::string latest) {
            value = std::move(latest);
            text.reset();
        };
        for (FieldReader reader(message); reader.next();) {
            switch (reader.tag()) {
            case annotation::kBool: set(reader.boolean() ? "true" : "false"); break;
            case annotation::kUint:
            case annotation::kPointer: set(std::to_string(reader.uint64())); break;
            case annotation::kInt: set(std::to_string(reader.int64())); break;
            case annotation::kDouble: set(number(reader.real())); break;
            case annotation::kString: text = reader.bytes(); break;
            case annotation::kStringIid: text = builder_.text(state_.argText(reader.uint64())); break;
            case annotation::kLegacyJson: set(std::string(reader.bytes())); break;
            default: reader.skip();
            }
        }
        if (text)
            addText(*text);
        else
            json_ += value;
    }

    static std::string number(double value) {
        const std::string text = fmt::format("{}", value);
        return std::isfinite(value) ? text : quotedJson(text);
    }

    std::string name(std::string_view message) {
        FieldReader reader(message);
        std::string out;
        while (reader.next()) {
            switch (reader.tag()) {
            case annotation::kNameIid: out = builder_.text(known(state_.argName(reader.uint64()))); break;
            case annotation::kName: out = reader.bytes(); break;
            default: reader.skip();
            }
        }
        return out;
    }

    const SequenceState& state_;
    TraceBuilder& builder_;
    bool& lost_;
    std::string json_;
    std::size_t longest_ = 0; ///< of it, about
};

} // namespace

StoredArg parseAnnotation(std::string_view message, const SequenceState& state, TraceBuilder& builder, bool& lost) {
    return Parser(state, builder, lost).arg(message);
}

} // namespace bubblescope::perfetto
