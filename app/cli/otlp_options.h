#pragma once

#include "app/cli/command_line.h"
#include "core/base/result.h"
#include "core/otlp/exporter.h"

#include <optional>
#include <string>

namespace bubblescope::cli {

/// The option of commands that send steps and findings to a collector of telemetry.
class OtlpOptions {
public:
    void add(Command command);

    [[nodiscard]] bool wanted() const { return !url_.empty(); }
    /// The collector, with the headers in OTEL_EXPORTER_OTLP_HEADERS; none without --otlp. Errors: Usage.
    [[nodiscard]] Result<std::optional<otlp::Collector>> collector() const;

private:
    std::string url_;
};

} // namespace bubblescope::cli
