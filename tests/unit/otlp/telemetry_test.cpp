#include "core/otlp/telemetry.h"

#include "tests/unit/otlp/wire_message.h"

#include <gtest/gtest.h>

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

// Field numbers are those of opentelemetry-proto 1.x.

TEST(OtlpProtobuf, WritesTraces) {
    const WireMessage request(tracesRequest(example()));
    ASSERT_EQ(request.count(1), 1U);
    const WireMessage of_resource = request.message(1);
    const WireMessage resource = of_resource.message(1);
    ASSERT_EQ(resource.count(1), 2U);
    EXPECT_EQ(resource.message(1, 0).text(1), "service.name");
    EXPECT_EQ(resource.message(1, 0).message(2).text(1), "bubblescope");
    EXPECT_EQ(resource.message(1, 1).text(1), "pp.size");
    EXPECT_EQ(resource.message(1, 1).message(2).varint(3), 4U);
    const WireMessage of_scope = of_resource.message(2);
    EXPECT_EQ(of_scope.message(1).text(1), "bubblescope");
    EXPECT_EQ(of_scope.message(1).text(2), "1.2");
    ASSERT_EQ(of_scope.count(2), 1U);
    const WireMessage span = of_scope.message(2);
    EXPECT_EQ(span.text(1), "\x5b\x8e\xff\xf7\x98\x03\x81\x03\xd2\x69\xb6\x33\x81\x3f\xc6\x0c");
    EXPECT_EQ(span.text(2), "\xee\xe1\x9b\x7e\xc3\xc1\xb1\x74");
    EXPECT_EQ(span.text(4), "\xee\xe1\x9b\x7e\xc3\xc1\xb1\x73");
    EXPECT_EQ(span.text(5), "step 3");
    EXPECT_EQ(span.varint(6), 1U); // internal
    EXPECT_EQ(span.fixed(7), 1'700'000'000'000'000'000U);
    EXPECT_EQ(span.fixed(8), 1'700'000'000'250'000'000U);
    ASSERT_EQ(span.count(9), 2U);
    EXPECT_EQ(span.message(9, 0).text(1), "pp.typical");
    EXPECT_EQ(span.message(9, 0).message(2).varint(2), 1U);
    EXPECT_EQ(span.message(9, 1).text(1), "pp.bubble.ratio");
    EXPECT_EQ(span.message(9, 1).message(2).real(4), 0.25);
    EXPECT_EQ(span.message(15).text(2), "a \"quoted\" reason");
    EXPECT_EQ(span.message(15).varint(3), 2U); // error
    EXPECT_EQ(span.fields(), 10U);
}

TEST(OtlpProtobuf, RootSpansWithoutErrorHaveNoParentAndStatus) {
    Telemetry root = example();
    root.spans[0].parent.clear();
    root.spans[0].error.clear();
    const WireMessage span = WireMessage(tracesRequest(root)).message(1).message(2).message(2);
    EXPECT_EQ(span.count(4), 0U);
    EXPECT_EQ(span.count(15), 0U);
}

/// Receivers reject strings that are not UTF-8.
TEST(OtlpProtobuf, ReplacesBytesThatAreNotUtf8) {
    Telemetry odd = example();
    odd.spans[0].name = "step \xff 3 \xc3\xa9";
    EXPECT_EQ(WireMessage(tracesRequest(odd)).message(1).message(2).message(2).text(5), "step ? 3 \xc3\xa9");
}

TEST(OtlpProtobuf, WritesTotalsAndCurrentValues) {
    Telemetry both = example();
    both.metrics.push_back({"pp.empty", "No points.", "1", false, {}});
    const WireMessage of_resource = WireMessage(metricsRequest(both)).message(1);
    EXPECT_EQ(of_resource.message(1).count(1), 2U);
    const WireMessage of_scope = of_resource.message(2);
    ASSERT_EQ(of_scope.count(2), 2U);
    const WireMessage steps = of_scope.message(2, 0);
    EXPECT_EQ(steps.text(1), "pp.steps");
    EXPECT_EQ(steps.text(2), "Completed steps.");
    EXPECT_EQ(steps.text(3), "{step}");
    EXPECT_EQ(steps.count(5), 0U);
    const WireMessage sum = steps.message(7);
    EXPECT_EQ(sum.varint(2), 2U); // cumulative
    EXPECT_EQ(sum.varint(3), 1U); // monotonic
    EXPECT_EQ(sum.message(1).fixed(2), 1'700'000'000'000'000'000U);
    EXPECT_EQ(sum.message(1).fixed(3), 1'700'000'000'500'000'000U);
    EXPECT_EQ(sum.message(1).real(4), 3.0);
    const WireMessage findings = of_scope.message(2, 1);
    EXPECT_EQ(findings.text(1), "pp.findings");
    EXPECT_EQ(findings.count(7), 0U);
    const WireMessage point = findings.message(5).message(1);
    EXPECT_EQ(point.fixed(3), 1'700'000'000'500'000'000U);
    EXPECT_EQ(point.real(4), 1.5);
    EXPECT_EQ(point.message(7).text(1), "kind");
    EXPECT_EQ(point.message(7).message(2).text(1), "straggler");
    EXPECT_EQ(point.fields(), 3U);
}

TEST(OtlpIdentifier, DependsOnTheSeedOnly) {
    EXPECT_EQ(identifier("run/3", 16).size(), 32U);
    EXPECT_EQ(identifier("run/3", 8), identifier("run/3", 8));
    EXPECT_NE(identifier("run/3", 8), identifier("run/4", 8));
    EXPECT_NE(identifier("run/3", 16).substr(0, 16), identifier("run/3", 16).substr(16));
}

} // namespace
} // namespace bubblescope::otlp
