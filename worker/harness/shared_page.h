// A PulsePage in memory that the ranks of one host share. Each rank owns its own page and maps the
// others' for reading; the memory goes with its last process. Move-only by shared_ptr; thread-safe
// as PulsePage is.
#pragma once

#include "ditar/parallel/pulse.h"

#include <memory>

namespace ditar {

struct SharedPage {
  std::shared_ptr<PulsePage> page;  ///< never null; in private memory where the system gives none
  int fd = -1;                      ///< of the memory, to be handed on and then closed; -1: private
};

/// A fresh page.
SharedPage make_shared_page();
/// The page behind `fd`, which stays open. Null if it cannot be mapped.
std::shared_ptr<PulsePage> map_page(int fd);

/// Sends one byte, and `fd` with it unless it is -1, over a connected Unix socket.
/// @throws TransportError if the other end is gone.
void send_fd(int socket, int fd);
/// Takes what send_fd sent, within five seconds; -1 where no descriptor came. The caller closes it.
/// @throws TransportError if nothing comes.
int receive_fd(int socket);

}  // namespace ditar
