#include "core/mcp/session.h"

#include "core/base/input_file.h"
#include "core/base/suggestion.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <utility>

namespace bubblescope::mcp {
namespace {

using Json = nlohmann::json;

// Error codes of JSON-RPC 2.0.
constexpr int kParseError = -32700;
constexpr int kInvalidRequest = -32600;
constexpr int kMethodNotFound = -32601;
constexpr int kInvalidParams = -32602;

/// Versions of the protocol, the latest first. Tools are the same in all of them.
constexpr std::array<std::string_view, 3> kVersions{"2025-06-18", "2025-03-26", "2024-11-05"};

Json failure(const Json& id, int code, const std::string& message) {
    return {{"jsonrpc", "2.0"}, {"id", id}, {"error", {{"code", code}, {"message", message}}}};
}

Json success(const Json& id, Json result) {
    return {{"jsonrpc", "2.0"}, {"id", id}, {"result", std::move(result)}};
}

/// Text from traces may contain bytes that are not UTF-8.
std::string lineOf(const Json& message) {
    return message.dump(-1, ' ', false, Json::error_handler_t::replace);
}

bool hasType(const Json& value, const Json& schema) {
    const std::string type = schema.value("type", "");
    if (type == "string") return value.is_string();
    if (type == "integer") return value.is_number_integer();
    if (type == "array")
        return value.is_array() &&
               std::ranges::all_of(value, [&](const Json& each) { return hasType(each, schema["items"]); });
    return false;
}

/// The error in the arguments; empty if there is none.
std::string complaintAbout(const Json& arguments, const Json& schema) {
    const Json& properties = schema["properties"];
    for (const auto& [name, value] : arguments.items()) {
        const auto property = properties.find(name);
        if (property == properties.end()) {
            std::vector<std::string> names;
            for (const auto& [known, of] : properties.items())
                names.push_back(known);
            return fmt::format("unknown argument '{}'{}", name, didYouMean(name, names));
        }
        if (!hasType(value, *property)) return fmt::format("'{}' is not of type {}", name, property->value("type", ""));
    }
    for (const Json& required : schema["required"]) {
        if (!arguments.contains(required.get<std::string>()))
            return fmt::format("'{}' is missing", required.get<std::string>());
    }
    return {};
}

Json contentOf(const std::string& text) {
    return Json::array({{{"type", "text"}, {"text", text}}});
}

} // namespace

Session::Session(std::string version, std::string instructions, std::vector<Tool> tools)
    : version_(std::move(version)), instructions_(std::move(instructions)), tools_(std::move(tools)) {}

std::optional<std::string> Session::answer(std::string_view line) {
    const Result<Json> read = parseJsonDocument(line, "the message", "one JSON-RPC message per line");
    if (!read.ok()) return lineOf(failure(nullptr, kParseError, read.error().text()));
    const Json& message = read.value();
    if (!message.is_array()) {
        const std::optional<Json> response = answerTo(message);
        return response ? std::optional(lineOf(*response)) : std::nullopt;
    }
    if (message.empty()) return lineOf(failure(nullptr, kInvalidRequest, "the batch is empty"));
    Json responses = Json::array();
    for (const Json& one : message) {
        if (std::optional<Json> response = answerTo(one)) responses.push_back(std::move(*response));
    }
    return responses.empty() ? std::nullopt : std::optional(lineOf(responses));
}

std::optional<nlohmann::json> Session::answerTo(const Json& message) {
    if (!message.is_object()) return failure(nullptr, kInvalidRequest, "a message is a JSON object");
    const bool asks = message.contains("id");
    const Json id = asks ? message["id"] : Json();
    if (asks && !id.is_string() && !id.is_number_integer())
        return failure(nullptr, kInvalidRequest, "'id' is neither a string nor an integer");
    if (!message.contains("jsonrpc") || message["jsonrpc"] != "2.0")
        return failure(id, kInvalidRequest, "'jsonrpc' is not \"2.0\"");
    if (!message.contains("method")) {
        const bool response = message.contains("result") || message.contains("error");
        if (response) return std::nullopt; // this server sends no requests, so it ignores responses
        return failure(id, kInvalidRequest, "'method' is missing");
    }
    if (!message["method"].is_string()) return failure(id, kInvalidRequest, "'method' is not a string");
    if (!asks) return std::nullopt; // notifications change nothing here
    const Json params = message.value("params", Json::object());
    if (!params.is_object()) return failure(id, kInvalidParams, "'params' is not an object");
    return dispatch(message["method"].get<std::string>(), params, id);
}

Json Session::dispatch(const std::string& method, const Json& params, const Json& id) {
    if (method == "ping") return success(id, Json::object());
    if (method == "initialize") return initialize(params, id);
    const std::vector<std::string> known{"initialize", "ping", "tools/list", "tools/call"};
    if (std::ranges::find(known, method) == known.end())
        return failure(id, kMethodNotFound,
                       fmt::format("there is no method '{}'{}", method, didYouMean(method, known)));
    if (!initialized_) return failure(id, kInvalidRequest, "the session is not initialized: call initialize first");
    return method == "tools/list" ? listTools(params, id) : callTool(params, id);
}

Json Session::initialize(const Json& params, const Json& id) {
    const auto asked = params.find("protocolVersion");
    if (asked == params.end() || !asked->is_string())
        return failure(id, kInvalidParams, "'protocolVersion' is missing or not a string");
    const bool known = std::ranges::find(kVersions, asked->get<std::string>()) != kVersions.end();
    initialized_ = true;
    return success(id, {{"protocolVersion", known ? asked->get<std::string>() : std::string(kVersions.front())},
                        {"capabilities", {{"tools", {{"listChanged", false}}}}},
                        {"serverInfo", {{"name", "bubblescope"}, {"title", "Bubblescope"}, {"version", version_}}},
                        {"instructions", instructions_}});
}

Json Session::listTools(const Json& params, const Json& id) const {
    if (params.contains("cursor")) return failure(id, kInvalidParams, "unknown 'cursor': all tools are on one page");
    Json tools = Json::array();
    for (const Tool& tool : tools_) {
        tools.push_back({{"name", tool.name},
                         {"title", tool.title},
                         {"description", tool.about},
                         {"inputSchema", tool.input},
                         {"annotations", {{"readOnlyHint", true}, {"openWorldHint", false}}}});
    }
    return success(id, {{"tools", std::move(tools)}});
}

Json Session::callTool(const Json& params, const Json& id) const {
    const auto name = params.find("name");
    if (name == params.end() || !name->is_string())
        return failure(id, kInvalidParams, "'name' is missing or not a string");
    const auto tool = std::ranges::find(tools_, name->get<std::string>(), &Tool::name);
    if (tool == tools_.end()) {
        std::vector<std::string> names;
        for (const Tool& each : tools_)
            names.push_back(each.name);
        return failure(
            id, kInvalidParams,
            fmt::format("there is no tool '{}'; the tools are {}", name->get<std::string>(), fmt::join(names, ", ")));
    }
    const Json arguments = params.value("arguments", Json::object());
    if (!arguments.is_object()) return failure(id, kInvalidParams, "'arguments' is not an object");
    if (const std::string wrong = complaintAbout(arguments, tool->input); !wrong.empty())
        return failure(id, kInvalidParams, fmt::format("{}: {}", tool->name, wrong));
    const Result<ToolAnswer> found = tool->call(arguments);
    if (!found.ok()) return success(id, {{"content", contentOf(found.error().text())}, {"isError", true}});
    return success(
        id,
        {{"content", contentOf(found.value().text)}, {"structuredContent", found.value().data}, {"isError", false}});
}

} // namespace bubblescope::mcp
