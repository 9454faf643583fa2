#pragma once

#include "core/base/time.h"

namespace bubblescope {

/// A recorded exchange: `asker` sends at t0, `replier` gets it at t1 and answers at t2, `asker` has the answer at t3.
struct Ping {
    int asker = 0;
    int replier = 0;
    TimeNs t0{0};
    TimeNs t1{0};
    TimeNs t2{0};
    TimeNs t3{0};
};

template <class Wire>
void fields(Wire& wire, Ping& value) {
    auto& [asker, replier, t0, t1, t2, t3] = value;
    wire(asker, replier, t0, t1, t2, t3);
}

} // namespace bubblescope
