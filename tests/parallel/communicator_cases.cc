#include "communicator_cases.h"

#include <bit>

namespace ditar {

float awkward(int rank, std::int64_t i) {
  const float sizes[] = {1e8F, 1.0F, -1e8F, 3.14159F};
  return sizes[(rank + static_cast<int>(i % 4)) % 4] + static_cast<float>(i) * 0.37F;
}

namespace {

std::int64_t differs(float a, float b) {
  return std::bit_cast<std::uint32_t>(a) != std::bit_cast<std::uint32_t>(b) ? 1 : 0;
}

float sum_over_ranks(int size, std::int64_t i) {
  float sum = awkward(0, i);
  for (int r = 1; r < size; ++r) sum += awkward(r, i);
  return sum;
}

}  // namespace

std::int64_t wrong_in_all_reduce(Communicator& comm, std::int64_t count) {
  std::int64_t wrong = 0;
  std::vector<float> mine(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i)
    mine[static_cast<std::size_t>(i)] = awkward(comm.rank(), i);
  std::vector<float> sum(mine.size(), -1.0F);
  comm.all_reduce_sum(mine.data(), sum.data(), count, DType::kF32, {});
  comm.all_reduce_sum(mine.data(), mine.data(), count, DType::kF32, {});  // in place
  for (std::int64_t i = 0; i < count; ++i) {
    wrong += differs(sum[static_cast<std::size_t>(i)], sum_over_ranks(comm.size(), i));
    wrong += differs(mine[static_cast<std::size_t>(i)], sum_over_ranks(comm.size(), i));
  }
  return wrong;
}

std::int64_t wrong_in_all_reduce_16bit(Communicator& comm) {
  // 256 + 1 + 1 + ... in FP32 and rounded once: each addend alone would be lost in BF16.
  BFloat16 value = to_bfloat16(comm.rank() == 0 ? 256.0F : 1.0F);
  comm.all_reduce_sum(&value, &value, 1, DType::kBF16, {});
  const float exact = 256.0F + static_cast<float>(comm.size() - 1);
  Half half = to_half(comm.rank() == 0 ? 2048.0F : 1.0F);
  comm.all_reduce_sum(&half, &half, 1, DType::kF16, {});
  const float exact_half = 2048.0F + static_cast<float>(comm.size() - 1);
  return (value.bits != to_bfloat16(exact).bits ? 1 : 0) +
         (half.bits != to_half(exact_half).bits ? 1 : 0);
}

std::int64_t wrong_in_integer_sum(Communicator& comm) {
  std::int64_t value = (std::int64_t{1} << 40) + comm.rank();
  comm.all_reduce_sum(&value, &value, 1, DType::kI64, {});
  const std::int64_t n = comm.size();
  return value == n * (std::int64_t{1} << 40) + n * (n - 1) / 2 ? 0 : 1;
}

std::int64_t wrong_in_all_gather(Communicator& comm, std::int64_t count) {
  const auto block = static_cast<std::size_t>(count);
  std::vector<double> mine(block, 10.0 + comm.rank());
  std::vector<double> all(block * static_cast<std::size_t>(comm.size()), -1.0);
  comm.all_gather(mine.data(), all.data(), count, DType::kF64, {});
  std::vector<double> in_place(all.size(), -1.0);
  double* own = in_place.data() + block * static_cast<std::size_t>(comm.rank());
  std::fill(own, own + block, 10.0 + comm.rank());
  comm.all_gather(own, in_place.data(), count, DType::kF64, {});
  std::int64_t wrong = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const double right = 10.0 + static_cast<double>(i / block);
    wrong += (all[i] == right ? 0 : 1) + (in_place[i] == right ? 0 : 1);
  }
  return wrong;
}

