#include "settings/lane_fields.h"

#include <algorithm>
#include <cctype>
#include <cmath>

namespace ditar {
namespace {

constexpr std::int64_t kMostBytes = std::int64_t{1} << 50;

const Fields<RequiredScore>& score_fields() {
  static const Fields<RequiredScore> fields = {
      choice_field("name", &RequiredScore::name, {"accuracy", "frechet", "kernel_distance"}),
      choice_field("better", &RequiredScore::better, {"higher", "lower"}),
      number_field("margin", &RequiredScore::margin, 0.0, 1e6),
  };
  return fields;
}

const Fields<GuardMetric>& guard_fields() {
  static const Fields<GuardMetric> fields = {
      choice_field("name", &GuardMetric::name, {"peak_memory", "p99_latency", "load_time"}),
      number_field("max_ratio", &GuardMetric::max_ratio, 1.0, 100.0),
  };
  return fields;
}

const Fields<SuiteSizes>& suite_fields() {
  static const Fields<SuiteSizes> fields = {
      integer_field("oracle_items", &SuiteSizes::oracle_items, 1, 100'000),
      integer_field("free_running_items", &SuiteSizes::free_running_items, 1, 100'000),
      integer_field("fidelity_images", &SuiteSizes::fidelity_images, 2, 100'000),
      integer_field("score_images", &SuiteSizes::score_images, 0, 1'000'000),
      integer_field("fresh_score_images", &SuiteSizes::fresh_score_images, 0, 1'000'000),
  };
  return fields;
}

void read_hash(std::string& hash, const JsonNode& node) {
  hash = node.as_string();
  const bool good = hash.size() == 64 && std::all_of(hash.begin(), hash.end(), [](char c) {
                      return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
                    });
  if (!good) node.fail("\"" + node.path() + "\" must be a SHA-256 of 64 lower-case hex digits");
}

Field<LaneConfig> hash_field(std::string key, std::string LaneConfig::*member) {
  return {std::move(key), Need::kOptional,
          [member](LaneConfig& lane, const JsonNode& node) { read_hash(lane.*member, node); }};
}

void read_classes(LaneConfig& lane, const JsonNode& node) {
  static const std::vector<std::string> kClasses = {"exact", "numerical", "approximate",
                                                    "quantization"};
  for (const JsonNode& item : node.items()) {
    const std::string name = item.as_choice(kClasses);
    if (std::count(lane.allowed_classes.begin(), lane.allowed_classes.end(), name) > 0) {
      item.fail("\"" + name + "\" is given twice in \"" + node.path() + "\"; keep one");
    }
    lane.allowed_classes.push_back(name);
  }
  if (lane.allowed_classes.empty()) node.fail("\"" + node.path() + "\" must name a class");
}

Fields<LaneConfig> task_fields() {
  const Need opt = Need::kOptional;
  using L = LaneConfig;
  return {
      text_field("summary", &L::summary),
      choice_field("metric", &L::metric, {"latency", "throughput", "peak_memory"}),
      text_field("hardware", &L::hardware),
      text_field("model_path", &L::model_path, opt),
      hash_field("model_sha256", &L::model_sha256),
      choice_field("model_preset", &L::model_preset, {"dit-xl2-256", "dit-xl2-512"}, opt),
      text_field("judge_path", &L::judge_path, opt),
      hash_field("judge_sha256", &L::judge_sha256),
      integer_field("channels", &L::channels, 1, 64),
      integer_field("height", &L::height, 1, 4096),
      integer_field("width", &L::width, 1, 4096),
      integer_field("image_height", &L::image_height, 1, 32768),
      integer_field("image_width", &L::image_width, 1, 32768),
      integer_field("classes", &L::classes, 1, 1'000'000),
      integer_field("images", &L::images, 1, 4096),
      choice_field("sampler", &L::sampler, {"ddpm", "ddim", "dpmpp2m"}),
      integer_field("steps", &L::steps, 1, 1000),
      number_field("guidance", &L::guidance, 1.0, 100.0),
      integer_field("guided_channels", &L::guided_channels, 0, 64, opt),
      choice_field("precision", &L::precision, {"fp32", "tf32", "fp16", "bf16"}),
  };
}

const Fields<LaneConfig>& lane_fields() {
  static const Fields<LaneConfig> fields = [] {
    using L = LaneConfig;
    const Need req = Need::kRequired, opt = Need::kOptional;
    Fields<L> all = task_fields();
    const Fields<L> rest = {
        integer_field("ranks", &L::ranks, 1, 1024),
        integer_field("gpus", &L::gpus, 0, 1024),
        integer_field("threads", &L::threads, 1, 1024),
        integer_field("memory_cap_bytes", &L::memory_cap_bytes, 0, kMostBytes, opt),
        number_field("oracle_error_ceiling", &L::oracle_error_ceiling, 1e-15, 1.0),
        {"allowed_classes", req, read_classes},
        {"required_scores", opt,
         [](L& lane, const JsonNode& node) {
           lane.required_scores = read_list(score_fields(), node);
         }},
        {"guard_metrics", opt,
         [](L& lane, const JsonNode& node) {
           lane.guard_metrics = read_list(guard_fields(), node);
         }},
        {"suite", req,
         [](L& lane, const JsonNode& node) { read_fields(suite_fields(), lane.suite, node); }},
        {"decision", req,
         [](L& lane, const JsonNode& node) {
           read_fields(decision_fields(), lane.decision, node);
         }},
    };
    all.insert(all.end(), rest.begin(), rest.end());
    return all;
  }();
  return fields;
}

bool loosens(const std::string& name) { return name == "approximate" || name == "quantization"; }

void check_lane(const LaneConfig& lane, const JsonNode& node) {
  if (lane.model_path.empty() == lane.model_preset.empty()) {
    node.fail("\"" + node.path() + "\" must have one of \"model_path\" and \"model_preset\"");
  }
  if (lane.model_sha256.empty()) {
    node.at(lane.model_path.empty() ? "model_preset" : "model_path")
        .fail("\"" + node.path() + "\" lacks \"model_sha256\" of its model");
  }
  if (lane.judge_path.empty() != lane.judge_sha256.empty() ||
      lane.judge_path.empty() != lane.required_scores.empty()) {
    node.fail("\"" + node.path() +
              "\" must have \"judge_path\", \"judge_sha256\" and \"required_scores\" together");
  }
  const auto& classes = lane.allowed_classes;
  if (lane.required_scores.empty() && std::any_of(classes.begin(), classes.end(), loosens)) {
    node.at("allowed_classes")
        .fail("a lane without required scores may allow exact and numerical only");
  }
  if (!lane.required_scores.empty() &&
      (lane.suite.score_images < 2 || lane.suite.fresh_score_images < 2)) {
    node.at("suite").fail(
        "a lane with required scores needs score_images and "
        "fresh_score_images of at least 2");
  }
  if ((lane.hardware == "cpu") != (lane.gpus == 0)) {
    node.at("gpus").fail("\"gpus\" must be 0 exactly where \"hardware\" is \"cpu\"");
  }
  if (lane.gpus > lane.ranks) node.at("gpus").fail("more GPUs than ranks; one rank drives one GPU");
  const DecisionSettings& d = lane.decision;
  if (d.min_blocks > d.max_blocks) {
    node.at("decision").at("min_blocks").fail("\"min_blocks\" is above \"max_blocks\"");
  }
  if (d.max_blocks > d.budget_blocks) {
    node.at("decision").at("budget_blocks").fail("\"budget_blocks\" is below \"max_blocks\"");
  }
  if (d.resolution >= d.sigma_limit) {
    node.at("decision").at("resolution").fail("\"resolution\" is not below \"sigma_limit\"");
  }
  if (std::ldexp(1.0, -d.confirm_blocks) > d.confirm_p) {
    node.at("decision")
        .at("confirm_p")
        .fail("\"confirm_p\" is below 2^-confirm_blocks: no candidate could be confirmed");
  }
}

}  // namespace

const Fields<DecisionSettings>& decision_fields() {
  using D = DecisionSettings;
  static const Fields<D> fields = {
      integer_field("quads_per_block", &D::quads_per_block, 1, 1000),
      integer_field("min_blocks", &D::min_blocks, 2, 1000),
      integer_field("max_blocks", &D::max_blocks, 2, 1000),
      integer_field("budget_blocks", &D::budget_blocks, 2, 1000),
      integer_field("confirm_blocks", &D::confirm_blocks, 1, 22),
      integer_field("calibration_blocks", &D::calibration_blocks, 8, 1000),
      number_field("alpha", &D::alpha, 1e-6, 0.5),
      number_field("beta", &D::beta, 1e-6, 0.5),
      number_field("confirm_p", &D::confirm_p, 1e-9, 0.5),
      number_field("min_effect", &D::min_effect, 1e-6, 1.0),
      number_field("sigma_limit", &D::sigma_limit, 1e-6, 1.0),
      number_field("resolution", &D::resolution, 1e-9, 0.01),
      number_field("void_block_limit", &D::void_block_limit, 0.0, 1.0),
  };
  return fields;
}

LaneConfig read_lane(const std::string& name, const JsonNode& node) {
  const bool good =
      !name.empty() && name.size() <= 64 && std::all_of(name.begin(), name.end(), [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
      });
  if (!good) node.fail("a lane's name is 1 to 64 of a-z, 0-9 and '-', not \"" + name + "\"");
  LaneConfig lane;
  lane.name = name;
  read_fields(lane_fields(), lane, node);
  check_lane(lane, node);
  return lane;
}

void add_lane_keys(std::vector<std::string>& keys) {
  const std::string lane = "lanes.*.";
  add_keys(lane_fields(), lane, keys);
  add_keys(score_fields(), lane + "required_scores[].", keys);
  add_keys(guard_fields(), lane + "guard_metrics[].", keys);
  add_keys(suite_fields(), lane + "suite.", keys);
  add_keys(decision_fields(), lane + "decision.", keys);
}

}  // namespace ditar
