#include "profiler/capture/capture_file.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <optional>
#include <system_error>

namespace bubblescope::profiler {
namespace {

constexpr const char* kWords = "wall clock ahead by ns: ";

std::optional<TimeNs> readOffset(const std::filesystem::path& path) {
    std::ifstream file(path);
    std::string words(std::char_traits<char>::length(kWords), ' ');
    std::int64_t offset = 0;
    if (!file.read(words.data(), static_cast<std::streamsize>(words.size())) || words != kWords || !(file >> offset))
        return std::nullopt;
    return TimeNs{offset};
}

} // namespace

CaptureFile::CaptureFile(CaptureFileInfo info)
    : info_(std::move(info)), encoder_(static_cast<std::uint32_t>(info_.process.pid)) {}

CaptureFile::TrackNumber CaptureFile::addTrack(std::string name, std::int32_t order) {
    tracks_.push_back({std::move(name), order});
    return static_cast<TrackNumber>(tracks_.size() - 1);
}

CaptureFile::TrackNumber CaptureFile::addCounter(std::string name) {
    const TrackNumber counter = addTrack(std::move(name), 0);
    tracks_[counter].counts = true;
    return counter;
}

void CaptureFile::rename(TrackNumber track, std::string name) {
    if (tracks_[track].name == name) return;
    tracks_[track].name = std::move(name);
    tracks_[track].described = false;
}

std::uint64_t CaptureFile::processUuid() const {
    return static_cast<std::uint64_t>(info_.process.pid) << 32;
}

std::uint64_t CaptureFile::uuidOf(TrackNumber track) {
    beginPart();
    Track& known = tracks_[track];
    const std::uint64_t uuid = processUuid() + 1 + track;
    if (!known.described && known.counts)
        encoder_.counterTrack(uuid, processUuid(), known.name);
    else if (!known.described)
        encoder_.track(uuid, processUuid(), known.name, known.order);
    known.described = true;
    return uuid;
}

TimeNs CaptureFile::ordered(TrackNumber track, TimeNs time) {
    return tracks_[track].last = std::max(tracks_[track].last, time);
}

std::span<const perfetto::Arg> CaptureFile::viewed(Args args) {
    views_.clear();
    for (const OwnedArg& arg : args) {
        perfetto::Arg& view = views_.emplace_back();
        view.name = arg.name;
        std::visit([&view](const auto& value) { view.value = value; }, arg.value);
    }
    return views_;
}

void CaptureFile::begin(TrackNumber track, TimeNs time, std::string_view category, std::string_view name, Args args) {
    const std::uint64_t uuid = uuidOf(track);
    encoder_.beginSlice(uuid, ordered(track, time), category, name, viewed(args));
}

void CaptureFile::end(TrackNumber track, TimeNs time) {
    const std::uint64_t uuid = uuidOf(track);
    encoder_.endSlice(uuid, ordered(track, time));
}

void CaptureFile::count(TrackNumber counter, TimeNs time, double value) {
    const std::uint64_t uuid = uuidOf(counter);
    encoder_.counter(uuid, ordered(counter, time), value);
}

void CaptureFile::instant(TrackNumber track, TimeNs time, std::string_view category, std::string_view name, Args args) {
    const std::uint64_t uuid = uuidOf(track);
    encoder_.instant(uuid, time, category, name, viewed(args));
}

void CaptureFile::instant(TimeNs time, std::string_view category, std::string_view name, Args args) {
    beginPart();
    encoder_.instant(processUuid(), time, category, name, viewed(args));
}

void CaptureFile::setClocks(TimeNs monotonic, TimeNs realtime) {
    monotonic_ = monotonic;
    realtime_ = realtime;
    if (begun_) encoder_.clockSnapshot(monotonic_, realtime_);
}

/// Writes the description that a reader needs before a part's events.
void CaptureFile::beginPart() {
    if (begun_) return;
    begun_ = true;
    if (!offset_) offset_ = agreedOffset(info_.dir, info_.process.clock, realtime_ - monotonic_);
    const ProcessInfo& process = info_.process;
    const RankIdentity& identity = info_.identity;
    const auto pid = static_cast<std::int32_t>(process.pid);
    std::string name = process.program;
    name += identity.rank ? " (rank " + std::to_string(*identity.rank) + ", process " : " (process ";
    name += std::to_string(pid) + ")";
    encoder_.process(processUuid(), pid, name, identity.rank.value_or(pid));
    encoder_.clockSnapshot(monotonic_, realtime_);
    OwnedArgs args{{"host", process.host},
                   {"clock", process.clock},
                   {"pid", process.pid},
                   {"pids", process.pids},
                   {"program", process.program},
                   {"part", parts_made_},
                   {std::string(perfetto::kCaptureOffset), offset_->count()}};
    if (identity.rank) args.push_back({"rank", std::int64_t{*identity.rank}});
    if (identity.size) args.push_back({"world_size", std::int64_t{*identity.size}});
    if (identity.local_rank) args.push_back({"local_rank", std::int64_t{*identity.local_rank}});
    if (!identity.told_by.empty()) args.push_back({"rank_told_by", identity.told_by});
    for (const auto& [axis, place] : identity.mesh)
        args.push_back({axis + "_rank", std::int64_t{place}});
    args.insert(args.end(), info_.description.begin(), info_.description.end());
    encoder_.instant(processUuid(), monotonic_, kCategory, kBegins, viewed(args));
}

/// Returns an unused path for a part, in an existing folder.
std::filesystem::path CaptureFile::pathOf(std::int64_t part) const {
    std::string name = traceName(info_.identity, info_.process);
    if (part > 0) name += "." + std::to_string(part);
    // Process ids are reused; the file of an earlier process is kept.
    std::filesystem::path path = info_.dir / (name + ".pftrace");
    std::error_code ignored; // perfetto::PacketFile reports the error
    std::filesystem::create_directories(info_.dir, ignored);
    for (int again = 2; std::filesystem::exists(path, ignored); ++again)
        path = info_.dir / (name + "-" + std::to_string(again) + ".pftrace");
    return path;
}

std::size_t CaptureFile::mostWaiting() const {
    constexpr std::int64_t kMost = std::int64_t{1} << 20;
    if (info_.size == 0) return static_cast<std::size_t>(kMost);
    return static_cast<std::size_t>(std::clamp<std::int64_t>(info_.size / (kShares * kShares * 2), 1, kMost));
}

CaptureFile::State CaptureFile::state() const {
    return {file_ ? file_->path().filename().string() : std::string{}, file_ ? file_->length() : 0,
            static_cast<std::uint32_t>(tracks_.size()), parts_made_, parts_removed_};
}

Status CaptureFile::resume(const State& state) {
    parts_made_ = state.parts_made;
    parts_removed_ = state.parts_removed;
    if (state.name.empty()) return {};
    BUBBLESCOPE_ASSIGN(perfetto::PacketFile file, perfetto::PacketFile::openUpTo(info_.dir / state.name, state.bytes));
    part_bytes_ = file.length();
    file_ = std::move(file);
    const std::string whole = traceName(info_.identity, info_.process);
    std::error_code ignored;
    for (std::int64_t part = std::max<std::int64_t>(0, parts_made_ - kParts); part + 1 < parts_made_; ++part) {
        const std::string number = part == 0 ? "" : "." + std::to_string(part);
        const std::filesystem::path path = info_.dir / (whole + number + ".pftrace");
        if (std::filesystem::exists(path, ignored)) parts_.push_back(path);
    }
    parts_.push_back(file_->path());
    tracks_.resize(std::min<std::size_t>(state.tracks, kMaxTracks));
    for (Track& track : tracks_)
        track.described = true;
    begun_ = true;
    encoder_.clockSnapshot(monotonic_, realtime_);
    return {};
}

Status CaptureFile::flush(const std::function<void()>& on_part, const BeforeWrite& before) {
    if (!begun_) return {};
    if (unwritten_.empty()) unwritten_ = encoder_.take();
    if (unwritten_.empty()) return {};
    const auto write = [&]() -> Status {
        if (!file_) {
            BUBBLESCOPE_ASSIGN(perfetto::PacketFile file, perfetto::PacketFile::create(pathOf(parts_made_)));
            file_ = std::move(file);
            parts_.push_back(file_->path());
            ++parts_made_;
        }
        // A job may delete files in its folder; the file's content can be recovered as long as it is open.
        if (!file_->isInPlace()) {
            BUBBLESCOPE_TRY(file_->moveTo(pathOf(parts_made_ - 1)));
            parts_.back() = file_->path();
        }
        if (before) before(file_->length() + static_cast<std::int64_t>(unwritten_.size()));
        return file_->append(unwritten_);
    };
    if (Status written = write(); !written.ok()) {
        if (file_ && file_->length() == 0) { // the next flush creates it again
            std::error_code ignored;
            std::filesystem::remove(file_->path(), ignored);
            file_.reset();
            parts_.pop_back();
            --parts_made_;
        }
        return written;
    }
    part_bytes_ += static_cast<std::int64_t>(unwritten_.size());
    unwritten_.clear();
    constexpr std::size_t kMostInterned = std::size_t{4} << 20; // limit, because each range may have a different name
    if (encoder_.internedBytes() > kMostInterned) {
        encoder_ = perfetto::Encoder(static_cast<std::uint32_t>(info_.process.pid));
        encoder_.clockSnapshot(monotonic_, realtime_);
    }
    if (info_.size == 0 || part_bytes_ < info_.size / kShares) return {};

    // The next event creates the next part.
    file_.reset();
    part_bytes_ = 0;
    begun_ = false;
    encoder_ = perfetto::Encoder(static_cast<std::uint32_t>(info_.process.pid));
    for (Track& track : tracks_) {
        track.described = false;
        track.last = TimeNs{INT64_MIN};
    }
    if (static_cast<std::int64_t>(parts_.size()) >= kParts) {
        std::error_code ignored; // the file may have been removed by others
        std::filesystem::remove(parts_.front(), ignored);
        parts_.pop_front();
        ++parts_removed_;
    }
    on_part();
    return {};
}

TimeNs agreedOffset(const std::filesystem::path& dir, const std::string& clock, TimeNs measured) {
    if (clock.empty()) return measured;
    const std::filesystem::path agreed = dir / (".clock-" + clock);
    if (const auto known = readOffset(agreed)) return *known;
    std::error_code ignored;
    std::filesystem::create_directories(dir, ignored);
    const std::filesystem::path own = dir / (".clock-" + clock + "." + std::to_string(::getpid()));
    {
        std::ofstream file(own);
        file << kWords << measured.count() << '\n';
    }
    // The first process to create the link decides; its file is complete by then.
    [[maybe_unused]] const int linked = ::link(own.c_str(), agreed.c_str());
    std::filesystem::remove(own, ignored);
    return readOffset(agreed).value_or(measured);
}

} // namespace bubblescope::profiler
