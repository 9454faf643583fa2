#include "core/otlp/telemetry.h"

#include "core/report/json.h"

#include <fmt/format.h>

#include <chrono>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace bubblescope::otlp {
namespace {

using report::Value;

/// 64-bit integers are strings in protobuf's JSON.
std::string wide(TimeNs time) {
    return std::to_string(time.count());
}

Value anyValue(const Value& value) {
    return value.visit([&value](const auto& data) -> Value {
        using Data = std::decay_t<decltype(data)>;
        if constexpr (std::is_same_v<Data, bool>) return Value::Object{{"boolValue", data}};
        if constexpr (std::is_same_v<Data, std::int64_t>) return Value::Object{{"intValue", std::to_string(data)}};
        if constexpr (std::is_same_v<Data, double>) return Value::Object{{"doubleValue", data}};
        return Value::Object{{"stringValue", value}};
    });
}

Value::List keyValues(const Attributes& attributes) {
    Value::List list;
    for (const report::Member& member : attributes)
        list.emplace_back(Value::Object{{"key", member.key}, {"value", anyValue(member.value)}});
    return list;
}

Value spanValue(const Span& span) {
    constexpr int kInternal = 1;
    constexpr int kError = 2;
    Value::Object made{{"traceId", span.trace}, {"spanId", span.id}};
    if (!span.parent.empty()) made.push_back({"parentSpanId", span.parent});
    made.push_back({"name", span.name});
    made.push_back({"kind", kInternal});
    made.push_back({"startTimeUnixNano", wide(span.begin)});
    made.push_back({"endTimeUnixNano", wide(span.end)});
    made.push_back({"attributes", keyValues(span.attributes)});
    if (!span.error.empty()) made.push_back({"status", Value::Object{{"message", span.error}, {"code", kError}}});
    return made;
}

Value metricValue(const Metric& metric, const Telemetry& telemetry) {
    constexpr int kCumulative = 2;
    Value::List points;
    for (const Point& point : metric.points) {
        Value::Object made{{"attributes", keyValues(point.attributes)}};
        if (metric.total) made.push_back({"startTimeUnixNano", wide(telemetry.began)});
        made.push_back({"timeUnixNano", wide(telemetry.now)});
        made.push_back({"asDouble", point.value});
        points.emplace_back(std::move(made));
    }
    Value::Object data{{"dataPoints", std::move(points)}};
    if (metric.total) {
        data.push_back({"aggregationTemporality", kCumulative});
        data.push_back({"isMonotonic", true});
    }
    return Value::Object{{"name", metric.name},
                         {"description", metric.description},
                         {"unit", metric.unit},
                         {metric.total ? "sum" : "gauge", std::move(data)}};
}

/// `{"resourceSpans": [{"resource": …, "scopeSpans": [{"scope": …, "spans": items}]}]}`, or the same of metrics.
std::string request(std::string_view kind, std::string_view items_name, Value::List items, const Telemetry& telemetry) {
    Value::Object scoped{{"scope", Value::Object{{"name", "bubblescope"}, {"version", telemetry.version}}},
                         {std::string(items_name), std::move(items)}};
    Value::Object of_resource{{"resource", Value::Object{{"attributes", keyValues(telemetry.resource)}}},
                              {fmt::format("scope{}", kind), Value::List{Value(std::move(scoped))}}};
    const Value document = Value::Object{{fmt::format("resource{}", kind), Value::List{Value(std::move(of_resource))}}};
    return report::toJson(document, report::JsonLayout::OneLine);
}

} // namespace

std::string tracesJson(const Telemetry& telemetry) {
    Value::List spans;
    for (const Span& span : telemetry.spans)
        spans.push_back(spanValue(span));
    return request("Spans", "spans", std::move(spans), telemetry);
}

std::string metricsJson(const Telemetry& telemetry) {
    Value::List metrics;
    for (const Metric& metric : telemetry.metrics)
        metrics.push_back(metricValue(metric, telemetry));
    return request("Metrics", "metrics", std::move(metrics), telemetry);
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
