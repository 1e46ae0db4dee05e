#include "gemm_lt.h"

#include "cuda_check.h"
#include "ditar/config/error.h"
#include "ditar/kernels/buffer.h"
#include "ditar/kernels/stream.h"

#include <algorithm>
#include <cstring>
#include <sstream>

namespace ditar::cuda {
namespace {

cudaDataType_t data_type(DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return CUDA_R_32F;
    case DType::kF16:
      return CUDA_R_16F;
    case DType::kBF16:
      return CUDA_R_16BF;
    default:
      throw InvalidArgument("GEMM on CUDA takes f32, f16 or bf16, not " +
                            std::string(to_string(dtype)));
  }
}

cublasLtEpilogue_t epilogue_of(GemmEpilogue epilogue) {
  switch (epilogue) {
    case GemmEpilogue::kNone:
      return CUBLASLT_EPILOGUE_DEFAULT;
    case GemmEpilogue::kBias:
      return CUBLASLT_EPILOGUE_BIAS;
    case GemmEpilogue::kGeluBias:
      return CUBLASLT_EPILOGUE_GELU_BIAS;
  }
  return CUBLASLT_EPILOGUE_DEFAULT;
}

/// Random operands of one shape; weights in several copies, more than L2 holds together.
class TuningOperands {
 public:
  TuningOperands(const GemmShape& shape, Device device) {
    const std::size_t element = size_of(shape.dtype);
    weight_ = rounded(static_cast<std::size_t>(shape.n * shape.k) * element);
    int l2_bytes = 0;
    check(cudaDeviceGetAttribute(&l2_bytes, cudaDevAttrL2CacheSize, device.index),
          "cudaDeviceGetAttribute");
    copies_ = static_cast<int>(
        std::clamp<std::size_t>(2 * static_cast<std::size_t>(l2_bytes) / weight_ + 1, 2, 64));
    x_at_ = static_cast<std::size_t>(copies_) * weight_;
    bias_at_ = x_at_ + rounded(static_cast<std::size_t>(shape.m * shape.x_stride) * element);
    const std::size_t random = bias_at_ + rounded(static_cast<std::size_t>(shape.n) * element);
    out_at_ = random;
    workspace_at_ = out_at_ + rounded(static_cast<std::size_t>(shape.m * shape.y_stride) * element);
    memory_ = Buffer(workspace_at_ + GemmLt::kWorkspaceBytes, device);
    // Halves of magnitude 2^-5 .. 2^-3 with any mantissa; as the high half of a float small as
    // well.
    std::vector<std::uint16_t> pattern(random / 2);
    std::uint32_t state = 1;
    for (auto& word : pattern) {
      state = state * 1664525U + 1013904223U;
      word = static_cast<std::uint16_t>(0x2800U | ((state >> 16) & 0x87ffU));
    }
    check(cudaMemcpy(memory_.data(), pattern.data(), random, cudaMemcpyHostToDevice), "cudaMemcpy");
  }
  int copies() const { return copies_; }
  const void* x() const { return at(x_at_); }
  const void* weight(int i) const { return at(static_cast<std::size_t>(i % copies_) * weight_); }
  const void* bias() const { return at(bias_at_); }
  void* out() const { return at(out_at_); }
  void* workspace() const { return at(workspace_at_); }

 private:
  static std::size_t rounded(std::size_t bytes) { return (bytes + 255) / 256 * 256; }
  void* at(std::size_t offset) const {
    return static_cast<char*>(const_cast<void*>(memory_.data())) + offset;
  }
  int copies_ = 0;
  std::size_t weight_ = 0, x_at_ = 0, bias_at_ = 0, out_at_ = 0, workspace_at_ = 0;
  Buffer memory_;
};

}  // namespace

// Column-major view of the row-major problem: D (N,M) = A^T (N,K) . B (K,M), with A = w (K,N) and
// B = x (K,M); the bias then runs along D's rows, which is where cuBLASLt wants it.
struct GemmLt::Layouts {
  cublasLtMatmulDesc_t operation = nullptr;
  cublasLtMatrixLayout_t a = nullptr, b = nullptr, d = nullptr;

