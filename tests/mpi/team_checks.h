#pragma once

#include "core/base/process_team.h"

#include <string>

namespace bubblescope::test {

/// Checks the calls of each member of a team with texts of various lengths. Returns an empty text on success.
[[nodiscard]] inline std::string checkTeam(ProcessTeam& team) {
    const auto text = [](int from, int to, std::size_t round) {
        std::string bytes(round * round * 1000 + static_cast<std::size_t>(from), static_cast<char>('a' + to));
        return bytes + std::string(1, '\0') + std::to_string(from) + ">" + std::to_string(to);
    };
    for (std::size_t round = 0; round < 20; ++round) {
        const auto told = team.broadcast(text(team.rank(), 7, round));
        if (!told.ok() || told.value() != text(0, 7, round)) return "broadcast";
        const auto gathered = team.gather(text(team.rank(), 0, round));
        if (!gathered.ok()) return "gather: " + gathered.error().text();
        if (gathered.value().size() != (team.isRoot() ? static_cast<std::size_t>(team.size()) : 0))
            return "size of gathered";
        for (std::size_t from = 0; from < gathered.value().size(); ++from) {
            if (gathered.value()[from] != text(static_cast<int>(from), 0, round)) return "gathered";
        }
        std::vector<std::string> to;
        for (int peer = 0; peer < team.size(); ++peer)
            to.push_back(peer == 1 ? std::string{} : text(team.rank(), peer, round));
        const auto exchanged = team.exchange(std::move(to));
        if (!exchanged.ok() || exchanged.value().size() != static_cast<std::size_t>(team.size())) return "exchange";
        for (int from = 0; from < team.size(); ++from) {
            const std::string& had = exchanged.value()[static_cast<std::size_t>(from)];
            if (had != (team.rank() == 1 ? std::string{} : text(from, team.rank(), round))) return "exchanged";
        }
    }
    return {};
}

} // namespace bubblescope::test
