#pragma once

#include "core/analysis/model_use.h"
#include "core/analysis/report.h"
#include "core/live/live_analyzer.h"
#include "core/otlp/telemetry.h"

#include <optional>
#include <span>
#include <string>

/// Steps and findings as spans and metrics of OpenTelemetry. Every step is a separate trace, whose findings are child
/// spans.
namespace bubblescope::telemetry {

/// All steps of an analysed run, the ranks of its typical step, its findings, and metrics of its typical step. A
/// trace's clock may differ from the time of day. Therefore, all times are shifted so that the last step ends at `now`;
/// a resource attribute records this. `name` distinguishes runs: the same name and run give the same identifiers.
[[nodiscard]] otlp::Telemetry ofReport(const Run& run, const RunReport& report, const std::optional<ModelUse>& use,
                                       const std::string& name, TimeNs now);

/// Converts events of a live view to telemetry.
class LiveTelemetry {
public:
    LiveTelemetry(std::string name, TimeNs began) : name_(std::move(name)), began_(began) {}

    /// The steps and findings in these events, which occurred just before `now`, and the state of the view.
    [[nodiscard]] otlp::Telemetry of(std::span<const live::LiveEvent> events, const live::LiveAnalyzer& analyzer,
                                     TimeNs now) const;

private:
    std::string name_;
    TimeNs began_;
};

} // namespace bubblescope::telemetry
