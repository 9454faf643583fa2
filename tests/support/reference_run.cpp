#include "tests/support/reference_run.h"

#include "core/families/registry.h"
#include "core/schedule/weight_versions.h"
#include "runtime/backend/cpu/cpu_backend.h"
#include "runtime/comm/inproc/in_process_transport.h"
#include "runtime/engine/run_ended.h"
#include "runtime/engine/tensor_group.h"
#include "runtime/model/gpt_stage.h"
#include "runtime/run_setup.h"

#include <algorithm>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace bubblescope::runtime {
namespace {

/// Trains without a pipeline, on one thread, in the order in which DataPlan sums.
class Reference {
public:
    /// `sums` connects the ranks that share the stages; this one is at `place`. Null if there is only one.
    explicit Reference(const RunConfig& config, TensorGroup* sums, int place)
        : plan_(config.schedule, config.replicas), encoders_(encodersOf(config.schedule.placement)),
          stages_(static_cast<std::size_t>(config.replicas)) {
        if (config.backend) device_ = config.backend->openRank();
        if (device_ && sums != nullptr) sums->useDevice(*device_, std::nullopt);
        const TensorShard shard{config.tensor_ranks, place, sums};
        for (int replica = 0; replica < config.replicas; ++replica) {
            for (int s = 0; s < config.schedule.stages(); ++s) {
                StageTask task = plan_.taskOf(Stage{s}, replica);
                task.shard = shard;
                if (config.weights && config.weights->moving.path == WeightPath::RingSplit)
                    sortByTurn(task.pieces, config.weights->moving, Chunk{s});
                stages_[static_cast<std::size_t>(replica)].push_back(makeStage(config, task));
            }
        }
    }

    /// Runs one step; returns its loss.
    double train() {
        forEachCopy([&](int replica, int route) { trainRoute(replica, route); });
        for (int place = 0; place < plan_.places(); ++place)
            update(place);
        double loss = 0.0;
        forEachCopy([&](int replica, int route) { loss += at(plan_.places() - 1, replica, route).takeLoss(); });
        return loss;
    }

    /// By replica, then stage.
    [[nodiscard]] TrainedStages takeStages() { return std::move(stages_); }

private:
    /// The order in which a ring adds gradients.
    static void sortByTurn(std::vector<Piece>& pieces, const MovingWeights& moving, Chunk stage) {
        std::ranges::sort(pieces, {}, [&](const Piece& piece) {
            return moving.turnOf({OpKind::BackwardWeight, piece.sample, stage});
        });
    }

    [[nodiscard]] std::unique_ptr<StageModel> makeStage(const RunConfig& config, const StageTask& task) const {
        if (device_) return config.backend->makeStage(*device_, config.model, task);
        return makeCpuStage(config.model, task);
    }

    /// Visits the copies of the model in the order of their gradients' sum.
    template <class Visit>
    void forEachCopy(const Visit& visit) {
        for (int replica = 0; replica < plan_.replicas(); ++replica) {
            for (int route = 0; route < plan_.routes(); ++route)
                visit(replica, route);
        }
    }

    StageModel& at(int place, int replica, int route) {
        return *stages_[static_cast<std::size_t>(replica)][Stage{place * plan_.routes() + route}.index()];
    }

    /// Runs all micro-batches of a pipeline, one after the other: forward slice by slice, then back.
    void trainRoute(int replica, int route) {
        const std::vector<Piece> pieces = plan_.taskOf(Stage{route}, replica).pieces;
        const auto slices = static_cast<std::size_t>(plan_.slices());
        for (std::size_t first = 0; first < pieces.size(); first += slices) {
            for (std::size_t i = slices; i-- > 0;)
                forward(replica, route, pieces[first + i]);
            for (std::size_t i = 0; i < slices; ++i)
                backward(replica, route, pieces[first + i]);
        }
    }

