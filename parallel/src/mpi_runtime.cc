#include "ditar/parallel/mpi.h"
#include "mpi_wait.h"

namespace ditar {

MpiRuntime::MpiRuntime() {
  int provided = 0;
  check_mpi(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided), "MPI_Init_thread");
  check_mpi(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  check_mpi(MPI_Comm_rank(MPI_COMM_WORLD, &rank_), "MPI_Comm_rank");
  check_mpi(MPI_Comm_size(MPI_COMM_WORLD, &size_), "MPI_Comm_size");
}

MpiRuntime::~MpiRuntime() {
  if (!abandoned_) MPI_Finalize();
}

std::string MpiRuntime::library() {
  char text[MPI_MAX_LIBRARY_VERSION_STRING] = {};
  int length = 0;
  check_mpi(MPI_Get_library_version(text, &length), "MPI_Get_library_version");
  const std::string whole(text, static_cast<std::size_t>(length));
  return whole.substr(0, whole.find(','));
}

}  // namespace ditar
