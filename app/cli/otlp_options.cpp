#include "app/cli/otlp_options.h"

#include <cstdlib>

namespace bubblescope::cli {

void OtlpOptions::add(Command command) {
    command
        .addOption("--otlp", url_,
                   "Send steps and findings as OpenTelemetry traces and metrics to this collector (OTLP over HTTP)")
        .typeName("URL");
}

Result<std::optional<otlp::Collector>> OtlpOptions::collector() const {
    if (!wanted()) return std::optional<otlp::Collector>{};
    const char* const headers = std::getenv("OTEL_EXPORTER_OTLP_HEADERS"); // NOLINT(concurrency-mt-unsafe)
    BUBBLESCOPE_ASSIGN(otlp::Collector made, otlp::Collector::parse(url_, headers != nullptr ? headers : ""));
    return std::optional(std::move(made));
}

} // namespace bubblescope::cli
