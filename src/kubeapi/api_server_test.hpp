#pragma once
// For tests: an API server on loopback that says what a script has for each request, byte by byte
// where that matters. Its certificate is made anew for each test.

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <atomic>
#include <chrono>
#include <fstream>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>
// Asio of 1.74 needs <utility> before it.
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>

#include "base/temporary_folder_test.hpp"
#include "kubeapi/kube_server.hpp"

namespace cleave {

/// What arrived.
struct SeenRequest {
  std::string method, target, body, token;
};

/// How the server speaks to the client after one request.
class ServerVoice {
 public:
  using Stream = boost::asio::ssl::stream<boost::asio::ip::tcp::socket>;
  explicit ServerVoice(Stream& stream) : stream_(stream) {}

  void raw(const std::string& bytes) {
    boost::system::error_code failed;
    boost::asio::write(stream_, boost::asio::buffer(bytes), failed);
  }
  void answer(int status, const std::string& body, bool close = false) {
    raw("HTTP/1.1 " + std::to_string(status) + " X\r\nContent-Type: application/json\r\n" +
        (close ? "Connection: close\r\n" : "") + "Content-Length: " + std::to_string(body.size()) +
        "\r\n\r\n" + body);
    hangs_up = hangs_up || close;
  }
  /// The head of a stream, one piece of it, and its end.
  void begin() { raw("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"); }
  void piece(const std::string& text) {
    char size[16];
    std::snprintf(size, sizeof size, "%zx\r\n", text.size());
    raw(size + text + "\r\n");
  }
  void end() { raw("0\r\n\r\n"); }
  void hang_up() { hangs_up = true; }

  bool hangs_up = false;

 private:
  Stream& stream_;
};

/// A key and a certificate for 127.0.0.1, signed by itself, as files.
inline void make_certificate(const std::filesystem::path& folder) {
  EVP_PKEY* key = EVP_EC_gen("P-256");
  X509* certificate = X509_new();
  X509_set_version(certificate, 2);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate), 1);
  X509_gmtime_adj(X509_getm_notBefore(certificate), -60);
  X509_gmtime_adj(X509_getm_notAfter(certificate), 3600);
  X509_set_pubkey(certificate, key);
  X509_NAME* name = X509_get_subject_name(certificate);
  X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC,
                             reinterpret_cast<const unsigned char*>("test"), -1, -1, 0);
  X509_set_issuer_name(certificate, name);
  X509V3_CTX context;
  X509V3_set_ctx(&context, certificate, certificate, nullptr, nullptr, 0);
  for (const auto& [id, value] : {std::pair{NID_subject_alt_name, "IP:127.0.0.1"},
                                  std::pair{NID_basic_constraints, "CA:TRUE"}}) {
    X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, &context, id, value);
    X509_add_ext(certificate, extension, -1);
    X509_EXTENSION_free(extension);
  }
  X509_sign(certificate, key, EVP_sha256());
  std::FILE* out = std::fopen((folder / "server.crt").c_str(), "w");
  PEM_write_X509(out, certificate);
  std::fclose(out);
  out = std::fopen((folder / "server.key").c_str(), "w");
  PEM_write_PrivateKey(out, key, nullptr, nullptr, 0, nullptr, nullptr);
  std::fclose(out);
  X509_free(certificate);
  EVP_PKEY_free(key);
}

/// The server. Each request takes the next entry of the script; after the last it is 500.
class ApiServerDouble {
 public:
  using Entry = std::function<void(const SeenRequest&, ServerVoice&)>;

  explicit ApiServerDouble(std::vector<Entry> script)
      : script_(std::move(script)), tls_(boost::asio::ssl::context::tls_server) {
    make_certificate(folder_.path());
    write_token("first");
    tls_.use_certificate_chain_file((folder_.path() / "server.crt").string());
    tls_.use_private_key_file((folder_.path() / "server.key").string(),
                              boost::asio::ssl::context::pem);
    acceptor_ = std::make_unique<boost::asio::ip::tcp::acceptor>(
        context_, boost::asio::ip::tcp::endpoint(boost::asio::ip::address_v4::loopback(), 0));
    thread_ = std::thread([this] { accept(); });
  }
  ~ApiServerDouble() {
    stop_ = true;
    // Wakes the one that accepts.
    boost::asio::io_context context;
    boost::asio::ip::tcp::socket knock(context);
    boost::system::error_code ignored;
    knock.connect(acceptor_->local_endpoint(), ignored);
    thread_.join();
    {
      const std::lock_guard lock(mutex_);
      for (const int socket : sockets_) ::shutdown(socket, SHUT_RDWR);
    }
    for (std::thread& each : clients_) each.join();
  }

  [[nodiscard]] KubeServer place() const {
    return {"127.0.0.1", std::to_string(acceptor_->local_endpoint().port()),
            folder_.path() / "server.crt", folder_.path() / "token"};
  }
  void write_token(const std::string& token) const {
    std::ofstream(folder_.path() / "token") << token << "\n";
  }
  [[nodiscard]] std::vector<SeenRequest> seen() const {
    const std::lock_guard lock(mutex_);
    return seen_;
  }
  /// Accepts, and says nothing.
  std::atomic<bool> mute = false;

 private:
  void accept() {
    while (!stop_) {
      auto socket = std::make_shared<boost::asio::ip::tcp::socket>(context_);
      boost::system::error_code failed;
      acceptor_->accept(*socket, failed);
      if (failed || stop_) continue;
      {
        const std::lock_guard lock(mutex_);
        sockets_.push_back(::dup(socket->native_handle()));
      }
      clients_.emplace_back([this, socket] { serve(std::move(*socket)); });
    }
  }
  void serve(boost::asio::ip::tcp::socket socket) {
    namespace http = boost::beast::http;
    while (mute && !stop_) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    ServerVoice::Stream stream(std::move(socket), tls_);
    boost::system::error_code failed;
    (void)stream.handshake(boost::asio::ssl::stream_base::server, failed);
    boost::beast::flat_buffer buffer;
    ServerVoice voice(stream);
    while (!failed && !voice.hangs_up && !stop_) {
      http::request<http::string_body> request;
      http::read(stream, buffer, request, failed);
      if (failed) break;
      SeenRequest what{std::string(request.method_string()), std::string(request.target()),
                       request.body(), std::string(request[http::field::authorization])};
      next(what)(what, voice);
    }
    // The list of sockets keeps it open otherwise.
    ::shutdown(stream.next_layer().native_handle(), SHUT_RDWR);
  }
  Entry next(const SeenRequest& what) {
    const std::lock_guard lock(mutex_);
    seen_.push_back(what);
    if (at_ < script_.size()) return script_[at_++];
    return [](const SeenRequest&, ServerVoice& voice) { voice.answer(500, "{}"); };
  }

  TemporaryFolder folder_;
  std::vector<Entry> script_;
  std::size_t at_ = 0;
  std::vector<SeenRequest> seen_;
  std::vector<int> sockets_;
  mutable std::mutex mutex_;
  std::atomic<bool> stop_ = false;
  boost::asio::io_context context_;
  boost::asio::ssl::context tls_;
  std::unique_ptr<boost::asio::ip::tcp::acceptor> acceptor_;
  std::vector<std::thread> clients_;
  std::thread thread_;
};

}  // namespace cleave
