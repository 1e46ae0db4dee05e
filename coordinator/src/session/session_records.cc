// What the ledger says of a session. Pure.
#include "ditar/config/error.h"
#include "ditar/coordinator/session.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cctype>

namespace ditar {
namespace {

using Json = nlohmann::json;

std::string text(const Json& body, const char* key) {
  const auto found = body.find(key);
  return found != body.end() && found->is_string() ? found->get<std::string>() : std::string();
}

SessionState started(const Record& record, const Json& body) {
  SessionState state;
  state.id = text(body, "session");
  state.branch = text(body, "branch");
  state.lane = text(body, "lane");
  state.original = text(body, "original");
  state.settings_sha256 = text(body, "settings_sha256");
  if (body.contains("locks") && body["locks"].is_object()) {
    for (const auto& [path, object] : body["locks"].items()) {
      if (object.is_string()) state.locks[path] = object.get<std::string>();
    }
  }
  if (state.id.empty() || state.lane.empty() || state.original.empty()) {
    throw DataError("ledger record " + std::to_string(record.seq) +
                    " starts a session but lacks its name, lane or commit");
  }
  state.init = record;
  return state;
}

void close_attempt(SessionState& state, const std::string& id) {
  std::erase_if(state.open_attempts, [&id](const OpenAttempt& open) { return open.id == id; });
}

void apply(SessionState& state, const Record& record, const Json& body) {
  if (record.type == "baseline" && body.value("ok", false)) {
    state.baseline = record;
  } else if (record.type == "intent") {
    ++state.next_number;
    close_attempt(state, text(body, "id"));
    state.open_attempts.push_back({text(body, "id"), text(body, "commit"), record.seq});
  } else if (record.type == "verdict") {
    close_attempt(state, text(body, "id"));
    ++state.verdicts[text(body, "verdict")];
  } else if (record.type == "abandoned") {
    close_attempt(state, text(body, "id"));
    ++state.verdicts["ABANDONED"];
  }
}

}  // namespace

std::string session_tag(const std::string& branch) {
  const std::string prefix = "autoresearch/";
  if (branch.rfind(prefix, 0) != 0) return {};
  const std::string tag = branch.substr(prefix.size());
  const auto plain = [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '.' || c == '_' || c == '-';
  };
  const bool good = !tag.empty() && tag.size() <= 64 &&
                    std::isalnum(static_cast<unsigned char>(tag[0])) != 0 &&
                    std::all_of(tag.begin(), tag.end(), plain);
  return good ? tag : std::string();
}

std::optional<SessionState> load_session(const std::vector<Record>& records,
                                         const std::string& branch) {
  std::optional<SessionState> live;
  for (const Record& record : records) {
    const Json body = Json::parse(record.body, nullptr, false);
    if (!body.is_object()) continue;
    if (record.type == "session-init") {
      if (text(body, "branch") == branch) live = started(record, body);
    } else if (live && text(body, "session") == live->id) {
      if (record.type == "session-end") {
        live.reset();
      } else {
        apply(*live, record, body);
      }
    }
  }
  return live;
}

std::string original_ref(const SessionState& session) {
  return "refs/dit-ar/" + session.id + "/" + session.lane + "/original";
}

std::string best_ref(const SessionState& session) {
  return "refs/dit-ar/" + session.id + "/" + session.lane + "/best";
}

std::string archive_ref(const SessionState& session, const std::string& attempt_id) {
  return "refs/dit-ar/" + session.lane + "/" + attempt_id;
}

std::string attempt_id(const SessionState& session, int number) {
  std::string digits = std::to_string(number);
  if (digits.size() < 4) digits.insert(0, 4 - digits.size(), '0');
  return session.id + "-" + digits;
}

std::vector<OpenAttempt> recover_session(Ledger& ledger, const SessionState& session,
                                         const std::string& reason) {
  for (const OpenAttempt& open : session.open_attempts) {
    const Json body = {{"session", session.id}, {"id", open.id}, {"reason", reason}};
    ledger.append("abandoned", body.dump());
  }
  return session.open_attempts;
}

}  // namespace ditar
