#include "core/formats/perfetto/sequence_state.h"

#include "core/formats/perfetto/field_reader.h"
#include "core/formats/perfetto/fields.h"
#include "core/trace/args.h"

#include <fmt/format.h>

#include <cmath>
#include <string>
#include <string_view>

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

class Parser {
public:
    Parser(const SequenceState& state, TraceBuilder& builder, bool& lost)
        : state_(state), builder_(builder), lost_(lost) {}

    StoredArg arg(std::string_view message) {
        FieldReader reader(message);
        StoredArg arg;
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
                // They come one by one: the whole message is the value.
                arg.setText(builder_.intern(json(message, 0)));
                reader.skip();
                break;
            default: reader.skip();
            }
        }
        return arg;
    }

private:
    StringId known(StringId text) {
        lost_ = lost_ || text == 0;
        return text;
    }

    std::string json(std::string_view message, int depth) {
        if (depth > kDeepestArgs) return "null";
        FieldReader reader(message);
        std::string value = "null";
        std::string entries;
        std::string values;
        while (reader.next()) {
            switch (reader.tag()) {
            case annotation::kBool: value = reader.boolean() ? "true" : "false"; break;
            case annotation::kUint:
            case annotation::kPointer: value = std::to_string(reader.uint64()); break;
            case annotation::kInt: value = std::to_string(reader.int64()); break;
            case annotation::kDouble: value = number(reader.real()); break;
            case annotation::kString: value = quotedJson(reader.bytes()); break;
            case annotation::kStringIid: value = quotedJson(builder_.text(state_.argText(reader.uint64()))); break;
            case annotation::kLegacyJson: value = reader.bytes(); break;
            case annotation::kDictEntries: {
                const std::string_view entry = reader.bytes();
                entries += (entries.empty() ? "" : ", ") + quotedJson(name(entry)) + ": " + json(entry, depth + 1);
                break;
            }
            case annotation::kArrayValues:
                values += (values.empty() ? "" : ", ") + json(reader.bytes(), depth + 1);
                break;
            default: reader.skip();
            }
        }
        if (!entries.empty()) return "{" + entries + "}";
        return values.empty() ? value : "[" + values + "]";
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
};

} // namespace

StoredArg parseAnnotation(std::string_view message, const SequenceState& state, TraceBuilder& builder, bool& lost) {
    return Parser(state, builder, lost).arg(message);
}

} // namespace bubblescope::perfetto
