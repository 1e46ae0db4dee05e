// A scripted engine behind engine.h, linked with the real harness into `fake-worker`. The model
// path is the script: "fake:key=value,...". Keys: action (segv, kill, exit, exit0, hang, freeze,
// throw, nan, flood, throw_load, segv_load), step (when, default 0), rank (who, default 0), ms
// (sleep per step), mib (flood). Its result is known: see expected() in fake_engine.h.
#include "fake_engine.h"

#include "ditar/config/error.h"
#include "ditar/parallel/communicator.h"
#include "ditar/worker/engine.h"

#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <limits>
#include <map>
#include <sstream>
#include <thread>

namespace ditar {

namespace {

std::map<std::string, std::string> parse_script(const std::string& path) {
  std::map<std::string, std::string> script;
  if (!path.starts_with("fake:")) throw InvalidArgument("\"" + path + "\" is no script");
  std::istringstream text(path.substr(5));
  for (std::string item; std::getline(text, item, ',');) {
    const auto equals = item.find('=');
    if (equals != std::string::npos) script[item.substr(0, equals)] = item.substr(equals + 1);
  }
  return script;
}

class FakeEngine : public Engine {
 public:
  FakeEngine(const EngineOptions& options, Communicator* communicator)
      : script_(parse_script(options.model_path)), communicator_(communicator) {
    if (is_my_turn("throw_load")) throw DataError("the scripted model is damaged at offset 7");
    if (is_my_turn("segv_load")) ::raise(SIGSEGV);
  }

  ModelFacts facts() const override {
    ModelFacts facts;
    facts.layout = "official";
    facts.parity = "official";
    facts.parameters = 42;
    facts.classes = 10;
    return facts;
  }
  void prepare(const RequestShape& shape, const RequestSchedule& schedule,
               std::span<const std::int32_t> labels) override {
    shape_ = shape;
    schedule_ = schedule;
    labels_.assign(labels.begin(), labels.end());
  }
  void set_latents(std::span<const float> latents) override {
    latents_.assign(latents.begin(), latents.end());
  }
  void step(std::int64_t k) override {
    if (k == number("step", 0)) act();
    std::this_thread::sleep_for(std::chrono::milliseconds(number("ms", 0)));
    const float shift = expected_shift(schedule_.timesteps[static_cast<std::size_t>(k)]);
    for (float& value : latents_) value = value * 0.5F + shift;
    if (communicator_ != nullptr) {  // ranks keep pace, as a real split makes them
      float one = 1.0F;
      communicator_->all_reduce_sum(&one, &one, 1, DType::kF32, {});
      if (one != static_cast<float>(communicator_->size())) throw Error("a rank is missing");
    }
  }
  void read_latents(std::span<float> out) override {
    if (rank() != 0) return;
    if (is_my_turn("nan")) latents_[0] = std::numeric_limits<float>::quiet_NaN();
    std::copy(latents_.begin(), latents_.end(), out.begin());
  }
  std::vector<PhaseRecord> take_phases() override {
    return {{"denoise", 1.5, static_cast<std::int64_t>(schedule_.timesteps.size()), 0.0, 0.0}};
  }
  std::int64_t planned_bytes() const override { return 1000; }
  std::int64_t peak_bytes() const override { return 2000 + rank(); }
  std::string plan() const override { return "single"; }
  std::string knobs_json() const override { return "{}"; }

 private:
  int rank() const { return communicator_ == nullptr ? 0 : communicator_->rank(); }
  long number(const std::string& key, long otherwise) const {
    const auto found = script_.find(key);
    return found == script_.end() ? otherwise : std::stol(found->second);
  }
  bool is_my_turn(const std::string& action) const {
    const auto found = script_.find("action");
    return found != script_.end() && found->second == action && rank() == number("rank", 0);
  }
  void act() const {
    if (is_my_turn("segv")) ::raise(SIGSEGV);
    if (is_my_turn("kill")) ::raise(SIGKILL);
    if (is_my_turn("exit")) ::_exit(7);
    if (is_my_turn("exit0")) ::_exit(0);
    if (is_my_turn("freeze")) ::raise(SIGSTOP);
    if (is_my_turn("throw")) throw InvalidArgument("block 3 step 0 gave no finite number");
    if (is_my_turn("hang")) {
      volatile unsigned turn = 0;
      while (true) {
        const unsigned next = turn + 1;
        turn = next;
      }
    }
    if (is_my_turn("flood")) flood(number("mib", 1));
  }
  static void flood(long mib) {
    const std::string block(1 << 20, 'x');
    for (long i = 0; i < mib; ++i) {
      for (std::size_t done = 0; done < block.size();) {
        const ssize_t sent = ::write(STDOUT_FILENO, block.data() + done, block.size() - done);
        if (sent <= 0) return;
        done += static_cast<std::size_t>(sent);
      }
    }
  }

  std::map<std::string, std::string> script_;
  Communicator* communicator_;
  RequestShape shape_;
  RequestSchedule schedule_;
  std::vector<std::int32_t> labels_;
  std::vector<float> latents_;
};

}  // namespace

// The names of engine.h's kinds belong to the engine's library, which this one stands in for.
Precision parse_precision(std::string_view text) {
  require(text == "fp32", "the scripted engine knows fp32 only");
  return Precision::kF32;
}
Parity parse_parity(std::string_view text) {
  require(text == "auto", "the scripted engine knows parity auto only");
  return Parity::kAuto;
}
SamplerKind parse_sampler(std::string_view text) {
  require(text == "ddim", "the scripted engine knows ddim only");
  return SamplerKind::kDdim;
}

std::unique_ptr<Engine> make_engine(const EngineOptions& options, Communicator* communicator) {
  return std::make_unique<FakeEngine>(options, communicator);
}

}  // namespace ditar
