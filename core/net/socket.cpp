#include "core/net/socket.h"

#include "core/base/field.h"
#include "core/base/text.h"

#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/ip/v6_only.hpp>
#include <asio/steady_timer.hpp>
#include <fcntl.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <utility>
#include <vector>

namespace bubblescope::net {

std::string Address::text() const {
    return host.find(':') == std::string::npos ? fmt::format("{}:{}", host, port) : fmt::format("[{}]:{}", host, port);
}

bool Address::isLoopback() const {
    if (host == "localhost") return true;
    std::error_code no_number;
    const auto number = asio::ip::make_address(host, no_number);
    if (no_number) return false;
    return number.is_loopback() || (number.is_v6() && number.to_v6().is_v4_mapped() &&
                                    asio::ip::make_address_v4(asio::ip::v4_mapped, number.to_v6()).is_loopback());
}

Status mustBeLoopback(const Address& address, std::string_view encrypting) {
    if (address.isLoopback()) return {};
    return usageError(
        fmt::format("{} is reachable from other machines, and nothing would be encrypted", address.text()),
        fmt::format("encrypt with {}, use a tunnel, or accept that others can read the records in transit: {}",
                    encrypting, Field("insecure")));
}

Result<Address> parseAddress(std::string_view text) {
    Address address{"127.0.0.1", 0};
    const std::size_t colon = text.rfind(':');
    std::string_view host = colon == std::string_view::npos ? std::string_view() : text.substr(0, colon);
    const std::string_view port = colon == std::string_view::npos ? text : text.substr(colon + 1);
    if (host.size() > 2 && host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
    if (!host.empty()) address.host = host;
    const auto number = parseNumber<int>(port);
    constexpr int kLast = 65535;
    if (!number || *number < 0 || *number > kLast) {
        return usageError(fmt::format("'{}' is not an address", text), "use HOST:PORT, or PORT for this machine only");
    }
    address.port = *number;
    return address;
}

namespace {

using asio::ip::tcp;
using Context = std::shared_ptr<asio::io_context>; ///< shared by a listener and the sockets it accepted

void setOption(int descriptor, int level, int option, int value) {
    ::setsockopt(descriptor, level, option, &value, sizeof value); // this option is not essential
}

/// Asio's descriptors are inherited by child processes by default.
template <class AsioSocket>
void prepare(AsioSocket& socket) {
    std::error_code ignored;
    ::fcntl(socket.native_handle(), F_SETFD, FD_CLOEXEC);
    socket.non_blocking(true, ignored);
}

/// Asio's category of system errors is not the standard one, so its codes never equal std::errc.
std::error_code standard(const std::error_code& code) {
    return code.category() == asio::error::get_system_category() ? std::error_code(code.value(), std::system_category())
                                                                 : code;
}

/// getaddrinfo()'s message for an Asio error.
std::string lookUpFailure(const std::error_code& code) {
    if (code == asio::error::host_not_found || code == asio::error::no_data) return ::gai_strerror(EAI_NONAME);
    if (code == asio::error::host_not_found_try_again) return ::gai_strerror(EAI_AGAIN);
    if (code == asio::error::no_recovery) return ::gai_strerror(EAI_FAIL);
    return code.message();
}

Error addressError(const Address& address, std::string_view what, std::string_view reason) {
    Error error = runError(fmt::format("{}: {}", what, reason));
    error.where = address.text();
    return error;
}

/// Runs handlers until `done` or the deadline; false if the deadline passed first.
bool runUntil(asio::io_context& context, const bool& done, const Deadline& deadline) {
    while (!done) {
        context.restart();
        if (!deadline) {
            context.run_one();
        } else {
            if (Clock::now() >= *deadline) {
                context.poll();
                return done;
            }
            context.run_one_until(*deadline);
        }
    }
    return true;
}

/// Waits until the socket is readable or writable, as requested; false at the deadline.
template <class AsioSocket>
bool waitFor(asio::io_context& context, AsioSocket& socket, asio::socket_base::wait_type type, const Deadline& deadline,
             std::error_code& failed) {
    bool done = false;
    socket.async_wait(type, [&](const std::error_code& code) {
        failed = code;
        done = true;
    });
    if (runUntil(context, done, deadline)) {
        failed = standard(failed);
        return true;
    }
    std::error_code ignored;
    socket.cancel(ignored);
    runUntil(context, done, {}); // the handler refers to local variables
    failed.clear();
    return false;
}

} // namespace

// ---- Socket ---------------------------------------------------------------------------------------------

struct Socket::State {
    Context context;
    tcp::socket socket;
};

Socket::Socket() = default;
Socket::Socket(std::unique_ptr<State> state) : state_(std::move(state)) {
    setOption(state_->socket.native_handle(), IPPROTO_TCP, TCP_NODELAY, 1);
}
Socket::Socket(Socket&& other) noexcept = default;
Socket& Socket::operator=(Socket&& other) noexcept = default;
Socket::~Socket() = default;

int Socket::descriptor() const {
    return state_ ? state_->socket.native_handle() : -1;
}

std::string Socket::peer() const {
    std::error_code failed;
    const auto end = state_ ? state_->socket.remote_endpoint(failed) : asio::ip::tcp::endpoint();
    return !state_ || failed ? std::string() : end.address().to_string();
}

Socket::Progress Socket::readSome(char* data, std::size_t bytes) {
    std::error_code code;
    const std::size_t count = state_->socket.read_some(asio::buffer(data, bytes), code);
    if (!code) return {.bytes = count};
    if (code == asio::error::would_block || code == asio::error::try_again) return {};
    return {.ended = true, .reason = code == asio::error::eof ? std::error_code() : standard(code)};
}

Socket::Progress Socket::writeSome(std::string_view data) {
    std::error_code code;
    const std::size_t count = state_->socket.write_some(asio::buffer(data.data(), data.size()), code);
    if (!code) return {.bytes = count};
    if (code == asio::error::would_block || code == asio::error::try_again) return {};
    return {.ended = true, .reason = standard(code)};
}

Socket::Outcome Socket::read(char* data, std::size_t bytes, Deadline deadline) {
    while (bytes > 0) {
        const Progress progress = readSome(data, bytes);
        if (progress.ended) return Outcome::Closed;
        data += progress.bytes;
        bytes -= progress.bytes;
        std::error_code failed;
        if (progress.bytes == 0 && !waitFor(*state_->context, state_->socket, tcp::socket::wait_read, deadline, failed))
            return Outcome::TimedOut;
        if (failed) return Outcome::Closed;
    }
    return Outcome::Done;
}

Socket::Outcome Socket::write(std::string_view data, Deadline deadline) {
    while (!data.empty()) {
        const Progress progress = writeSome(data);
        if (progress.ended) return Outcome::Closed;
        data.remove_prefix(progress.bytes);
        std::error_code failed;
        if (progress.bytes == 0 &&
            !waitFor(*state_->context, state_->socket, tcp::socket::wait_write, deadline, failed))
            return Outcome::TimedOut;
        if (failed) return Outcome::Closed;
    }
    return Outcome::Done;
}

bool Socket::shutdownWrite() {
    std::error_code failed;
    state_->socket.shutdown(tcp::socket::shutdown_send, failed);
    return !failed;
}

void Socket::enableKeepAlive() {
    constexpr int kMinute = 60'000;
    const int descriptor = state_->socket.native_handle();
    setOption(descriptor, SOL_SOCKET, SO_KEEPALIVE, 1);
    setOption(descriptor, IPPROTO_TCP, TCP_KEEPIDLE, 15);
    setOption(descriptor, IPPROTO_TCP, TCP_KEEPINTVL, 5);
    setOption(descriptor, IPPROTO_TCP, TCP_USER_TIMEOUT, kMinute);
}

// ---- Listener -------------------------------------------------------------------------------------------

struct Listener::State {
    Context context;
    tcp::acceptor acceptor;
};

namespace {

/// A listener that is not open if listening fails.
std::unique_ptr<Listener::State> listenAt(const tcp::endpoint& endpoint, bool both_families, std::error_code& failed) {
    try {
        auto context = std::make_shared<asio::io_context>();
        auto state = std::make_unique<Listener::State>(Listener::State{context, tcp::acceptor(*context)});
        tcp::acceptor& acceptor = state->acceptor;
        const auto fails = [&failed] {
            failed = standard(failed);
            return nullptr;
        };
        if (acceptor.open(endpoint.protocol(), failed)) return fails();
        prepare(acceptor);
        std::error_code ignored;
        acceptor.set_option(tcp::acceptor::reuse_address(true), ignored);
        if (both_families) acceptor.set_option(asio::ip::v6_only(false), ignored);
        if (acceptor.bind(endpoint, failed)) return fails();
        if (acceptor.listen(asio::socket_base::max_listen_connections, failed)) return fails();
        return state;
    } catch (const std::system_error& e) { // out of descriptors
        failed = e.code();
        return nullptr;
    }
}

} // namespace

Listener::Listener() = default;
Listener::Listener(std::unique_ptr<State> state) : state_(std::move(state)) {}
Listener::Listener(Listener&& other) noexcept = default;
Listener& Listener::operator=(Listener&& other) noexcept = default;
Listener::~Listener() = default;

namespace {

std::vector<tcp::endpoint> endpointsOf(const Address& address, std::error_code& failed) {
    std::vector<tcp::endpoint> endpoints;
    try {
        asio::io_context context;
        tcp::resolver resolver(context);
        const auto flags = tcp::resolver::passive | tcp::resolver::numeric_service;
        for (const auto& found : resolver.resolve(address.host, std::to_string(address.port), flags, failed))
            endpoints.push_back(found.endpoint());
    } catch (const std::system_error& e) {
        failed = e.code();
    }
    return endpoints;
}

} // namespace

Result<Listener> Listener::open(Address& address) {
    std::error_code failed;
    const std::vector<tcp::endpoint> endpoints = endpointsOf(address, failed);
    if (failed) return addressError(address, "unknown address", lookUpFailure(failed));
    for (const tcp::endpoint& endpoint : endpoints) {
        std::unique_ptr<State> state = listenAt(endpoint, false, failed);
        if (state == nullptr) continue;
        address.port = state->acceptor.local_endpoint(failed).port();
        return Listener(std::move(state));
    }
    return addressError(address, "cannot listen", failed.message());
}

Listener Listener::openReachable(const Address& address, std::error_code& failed) {
    for (const tcp::endpoint& endpoint : endpointsOf(address, failed)) {
        if (endpoint.address().is_loopback() && !address.isLoopback()) continue;
        std::unique_ptr<State> state = listenAt(endpoint, false, failed);
        if (state != nullptr) return Listener(std::move(state));
        if (failed == std::errc::address_in_use) return {}; // the address belongs to this host
    }
    if (address.isLoopback()) return {};
    const auto number = static_cast<asio::ip::port_type>(address.port);
    std::unique_ptr<State> state = listenAt({tcp::v6(), number}, true, failed);
    if (failed == std::errc::address_family_not_supported) state = listenAt({tcp::v4(), number}, false, failed);
    return state ? Listener(std::move(state)) : Listener();
}

int Listener::descriptor() const {
    return state_ ? state_->acceptor.native_handle() : -1;
}

namespace {

Socket acceptFrom(Listener::State& listener, std::error_code& failed) {
    tcp::socket accepted(*listener.context);
    if (listener.acceptor.accept(accepted, failed)) return {};
    prepare(accepted);
    return Socket(std::make_unique<Socket::State>(Socket::State{listener.context, std::move(accepted)}));
}

} // namespace

Socket Listener::accept() {
    std::error_code ignored;
    return acceptFrom(*state_, ignored);
}

Socket Listener::accept(Deadline deadline, std::error_code& failed) {
    while (true) {
        Socket accepted = acceptFrom(*state_, failed);
        if (accepted.isOpen()) return accepted;
        const bool none = failed == asio::error::would_block || failed == asio::error::try_again;
        if (!none && failed != asio::error::connection_aborted) {
            failed = standard(failed);
            return {};
        }
        failed.clear();
        if (!waitFor(*state_->context, state_->acceptor, tcp::acceptor::wait_read, deadline, failed) || failed)
            return {};
    }
}

// ---- Connector ------------------------------------------------------------------------------------------

/// Handlers hold this state by weak pointers, so that destroying it cancels the connection.
struct Connector::State : std::enable_shared_from_this<Connector::State> {
    explicit State(Clock::duration longest)
        : context(std::make_shared<asio::io_context>()), resolver(*context), socket(*context), timer(*context),
          attempt(longest) {}

    void begin(const Address& address) {
        std::error_code not_a_number;
        const auto number = asio::ip::make_address(address.host, not_a_number);
        if (!not_a_number) {
            endpoints.emplace_back(number, static_cast<asio::ip::port_type>(address.port));
            return tryNext();
        }
        resolver.async_resolve(address.host, std::to_string(address.port), tcp::resolver::numeric_service,
                               [weak = weak_from_this()](const std::error_code& code, const auto& found) {
                                   const auto self = weak.lock();
                                   if (!self) return;
                                   if (code) return self->fail(lookUpFailure(code), true);
                                   for (const auto& entry : found)
                                       self->endpoints.push_back(entry.endpoint());
                                   self->tryNext();
                               });
    }

    void tryNext() {
        std::error_code code;
        while (next < endpoints.size()) {
            const tcp::endpoint endpoint = endpoints[next++];
            socket.close(code);
            if (socket.open(endpoint.protocol(), code)) {
                reason = code.message();
                continue;
            }
            prepare(socket);
            const std::size_t number = next;
            timer.expires_after(attempt);
            timer.async_wait([weak = weak_from_this(), number](const std::error_code& ended) {
                const auto self = weak.lock();
                if (!self || ended || self->next != number || self->settled) return;
                self->reason = std::make_error_code(std::errc::timed_out).message();
                self->tryNext();
            });
            socket.async_connect(endpoint, [weak = weak_from_this(), number](const std::error_code& outcome) {
                const auto self = weak.lock();
                if (!self || self->next != number || self->settled) return; // the attempt timed out
                if (!outcome) return self->settle();
                self->reason = outcome.message();
                self->tryNext();
            });
            return;
        }
        fail(reason, false);
    }

    void settle() {
        settled = true;
        timer.cancel();
    }
    void fail(std::string cause, bool unknown_host) {
        reason = std::move(cause);
        failed = true;
        unknown = unknown_host;
        settle();
    }
    [[nodiscard]] Stage stage() const {
        if (!settled) return Stage::UnderWay;
        return failed ? Stage::Failed : Stage::Connected;
    }

    Context context;
    tcp::resolver resolver;
    tcp::socket socket;
    asio::steady_timer timer;
    Clock::duration attempt;
    std::vector<tcp::endpoint> endpoints;
    std::size_t next = 0;
    bool settled = false;
    bool failed = false;
    bool unknown = false;
    std::string reason;
};

namespace {

const std::string kNoDescriptors = "no file descriptors left";

} // namespace

Connector::Connector(const Address& address, Clock::duration attempt) {
    try {
        state_ = std::make_shared<State>(attempt);
        state_->begin(address);
    } catch (const std::system_error&) {
        state_.reset();
    }
}
Connector::Connector(Connector&& other) noexcept = default;
Connector& Connector::operator=(Connector&& other) noexcept = default;
Connector::~Connector() = default;

Connector::Stage Connector::poll() {
    if (!state_) return Stage::Failed;
    state_->context->restart();
    state_->context->poll();
    return state_->stage();
}

Connector::Stage Connector::wait(Deadline deadline) {
    if (!state_) return Stage::Failed;
    runUntil(*state_->context, state_->settled, deadline);
    return state_->stage();
}

Socket Connector::take() {
    return Socket(std::make_unique<Socket::State>(Socket::State{state_->context, std::move(state_->socket)}));
}

const std::string& Connector::reason() const {
    return state_ ? state_->reason : kNoDescriptors;
}

bool Connector::unknownHost() const {
    return state_ && state_->unknown;
}

int Connector::descriptor() const {
    return state_ && state_->socket.is_open() ? state_->socket.native_handle() : -1;
}

} // namespace bubblescope::net
