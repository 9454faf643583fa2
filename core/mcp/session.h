#pragma once

#include "core/base/result.h"

#include <nlohmann/json.hpp>

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// A server of the Model Context Protocol: messages of JSON-RPC 2.0, one per line.

namespace bubblescope::mcp {

/// The result of a tool call.
struct ToolAnswer {
    std::string text;    ///< readable without `data`
    nlohmann::json data; ///< an object
};

/// A tool that a client may call.
struct Tool {
    std::string name;
    std::string title;
    std::string about;
    /// JSON schema of an object: "properties" with a "type" of string, integer, or array of strings, and "required".
    nlohmann::json input;
    /// `arguments` fit the schema. An error is returned to the client, which may call again.
    std::function<Result<ToolAnswer>(const nlohmann::json& arguments)> call;
};

class Session {
public:
    Session(std::string version, std::string instructions, std::vector<Tool> tools);

    /// The response to a line from the client, without a line end; nothing for notifications. The session continues,
    /// whatever a line contains.
    [[nodiscard]] std::optional<std::string> answer(std::string_view line);

private:
    using Json = nlohmann::json;
    [[nodiscard]] std::optional<Json> answerTo(const Json& message);
    [[nodiscard]] Json dispatch(const std::string& method, const Json& params, const Json& id);
    [[nodiscard]] Json initialize(const Json& params, const Json& id);
    [[nodiscard]] Json listTools(const Json& params, const Json& id) const;
    [[nodiscard]] Json callTool(const Json& params, const Json& id) const;

    std::string version_;
    std::string instructions_;
    std::vector<Tool> tools_;
    bool initialized_ = false;
};

} // namespace bubblescope::mcp