std::int64_t wrong_in_reduce_scatter(Communicator& comm, std::int64_t count) {
  const auto block = static_cast<std::size_t>(count);
  std::vector<float> mine(block * static_cast<std::size_t>(comm.size()));
  for (std::size_t i = 0; i < mine.size(); ++i) {
    mine[i] = awkward(comm.rank(), static_cast<std::int64_t>(i));
  }
  std::vector<float> sum(block, -1.0F);
  comm.reduce_scatter_sum(mine.data(), sum.data(), count, DType::kF32, {});
  std::int64_t wrong = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    wrong += differs(sum[static_cast<std::size_t>(i)],
                     sum_over_ranks(comm.size(), comm.rank() * count + i));
  }
  return wrong;
}

std::int64_t wrong_in_all_to_all(Communicator& comm, std::int64_t count) {
  const auto block = static_cast<std::size_t>(count);
  std::vector<std::int32_t> mine(block * static_cast<std::size_t>(comm.size()));
  for (std::size_t i = 0; i < mine.size(); ++i) {
    mine[i] = comm.rank() * 1000 + static_cast<std::int32_t>(i / block);
  }
  std::vector<std::int32_t> got(mine.size(), -1);
  comm.all_to_all(mine.data(), got.data(), count, DType::kI32, {});
  std::int64_t wrong = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    wrong += got[i] == static_cast<std::int32_t>(i / block) * 1000 + comm.rank() ? 0 : 1;
  }
  return wrong;
}

std::int64_t wrong_in_broadcast(Communicator& comm) {
  std::int64_t wrong = 0;
  for (int root = 0; root < comm.size(); ++root) {
    std::vector<std::uint8_t> data(999, static_cast<std::uint8_t>(comm.rank() + 1));
    comm.broadcast(data.data(), 999, DType::kU8, root, {});
    for (const auto value : data) wrong += value == root + 1 ? 0 : 1;
  }
  return wrong;
}

std::int64_t wrong_in_send_recv(Communicator& comm) {
  const int next = (comm.rank() + 1) % comm.size();
  const int previous = (comm.rank() + comm.size() - 1) % comm.size();
  std::int64_t wrong = 0;
  for (int turn = 0; turn < 3; ++turn) {
    const std::vector<float> mine(50'000, static_cast<float>(10 * turn + comm.rank()));
    std::vector<float> got(mine.size(), -1.0F);
    comm.send_recv(mine.data(), next, got.data(), previous, 50'000, DType::kF32, {});
    for (const float value : got) {
      wrong += value == static_cast<float>(10 * turn + previous) ? 0 : 1;
    }
  }
  return wrong;
}

std::int64_t wrong_in_ring(Communicator& comm) {
  if (comm.size() == 1) return 0;
  const int next = (comm.rank() + 1) % comm.size();
  const int previous = (comm.rank() + comm.size() - 1) % comm.size();
  std::vector<float> token(4096, 1.0F);
  if (comm.rank() == 0) {
    comm.send(token.data(), 4096, DType::kF32, next, {});
    comm.recv(token.data(), 4096, DType::kF32, previous, {});
  } else {
    comm.recv(token.data(), 4096, DType::kF32, previous, {});
    for (float& value : token) value += 1.0F;
    comm.send(token.data(), 4096, DType::kF32, next, {});
  }
  std::int64_t wrong = 0;
  const auto right = static_cast<float>(comm.rank() == 0 ? comm.size() : comm.rank() + 1);
  for (const float value : token) wrong += value == right ? 0 : 1;
  return wrong;
}

std::int64_t wrong_in_split(Communicator& comm) {
  // Even and odd ranks, each group in reverse order.
  auto half = comm.split(comm.rank() % 2, -comm.rank());
  const int members = (comm.size() + 1 - comm.rank() % 2) / 2;
  std::int64_t wrong = half->size() == members ? 0 : 1;
  wrong += half->rank() == members - 1 - comm.rank() / 2 ? 0 : 1;
  std::int32_t sum = comm.rank();
  half->all_reduce_sum(&sum, &sum, 1, DType::kI32, {});
  std::int32_t right = 0;
  for (int r = comm.rank() % 2; r < comm.size(); r += 2) right += r;
  return wrong + (sum == right ? 0 : 1);
}

}  // namespace ditar
