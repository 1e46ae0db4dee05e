// dit-bench-gpu: single denoiser steps on a GPU under the device's clock, driven line by line on
// stdin so that another program can interleave its own. usage: dit-bench-gpu MODEL INPUT PRECISION
// TABLE (INPUT: .safetensors with x (B,C,H,W) f32, t, y; TABLE: GEMM table to load, or "-").
// Commands: "step N" launches the recorded step N times, answering {"step_us": [N values]}; "inside
// N" the same with the modulations computed inside the step; "tune PATH" tunes all GEMMs and writes
// the table; "attention B T H D N" times packed attention alone; "output PATH"; "quit".
#include "denoiser.h"
#include "ditar/config/error.h"
#include "ditar/config/safetensors.h"
#include "ditar/kernels/graph.h"
#include "ditar/kernels/ops/attention.h"
#include "ditar/kernels/ops/linear_table.h"

#include <fstream>
#include <iostream>
#include <sstream>

namespace ditar {
namespace {

constexpr Device kGpu{DeviceType::kCuda, 0};

DType dtype_of_name(const std::string& name) {
  if (name == "fp16") return DType::kF16;
  if (name == "bf16") return DType::kBF16;
  require(name == "fp32" || name == "tf32", "give fp32, tf32, fp16 or bf16, not " + name);
  return DType::kF32;
}

class Bench {
 public:
  Bench(const std::string& model, const SafetensorsFile& input, const std::string& precision)
      : stream_(kGpu),
        checkpoint_(Checkpoint::open(model)),
        weights_(load_weights(checkpoint_, Knobs{}, dtype_of_name(precision), stream_,
                              precision == "tf32")),
        timestep_(static_cast<std::int32_t>(read_i64(input.at("t")).at(0))),
        denoiser_(weights_, Parity::kOfficial, Knobs{}, stream_) {
    for (const std::int64_t label : read_i64(input.at("y"))) {
      labels_.push_back(static_cast<std::int32_t>(label));
    }
    const std::vector<float> x = read_f32(input.at("x"));
    const ModelConfig& c = weights_.config;
    const Shape shape{std::ssize(labels_), c.channels, c.height, c.width};
    require(std::ssize(x) == shape.count(), "x does not hold one image for each label in y");
    Tensor staged(shape, DType::kF32, kGpu);
    x_ = Tensor(shape, weights_.dtype, kGpu);
    copy(ConstTensorView(x.data(), shape, DType::kF32, Device{}), staged, stream_);
    convert(staged, x_, stream_);
    stream_.view().synchronize();
    record();
  }

  void step(int count, bool inside) {
    print(inside ? "inside_us" : "step_us", inside ? inside_ : step_, count);
  }

  void tune(const std::string& path) {
    std::ofstream(path) << tune_linears(kGpu, 24, stream_);
    record();
    std::cout << "{\"tuned\": true}" << std::endl;
  }

  void attention_alone(std::int64_t b, std::int64_t t, std::int64_t h, std::int64_t d, int count) {
    Tensor qkv(Shape{b, t, 3, h, d}, weights_.dtype, kGpu);
    Tensor out(Shape{b, t, h * d}, weights_.dtype, kGpu);
    Tensor wide(qkv.shape(), DType::kF32, kGpu);
    Tensor host(qkv.shape(), DType::kF32, Device{});
    std::uint32_t state = 1;
    for (std::int64_t i = 0; i < qkv.shape().count(); ++i) {
      state = state * 1664525U + 1013904223U;
      host.as<float>()[i] = static_cast<float>(state >> 8) * 0x1p-23F - 1.0F;
    }
    copy(host, wide, stream_);
    convert(wide, qkv, stream_);
    stream_.view().synchronize();
    constexpr int kCalls = 20;
    const Graph graph(stream_, [&] {
      for (int i = 0; i < kCalls; ++i) attention_packed(qkv, out, {}, stream_);
    });
    print("attention_us", graph, count, kCalls);
  }

  void write_output(const std::string& path) {
    step_.launch(stream_);
    Tensor wide(output_.shape(), DType::kF32, kGpu);
    Tensor host(output_.shape(), DType::kF32, Device{});
    convert(output_, wide, stream_);
    copy(wide, host, stream_);
    stream_.view().synchronize();
    const Shape& s = output_.shape();
    const SafetensorsItem item{"out",
                               StoredType::kF32,
                               {s[0], s[1], s[2], s[3]},
                               std::as_bytes(std::span<const float>(
                                   host.as<float>(), static_cast<std::size_t>(s.count())))};
    write_safetensors(path, std::span<const SafetensorsItem>(&item, 1));
    std::cout << "{\"written\": true}" << std::endl;
  }

 private:
  void record() {
    denoiser_.prepare(std::ssize(labels_), labels_, {timestep_});
    output_ = denoiser_.run(x_, 0, clock_);  // what loads at first use loads here
    stream_.view().synchronize();
    denoiser_.forget_modulations();
    inside_ = Graph(stream_, [&] { denoiser_.run(x_, 0, clock_); });
    step_ = Graph(stream_, [&] { denoiser_.run(x_, 0, clock_); });
    inside_.launch(stream_);
    stream_.view().synchronize();
  }

  void print(const char* name, const Graph& graph, int count, int calls = 1) {
    graph.launch(stream_);
    std::cout << "{\"" << name << "\": [";
    for (int i = 0; i < count; ++i) {
      Event begin(kGpu, true), end(kGpu, true);
      begin.record(stream_);
      graph.launch(stream_);
      end.record(stream_);
      std::cout << (i == 0 ? "" : ", ")
                << 1e3F * end.elapsed_ms_since(begin) / static_cast<float>(calls);
    }
    std::cout << "]}" << std::endl;
  }

  Stream stream_;
  Checkpoint checkpoint_;
  ModelWeights weights_;
  std::vector<std::int32_t> labels_;
  std::int32_t timestep_;
  Denoiser denoiser_;
  PhaseClock clock_{false};
  Tensor x_;
  ConstTensorView output_;
  Graph step_, inside_;
};

void serve(Bench& bench) {
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words(line);
    std::string command, path;
    std::int64_t b = 0, t = 0, h = 0, d = 0;
    int count = 0;
    words >> command;
    if (command == "quit") return;
    if ((command == "step" || command == "inside") && words >> count) {
      bench.step(count, command == "inside");
    } else if (command == "tune" && words >> path) {
      bench.tune(path);
    } else if (command == "attention" && words >> b >> t >> h >> d >> count) {
      bench.attention_alone(b, t, h, d, count);
    } else if (command == "output" && words >> path) {
      bench.write_output(path);
    } else {
      throw InvalidArgument(
          "unknown command \"" + line +
          "\"; give step N, inside N, tune PATH, attention B T H D N, output PATH "
          "or quit");
    }
  }
}

int run(int argc, char** argv) {
  require(argc == 5, "usage: dit-bench-gpu MODEL INPUT PRECISION TABLE");
  if (std::string(argv[4]) != "-") {
    std::ifstream file(argv[4]);
    std::ostringstream text;
    text << file.rdbuf();
    require(load_linear_table(kGpu, text.str()), "the GEMM table is of another GPU or library");
  }
  Bench bench(argv[1], SafetensorsFile(argv[2]), argv[3]);
  std::cout << "{\"ready\": true}" << std::endl;
  serve(bench);
  return 0;
}

}  // namespace
}  // namespace ditar

int main(int argc, char** argv) {
  try {
    return ditar::run(argc, argv);
  } catch (const std::exception& error) {
    std::cerr << "dit-bench-gpu: " << error.what() << '\n';
    return 1;
  }
}
