#include "core/net/tls.h"

#ifdef BUBBLESCOPE_WITH_OPENSSL
#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <array>

namespace bubblescope::net {
namespace {

std::string reason() {
    std::array<char, 256> text{};
    const unsigned long code = ::ERR_get_error();
    ::ERR_clear_error();
    if (code == 0) return "no reason given";
    ::ERR_error_string_n(code, text.data(), text.size());
    return text.data();
}

Error tlsError(std::string what) {
    return inputError("the connection", fmt::format("{}: {}", what, reason()), "check the certificate, key and name");
}

/// The reason for which one end has rejected the other.
Error sessionError(const SSL* session) {
    const long verified = ::SSL_get_verify_result(session);
    const unsigned long code = ::ERR_peek_error();
    if (verified != X509_V_OK) {
        ::ERR_clear_error();
        return inputError("the connection",
                          fmt::format("the other side cannot be trusted: its certificate was rejected: {}",
                                      ::X509_verify_cert_error_string(verified)),
                          "specify its issuer's certificate, and the host name that the certificate contains");
    }
    const int why = ERR_GET_REASON(code);
    if (why == SSL_R_WRONG_VERSION_NUMBER || why == SSL_R_HTTP_REQUEST || why == SSL_R_PACKET_LENGTH_TOO_LONG) {
        ::ERR_clear_error();
        return inputError("the connection", "the other side cannot be trusted: it does not use TLS",
                          "encrypt on both sides or on neither");
    }
    if (why == SSL_R_TLSV1_ALERT_UNKNOWN_CA || why == SSL_R_SSLV3_ALERT_BAD_CERTIFICATE ||
        why == SSL_R_SSLV3_ALERT_CERTIFICATE_UNKNOWN || why == SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED) {
        return tlsError("the other side does not trust this side's certificate");
    }
    return tlsError("the data was corrupted in transit, or the other side cannot be trusted");
}

std::shared_ptr<SSL_CTX> newContext(const SSL_METHOD* method) {
    std::shared_ptr<SSL_CTX> context(::SSL_CTX_new(method), &::SSL_CTX_free);
    if (context) {
        ::SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION);
        ::SSL_CTX_set_mode(context.get(), SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    }
    return context;
}

} // namespace

struct TlsSession::State {
    explicit State(SSL* one) : session(one, &::SSL_free), in(::BIO_new(::BIO_s_mem())), out(::BIO_new(::BIO_s_mem())) {
        ::SSL_set_bio(one, in, out); // which takes ownership
    }

    std::unique_ptr<SSL, decltype(&::SSL_free)> session;
    BIO* in;
    BIO* out;
    std::string waiting;
};

Status TlsSession::receive(std::string_view bytes, std::string& said) {
    if (::BIO_write(state_->in, bytes.data(), static_cast<int>(bytes.size())) != static_cast<int>(bytes.size()))
        return tlsError("out of memory");
    SSL* const session = state_->session.get();
    std::array<char, 1 << 14> buffer{};
    while (true) {
        const int count = ::SSL_read(session, buffer.data(), static_cast<int>(buffer.size()));
        if (count > 0) {
            said.append(buffer.data(), static_cast<std::size_t>(count));
            continue;
        }
        const int reason = ::SSL_get_error(session, count);
        if (reason != SSL_ERROR_WANT_READ && reason != SSL_ERROR_WANT_WRITE && reason != SSL_ERROR_ZERO_RETURN)
            return sessionError(session);
        return say({});
    }
}

Status TlsSession::say(std::string_view text) {
    SSL* const session = state_->session.get();
    std::string& waiting = state_->waiting;
    waiting += text;
    while (!waiting.empty()) {
        const int count = ::SSL_write(session, waiting.data(), static_cast<int>(waiting.size()));
        if (count > 0) {
            waiting.erase(0, static_cast<std::size_t>(count));
            continue;
        }
        const int reason = ::SSL_get_error(session, count);
        if (reason == SSL_ERROR_WANT_READ || reason == SSL_ERROR_WANT_WRITE) return {};
        return sessionError(session);
    }
    return {};
}

std::string TlsSession::takeBytes() {
    std::string bytes(::BIO_ctrl_pending(state_->out), '\0');
    const int count = bytes.empty() ? 0 : ::BIO_read(state_->out, bytes.data(), static_cast<int>(bytes.size()));
    bytes.resize(static_cast<std::size_t>(std::max(count, 0)));
    return bytes;
}

Result<TlsSettings> TlsSettings::forListening(const std::string& certificate, const std::string& key) {
    const auto context = newContext(::TLS_server_method());
    if (!context) return tlsError("TLS is not available");
    if (::SSL_CTX_use_certificate_chain_file(context.get(), certificate.c_str()) != 1)
        return inputError(certificate, "cannot read a certificate: " + reason());
    if (::SSL_CTX_use_PrivateKey_file(context.get(), key.c_str(), SSL_FILETYPE_PEM) != 1 ||
        ::SSL_CTX_check_private_key(context.get()) != 1) {
        return inputError(key, "cannot read the key of that certificate: " + reason());
    }
    TlsSettings settings;
    settings.context_ = context;
    return settings;
}

Result<TlsSettings> TlsSettings::forConnecting(const std::string& trusted, const std::string& host) {
    const auto context = newContext(::TLS_client_method());
    if (!context) return tlsError("TLS is not available");
    if (::SSL_CTX_load_verify_locations(context.get(), trusted.c_str(), nullptr) != 1)
        return inputError(trusted, "cannot read certificates: " + reason());
    ::SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, nullptr);
    TlsSettings settings;
    settings.context_ = context;
    settings.host_ = host;
    return settings;
}

Result<TlsSession> TlsSettings::begin() const {
    SSL* const session = ::SSL_new(static_cast<SSL_CTX*>(context_.get()));
    if (session == nullptr) return tlsError("TLS is not available");
    TlsSession opened(std::make_shared<TlsSession::State>(session));
    if (host_.empty()) {
        ::SSL_set_accept_state(session);
    } else {
        // A certificate names hosts or addresses; check which of them `host_` is.
        if (::X509_VERIFY_PARAM_set1_ip_asc(::SSL_get0_param(session), host_.c_str()) != 1) {
            ::ERR_clear_error();
            if (::SSL_set1_host(session, host_.c_str()) != 1 || ::SSL_set_tlsext_host_name(session, host_.c_str()) != 1)
                return tlsError("cannot check the host name");
        }
        ::SSL_set_connect_state(session);
        [[maybe_unused]] const int begun = ::SSL_do_handshake(session); // produces the first bytes to send
        ::ERR_clear_error();
    }
    return opened;
}

} // namespace bubblescope::net

#else

namespace bubblescope::net {
namespace {

Error noTls() {
    return usageError("this build does not support TLS",
                      "build with OpenSSL (Debian: libssl-dev), or omit the certificates");
}

} // namespace

Result<TlsSettings> TlsSettings::forListening(const std::string&, const std::string&) {
    return noTls();
}

Result<TlsSettings> TlsSettings::forConnecting(const std::string&, const std::string&) {
    return noTls();
}

// Without settings there is no session.
Result<TlsSession> TlsSettings::begin() const {
    return noTls();
}

Status TlsSession::receive(std::string_view, std::string&) {
    return noTls();
}

Status TlsSession::say(std::string_view) {
    return noTls();
}

std::string TlsSession::takeBytes() {
    return {};
}

} // namespace bubblescope::net

#endif
