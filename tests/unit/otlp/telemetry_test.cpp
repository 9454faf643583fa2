#include "core/otlp/telemetry.h"

#include <gtest/gtest.h>

#include <string>

namespace bubblescope::otlp {
namespace {

Telemetry example() {
    Telemetry made;
    made.version = "1.2";
    made.resource = {{"service.name", "bubblescope"}, {"pp.size", 4}};
    made.began = TimeNs{1'700'000'000'000'000'000};
    made.now = TimeNs{1'700'000'000'500'000'000};
    Span span;
    span.trace = "5b8efff798038103d269b633813fc60c";
    span.id = "eee19b7ec3c1b174";
    span.parent = "eee19b7ec3c1b173";
    span.name = "step 3";
    span.begin = TimeNs{1'700'000'000'000'000'000};
    span.end = TimeNs{1'700'000'000'250'000'000};
    span.attributes = {{"pp.typical", true}, {"pp.bubble.ratio", 0.25}};
    span.error = "a \"quoted\" reason";
    made.spans.push_back(span);
    made.metrics.push_back({"pp.steps", "Completed steps.", "{step}", true, {{3, {}}}});
    made.metrics.push_back({"pp.findings", "Findings.", "{finding}", false, {{1.5, {{"kind", "straggler"}}}}});
    return made;
}

/// As the protocol's examples (opentelemetry-proto, examples/trace.json) write it: identifiers in hexadecimal digits,
/// 64-bit integers as strings, enumerations as numbers.
TEST(OtlpJson, WritesTraces) {
    EXPECT_EQ(
        tracesJson(example()),
        R"({"resourceSpans":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"bubblescope"}},)"
        R"({"key":"pp.size","value":{"intValue":"4"}}]},"scopeSpans":[{"scope":{"name":"bubblescope","version":"1.2"},)"
        R"("spans":[{"traceId":"5b8efff798038103d269b633813fc60c","spanId":"eee19b7ec3c1b174",)"
        R"("parentSpanId":"eee19b7ec3c1b173","name":"step 3","kind":1,"startTimeUnixNano":"1700000000000000000",)"
        R"("endTimeUnixNano":"1700000000250000000","attributes":[{"key":"pp.typical","value":{"boolValue":true}},)"
        R"({"key":"pp.bubble.ratio","value":{"doubleValue":0.25}}],)"
        R"("status":{"message":"a \"quoted\" reason","code":2}}]}]}]})");
}

TEST(OtlpJson, WritesTotalsAndCurrentValues) {
    EXPECT_EQ(
        metricsJson(example()),
        R"({"resourceMetrics":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"bubblescope"}},)"
        R"({"key":"pp.size","value":{"intValue":"4"}}]},"scopeMetrics":[{"scope":{"name":"bubblescope","version":"1.2"},)"
        R"("metrics":[{"name":"pp.steps","description":"Completed steps.","unit":"{step}","sum":{"dataPoints":)"
        R"([{"attributes":[],"startTimeUnixNano":"1700000000000000000","timeUnixNano":"1700000000500000000","asDouble":3.0}],)"
        R"("aggregationTemporality":2,"isMonotonic":true}},{"name":"pp.findings","description":"Findings.",)"
        R"("unit":"{finding}","gauge":{"dataPoints":[{"attributes":[{"key":"kind","value":{"stringValue":"straggler"}}],)"
        R"("timeUnixNano":"1700000000500000000","asDouble":1.5}]}}]}]}]})");
}

TEST(OtlpIdentifier, DependsOnTheSeedOnly) {
    EXPECT_EQ(identifier("run/3", 16).size(), 32U);
    EXPECT_EQ(identifier("run/3", 8), identifier("run/3", 8));
    EXPECT_NE(identifier("run/3", 8), identifier("run/4", 8));
    EXPECT_NE(identifier("run/3", 16).substr(0, 16), identifier("run/3", 16).substr(16));
}

} // namespace
} // namespace bubblescope::otlp
