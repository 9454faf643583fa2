#pragma once

#include "core/formats/perfetto/sequence_state.h"
#include "core/trace/trace_builder.h"

#include <string_view>

namespace bubblescope::perfetto {

/// A DebugAnnotation as an arg. Lists and dictionaries become their JSON text, as nested args of JSON files are. `lost`
/// is set if it refers to a text that the file does not hold. Throws protozero::exception on malformed input.
[[nodiscard]] StoredArg parseAnnotation(std::string_view message, const SequenceState& state, TraceBuilder& builder,
                                        bool& lost);

} // namespace bubblescope::perfetto