    void forward(int replica, int route, Piece piece) {
        Tensor data;
        Tensor first; // output of the first of two encoders
        for (int place = 0; place < plan_.places(); ++place) {
            if (beginsSecond(place)) first = std::exchange(data, Tensor());
            if (place == encoders_.ranks() && encoders_.second > 0) data += first;
            data = at(place, replica, route).forward(piece, std::move(data));
        }
    }

    void backward(int replica, int route, Piece piece) {
        Tensor data;
        Tensor trunk; // gradient of the encoders' outputs
        for (int place = plan_.places(); place-- > 0;) {
            data = at(place, replica, route).backwardInput(piece, std::move(data));
            at(place, replica, route).backwardWeight(piece);
            if (place == encoders_.ranks()) trunk = data;
            if (beginsSecond(place)) data = trunk;
        }
    }

    [[nodiscard]] bool beginsSecond(int place) const { return encoders_.second > 0 && place == encoders_.first; }

    void update(int place) {
        Tensor sum;
        forEachCopy([&](int replica, int route) {
            Tensor part = at(place, replica, route).takeGradient();
            if (replica == 0 && route == 0) {
                sum = std::move(part);
            } else {
                sum += part;
            }
        });
        forEachCopy([&](int replica, int route) { at(place, replica, route).applyGradient(sum); });
    }

    DataPlan plan_;
    Encoders encoders_;
    std::shared_ptr<RankQueue> device_; ///< null = the host
    TrainedStages stages_;
};

/// Trains with delayed updates, one micro-batch after the other. Knows nothing of orders: only p, the micro-batches of
/// an update, and how far down a pipeline a stage is.
class DelayedReference {
public:
    DelayedReference(const RunConfig& config, TensorGroup* sums, int place)
        : schedule_(config.schedule), updates_(1 + updatesWithin(config.schedule.ranks.front())),
          group_(config.schedule.microbatches / updates_) {
        const Schedule flushed = makeSchedule({"1f1b", "", schedule_.pp, group_, 1}).value();
        const DataPlan plan(flushed);
        TrainedStages& lane = stages_;
        lane.emplace_back();
        for (int s = 0; s < schedule_.pp; ++s) {
            StageTask task = plan.taskOf(Stage{s});
            task.shard = {config.tensor_ranks, place, sums};
            lane.front().push_back(makeCpuStage(config.model, task));
            versions_.push_back({parametersOf(s).toHost()});
        }
    }

    /// One update; the `number`-th of its step.
    double update(int number) {
        if (number == 0) first_ = versions_.front().size() - 1;
        for (int i = 0; i < group_; ++i) {
            const int microbatch = number * group_ + i;
            Tensor data;
            for (int s = 0; s < schedule_.pp; ++s) {
                load(s, first_ + static_cast<std::size_t>(versionOf(s, microbatch)));
                data = at(s).forward({Microbatch{i}}, std::move(data));
            }
            for (int s = schedule_.pp; s-- > 0;) {
                data = at(s).backwardInput({Microbatch{i}}, std::move(data));
                at(s).backwardWeight({Microbatch{i}});
            }
        }
        for (int s = 0; s < schedule_.pp; ++s) {
            const Tensor sum = at(s).takeGradient();
            load(s, versions_[static_cast<std::size_t>(s)].size() - 1);
            at(s).applyGradient(sum);
            versions_[static_cast<std::size_t>(s)].push_back(parametersOf(s).toHost());
        }
        return at(schedule_.pp - 1).takeLoss();
    }

    [[nodiscard]] int updates() const { return updates_; }
    [[nodiscard]] TrainedStages takeStages() { return std::move(stages_); }

private:
    StageModel& at(int s) { return *stages_.front()[static_cast<std::size_t>(s)]; }
    StageParameters<float>& parametersOf(int s) { return dynamic_cast<GptStage<float>&>(at(s)).parameters(); }
    void load(int s, std::size_t version) { parametersOf(s).fromHost(versions_[static_cast<std::size_t>(s)][version]); }

