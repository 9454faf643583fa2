#include "core/diagnose/responders.h"

#include "core/diagnose/anomalies/launch_bound.h"
#include "core/diagnose/anomalies/memory_peaks.h"
#include "core/diagnose/clocks/collectives.h"
#include "core/diagnose/clocks/own_clocks.h"
#include "core/diagnose/clocks/rank_files.h"

namespace bubblescope {

ShareResponders shareResponders() {
    ShareResponders table;
    addLoadResponders(table);
    addResponders<InstantsIn, CollectivesOf, OwnClocksIn, HasKernels, DeviceUseIn, MemoryPeaks>(table);
    return table;
}

} // namespace bubblescope
