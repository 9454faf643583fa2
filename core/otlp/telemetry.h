#pragma once

#include "core/base/time.h"
#include "core/report/value.h"

#include <string>
#include <string_view>
#include <vector>

/// The part of OpenTelemetry's data model used for steps and findings, in the protobuf encoding of its protocol (OTLP
/// 1.x).
namespace bubblescope::otlp {

using Attributes = report::Value::Object; ///< values are strings, integers, numbers or booleans

/// An activity with a start and an end. Times are relative to 1970-01-01 UTC.
struct Span {
    std::string trace;  ///< 32 hexadecimal digits
    std::string id;     ///< 16 hexadecimal digits
    std::string parent; ///< 16 hexadecimal digits; empty for the root span of a trace
    std::string name;
    TimeNs begin{0};
    TimeNs end{0};
    Attributes attributes;
    std::string error; ///< if not empty, the span's status is an error with this message
};

struct Point {
    double value = 0;
    Attributes attributes;
};

/// A named number. Totals count from `Telemetry::began`; other metrics are current values.
struct Metric {
    std::string name;
    std::string description;
    std::string unit; ///< UCUM unit: "s", "1", "{step}"
    bool total = false;
    std::vector<Point> points;
};

struct Telemetry {
    std::string version; ///< of this program
    Attributes resource; ///< describes the run
    TimeNs began{0};
    TimeNs now{0}; ///< time of the metrics' current values
    std::vector<Span> spans;
    std::vector<Metric> metrics;
};

/// Request bodies for /v1/traces and /v1/metrics: ExportTraceServiceRequest and ExportMetricsServiceRequest. Bytes that
/// are not UTF-8 become '?', because receivers reject them.
[[nodiscard]] std::string tracesRequest(const Telemetry& telemetry);
[[nodiscard]] std::string metricsRequest(const Telemetry& telemetry);

/// Identifier of a span or a trace with up to 16 `bytes`; depends only on the seed and is never all zeros.
[[nodiscard]] std::string identifier(std::string_view seed, int bytes);

/// The current time since 1970-01-01 UTC.
[[nodiscard]] TimeNs utcNow();

} // namespace bubblescope::otlp
