#include "cli/console.h"
#include "commands/support.h"
#include "ditar/config/error.h"

#include <nlohmann/json.hpp>

namespace ditar {

int run_init(const GlobalOptions& global, const InitOptions& options, Console& console) {
  const Project project = open_project(global);
  const HostFacts machine = read_host_facts();
  const LaneConfig& lane = options.lane.empty()
                               ? project.settings.default_lane(machine.gpu_name, machine.gpu_count)
                               : project.settings.lane(options.lane);
  Ledger ledger = Ledger::open(project.layout.root, LedgerMode::kWrite);
  bool created = false;
  const SessionState session =
      init_session(project.git, ledger, project.settings, lane.name, created);
  project.layout.create();
  const bool on_target = Settings::on_target(project.settings.lane(session.lane), machine.gpu_name);
  if (created) {
    console.line("session   " + session.id + " on branch " + session.branch);
    console.line("lane      " + session.lane + (on_target ? "" : " (off-target)"));
    console.line("original  " + session.original.substr(0, 12));
    console.line("locked    " + std::to_string(session.locks.size()) + " fixed paths");
    console.line("next: dit-ar baseline");
  } else {
    console.line("the session " + session.id + " is live on this branch; nothing was changed");
    console.line(session.baseline ? "next: dit-ar status" : "next: dit-ar baseline");
    if (!options.lane.empty() && options.lane != session.lane) {
      throw Error("this session is bound to lane " + session.lane +
                      "; another lane needs a branch of its own: git switch -c autoresearch/<tag>",
                  ExitCode::kRules);
    }
  }
  console.document({{"created", created},
                    {"session", session.id},
                    {"branch", session.branch},
                    {"lane", session.lane},
                    {"off_target", !on_target},
                    {"original", session.original},
                    {"locked_paths", session.locks.size()}});
  return 0;
}

}  // namespace ditar
