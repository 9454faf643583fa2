#pragma once

#include "core/analysis/model_use.h"
#include "core/analysis/report.h"
#include "core/live/live_analyzer.h"
#include "core/otlp/telemetry.h"

#include <optional>
#include <span>
#include <string>

/// Steps and findings as OpenTelemetry's spans and metrics. Every step is a trace of its own, whose findings are child
/// spans.
namespace bubblescope::telemetry {

/// All steps of an analysed run, the ranks of its typical step, the findings, and metrics of the typical step. A
/// trace's clock need not be the time of day, so its last step is placed to end `now`; an attribute of the resource
/// states this. `name` distinguishes runs: the same name and run give the same identifiers.
[[nodiscard]] otlp::Telemetry ofReport(const Run& run, const RunReport& report, const std::optional<ModelUse>& use,
                                       const std::string& name, TimeNs now);

/// Follows a live view.
class LiveTelemetry {
public:
    LiveTelemetry(std::string name, TimeNs began) : name_(std::move(name)), began_(began) {}

    /// The steps and findings among these events, which happened just before `now`, and the state of the view.
    [[nodiscard]] otlp::Telemetry of(std::span<const live::LiveEvent> events, const live::LiveAnalyzer& analyzer,
                                     TimeNs now) const;

private:
    std::string name_;
    TimeNs began_;
};

} // namespace bubblescope::telemetry
