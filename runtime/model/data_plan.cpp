#include "runtime/model/data_plan.h"

#include <algorithm>
#include <utility>

namespace bubblescope::runtime {

DataPlan::DataPlan(const Schedule& schedule, int replicas)
    : microbatches_(schedule.microbatches), replicas_(replicas),
      places_(schedule.stages() / bubblescope::routes(schedule.placement)), encoders_(encodersOf(schedule.placement)),
      routes_(static_cast<std::size_t>(bubblescope::routes(schedule.placement))) {
    const auto numbers = static_cast<std::size_t>(schedule.microbatches);
    for (Route& route : routes_)
        route.sample_of.assign(numbers, -1);
    for (const auto& ops : schedule.ranks) {
        for (const Op& op : ops) {
            if (op.kind == OpKind::Optimizer) continue;
            routes_[op.chunk.index() % routes_.size()].sample_of[op.microbatch.index()] = 0;
            slices_ = std::max(slices_, op.sequence + 1);
        }
    }
    for (std::size_t number = 0; number < numbers; ++number) {
        for (Route& route : routes_) {
            int& sample = route.sample_of[number];
            if (sample < 0) continue;
            sample = samples_++;
            for (int slice = slices_; slice-- > 0;)
                route.pieces.push_back({Microbatch{sample}, slice});
        }
    }
    if (updatesWithin(schedule.ranks.front()) == 0) return;
    if (Result<WeightVersions> versions = weightVersions(schedule); versions.ok())
        versions_ = std::move(versions).value();
}

Piece DataPlan::pieceOf(const Op& op, int replica) const {
    const Route& route = routes_[op.chunk.index() % routes_.size()];
    return {Microbatch{replica * samples_ + route.sample_of[op.microbatch.index()]}, op.sequence};
}

StageTask DataPlan::taskOf(Stage stage, int replica) const {
    std::vector<Piece> pieces = routes_[static_cast<std::size_t>(routeOf(stage))].pieces;
    for (Piece& piece : pieces)
        piece.sample.value += replica * samples_;
    StageTask task{stage.value / routes(), places_, std::move(pieces), slices_, replicas_ * microbatches_, {}, nullptr};
    if (stage.value < encoders_.ranks()) task.encoder = stage.value < encoders_.first ? 1 : 2;
    task.begins = encoders_.ranks() > 0 && (stage.value == encoders_.first || stage.value == encoders_.ranks());
    if (versions_) {
        task.update_of = versions_->update_of;
        task.version_of = versions_->used[stage.index()];
    }
    return task;
}

} // namespace bubblescope::runtime
