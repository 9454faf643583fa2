// Messages of agents.

#include "core/mcp/session.h"
#include "tests/fuzz/checks.h"
#include "tests/fuzz/targets.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <optional>
#include <string>

namespace bubblescope::fuzz {

void mcpMessages(std::string_view bytes) {
    const nlohmann::json input{{"type", "object"},
                               {"properties",
                                {{"text", {{"type", "string"}}},
                                 {"count", {{"type", "integer"}}},
                                 {"list", {{"type", "array"}, {"items", {{"type", "string"}}}}}}},
                               {"required", {"text"}}};
    const auto echo = [](const nlohmann::json& arguments) -> Result<mcp::ToolAnswer> {
        require(arguments.is_object() && arguments.contains("text") && arguments["text"].is_string(),
                "tools get what their schema asks for");
        return mcp::ToolAnswer{arguments["text"].get<std::string>(), arguments};
    };
    mcp::Session session("0", "", {{"echo", "Echo", "Gives the text back", input, echo}});
    while (!bytes.empty()) {
        const std::string_view line = bytes.substr(0, bytes.find('\n'));
        bytes.remove_prefix(std::min(line.size() + 1, bytes.size()));
        const std::optional<std::string> answer = session.answer(line);
        if (!answer) continue;
        require(answer->find('\n') == std::string::npos, "a response is one line");
        require(nlohmann::json::accept(*answer), "a response is JSON");
    }
}

} // namespace bubblescope::fuzz
