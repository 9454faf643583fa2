#include "core/report/document.h"

#include "core/base/bytes.h"
#include "core/base/text.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>

namespace bubblescope::report {

Cell Cell::as(std::string other) && {
    words = std::move(other);
    worded = true;
    return std::move(*this);
}

Cell Cell::withBar(double length) && {
    bar = static_cast<float>(length);
    return std::move(*this);
}

Cell Cell::withShade(double depth) && {
    shade = static_cast<float>(depth);
    return std::move(*this);
}

Cell Cell::markedIf(bool condition) && {
    marked = condition;
    return std::move(*this);
}

std::string Cell::text() const {
    if (worded) return words;
    if (look == Look::Plain) return value.text();
    return value.visit([this](const auto& data) {
        using Kind = std::decay_t<decltype(data)>;
        if constexpr (std::is_same_v<Kind, TimeNs>)
            return look == Look::Delta ? formatTimeDelta(data) : formatTime(data);
        else if constexpr (std::is_same_v<Kind, double>)
            return formatPercent(data, look == Look::Percent2 ? 2 : 1);
        else if constexpr (std::is_same_v<Kind, std::int64_t>)
            return look == Look::Bytes ? formatBytes(data) : value.text();
        else
            return value.text();
    });
}

TimeNs Cell::timeShown() const {
    if (worded) return {};
    return value.visit([](const auto& data) {
        if constexpr (std::is_same_v<std::decay_t<decltype(data)>, TimeNs>)
            return TimeNs{std::abs(data.count())};
        else
            return TimeNs{0};
    });
}

std::string Cell::textBeside(TimeNs largest) const {
    if (worded) return words;
    return value.visit([&](const auto& data) {
        if constexpr (std::is_same_v<std::decay_t<decltype(data)>, TimeNs>)
            return (look == Look::Delta && data > TimeNs{0} ? "+" : "") + timeBeside(data, largest);
        else
            return text();
    });
}

std::string timeBeside(TimeNs time, TimeNs largest) {
    const std::string own = formatTime(time);
    const std::string other = formatTime(largest);
    const std::string unit = other.substr(other.find(' '));
    if (own.ends_with(unit)) return own;
    const double scale = unit == " us" ? 1e3 : unit == " ms" ? 1e6 : unit == " s" ? 1e9 : 1;
    const double value = static_cast<double>(time.count()) / scale;
    if (time == TimeNs{0}) return "0" + unit;
    return std::abs(value) < 0.01 ? own : fmt::format("{:.3f}{}", value, unit);
}

Column column(std::string key, Sentence title, Align align) {
    return {std::move(key), std::move(title), align, false};
}

Column column(std::string key, const char* title, Align align) {
    return column(std::move(key), Sentence(std::string(title)), align);
}

Column data(std::string key) {
    return {std::move(key), {}, Align::Right, true};
}

Column shown(Sentence title, Align align) {
    return {{}, std::move(title), align, false};
}

Column shown(const char* title, Align align) {
    return shown(Sentence(std::string(title)), align);
}

void Section::data(std::string name, Value value) {
    blocks.emplace_back(Member{std::move(name), std::move(value)});
}

void Section::line(std::string text, Reader to) {
    blocks.emplace_back(Line{{}, std::move(text), false, to, false});
}

void Section::line(std::string head, std::string text, Reader to) {
    blocks.emplace_back(Line{std::move(head), std::move(text), false, to, false});
}

void Section::paragraph(std::string head, std::string text, Reader to) {
    blocks.emplace_back(Line{std::move(head), std::move(text), true, to, false});
}

} // namespace bubblescope::report
