#include "shared_page.h"

#include "ditar/config/error.h"

#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <new>

namespace ditar {

namespace {

constexpr int kPatienceMs = 5000;

/// Room for one descriptor beside a message.
union Ancillary {
  cmsghdr header;
  char room[CMSG_SPACE(sizeof(int))];
};

}  // namespace

std::shared_ptr<PulsePage> map_page(int fd) {
  void* const memory =
      ::mmap(nullptr, sizeof(PulsePage), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (memory == MAP_FAILED) return nullptr;
  return {static_cast<PulsePage*>(memory),
          [](PulsePage* page) { ::munmap(page, sizeof(PulsePage)); }};
}

SharedPage make_shared_page() {
  const int fd = ::memfd_create("ditar-pulse", MFD_CLOEXEC);
  if (fd >= 0 && ::ftruncate(fd, sizeof(PulsePage)) == 0) {
    if (auto page = map_page(fd)) return {std::move(page), fd};
  }
  if (fd >= 0) ::close(fd);
  return {std::make_shared<PulsePage>(), -1};
}

void send_fd(int socket, int fd) {
  char byte = 'p';
  iovec data{&byte, 1};
  Ancillary extra{};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  if (fd >= 0) {
    message.msg_control = &extra;
    message.msg_controllen = sizeof extra;
    cmsghdr* const header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof fd);
    std::memcpy(CMSG_DATA(header), &fd, sizeof fd);
  }
  while (::sendmsg(socket, &message, MSG_NOSIGNAL) < 0) {
    if (errno != EINTR) throw TransportError("a rank is gone while ranks connect");
  }
}

int receive_fd(int socket) {
  pollfd item{socket, POLLIN, 0};
  char byte = 0;
  iovec data{&byte, 1};
  Ancillary extra{};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = &extra;
  message.msg_controllen = sizeof extra;
  if (::poll(&item, 1, kPatienceMs) <= 0 || ::recvmsg(socket, &message, MSG_CMSG_CLOEXEC) != 1) {
    throw TransportError("a rank is gone while ranks connect");
  }
  const cmsghdr* const header = CMSG_FIRSTHDR(&message);
  if (header == nullptr || header->cmsg_type != SCM_RIGHTS) return -1;
  int fd = -1;
  std::memcpy(&fd, CMSG_DATA(header), sizeof fd);
  return fd;
}

}  // namespace ditar
