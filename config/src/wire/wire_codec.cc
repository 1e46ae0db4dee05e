#include "ditar/config/wire_codec.h"

#include "meta_archive.h"

#include <set>

namespace ditar {

namespace wire {

Json parse_strict(std::string_view text) {
  std::vector<std::set<std::string>> keys;
  const auto watch = [&](int depth, Json::parse_event_t event, Json& parsed) {
    if (depth > 8) bad_meta("it is nested too deeply");
    if (event == Json::parse_event_t::object_start) keys.emplace_back();
    if (event == Json::parse_event_t::object_end) keys.pop_back();
    if (event == Json::parse_event_t::key &&
        !keys.back().insert(parsed.get<std::string>()).second) {
      bad_meta("key \"" + parsed.get<std::string>() + "\" comes twice");
    }
    return true;
  };
  try {
    return Json::parse(text.begin(), text.end(), watch);
  } catch (const Json::exception& error) {
    bad_meta(error.what());
  }
}

// A field list takes the archive and a value, const when writing.
#define DITAR_FIELDS(Type)                                  \
  template <typename Archive, typename Value>               \
  requires std::is_same_v<std::remove_const_t<Value>, Type> \
  void fields(Archive& archive, Value& value)

DITAR_FIELDS(RankHello) {
  archive("rank", value.rank);
  archive("size", value.size);
  archive("host", value.host);
  archive("pid", value.pid);
  archive("device", value.device);
  archive("device_name", value.device_name);
  archive("cpus", value.cpus);
  archive("threads", value.threads);
  archive("omp_wait_policy", value.omp_wait_policy);
}
DITAR_FIELDS(GroupHello) {
  archive("protocol_version", value.protocol_version);
  archive("nonce", value.nonce);
  archive("build_hash", value.build_hash);
  archive("launcher", value.launcher);
  archive("ranks", value.ranks);
}
DITAR_FIELDS(LoadRequest) {
  archive("model_path", value.model_path);
  archive("knobs_path", value.knobs_path);
  archive("precision", value.precision);
  archive("parity", value.parity);
  archive("plan", value.plan);
  archive("memory_cap_bytes", value.memory_cap_bytes);
}
DITAR_FIELDS(LoadReply) {
  archive("layout", value.layout);
  archive("parity", value.parity);
  archive("plan", value.plan);
  archive("knobs_json", value.knobs_json);
  archive("parameters", value.parameters);
  archive("channels", value.channels);
  archive("height", value.height);
  archive("width", value.width);
  archive("patch", value.patch);
  archive("hidden", value.hidden);
  archive("depth", value.depth);
  archive("heads", value.heads);
  archive("classes", value.classes);
  archive("learned_variance", value.learned_variance);
}
DITAR_FIELDS(ScheduleSpec) {
  archive("sampler", value.sampler);
  archive("timesteps", value.timesteps);
  archive("guidance", value.guidance);
  archive("guided_channels", value.guided_channels);
  archive("eta", value.eta);
  archive("noise_seed", value.noise_seed);
}
DITAR_FIELDS(RunRequest) {
  archive("nonce", value.nonce);
  archive("images", value.images);
  archive("channels", value.channels);
  archive("height", value.height);
  archive("width", value.width);
  archive("labels", value.labels);
  archive("schedule", value.schedule);
}
DITAR_FIELDS(PhaseSample) {
  archive("name", value.name);
  archive("milliseconds", value.milliseconds);
  archive("calls", value.calls);
  archive("flops", value.flops);
  archive("bytes", value.bytes);
}
DITAR_FIELDS(RankReport) {
  archive("rank", value.rank);
  archive("milliseconds", value.milliseconds);
  archive("planned_bytes", value.planned_bytes);
  archive("peak_bytes", value.peak_bytes);
  archive("resident_bytes", value.resident_bytes);
  archive("phases", value.phases);
}
DITAR_FIELDS(LoadedMeta) {
  archive("model", value.model);
  archive("ranks", value.ranks);
}
DITAR_FIELDS(ResultMeta) {
  archive("nonce", value.nonce);
  archive("ranks", value.ranks);
}
DITAR_FIELDS(ProgressReport) {
  archive("phase", value.phase);
  archive("steps", value.steps);
}
DITAR_FIELDS(FailureReport) {
  archive("kind", value.kind);
  archive("message", value.message);
  archive("rank", value.rank);
  archive("exit_code", value.exit_code);
}
#undef DITAR_FIELDS

template <typename T>
std::string write(const T& value) {
  MetaWriter writer;
  fields(writer, value);
  return writer.take().dump(-1, ' ', false, Json::error_handler_t::replace);
}

template <typename T>
T read(std::string_view text) {
  const Json json = parse_strict(text);
  T value;
  MetaReader reader(json);
  fields(reader, value);
  reader.finish();
  return value;
}

}  // namespace wire

#define DITAR_CODEC(Type)                                                   \
  std::string encode_meta(const Type& value) { return wire::write(value); } \
  template <>                                                               \
  Type decode_meta<Type>(std::string_view text) {                           \
    return wire::read<Type>(text);                                          \
  }
DITAR_CODEC(GroupHello)
DITAR_CODEC(LoadRequest)
DITAR_CODEC(RunRequest)
DITAR_CODEC(ProgressReport)
DITAR_CODEC(FailureReport)
DITAR_CODEC(RankReport)
DITAR_CODEC(RankHello)
DITAR_CODEC(LoadedMeta)
DITAR_CODEC(ResultMeta)
#undef DITAR_CODEC

void check_request(const RunRequest& request) {
  const auto count = [](const auto& list) { return static_cast<std::int64_t>(list.size()); };
  constexpr auto kLimit = static_cast<std::int64_t>(kMaxBulkBytes / sizeof(float));
  std::int64_t wanted = 1;
  for (const std::int64_t size :
       {request.images, request.channels, request.height, request.width}) {
    require(size > 0 && size <= kLimit / wanted,
            "a request of " + std::to_string(request.images) + " images of " +
                std::to_string(request.channels) + " x " + std::to_string(request.height) + " x " +
                std::to_string(request.width) + " is empty or too large for one message");
    wanted *= size;
  }
  require(count(request.labels) == request.images,
          "a request of " + std::to_string(request.images) + " images has " +
              std::to_string(request.labels.size()) + " labels");
  require(count(request.latents) == wanted, "a request's shape needs " + std::to_string(wanted) +
                                                " latents, it has " +
                                                std::to_string(request.latents.size()));
  require(!request.schedule.timesteps.empty(), "a request needs at least one timestep");
}

}  // namespace ditar
