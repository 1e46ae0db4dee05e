// dit-bench-forward: single forwards of a model under the clock, driven line by line on stdin so
// that another program can interleave its own. Commands: "run N" answers {"forward_ns": [N raw
// values]}, "step N" the same without what prepare() hoists, "request N" whole requests of 10 DDIM
// steps at guidance 1.5 from latents in to latents out, "phases" the share of each phase since
// the last "phases", "output PATH" writes the last output as .safetensors, "quit" ends.
#include "denoiser.h"
#include "ditar/config/error.h"
#include "ditar/config/safetensors.h"
#include "ditar/kernels/cpu_threads.h"

#include <chrono>
#include <iostream>
#include <sstream>

namespace ditar {
namespace {

struct Bench {
  Checkpoint checkpoint;
  ModelWeights weights;
  std::vector<float> x;
  std::vector<std::int32_t> labels;
  std::int32_t timestep;
  Denoiser denoiser;
  PhaseClock clock;
  ConstTensorView output;

  std::unique_ptr<Engine> engine;

  Bench(const std::string& model, const SafetensorsFile& input, int threads,
        const std::string& knobs)
      : checkpoint(Checkpoint::open(model)),
        weights(load_weights(checkpoint, read_knobs(knobs), DType::kF32, StreamView{})),
        x(read_f32(input.at("x"))),
        timestep(static_cast<std::int32_t>(read_i64(input.at("t")).at(0))),
        denoiser(weights, Parity::kOfficial, read_knobs(knobs), StreamView{}) {
    EngineOptions options;
    options.model_path = model;
    options.knobs_path = knobs;
    options.threads = threads;
    engine = make_engine(options, nullptr);
    for (const std::int64_t label : read_i64(input.at("y"))) {
      labels.push_back(static_cast<std::int32_t>(label));
    }
    const ModelConfig& c = weights.config;
    const std::int64_t each = c.channels * c.height * c.width;
    require(static_cast<std::int64_t>(x.size()) == images() * each,
            "the input's x does not hold one image of the model's size for each label in y");
    for (const std::int32_t label : labels) {
      require(label >= 0 && label <= c.classes,
              "a label of the input is outside the model's classes");
    }
    prepare();
  }
  std::int64_t images() const { return static_cast<std::int64_t>(labels.size()); }
  ConstTensorView latents() const {
    const ModelConfig& c = weights.config;
    return {x.data(), Shape{images(), c.channels, c.height, c.width}, DType::kF32, Device{}};
  }
  void prepare() { denoiser.prepare(images(), labels, {timestep}); }

  void run(int count, bool hoisted) {
    std::cout << "{\"" << (hoisted ? "step" : "forward") << "_ns\": [";
    for (int i = 0; i < count; ++i) {
      const auto begin = std::chrono::steady_clock::now();
      if (!hoisted) prepare();
      output = denoiser.run(latents(), 0, clock);
      const auto end = std::chrono::steady_clock::now();
      std::cout << (i == 0 ? "" : ", ")
                << std::chrono::duration_cast<std::chrono::nanoseconds>(end - begin).count();
    }
    std::cout << "]}" << std::endl;
  }

  void request(int count) {
    RequestSchedule schedule;
    schedule.guidance = 1.5;
    for (std::int32_t t = 999; t >= 0; t -= 111) schedule.timesteps.push_back(t);
    const ModelConfig& c = weights.config;
    std::vector<float> out(x.size());
    std::cout << "{\"request_ns\": [";
    for (int i = 0; i < count; ++i) {
      const auto begin = std::chrono::steady_clock::now();
      engine->prepare({images(), c.channels, c.height, c.width}, schedule, labels);
      engine->set_latents(x);
      for (std::int64_t k = 0; k < std::ssize(schedule.timesteps); ++k) engine->step(k);
      engine->read_latents(out);
      const auto end = std::chrono::steady_clock::now();
      std::cout << (i == 0 ? "" : ", ")
                << std::chrono::duration_cast<std::chrono::nanoseconds>(end - begin).count();
    }
    std::cout << "]}" << std::endl;
  }

  void phases() {
    std::cout << "{";
    const char* separator = "";
    for (const PhaseRecord& record : clock.take()) {
      std::cout << separator << "\"" << record.name << "\": {\"ms\": " << record.milliseconds
                << ", \"calls\": " << record.calls << ", \"flops\": " << record.flops << "}";
      separator = ", ";
    }
    std::cout << "}" << std::endl;
  }

  void write_output(const std::string& path) {
    require(!output.empty(), "there is no output yet; send \"run 1\" first");
    const ModelConfig& c = weights.config;
    const std::vector<std::int64_t> shape{images(), c.out_channels(), c.height, c.width};
    const auto count = static_cast<std::size_t>(images() * c.out_channels() * c.height * c.width);
    const SafetensorsItem item{"out", StoredType::kF32, shape,
                               std::as_bytes(std::span<const float>(output.as<float>(), count))};
    write_safetensors(path, std::span<const SafetensorsItem>(&item, 1));
    std::cout << "{\"written\": true}" << std::endl;
  }
};

void serve(Bench& bench) {
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words(line);
    std::string command, path;
    int count = 1;
    words >> command;
    if (command == "quit") return;
    if (command == "run" || command == "step") {
      require(static_cast<bool>(words >> count) && count > 0, "give \"" + command + " N\", N >= 1");
      bench.run(count, command == "step");
    } else if (command == "request") {
      require(static_cast<bool>(words >> count) && count > 0, "give \"request N\", N >= 1");
      bench.request(count);
    } else if (command == "phases") {
      bench.phases();
    } else if (command == "output" && words >> path) {
      bench.write_output(path);
    } else {
      throw InvalidArgument("unknown command \"" + line +
                            "\"; give run N, step N, request N, phases, output PATH or quit");
    }
  }
}

int bench_main(int argc, char** argv) {
  require(argc == 4 || argc == 5,
          "usage: dit-bench-forward MODEL INPUT.safetensors THREADS [KNOBS.json]");
  const int threads = std::atoi(argv[3]);
  require(threads > 0, "THREADS must be a number >= 1");
  set_cpu_threads(threads);
  Bench bench(argv[1], SafetensorsFile(argv[2]), threads, argc == 5 ? argv[4] : "");
  std::cout << "{\"instructions\": \"" << cpu_instructions() << "\", \"threads\": " << threads
            << ", \"images\": " << bench.images() << "}" << std::endl;
  serve(bench);
  return to_int(ExitCode::kOk);
}

}  // namespace
}  // namespace ditar

int main(int argc, char** argv) {
  try {
    return ditar::bench_main(argc, argv);
  } catch (const ditar::Error& error) {
    std::cerr << "dit-bench-forward: " << error.message() << "\n";
    return ditar::to_int(error.exit_code());
  } catch (const std::exception& error) {
    std::cerr << "dit-bench-forward: " << error.what() << "\n";
    return ditar::to_int(ditar::ExitCode::kFailure);
  }
}
