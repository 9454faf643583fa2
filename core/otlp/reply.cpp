#include "core/otlp/reply.h"

#include "core/base/text.h"
#include "core/base/visible.h"

#include <nlohmann/json.hpp>

#include <fmt/format.h>
#include <protozero/exception.hpp>
#include <protozero/pbf_reader.hpp>

#include <algorithm>
#include <ctime>
#include <iomanip>
#include <locale>
#include <sstream>
#include <utility>

namespace bubblescope::otlp {
namespace {

using std::chrono::seconds;

std::string shown(std::string_view text) {
    constexpr std::size_t kLongest = 300;
    text = trimmed(text);
    if (text.size() <= kLongest) return visible(text);
    std::size_t end = kLongest;
    while (end > 0 && continuesCodePoint(text[end]))
        --end;
    return visible(text.substr(0, end)) + "…";
}

/// Removes a line, and its end, from the front of `rest`; none if it is incomplete.
std::optional<std::string_view> takeLine(std::string_view& rest) {
    const std::size_t end = rest.find('\n');
    if (end == std::string_view::npos) return {};
    std::string_view line = rest.substr(0, end);
    rest.remove_prefix(end + 1);
    if (line.ends_with('\r')) line.remove_suffix(1);
    return line;
}

struct Head {
    Reply reply;
    std::optional<std::size_t> length;
    bool chunked = false;
};

void readField(std::string_view line, Head& head) {
    const std::size_t colon = std::min(line.find(':'), line.size());
    const std::string name = lowerCase(line.substr(0, colon));
    const std::string_view value = trimmed(line.substr(std::min(colon + 1, line.size())));
    if (name == "content-length") head.length = parseNumber<std::size_t>(value);
    if (name == "transfer-encoding") head.chunked = lowerCase(value).ends_with("chunked");
    if (name == "content-type") head.reply.type = lowerCase(trimmed(value.substr(0, value.find(';'))));
    if (name == "retry-after") head.reply.retry_after = std::string(value);
}

/// Removes a status line and header from the front of `rest`; none if they are incomplete.
std::optional<Head> takeHead(std::string_view& rest) {
    constexpr std::string_view kHttp = "HTTP/1.";
    Head head;
    if (!kHttp.starts_with(rest.substr(0, kHttp.size()))) return head;
    const std::optional<std::string_view> line = takeLine(rest);
    if (!line) return {};
    const std::string_view status = trimmed(line->substr(std::min(line->find(' '), line->size())));
    const int code = wholeNumber(status.substr(0, 3)).value_or(0);
    if (code < 100) return head;
    head.reply.code = code;
    head.reply.status = shown(status);
    while (const std::optional<std::string_view> field = takeLine(rest)) {
        if (field->empty()) return head;
        readField(*field, head);
    }
    return {};
}

/// The body in these chunks; none if it is incomplete, empty if it is corrupt.
std::optional<std::string> joinChunks(std::string_view rest) {
    std::string body;
    while (const std::optional<std::string_view> line = takeLine(rest)) {
        const auto size = parseNumber<std::size_t>(trimmed(line->substr(0, line->find(';'))), 16);
        if (!size) return "";
        if (*size == 0) {
            while (const std::optional<std::string_view> trailer = takeLine(rest))
                if (trailer->empty()) return body;
            return {};
        }
        if (rest.size() < *size) return {};
        body += rest.substr(0, *size);
        rest.remove_prefix(*size);
        const std::optional<std::string_view> end = takeLine(rest);
        if (!end) return {};
        if (!end->empty()) return "";
    }
    return {};
}

std::optional<std::string> bodyOf(const Head& head, std::string_view rest, bool ended) {
    constexpr int kNoContent = 204;
    if (head.reply.code == kNoContent) return "";
    if (head.chunked) return joinChunks(rest);
    if (head.length) rest = rest.substr(0, *head.length);
    const bool complete = head.length ? rest.size() == *head.length : ended;
    if (!complete) return {};
    return std::string(rest);
}

bool isProtobuf(const Reply& reply) {
    return reply.type == "application/x-protobuf" || reply.type == "application/protobuf";
}

/// The part of an Export…ServiceResponse on items that were not stored.
struct PartialSuccess {
    std::int64_t rejected = 0;
    std::string message;
};

PartialSuccess partialFromProtobuf(std::string_view body) {
    using protozero::pbf_wire_type;
    PartialSuccess made;
    protozero::pbf_reader response(body.data(), body.size());
    while (response.next(1, pbf_wire_type::length_delimited)) {
        protozero::pbf_reader partial = response.get_message();
        while (partial.next()) {
            switch (partial.tag_and_type()) {
            case protozero::tag_and_type(1, pbf_wire_type::varint): made.rejected = partial.get_int64(); break;
            case protozero::tag_and_type(2, pbf_wire_type::length_delimited):
                made.message = partial.get_string();
                break;
            default: partial.skip();
            }
        }
    }
    return made;
}

PartialSuccess partialFromJson(std::string_view body, Signal signal) {
    const auto document = nlohmann::json::parse(body, nullptr, false);
    if (!document.is_object() || !document.contains("partialSuccess")) return {};
    const auto& partial = document["partialSuccess"];
    if (!partial.is_object()) return {};
    PartialSuccess made;
    const auto number = partial.find(signal == Signal::Traces ? "rejectedSpans" : "rejectedDataPoints");
    if (number != partial.end()) {
        // 64-bit integers are strings in protobuf's JSON.
        if (number->is_string())
            made.rejected = parseNumber<std::int64_t>(number->get_ref<const std::string&>()).value_or(0);
        if (number->is_number_integer()) made.rejected = number->get<std::int64_t>();
    }
    const auto message = partial.find("errorMessage");
    if (message != partial.end() && message->is_string()) made.message = message->get<std::string>();
    return made;
}

/// Corrupt details of a success are ignored.
PartialSuccess partialSuccess(const Reply& reply, Signal signal) {
    if (!isProtobuf(reply)) return partialFromJson(reply.body, signal);
    try {
        return partialFromProtobuf(reply.body);
    } catch (const protozero::exception&) {
        return {};
    }
}

/// Field `message` of google.rpc.Status.
std::string messageFromProtobuf(std::string_view body) {
    std::string message;
    try {
        protozero::pbf_reader status(body.data(), body.size());
        while (status.next(2, protozero::pbf_wire_type::length_delimited))
            message = status.get_string();
    } catch (const protozero::exception&) {
        return "";
    }
    return message;
}

/// Status as JSON; frameworks of web servers use other names for the message.
std::string messageFromText(std::string_view body) {
    const auto document = nlohmann::json::parse(body, nullptr, false);
    for (const char* const name : {"message", "detail", "error"}) {
        if (!document.is_object() || !document.contains(name) || !document[name].is_string()) continue;
        return document[name].get<std::string>();
    }
    return std::string(body);
}

/// The collector's explanation of an error; may be empty.
std::string explanation(const Reply& reply) {
    if (isProtobuf(reply)) return shown(messageFromProtobuf(reply.body));
    if (reply.type == "text/html") return "";
    return shown(messageFromText(reply.body));
}

/// Value of Retry-After: a number of seconds, or a date such as "Sun, 06 Nov 1994 08:49:37 GMT".
std::optional<seconds> pauseOf(const std::string& text, TimeNs now) {
    constexpr seconds kLongest = std::chrono::hours(24);
    if (text.empty()) return {};
    std::optional<seconds> pause;
    if (const auto number = parseNumber<std::int64_t>(std::string_view(text))) {
        pause = seconds(*number);
    } else {
        std::tm date{};
        std::istringstream stream(text);
        stream.imbue(std::locale::classic());
        stream >> std::get_time(&date, "%a, %d %b %Y %H:%M:%S");
        if (stream.fail()) return {};
        pause = seconds(::timegm(&date)) - std::chrono::floor<seconds>(now);
    }
    return std::clamp(*pause, seconds(0), kLongest);
}

} // namespace

std::optional<Reply> readReply(std::string_view bytes, bool ended) {
    std::optional<Head> head = takeHead(bytes);
    while (head && head->reply.code / 100 == 1)
        head = takeHead(bytes);
    if (!head) return {};
    if (head->reply.code == 0) return Reply{};
    std::optional<std::string> body = bodyOf(*head, bytes, ended);
    if (!body && !ended) return {};
    head->reply.body = std::move(body).value_or("");
    return std::move(head->reply);
}

Verdict judge(const Reply& reply, Signal signal, TimeNs now) {
    const bool traces = signal == Signal::Traces;
    Verdict made;
    made.code = reply.code;
    if (reply.code == 0) {
        made.reason = "does not speak HTTP";
    } else if (reply.code / 100 == 2) {
        const PartialSuccess partial = partialSuccess(reply, signal);
        const std::string message = shown(partial.message);
        made.taken = partial.rejected <= 0;
        if (!made.taken)
            made.reason =
                fmt::format("rejected {}{}{}",
                            pluralize(static_cast<std::size_t>(partial.rejected), traces ? "span" : "data point"),
                            message.empty() ? "" : ": ", message);
        else if (!message.empty())
            made.reason = fmt::format("accepted the data with a warning: {}", message);
    } else {
        const std::string message = explanation(reply);
        made.reason = fmt::format("answered \"{}\" to {}{}{}", reply.status, traces ? "traces" : "metrics",
                                  message.empty() ? "" : ": ", message);
        made.again = reply.code == 429 || reply.code == 502 || reply.code == 503 || reply.code == 504;
        if (made.again) made.pause = pauseOf(reply.retry_after, now);
    }
    return made;
}

} // namespace bubblescope::otlp