  explicit Layouts(const GemmShape& s) {
    const cudaDataType_t type = data_type(s.dtype);
    const cublasComputeType_t compute = s.tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
    check(cublasLtMatmulDescCreate(&operation, compute, CUDA_R_32F), "cublasLtMatmulDescCreate");
    const cublasOperation_t transpose = CUBLAS_OP_T;
    set(CUBLASLT_MATMUL_DESC_TRANSA, transpose);
    set(CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue_of(s.epilogue));
    if (s.epilogue != GemmEpilogue::kNone) {
      set(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, type);
      const void* aligned = reinterpret_cast<const void*>(std::uintptr_t{256});
      set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, aligned);
    }
    check(cublasLtMatrixLayoutCreate(&a, type, s.k, s.n, s.k), "cublasLtMatrixLayoutCreate");
    check(cublasLtMatrixLayoutCreate(&b, type, s.k, s.m, s.x_stride), "cublasLtMatrixLayoutCreate");
    check(cublasLtMatrixLayoutCreate(&d, type, s.n, s.m, s.y_stride), "cublasLtMatrixLayoutCreate");
  }
  ~Layouts() {
    cublasLtMatrixLayoutDestroy(d);
    cublasLtMatrixLayoutDestroy(b);
    cublasLtMatrixLayoutDestroy(a);
    cublasLtMatmulDescDestroy(operation);
  }
  Layouts(const Layouts&) = delete;
  Layouts& operator=(const Layouts&) = delete;

  template <typename V>
  void set(cublasLtMatmulDescAttributes_t attribute, const V& value) {
    check(cublasLtMatmulDescSetAttribute(operation, attribute, &value, sizeof(value)),
          "cublasLtMatmulDescSetAttribute");
  }
};

GemmLt::GemmLt(int device) : device_(device) {
  const DeviceGuard guard({DeviceType::kCuda, device});
  check(cublasLtCreate(&handle_), "cublasLtCreate");
}

GemmLt::~GemmLt() { cublasLtDestroy(handle_); }

std::vector<cublasLtMatmulHeuristicResult_t> GemmLt::heuristics(const GemmShape& shape,
                                                                int count) const {
  const Layouts layouts(shape);
  cublasLtMatmulPreference_t preference = nullptr;
  check(cublasLtMatmulPreferenceCreate(&preference), "cublasLtMatmulPreferenceCreate");
  const std::size_t workspace = kWorkspaceBytes;
  cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                       &workspace, sizeof(workspace));
  // Operands may be any 16-byte aligned rows of larger tensors.
  const std::uint32_t alignment = 16;
  for (const auto attribute :
       {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
        CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES}) {
    cublasLtMatmulPreferenceSetAttribute(preference, attribute, &alignment, sizeof(alignment));
  }
  std::vector<cublasLtMatmulHeuristicResult_t> results(static_cast<std::size_t>(count));
  int found = 0;
  const cublasStatus_t status =
      cublasLtMatmulAlgoGetHeuristic(handle_, layouts.operation, layouts.a, layouts.b, layouts.d,
                                     layouts.d, preference, count, results.data(), &found);
  cublasLtMatmulPreferenceDestroy(preference);
  if (status != CUBLAS_STATUS_SUCCESS || found == 0) {
    throw CublasError("cuBLASLt has no algorithm for M=" + std::to_string(shape.m) +
                      " N=" + std::to_string(shape.n) + " K=" + std::to_string(shape.k) + " " +
                      std::string(to_string(shape.dtype)) +
                      ": sizes and strides must be multiples of 16 bytes");
  }
  results.resize(static_cast<std::size_t>(found));
  return results;
}

void GemmLt::prepare(const GemmShape& shape) {
  const std::scoped_lock lock(mutex_);
  if (table_.contains(shape)) return;
  table_[shape].algorithm = heuristics(shape, 1).front().algo;
}

void GemmLt::run(const GemmShape& shape, const void* x, const void* w, const void* bias, void* out,
                 void* workspace, cudaStream_t stream) {
  prepare(shape);
  cublasLtMatmulAlgo_t algorithm;
  {
    const std::scoped_lock lock(mutex_);
    algorithm = table_.at(shape).algorithm;
  }
  enqueue(shape, algorithm, x, w, bias, out, workspace, stream);
}

