#include "core/analysis/responders.h"

#include "core/analysis/anomalies/launch_bound.h"
#include "core/analysis/anomalies/memory_peaks.h"
#include "core/analysis/clocks/collectives.h"
#include "core/analysis/clocks/native_clocks.h"
#include "core/analysis/clocks/rank_files.h"

namespace bubblescope {

ShareResponders shareResponders() {
    ShareResponders table;
    addLoadResponders(table);
    addResponders<InstantsIn, CollectivesOf, NativeClocksIn, HasKernels, DeviceUseIn, MemoryPeaks>(table);
    return table;
}

} // namespace bubblescope
