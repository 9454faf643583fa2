#include "core/formats/perfetto/event_args.h"

#include "core/formats/perfetto/field_reader.h"
#include "core/formats/perfetto/fields.h"
#include "core/formats/perfetto/packet.h"

#include <fmt/format.h>
#include <protozero/exception.hpp>

#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace bubblescope::perfetto {
namespace {

namespace annotation = fields::annotation;

// Deeper than any real value, but limited, because a hostile file must not exhaust the stack.
constexpr int kDeepestArgs = 50;
// Names and texts are written once in the file and may be used many times. The value of an arg is truncated at this
// length plus some bytes for each byte of its own, so that memory grows with the file.
constexpr std::size_t kLongestJson = 1024;
constexpr std::size_t kJsonPerByte = 16;

std::string numberText(double value) {
    const std::string text = fmt::format("{}", value);
    return std::isfinite(value) ? text : quotedJson(text);
}

} // namespace

void ArgTexts::setName(std::uint64_t iid, std::string_view text) {
    names_.set(iid, std::string(text));
    if (iid >= PlainAnnotation::kNames) return;
    const std::uint64_t bit = std::uint64_t{1} << iid;
    known_names_ = text.empty() ? known_names_ & ~bit : known_names_ | bit;
}

std::string_view AnnotationReader::known(std::string_view text) {
    lost_ = lost_ || text.empty();
    return text;
}

ArgView AnnotationReader::read(std::string_view message) {
    struct Texts {
        AnnotationReader& reader;

        std::string_view name(std::uint64_t number) const { return reader.known(reader.texts_.name(number)); }
        std::string_view name(std::string_view text) const { return text; }
        std::string_view text(std::uint64_t number) const { return reader.known(reader.texts_.text(number)); }
        std::string_view text(std::string_view text) const { return text; }
    };
    ArgView arg{{}, std::int64_t{0}};
    lost_ = false;
    if (!readAnnotation(message, Texts{*this}, arg)) {
        json_.clear();
        longest_ = kLongestJson + kJsonPerByte * message.size();
        addJson(message, 0);
        arg.value = std::string_view(json_);
    }
    return arg;
}

/// Appends text from elsewhere in the file, truncated if the arg gets too long.
void AnnotationReader::addText(std::string_view text) {
    const std::size_t room = full() ? 0 : longest_ - json_.size();
    json_ += text.size() <= room ? quotedJson(text) : quotedJson(std::string(text.substr(0, room)) + "…");
}

/// Entries of dictionaries take precedence over list values, which take precedence over a single value.
void AnnotationReader::addJson(std::string_view message, int depth) {
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

void AnnotationReader::addEntries(std::string_view message, int depth, bool dictionary) {
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
            addText(nameOf(entry));
            json_ += ": ";
        }
        addJson(entry, depth + 1);
    }
    json_ += dictionary ? '}' : ']';
}

void AnnotationReader::addValue(std::string_view message) {
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
        case annotation::kDouble: set(numberText(reader.real())); break;
        case annotation::kString: text = reader.bytes(); break;
        case annotation::kStringIid: text = texts_.text(reader.uint64()); break;
        case annotation::kLegacyJson: set(std::string(reader.bytes())); break;
        default: reader.skip();
        }
    }
    if (text)
        addText(*text);
    else
        json_ += value;
}

std::string_view AnnotationReader::nameOf(std::string_view message) {
    FieldReader reader(message);
    std::string_view name;
    while (reader.next()) {
        switch (reader.tag()) {
        case annotation::kNameIid: name = known(texts_.name(reader.uint64())); break;
        case annotation::kName: name = reader.bytes(); break;
        default: reader.skip();
        }
    }
    return name;
}

void EventArgs::visit(std::string_view text, std::uint64_t offset, const ArgVisit& visit) const {
    // The file may have been truncated or changed since it was loaded.
    try {
        auto at = static_cast<std::size_t>(offset);
        std::string_view body;
        if (takeFrame(text, at, body)) return;
        std::string_view event;
        for (FieldReader packet(body); packet.next();) {
            if (packet.tag() == fields::packet::kTrackEvent)
                event = packet.bytes();
            else
                packet.skip();
        }
        AnnotationReader annotations(*texts_);
        for (FieldReader reader(event); reader.next();) {
            if (reader.tag() != fields::event::kDebugAnnotations)
                reader.skip();
            else if (!visit(annotations.read(reader.bytes())))
                return;
        }
    } catch (const protozero::exception&) {
    }
}

} // namespace bubblescope::perfetto
