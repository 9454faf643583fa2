// Why the bubble is (p−1)·max(t_f+t_i−t_w, t_f, t_i) for m ≥ p, in times of one chunk.
//
// Take t_w ≤ t_f and t_w ≤ t_i first. Rank s starts s·t_f late. Its first input gradient comes up from the last
// rank through p−s−1 stages at t_i each; no weight gradient lies on that path, since rank s still owes fewer
// than s: a wait of (p−s−1)·t_i. In cool-down rank s runs p−s−1 input gradients with a weight gradient after
// each, while the last rank, which still has forwards, sends one every t_f+t_i: gaps of t_f−t_w, p−s−1 of
// them. After its last input gradient rank s has s weight gradients owed more than rank 0 has, which takes
// s·t_w; rank 0's last input gradient comes s·t_i later: s·(t_i−t_w) at the end. Together
// (p−1)(t_f+t_i−t_w) on every rank.
//
// With t_w > t_f the cool-down gaps are filled and rank 0 waits for nothing but its first input gradient,
// (p−1)·t_i. With t_w > t_i the last rank's owed weight gradients end after all others' work, so that it idles
// only before its first forward, (p−1)·t_f. Each of the three is what some rank cannot avoid; the largest
// decides. The form usually quoted, (p−1)(t_f+t_i−t_w), holds only while t_w is the smallest of the three.
//
// With m < p and one chunk a rank every micro-batch goes down and up without meeting another; rank 0 ends with
// one weight gradient after (m+p−1)(t_f+t_i), given t_w ≤ min(t_f, t_i).

#include "core/schedule/delayed_weights.h"

#include "core/bubble/form_builder.h"

#include <algorithm>
#include <cstdint>

namespace bubblescope {

Result<ClosedForm> delayedWeightForm(const Schedule& schedule, const CostModel& costs) {
    const OpTimes& t = costs.times;
    const std::int64_t p = schedule.pp;
    const std::int64_t m = schedule.microbatches;
    if (m >= p) {
        const TimeNs work = m * schedule.vpp * (t.forward + t.input_grad + t.weight_grad);
        const TimeNs bubble = (p - 1) * std::max({t.forward + t.input_grad - t.weight_grad, t.forward, t.input_grad});
        return makespanForm(schedule, costs, work + bubble, "(p−1)·max(t_f+t_i−t_w, t_f, t_i)",
                            "m·v·(t_f+t_i+t_w) + (p−1)·max(t_f+t_i−t_w, t_f, t_i)",
                            "m ≥ p, every t_f, t_i and t_w (of one chunk); equal stages, transfers free");
    }
    if (schedule.vpp == 1 && t.weight_grad <= std::min(t.forward, t.input_grad)) {
        return makespanForm(schedule, costs, (m + p - 1) * (t.forward + t.input_grad) + t.weight_grad,
                            "(p−1)·(t_f+t_i) − (m−1)·t_w", "(m+p−1)·(t_f+t_i) + t_w",
                            "m < p, v = 1, t_w ≤ min(t_f, t_i); equal stages, transfers free");
    }
    return usageError("with fewer micro-batches than ranks the closed form holds for one chunk a rank and weight "
                      "gradients no longer than a forward or an input gradient",
                      "use `bubblescope simulate`");
}

} // namespace bubblescope
