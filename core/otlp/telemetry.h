#pragma once

#include "core/base/time.h"
#include "core/report/value.h"

#include <string>
#include <string_view>
#include <vector>

/// OpenTelemetry's data model, as far as steps and findings need it, in the JSON encoding of its protocol (OTLP 1.x).
namespace bubblescope::otlp {

using Attributes = report::Value::Object; ///< values are strings, integers, numbers or booleans

/// Something that happened from one time to another. Times are since 1970, UTC.
struct Span {
    std::string trace;  ///< 32 hexadecimal digits
    std::string id;     ///< 16 hexadecimal digits
    std::string parent; ///< 16 hexadecimal digits; empty for the first span of a trace
    std::string name;
    TimeNs begin{0};
    TimeNs end{0};
    Attributes attributes;
    std::string error; ///< not empty: the span's status is an error with this message
};

struct Point {
    double value = 0;
    Attributes attributes;
};

/// A number with a name. A total counts from `Telemetry::began` on; other metrics are current values.
struct Metric {
    std::string name;
    std::string description;
    std::string unit; ///< in UCUM: "s", "1", "{step}"
    bool total = false;
    std::vector<Point> points;
};

struct Telemetry {
    std::string version; ///< of this program
    Attributes resource; ///< describes the run
    TimeNs began{0};
    TimeNs now{0}; ///< time of the metrics' values
    std::vector<Span> spans;
    std::vector<Metric> metrics;
};

/// Bodies of requests for /v1/traces and /v1/metrics.
[[nodiscard]] std::string tracesJson(const Telemetry& telemetry);
[[nodiscard]] std::string metricsJson(const Telemetry& telemetry);

/// The name of a span or a trace, with `bytes` of up to 16: the same for the same seed, never all zeros.
[[nodiscard]] std::string identifier(std::string_view seed, int bytes);

/// The current time since 1970, UTC.
[[nodiscard]] TimeNs utcNow();

} // namespace bubblescope::otlp