    /// The updates that a stage has done when a micro-batch's forward comes: those of whole groups among the
    /// micro-batches that have returned to it. p − 1 − s others are still under way.
    [[nodiscard]] int updatesBefore(int s, int microbatch) const {
        return std::max(0, microbatch - (schedule_.pp - 1 - s)) / group_;
    }
    [[nodiscard]] int versionOf(int s, int microbatch) const {
        const int update = microbatch / group_;
        if (schedule_.name == "pipedream-2bw") return schedule_.pp == 1 ? update : std::max(0, update - 1);
        if (schedule_.flavor == "vertical-sync") return updatesBefore(0, update * group_);
        return updatesBefore(s, microbatch);
    }

    const Schedule& schedule_;
    int updates_;
    int group_;
    TrainedStages stages_;
    std::vector<std::vector<std::vector<float>>> versions_; ///< by stage
    std::size_t first_ = 0;                                 ///< version at the beginning of the step
};

/// The result of one of the ranks that share the stages.
struct Trained {
    std::vector<double> losses;
    TrainedStages stages;
};

Trained train(const RunConfig& config, TensorGroup* sums, int place) {
    if (updatesWithin(config.schedule.ranks.front()) > 0) {
        DelayedReference reference(config, sums, place);
        Trained trained;
        for (int i = 0; i < config.steps * reference.updates(); ++i)
            trained.losses.push_back(reference.update(i % reference.updates()));
        trained.stages = reference.takeStages();
        return trained;
    }
    Reference reference(config, sums, place);
    Trained trained;
    for (int step = 0; step < config.steps; ++step)
        trained.losses.push_back(reference.train());
    trained.stages = reference.takeStages();
    return trained;
}

/// Runs a thread for each of the ranks that share the stages. A failure of one ends all.
Result<std::vector<Trained>> trainTogether(const RunConfig& config) {
    std::vector<Trained> trained(static_cast<std::size_t>(config.tensor_ranks));
    MonotonicClock clock;
    InProcessTransports transports(config.tensor_ranks, clock, std::nullopt);
    const std::vector<Transport*> ends = transports.ends();
    std::vector<Rank> members;
    for (const Transport* const end : ends)
        members.push_back(end->rank());
    const auto trainOne = [&](Transport& end) {
        try {
            TensorGroup sums(end, clock, members);
            trained[end.rank().index()] = train(config, &sums, end.rank().value);
        } catch (const RunEnded&) { // another rank has the reason
        } catch (const std::exception& e) {
            end.fail(runError(std::string("the reference run failed: ") + e.what()));
        }
    };
    {
        std::vector<std::jthread> threads;
        for (Transport* const end : ends)
            threads.emplace_back([&trainOne, end] { trainOne(*end); });
    }
    if (std::optional<Error> error = ends.front()->error()) return std::move(*error);
    return trained;
}

Result<RunSummary> trainReference(const RunConfig& config) {
    std::vector<Trained> trained;
    if (config.tensor_ranks == 1) {
        trained.push_back(train(config, nullptr, 0));
    } else {
        BUBBLESCOPE_ASSIGN(trained, trainTogether(config));
    }
    TrainedStages stages;
    for (std::size_t replica = 0; replica < static_cast<std::size_t>(config.replicas); ++replica) {
        for (Trained& one : trained)
            stages.push_back(std::move(one.stages[replica]));
    }
    RunSummary summary;
    summary.losses = std::move(trained.front().losses);
    BUBBLESCOPE_ASSIGN(summary.weights_digest,
                       digestOf(stages, routes(config.schedule.placement), config.tensor_ranks));
    return summary;
}

} // namespace

Result<RunSummary> runReference(const RunConfig& config) {
    BUBBLESCOPE_TRY(checkConfig(config));
    try {
        return trainReference(config);
    } catch (const std::exception& e) {
        return runError(std::string("the reference run failed: ") + e.what());
    }
}

} // namespace bubblescope::runtime
