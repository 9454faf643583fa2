// A report about the emulated device, to test the report without a GPU. Its figures have no meaning: its time is
// invented.

#include "tests/gpu/report_device.h"
#include "tests/support/emulated_device.h"

namespace bubblescope::runtime {

Result<ReportDevice> openReportDevice() {
    ReportDevice device;
    device.name = "emulated device (no figure below is one of a GPU)";
    const auto emulated = std::make_shared<test::EmulatedDevice>(1);
    emulated->copy_time = TimeNs{10'000};
    device.memory = emulated->capacity;
    device.plain = device.graphs = emulated;
    device.products = {64};
    device.checked_width = 32;
    device.bubble_width = 16;
    device.every_preset = false;
    device.warm_seconds = 0;
    const Result<AttentionChoice> cudnn = chooseAttention(AttentionKernels::Cudnn, 90); // in tests, of a stand-in
    if (cudnn.ok()) {
        const auto other = std::make_shared<test::EmulatedDevice>(2);
        other->cudnn = cudnn.value().cudnn;
        device.cudnn = other;
    } else {
        device.why_no_cudnn = cudnn.error().text();
    }
    return device;
}

} // namespace bubblescope::runtime
