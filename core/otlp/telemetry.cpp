#include "core/otlp/telemetry.h"

#include "core/base/text.h"

#include <fmt/format.h>
#include <protozero/pbf_writer.hpp>

#include <chrono>
#include <cstdint>
#include <type_traits>

namespace bubblescope::otlp {
namespace {

using protozero::pbf_writer;
using Tag = protozero::pbf_tag_type;

// Field numbers of the messages in opentelemetry-proto. Both requests, ResourceSpans and ResourceMetrics, and
// ScopeSpans and ScopeMetrics have the same numbers.
namespace request_field {
constexpr Tag kResources = 1;
constexpr Tag kResource = 1;
constexpr Tag kResourceAttributes = 1;
constexpr Tag kScopes = 2;
constexpr Tag kScope = 1;
constexpr Tag kScopeName = 1;
constexpr Tag kScopeVersion = 2;
constexpr Tag kItems = 2;
} // namespace request_field
namespace attribute_field {
constexpr Tag kKey = 1;
constexpr Tag kValue = 2;
constexpr Tag kString = 1;
constexpr Tag kBool = 2;
constexpr Tag kInt = 3;
constexpr Tag kDouble = 4;
} // namespace attribute_field
namespace span_field {
constexpr Tag kTrace = 1;
constexpr Tag kId = 2;
constexpr Tag kParent = 4;
constexpr Tag kName = 5;
constexpr Tag kKind = 6;
constexpr Tag kBegin = 7;
constexpr Tag kEnd = 8;
constexpr Tag kAttributes = 9;
constexpr Tag kStatus = 15;
constexpr Tag kStatusMessage = 2;
constexpr Tag kStatusCode = 3;
} // namespace span_field
namespace metric_field {
constexpr Tag kName = 1;
constexpr Tag kDescription = 2;
constexpr Tag kUnit = 3;
constexpr Tag kGauge = 5;
constexpr Tag kSum = 7;
constexpr Tag kPoints = 1; // of a gauge or a sum
constexpr Tag kTemporality = 2;
constexpr Tag kMonotonic = 3;
constexpr Tag kPointBegin = 2;
constexpr Tag kPointTime = 3;
constexpr Tag kPointDouble = 4;
constexpr Tag kPointAttributes = 7;
} // namespace metric_field

void addText(pbf_writer& to, Tag tag, std::string text) {
    replaceInvalidUtf8(text.data(), text.size());
    to.add_string(tag, text);
}

void addTime(pbf_writer& to, Tag tag, TimeNs time) {
    to.add_fixed64(tag, static_cast<std::uint64_t>(time.count()));
}

/// Adds the bytes of an identifier.
void addIdentifier(pbf_writer& to, Tag tag, std::string_view digits) {
    std::string bytes;
    for (; digits.size() >= 2; digits.remove_prefix(2))
        bytes += static_cast<char>(parseNumber<std::uint8_t>(digits.substr(0, 2), 16).value_or(0));
    to.add_bytes(tag, bytes);
}

void addAttributes(pbf_writer& to, Tag tag, const Attributes& attributes) {
    for (const report::Member& member : attributes) {
        pbf_writer added(to, tag);
        addText(added, attribute_field::kKey, member.key);
        pbf_writer value(added, attribute_field::kValue);
        member.value.visit([&](const auto& data) {
            using Data = std::decay_t<decltype(data)>;
            if constexpr (std::is_same_v<Data, bool>)
                value.add_bool(attribute_field::kBool, data);
            else if constexpr (std::is_same_v<Data, std::int64_t>)
                value.add_int64(attribute_field::kInt, data);
            else if constexpr (std::is_same_v<Data, double>)
                value.add_double(attribute_field::kDouble, data);
            else
                addText(value, attribute_field::kString, member.value.text());
        });
    }
}

void addSpan(pbf_writer& to, const Span& span) {
    constexpr int kInternal = 1;
    constexpr int kError = 2;
    pbf_writer added(to, request_field::kItems);
    addIdentifier(added, span_field::kTrace, span.trace);
    addIdentifier(added, span_field::kId, span.id);
    if (!span.parent.empty()) addIdentifier(added, span_field::kParent, span.parent);
    addText(added, span_field::kName, span.name);
    added.add_enum(span_field::kKind, kInternal);
    addTime(added, span_field::kBegin, span.begin);
    addTime(added, span_field::kEnd, span.end);
    addAttributes(added, span_field::kAttributes, span.attributes);
    if (span.error.empty()) return;
    pbf_writer status(added, span_field::kStatus);
    addText(status, span_field::kStatusMessage, span.error);
    status.add_enum(span_field::kStatusCode, kError);
}

void addMetric(pbf_writer& to, const Metric& metric, const Telemetry& telemetry) {
    constexpr int kCumulative = 2;
    if (metric.points.empty()) return;
    pbf_writer added(to, request_field::kItems);
    addText(added, metric_field::kName, metric.name);
    addText(added, metric_field::kDescription, metric.description);
    addText(added, metric_field::kUnit, metric.unit);
    pbf_writer data(added, metric.total ? metric_field::kSum : metric_field::kGauge);
    for (const Point& point : metric.points) {
        pbf_writer each(data, metric_field::kPoints);
        if (metric.total) addTime(each, metric_field::kPointBegin, telemetry.began);
        addTime(each, metric_field::kPointTime, telemetry.now);
        each.add_double(metric_field::kPointDouble, point.value);
        addAttributes(each, metric_field::kPointAttributes, point.attributes);
    }
    if (!metric.total) return;
    data.add_enum(metric_field::kTemporality, kCumulative);
    data.add_bool(metric_field::kMonotonic, true);
}

template <class AddItems>
std::string requestOf(const Telemetry& telemetry, const AddItems& add_items) {
    std::string bytes;
    pbf_writer all(bytes);
    pbf_writer of_resource(all, request_field::kResources);
    {
        pbf_writer resource(of_resource, request_field::kResource);
        addAttributes(resource, request_field::kResourceAttributes, telemetry.resource);
    }
    pbf_writer of_scope(of_resource, request_field::kScopes);
    {
        pbf_writer scope(of_scope, request_field::kScope);
        scope.add_string(request_field::kScopeName, "bubblescope");
        addText(scope, request_field::kScopeVersion, telemetry.version);
    }
    add_items(of_scope);
    of_scope.commit();
    of_resource.commit();
    return bytes;
}

} // namespace

std::string tracesRequest(const Telemetry& telemetry) {
    return requestOf(telemetry, [&](pbf_writer& to) {
        for (const Span& span : telemetry.spans)
            addSpan(to, span);
    });
}

std::string metricsRequest(const Telemetry& telemetry) {
    return requestOf(telemetry, [&](pbf_writer& to) {
        for (const Metric& metric : telemetry.metrics)
            addMetric(to, metric, telemetry);
    });
}

std::string identifier(std::string_view seed, int bytes) {
    // FNV-1a, once per eight bytes.
    std::string digits;
    for (std::uint64_t part = 0; digits.size() < static_cast<std::size_t>(2 * bytes); ++part) {
        std::uint64_t hash = 0xcbf29ce484222325U ^ part;
        for (const char c : seed)
            hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
        digits += fmt::format("{:016x}", hash == 0 ? 1 : hash);
    }
    digits.resize(static_cast<std::size_t>(2 * bytes));
    return digits;
}

TimeNs utcNow() {
    return std::chrono::duration_cast<TimeNs>(std::chrono::system_clock::now().time_since_epoch());
}

} // namespace bubblescope::otlp
