#pragma once

#include "core/formats/perfetto/encoder.h"
#include "core/timeline/check_record.h"

#include <cstdint>

namespace bubblescope::perfetto {

/// A check as timeline/trace_names.h spells it: a slice on `track` where it took time, else an instant. `stage` is that
/// of its rank and chunk. Checks of one track must come by time and must not overlap.
void writeCheck(Encoder& encoder, std::uint64_t track, const CheckRecord& check, Stage stage);

/// The same of a digest: an instant.
void writeDigest(Encoder& encoder, std::uint64_t track, const DigestRecord& digest, Stage stage);

} // namespace bubblescope::perfetto