void GemmLt::enqueue(const GemmShape& shape, const cublasLtMatmulAlgo_t& algorithm, const void* x,
                     const void* w, const void* bias, void* out, void* workspace,
                     cudaStream_t stream) const {
  Layouts layouts(shape);
  if (shape.epilogue != GemmEpilogue::kNone) layouts.set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias);
  const float one = 1.0F, zero = 0.0F;
  check(cublasLtMatmul(handle_, layouts.operation, &one, w, layouts.a, x, layouts.b, &zero, out,
                       layouts.d, out, layouts.d, &algorithm, workspace, kWorkspaceBytes, stream),
        "cublasLtMatmul");
}

GemmChoice GemmLt::tune(const GemmShape& shape, int candidates, cudaStream_t stream) {
  const Device device{DeviceType::kCuda, device_};
  const DeviceGuard guard(device);
  const TuningOperands operands(shape, device);
  GemmChoice best;
  for (const auto& proposal : heuristics(shape, candidates)) {
    const auto pass = [&](int products) {
      for (int i = 0; i < products; ++i) {
        enqueue(shape, proposal.algo, operands.x(), operands.weight(i), operands.bias(),
                operands.out(), operands.workspace(), stream);
      }
    };
    try {
      pass(2);
      const int products = std::max(10, operands.copies());
      double fastest = 1e30;
      for (int repeat = 0; repeat < 3; ++repeat) {
        Event begin(device, true), end(device, true);
        begin.record({device, stream});
        pass(products);
        end.record({device, stream});
        fastest = std::min(fastest, 1e3 * double{end.elapsed_ms_since(begin)} / products);
      }
      if (!best.tuned || fastest < best.microseconds) best = {proposal.algo, fastest, true};
    } catch (const CublasError&) {
      continue;  // proposed but not runnable here
    }
  }
  if (!best.tuned) throw CublasError("no proposed GEMM algorithm ran; update the CUDA driver");
  const std::scoped_lock lock(mutex_);
  table_[shape] = best;
  return best;
}

std::vector<GemmShape> GemmLt::shapes() const {
  const std::scoped_lock lock(mutex_);
  std::vector<GemmShape> all;
  for (const auto& [shape, choice] : table_) all.push_back(shape);
  return all;
}

std::string GemmLt::table_key() const {
  cudaDeviceProp properties{};
  check(cudaGetDeviceProperties(&properties, device_), "cudaGetDeviceProperties");
  std::ostringstream text;
  text << "gemm-table 1 | " << properties.name << " | sm_" << properties.major << properties.minor
       << " | cublasLt " << cublasLtGetVersion();
  return text.str();
}

std::string GemmLt::save_table() const {
  std::ostringstream text;
  text << table_key() << '\n';
  const std::scoped_lock lock(mutex_);
  for (const auto& [s, choice] : table_) {
    if (!choice.tuned) continue;
    text << s.m << ' ' << s.n << ' ' << s.k << ' ' << s.x_stride << ' ' << s.y_stride << ' '
         << to_string(s.dtype) << ' ' << s.tf32 << ' ' << static_cast<int>(s.epilogue) << ' '
         << choice.microseconds;
    for (const std::uint64_t word : choice.algorithm.data)
      text << ' ' << std::hex << word << std::dec;
    text << '\n';
  }
  return text.str();
}

bool GemmLt::load_table(const std::string& text) {
  std::istringstream lines(text);
  std::string line;
  if (!std::getline(lines, line) || line != table_key()) return false;
  std::map<GemmShape, GemmChoice> loaded;
  while (std::getline(lines, line)) {
    std::istringstream words(line);
    GemmShape s;
    GemmChoice choice;
    std::string dtype;
    int epilogue = 0;
    words >> s.m >> s.n >> s.k >> s.x_stride >> s.y_stride >> dtype >> s.tf32 >> epilogue >>
        choice.microseconds >> std::hex;
    for (auto& word : choice.algorithm.data) words >> word;
    if (!words || epilogue < 0 || epilogue > 2) throw DataError("damaged GEMM table line: " + line);
    s.dtype = dtype == "f32" ? DType::kF32 : dtype == "f16" ? DType::kF16 : DType::kBF16;
    s.epilogue = static_cast<GemmEpilogue>(epilogue);
    choice.tuned = true;
    loaded[s] = choice;
  }
  const std::scoped_lock lock(mutex_);
  for (const auto& [shape, choice] : loaded) table_[shape] = choice;
  return true;
}

}  // namespace ditar::cuda
