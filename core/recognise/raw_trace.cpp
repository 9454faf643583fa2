#include "core/recognise/raw_trace.h"

#include <algorithm>
#include <numeric>

namespace bubblescope {

std::vector<TrackId> RawTrace::tracksByFile() const {
    std::vector<TrackId> tracks(trace_->tracks().size());
    std::iota(tracks.begin(), tracks.end(), TrackId{0});
    std::ranges::stable_sort(tracks, {}, [this](TrackId track) { return trace_->tracks()[track].file; });
    return tracks;
}

Error RawTrace::damagedExtract(std::uint32_t i) {
    damaged_ = true;
    return bubblescope::damagedExtract(files()[i].path.string());
}

const JobControl& RawTrace::control() const {
    static const JobControl kNeverStopped;
    return control_ == nullptr ? kNeverStopped : *control_;
}

const GpuWork& RawTrace::gpu() {
    if (!gpu_) gpu_ = std::make_shared<const GpuWork>(*trace_, control());
    return *gpu_;
}

const std::vector<SampledKernels>& RawTrace::sampledKernels() {
    if (!kernels_) kernels_ = bubblescope::sampledKernels(*trace_);
    return *kernels_;
}

} // namespace bubblescope
