// dit-bench-forward: single forwards of a model under the clock, driven line by line on stdin so
// that another program can interleave its own. Commands: "run N" answers {"forward_ns": [N raw
// values]}, "step N" the same without what prepare() hoists, "phases" the share of each phase since
// the last "phases", "output PATH" writes the last output as .safetensors, "quit" ends.
#include "denoiser.h"
#include "ditar/config/error.h"
#include "ditar/config/safetensors.h"

#include <chrono>
#include <iostream>
#include <sstream>

namespace ditar {
namespace {

struct Bench {
  Checkpoint checkpoint;
  ModelWeights<float> weights;
  std::vector<float> x;
  std::vector<std::int32_t> labels;
  std::int32_t timestep;
  Denoiser<float> denoiser;
  PhaseClock clock;
  const float* output = nullptr;

  Bench(const std::string& model, const SafetensorsFile& input, int threads)
      : checkpoint(Checkpoint::open(model)),
        weights(load_weights<float>(checkpoint, Knobs{})),
        x(read_f32(input.at("x"))),
        timestep(static_cast<std::int32_t>(read_i64(input.at("t")).at(0))),
        denoiser(weights, Parity::kOfficial, Knobs{}, threads) {
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
  void prepare() { denoiser.prepare(images(), labels, {timestep}); }

  void run(int count, bool hoisted) {
    std::cout << "{\"" << (hoisted ? "step" : "forward") << "_ns\": [";
    for (int i = 0; i < count; ++i) {
      const auto begin = std::chrono::steady_clock::now();
      if (!hoisted) prepare();
      output = denoiser.run(x.data(), 0, clock);
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
    require(output != nullptr, "there is no output yet; send \"run 1\" first");
    const ModelConfig& c = weights.config;
    const std::vector<std::int64_t> shape{images(), c.out_channels(), c.height, c.width};
    const auto count = static_cast<std::size_t>(images() * c.out_channels() * c.height * c.width);
    const SafetensorsItem item{"out", StoredType::kF32, shape,
                               std::as_bytes(std::span<const float>(output, count))};
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
    } else if (command == "phases") {
      bench.phases();
    } else if (command == "output" && words >> path) {
      bench.write_output(path);
    } else {
      throw InvalidArgument("unknown command \"" + line +
                            "\"; give run N, step N, phases, output PATH or quit");
    }
  }
}

int bench_main(int argc, char** argv) {
  require(argc == 4, "usage: dit-bench-forward MODEL INPUT.safetensors THREADS");
  const int threads = std::atoi(argv[3]);
  require(threads > 0, "THREADS must be a number >= 1");
  Bench bench(argv[1], SafetensorsFile(argv[2]), threads);
  std::cout << "{\"instructions\": \"" << dense_ops<float>().name << "\", \"threads\": " << threads
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
