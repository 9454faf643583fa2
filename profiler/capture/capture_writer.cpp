#include "profiler/capture/capture_writer.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <type_traits>
#include <utility>

namespace bubblescope::profiler {
namespace {

/// The part of a checkpoint that describes the file and the process.
struct Notes {
    perfetto::CaptureCounts counts;
    std::int64_t waiting = 0; ///< ranges and events that have begun but are not yet in the file
    std::int64_t open = 0;    ///< ranges whose start is in the file
    CaptureWindow::State window;
    std::uint32_t tracks = 0;
    std::uint32_t name_bytes = 0;
    std::int64_t parts_made = 0;
    std::int64_t parts_removed = 0;
    std::int64_t begun = 0;
    std::int64_t bytes_before = 0; ///< length of the file before the write that reaches the checkpoint
    ClockReading reading;
    std::array<char, 512> name{};
};
static_assert(std::is_trivially_copyable_v<Notes> && sizeof(Notes) <= sizeof(event_memory::FileCheckpoint::text));

constexpr TimeNs kTotalsEvery{std::chrono::seconds(1)};
constexpr TimeNs kClocksEvery{std::chrono::seconds(5)};
constexpr TimeNs kStands{std::chrono::seconds(2)}; ///< interval at which a process without new records reports this

CaptureFileInfo described(CaptureFileInfo info, const CaptureOptions& options) {
    info.size = options.size;
    info.description.push_back({"began", info.began.count()});
    if (std::string text = captureOptionsText(options); !text.empty())
        info.description.push_back({"options", std::move(text)});
    return info;
}

} // namespace

CaptureWriter::CaptureWriter(const CaptureOptions& options, CaptureFileInfo info, const nvtx::Names& names,
                             const nccl::Communicators& communicators, cupti::CallName call_name)
    : window_(options), file_(described(std::move(info), options)), host_(file_, names, window_, counts_),
      comm_(file_, communicators, window_, counts_), gpu_(file_, clocks_, window_, counts_, std::move(call_name)) {
    if (options.kernels_every > 1) {
        constexpr TimeNs kSlack{std::chrono::milliseconds(10)};
        kernel_steps_.emplace(options.kernels_every, 2 * options.flush + kSlack);
        kernels_every_ = std::to_string(options.kernels_every);
        host_.setOnBorder([this](std::string_view name, std::optional<std::int64_t> number, TimeNs time) {
            kernel_steps_->border(name, number, time);
        });
    }
    if (options.mode != CaptureOptions::Mode::Pipeline) return;
    thinning_.emplace([this](const cupti::OwnedActivity& activity) { gpu_.write(activity); }, counts_);
    host_.setOnRange([this](std::uint32_t tid, TimeNs start, TimeNs end) { thinning_->addRange(tid, start, end); });
}

void CaptureWriter::addReading(const ClockReading& reading) {
    clocks_.add(reading);
    if (begun_ && reading.monotonic < clocks_at_ + kClocksEvery) return;
    clocks_at_ = reading.monotonic;
    file_.setClocks(reading.monotonic, reading.realtime);
}

void CaptureWriter::take(std::uint32_t tid, const HostRecord& record, bool after_gap) {
    const TimeNs time = clocks_.fromTicks(record.ticks);
    if (!isNear(time, time)) { // the memory of a process that was killed is not trusted
        if (host_record::begins(static_cast<std::uint64_t>(record.type))) ++counts_.not_written;
        return;
    }
    begun_ = true;
    active_ = true;
    if (record.type == HostRecord::Type::CommBegin || record.type == HostRecord::Type::CommEnd)
        comm_.take(record, time);
    else
        host_.take(tid, record, time, after_gap);
}

/// Records are at most as old as the buffers that hold them. An impossible time would shift all later work on its
/// track.
bool CaptureWriter::isNear(TimeNs earliest, TimeNs latest) const {
    constexpr TimeNs kDay{std::chrono::hours(24)};
    const TimeNs now = clocks_.last().monotonic;
    return earliest >= now - kDay && latest <= now + kDay;
}

bool CaptureWriter::isPlausible(const cupti::Activity& activity) const {
    if (activity.isMoment()) return isNear(activity.start, activity.start);
    if (!activity.hasTimes() || activity.isUntimed()) return true;
    return isNear(std::min(activity.start, activity.end), std::max(activity.start, activity.end));
}

void CaptureWriter::take(std::vector<cupti::OwnedActivity>& activities) {
    counts_.damaged += static_cast<std::int64_t>(
        std::erase_if(activities, [this](const cupti::OwnedActivity& given) { return !isPlausible(given.activity); }));
    if (activities.empty()) return;
    begun_ = true;
    std::ranges::stable_sort(activities, {}, [](const cupti::OwnedActivity& a) { return a.activity.start; });
    const auto earliest = std::ranges::find_if(
        activities, [](const cupti::OwnedActivity& a) { return a.activity.hasTimes() && !a.activity.isUntimed(); });
    // Begins the window of a job that does not use NVTX or NCCL.
    if (earliest != activities.end()) window_.observe({}, earliest->activity.start);
    for (cupti::OwnedActivity& activity : activities) {
        if (kernel_steps_ && !kernel_steps_->keeps(activity.activity)) {
            ++counts_.outside_window;
            continue;
        }
        if (thinning_)
            thinning_->add(std::move(activity));
        else
            gpu_.write(activity);
    }
}

void CaptureWriter::take(const StatedEvent& event) {
    if (!window_.contains(event.start)) return void(++counts_.outside_window);
    begun_ = true;
    if (event.end <= event.start) return file_.instant(event.start, event.category, event.name, event.args);
    constexpr std::int32_t kOrder = 500; // below threads
    Lanes& lanes = stated_tracks_.try_emplace(event.track, event.track, kOrder).first->second;
    if (!lanes.add(file_, event.start, event.end, event.category, event.name, event.args)) ++counts_.not_written;
}

void CaptureWriter::addWaitForCore(TimeInterval looks, TimeNs waited) {
    constexpr TimeNs kLeast{std::chrono::milliseconds(1)}; // shorter waits are common and not worth reporting
    constexpr std::int32_t kOrder = 501;                   // below threads and checks
    if (waited < kLeast || !host_.namesOps() || !window_.contains(looks.end)) return;
    const std::string name(perfetto::kCaptureWaitForCore);
    Lanes& lanes = stated_tracks_.try_emplace(name, name, kOrder).first->second;
    const TimeNs start = std::max(looks.start, looks.end - waited);
    if (!lanes.add(file_, start, looks.end, CaptureFile::kCategory, name, {})) ++counts_.not_written;
}

void CaptureWriter::addMessage(std::string_view message) {
    messages_.emplace_back(message);
}

void CaptureWriter::addStatement(std::string_view name, std::string_view value) {
    const auto known = std::ranges::find(statements_, name, &OwnedArg::name);
    if (known != statements_.end())
        known->value = std::string(value);
    else
        statements_.push_back({std::string(name), std::string(value)});
    stated_ = false;
    begun_ = true;
}

void CaptureWriter::tellStatements(TimeNs now) {
    if (!statements_.empty()) file_.instant(now, CaptureFile::kCategory, perfetto::kCaptureStates, statements_);
    stated_ = true;
}

void CaptureWriter::tellKernelSteps(TimeNs now) {
    if (!kernel_steps_) return;
    if (std::string notice = kernel_steps_->takeNotice(now); !notice.empty()) addMessage(notice);
    if (kernel_steps_->applies() && !kernels_every_.empty())
        addStatement(perfetto::kKernelsEvery, std::exchange(kernels_every_, {}));
    for (const KernelSteps::Step& step : kernel_steps_->takeRecorded()) {
        const OwnedArgs args{{std::string(perfetto::kKernelsStep), step.number},
                             {std::string(perfetto::kKernelsTime), (step.end - step.start).count()}};
        file_.instant(step.start, CaptureFile::kCategory, perfetto::kCaptureKernels, args);
    }
}

void CaptureWriter::tellTotals(TimeNs now) {
    OwnedArgs args;
    for (const auto& [name, member] : perfetto::kCaptureCounts) {
        if (counts_.*member != 0) args.push_back({std::string(name), counts_.*member});
    }
    file_.instant(now, CaptureFile::kCategory, perfetto::kCaptureTotals, args);
    told_ = counts_;
    told_at_ = now;
}

/// Counts the ranges that will not end; counts again if the end of the file could not be written before.
void CaptureWriter::countOpen() {
    const std::int64_t open = openRanges();
    counts_.unmatched += open - open_counted_;
    open_counted_ = open;
}

/// If all ranks wait for one rank, this identifies the rank: it does not wait, or does not report.
void CaptureWriter::tellWhereItStands(TimeNs now) {
    if (active_) active_at_ = now;
    active_ = false;
    if (!host_.namesOps() || now < active_at_ + kStands || now < stood_at_ + kStands) return;
    const OwnedArgs args{{"in", std::string(host_.innermostOp())}, {"for_ns", (now - active_at_).count()}};
    file_.instant(now, CaptureFile::kCategory, perfetto::kCaptureStands, args);
    stood_at_ = now;
}

void CaptureWriter::keepCheckpoints(EventMemory& memory, const EventReader& reader) {
    memory_ = &memory;
    reader_ = &reader;
}

/// Fills in the checkpoints that are not in use. They become valid when the file reaches the given length, by default
/// its current length.
void CaptureWriter::prepareCheckpoint(std::optional<std::int64_t> file_bytes) {
    if (memory_ == nullptr) return;
    event_memory::Header& header = memory_->header();
    header.prepared.store(0);
    const std::uint32_t other = (header.current.load() & 1U) ^ 1U;
    for (std::size_t slot = 0; slot < std::min<std::size_t>(header.slots_used.load(), event_memory::kThreads); ++slot) {
        if (!reader_->isRead(slot)) continue;
        event_memory::ThreadCheckpoint& checkpoint = header.threads[slot].checkpoints[other];
        checkpoint.place = reader_->placeOf(slot).packed();
        host_.save(header.threads[slot].tid, checkpoint);
    }
    const CaptureFile::State file = file_.state();
    Notes notes;
    notes.counts = counts_;
    notes.waiting = static_cast<std::int64_t>(host_.waiting() + comm_.waiting());
    notes.open = host_.openInFile();
    notes.window = window_.state();
    notes.tracks = file.tracks;
    notes.parts_made = file.parts_made;
    notes.parts_removed = file.parts_removed;
    notes.begun = begun_ ? 1 : 0;
    notes.bytes_before = file.bytes;
    notes.reading = clocks_.last();
    notes.name_bytes = static_cast<std::uint32_t>(std::min(file.name.size(), notes.name.size()));
    std::copy_n(file.name.data(), notes.name_bytes, notes.name.data());
    event_memory::FileCheckpoint& whole = header.files[other];
    std::memcpy(whole.text.data(), &notes, sizeof notes);
    whole.notes = sizeof notes;
    whole.file_bytes = file_bytes.value_or(file.bytes);
    header.prepared.store(1);
}

void CaptureWriter::useCheckpoint() {
    if (memory_ == nullptr) return;
    event_memory::Header& header = memory_->header();
    header.current.store((header.current.load() & 1U) ^ 1U);
    header.prepared.store(0);
}

std::string CaptureWriter::checkpointedFile(const event_memory::FileCheckpoint& checkpoint) {
    Notes notes;
    if (checkpoint.notes != sizeof notes) return {};
    std::memcpy(&notes, checkpoint.text.data(), sizeof notes);
    std::string name(notes.name.data(), std::min<std::size_t>(notes.name_bytes, notes.name.size()));
    return name.find('/') == std::string::npos ? name : std::string{};
}

bool CaptureWriter::beginsFile(const event_memory::FileCheckpoint& checkpoint) {
    Notes notes;
    if (checkpoint.notes != sizeof notes) return false;
    std::memcpy(&notes, checkpoint.text.data(), sizeof notes);
    return notes.bytes_before == 0;
}

Status CaptureWriter::resume(const EventMemory& memory) {
    const event_memory::Header& header = memory.header();
    const std::uint32_t current = header.current.load() & 1U;
    const event_memory::FileCheckpoint& whole = header.files[current];
    Notes notes;
    if (whole.notes != sizeof notes) return {}; // nothing was written
    std::memcpy(&notes, whole.text.data(), sizeof notes);
    counts_ = perfetto::plausibleCounts(notes.counts);
    counts_.unmatched += perfetto::plausibleCount(notes.waiting);
    window_.setState(notes.window);
    begun_ = notes.begun != 0;
    clocks_.add(notes.reading);
    BUBBLESCOPE_TRY(
        file_.resume({checkpointedFile(whole), whole.file_bytes, notes.tracks, notes.parts_made, notes.parts_removed}));
    for (std::size_t slot = 0; slot < std::min<std::size_t>(header.slots_used.load(), event_memory::kThreads); ++slot) {
        const event_memory::ThreadSlot& thread = header.threads[slot];
        if (thread.state.load() == event_memory::SlotState::Free) continue;
        const event_memory::ThreadCheckpoint& checkpoint = thread.checkpoints[current];
        if (checkpoint.place != 0) host_.resume(thread.tid, checkpoint);
    }
    // Thread checkpoints hold only the outermost ranges; all other open ranges will not end.
    counts_.unmatched += std::max<std::int64_t>(perfetto::plausibleCount(notes.open) - host_.openInFile(), 0);
    return {};
}

Status CaptureWriter::finishResumed(TimeNs now, const std::string& signal) {
    if (!begun_) return {};
    BUBBLESCOPE_TRY(flush(now));
    countOpen();
    tellTotals(now);
    OwnedArgs args;
    if (!signal.empty()) args.push_back({std::string(perfetto::kCaptureSignal), signal});
    file_.instant(now, CaptureFile::kCategory, perfetto::kCaptureRecovered, args);
    return file_.flush([] {});
}

Status CaptureWriter::flush(TimeNs now) {
    if (!begun_) return {}; // no file for a process that does nothing
    if (file_.isStuck()) {  // no events have been taken since the first attempt to write
        BUBBLESCOPE_TRY(writeOut(now));
    }
    host_.nameThreads();
    if (thinning_) thinning_->settle(now);
    gpu_.settle(now);
    tellKernelSteps(now);
    for (const std::string& message : messages_) {
        const OwnedArgs args{{"message", message}};
        file_.instant(now, CaptureFile::kCategory, "message", args);
    }
    messages_.clear();
    if (!stated_) tellStatements(now);
    tellWhereItStands(now);
    counts_.parts_removed = file_.partsRemoved();
    if (counts_ != told_ && now >= told_at_ + kTotalsEvery) tellTotals(now);
    return writeOut(now);
}

Status CaptureWriter::writeOut(TimeNs now) {
    bool wrote = false;
    BUBBLESCOPE_TRY(file_.flush(
        [this, now] {
            tellStatements(now);
            host_.reopen();
            gpu_.beginPart();
            tellTotals(now);
        },
        [&](std::int64_t length) {
            prepareCheckpoint(length);
            wrote = true;
        }));
    if (!wrote) prepareCheckpoint(); // the records taken produce no output
    useCheckpoint();
    flushed_ = counts_;
    return {};
}

Status CaptureWriter::finish(TimeNs now) {
    if (!begun_) return {};
    if (kernel_steps_) kernel_steps_->finish(now);
    if (thinning_) thinning_->finish();
    gpu_.finish();
    BUBBLESCOPE_TRY(flush(now));
    file_.setClocks(clocks_.last().monotonic, clocks_.last().realtime);
    countOpen();
    tellTotals(now);
    file_.instant(now, CaptureFile::kCategory, perfetto::kCaptureEnds, {});
    BUBBLESCOPE_TRY(file_.flush([] {}));
    prepareCheckpoint();
    useCheckpoint();
    flushed_ = counts_;
    return {};
}

CaptureWriter::Stated CaptureWriter::stated(const EventMemory& memory) {
    const event_memory::FileCheckpoint& whole = memory.header().files[memory.header().current.load() & 1U];
    Notes notes;
    if (whole.notes != sizeof notes) return {};
    std::memcpy(&notes, whole.text.data(), sizeof notes);
    const std::int64_t made = perfetto::plausibleCount(notes.parts_made);
    return {perfetto::plausibleCounts(notes.counts),
            std::max<std::int64_t>(made - perfetto::plausibleCount(notes.parts_removed), 0)};
}

CaptureWriter::Stated CaptureWriter::stated() const {
    const CaptureFile::State file = file_.state();
    return {flushed_, file.parts_made - file.parts_removed};
}

} // namespace bubblescope::profiler
