#include "linear_onednn.h"

#include "ditar/config/error.h"
#include "ditar/kernels/buffer.h"

#include <omp.h>

#include <cstring>
#include <string>
#include <string_view>

namespace ditar::cpu {
namespace {

using dnnl::memory;
using Desc = memory::desc;
using Tag = memory::format_tag;
constexpr auto kF32 = memory::data_type::f32;

/// The AVX2 kernel computes rows in tiles of 6 and 12 and sums their remainder in another order.
constexpr std::int64_t kTailFreeRows = 12;
static_assert(OnednnProduct::kChunk % kTailFreeRows == 0);

/// Rows are cut over threads above this level: a primitive is made for one thread and runs on one.
class OneThread {
 public:
  OneThread() : before_(omp_get_max_threads()) {
    if (before_ != 1) omp_set_num_threads(1);
  }
  ~OneThread() {
    if (before_ != 1) omp_set_num_threads(before_);
  }
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;

 private:
  int before_;
};

const dnnl::engine& cpu_engine() {
  // Never freed: streams of threads and products of static objects may outlive static objects.
  static const auto& engine = *new dnnl::engine(dnnl::engine::kind::cpu, 0);
  return engine;
}

/// Held while a primitive is made: oneDNN 2.6's cache of primitives, one per process, has a race
/// between two threads that make some at once. Running primitives needs no lock.
std::mutex& making() {
  static std::mutex mutex;
  return mutex;
}

dnnl::stream& thread_stream() {
  thread_local dnnl::stream stream(cpu_engine());
  return stream;
}

memory::dims dims(std::int64_t a, std::int64_t b) { return {a, b}; }

}  // namespace

void* thread_scratch(int slot, std::int64_t size_bytes) {
  thread_local std::array<Buffer, 3> slots;
  Buffer& buffer = slots.at(static_cast<std::size_t>(slot));
  const auto needed = static_cast<std::size_t>(size_bytes);
  if (buffer.size_bytes() < needed) {
    buffer = Buffer();
    buffer = Buffer(needed, Device{});
  }
  return buffer.data();
}

dnnl::inner_product_forward::primitive_desc OnednnProduct::describe(std::int64_t rows,
                                                                    const Desc& weight) const {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  const Desc x(dims(rows, k_), kF32, Tag::ab);
  const Desc y(dims(rows, n_), kF32, Tag::ab);
  const auto kind = dnnl::prop_kind::forward_inference;
  const auto operation = bias_ ? dnnl::inner_product_forward::desc(
                                     kind, x, weight, Desc(memory::dims{n_}, kF32, Tag::a), y)
                               : dnnl::inner_product_forward::desc(kind, x, weight, y);
  return {operation, attributes, engine_};
}

OnednnProduct::OnednnProduct(const float* weight, const float* bias, std::int64_t n, std::int64_t k)
    : n_(n), k_(k), engine_(cpu_engine()) {
  try {
    const OneThread scope;
    if (bias != nullptr) {
      bias_ = memory(Desc(memory::dims{n}, kF32, Tag::a), engine_);
      std::memcpy(bias_.get_data_handle(), bias, static_cast<std::size_t>(n) * sizeof(float));
    }
    const auto chosen = describe(kChunk, Desc(dims(n, k), kF32, Tag::any));
    const bool keeps_bits = std::string_view(chosen.impl_info_str()).starts_with("brgemm");
    row_quantum_ = keeps_bits ? 1 : kTailFreeRows;
    weight_ = memory(chosen.weights_desc(), engine_);
    // The library reads the source only; its interface has no const.
    memory plain(Desc(dims(n, k), kF32, Tag::ab), engine_, const_cast<float*>(weight));
    const auto pack = [&] {
      const std::lock_guard lock(making());
      return dnnl::reorder(plain, weight_);
    }();
    pack.execute(thread_stream(), plain, weight_);
    thread_stream().wait();
    packed_bytes_ = static_cast<std::int64_t>(chosen.weights_desc().get_size()) +
                    (bias != nullptr ? n * static_cast<std::int64_t>(sizeof(float)) : 0);
  } catch (const dnnl::error& error) {
    throw Error("linear: oneDNN refuses a weight of " + std::to_string(n) + " x " +
                std::to_string(k) + ": " + error.what());
  }
}

OnednnProduct::Sized::Sized(const dnnl::inner_product_forward::primitive_desc& description)
    : primitive(description),
      x(description.src_desc()),
      y(description.dst_desc()),
      scratch(description.scratchpad_desc()) {}

const OnednnProduct::Sized& OnednnProduct::sized(std::int64_t rows) const {
  const std::lock_guard lock(mutex_);
  auto& made = made_.at(static_cast<std::size_t>(rows));
  if (!made) {
    const std::lock_guard process(making());
    made = std::make_unique<const Sized>(describe(rows, weight_.get_desc()));
  }
  return *made;
}

void OnednnProduct::run(const float* x, std::int64_t rows, float* y) const {
  try {
    const OneThread scope;
    const Sized& made = sized(rows);
    // The library only reads x; its interface has no const.
    const memory from(made.x, engine_, const_cast<float*>(x));
    const memory to(made.y, engine_, y);
    const auto size = static_cast<std::int64_t>(made.scratch.get_size());
    const memory scratch(made.scratch, engine_, thread_scratch(0, size));
    const dnnl_exec_arg_t arguments[] = {{DNNL_ARG_SRC, from.get()},
                                         {DNNL_ARG_WEIGHTS, weight_.get()},
                                         {DNNL_ARG_DST, to.get()},
                                         {DNNL_ARG_SCRATCHPAD, scratch.get()},
                                         {DNNL_ARG_BIAS, bias_.get(true)}};
    dnnl::error::wrap_c_api(dnnl_primitive_execute(made.primitive.get(), thread_stream().get(),
                                                   bias_ ? 5 : 4, arguments),
                            "could not run an inner product");
  } catch (const dnnl::error& error) {
    throw Error("linear: oneDNN failed: " + std::string(error.what()));
  }
}

}  // namespace ditar::cpu
