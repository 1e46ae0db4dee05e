// dit-worker: serves a coordinator's requests under mpirun (the default).
#include "ditar/config/error.h"
#include "ditar/config/log.h"
#include "orphan_guard.h"
#include "serve.h"

#include <CLI/CLI.hpp>

int main(int argc, char** argv) {
  ditar::die_with_parent();
  CLI::App app("dit-worker: the DiT engine's worker. dit-ar launches it through mpirun.");
  ditar::ServeOptions serve;
  app.add_option("--coord", serve.coord, "endpoint of the coordinator (ipc:// or tcp://)")
      ->required();
  app.add_option("--attempt", serve.attempt, "id of this launch, 32 hex digits")->required();
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    const int code = app.exit(error);
    return code == 0 ? 0 : ditar::to_int(ditar::ExitCode::kUsage);
  }
  try {
    return ditar::serve(serve);
  } catch (const ditar::Error& error) {
    ditar::log_error(error.message());
    return ditar::to_int(error.exit_code());
  } catch (const std::exception& error) {
    ditar::log_error(error.what());
    return ditar::to_int(ditar::ExitCode::kFailure);
  }
}
