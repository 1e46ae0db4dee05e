// FP32 and FP64 operations against plain loops, over odd sizes and both instruction sets.
#include "dense_ops.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace ditar {
namespace {

template <typename T>
std::vector<T> random_values(std::int64_t count, unsigned seed) {
  std::mt19937 engine(seed);
  std::normal_distribution<double> normal;
  std::vector<T> out(static_cast<std::size_t>(count));
  for (T& value : out) value = static_cast<T>(normal(engine));
  return out;
}

template <typename T>
constexpr double kTolerance = sizeof(T) == 8 ? 1e-12 : 2e-5;

template <typename T>
class DenseOpsTest : public ::testing::Test {
 protected:
  const std::vector<const DenseOps<T>*> sets_{&dense_ops<T>(), &portable_dense_ops<T>()};
};
using Types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(DenseOpsTest, Types);

TYPED_TEST(DenseOpsTest, LinearMatchesPlainLoopsAndKeepsItsGuard) {
  using T = TypeParam;
  for (const auto* ops : this->sets_) {
    for (const auto& [rows, in, out] : std::vector<std::array<std::int64_t, 3>>{
             {1, 1, 1}, {7, 5, 17}, {13, 72, 33}, {50, 16, 8}}) {
      for (const Epilogue epilogue : {Epilogue::kNone, Epilogue::kGeluTanh, Epilogue::kSilu}) {
        const auto x = random_values<T>(rows * in, 1);
        const auto w = random_values<T>(out * in, 2);
        auto bias = random_values<T>(out, 3);
        std::vector<T> panels(static_cast<std::size_t>(panel_count<T>(out) * kPanel<T> * in));
        ops->pack(w.data(), out, in, panels.data());
        const std::vector<T> plain_bias = bias;
        bias.resize(static_cast<std::size_t>(panel_count<T>(out) * kPanel<T>), T(0));
        constexpr T kGuard = T(-77);
        std::vector<T> y(static_cast<std::size_t>(rows * out) + 64, kGuard);
        ops->linear(x.data(), rows, {panels.data(), bias.data(), in, out}, epilogue, y.data(), 1);
        for (std::int64_t r = 0; r < rows; ++r) {
          for (std::int64_t j = 0; j < out; ++j) {
            double sum = plain_bias[static_cast<std::size_t>(j)];
            for (std::int64_t k = 0; k < in; ++k) {
              sum += static_cast<double>(x[static_cast<std::size_t>(r * in + k)]) *
                     w[static_cast<std::size_t>(j * in + k)];
            }
            if (epilogue == Epilogue::kSilu) sum = sum / (1 + std::exp(-sum));
            if (epilogue == Epilogue::kGeluTanh) {
              sum = 0.5 * sum *
                    (1 + std::tanh(std::sqrt(2 / M_PI) * (sum + 0.044715 * sum * sum * sum)));
            }
            ASSERT_NEAR(y[static_cast<std::size_t>(r * out + j)], sum,
                        kTolerance<T> * (1 + std::abs(sum)))
                << ops->name;
          }
        }
        for (std::size_t i = static_cast<std::size_t>(rows * out); i < y.size(); ++i) {
          ASSERT_EQ(y[i], kGuard);
        }
      }
    }
  }
}

TYPED_TEST(DenseOpsTest, AttentionMatchesPlainLoops) {
  using T = TypeParam;
  for (const auto* ops : this->sets_) {
    for (const auto& [tokens, heads, e] : std::vector<std::array<std::int64_t, 3>>{
             {1, 1, 4}, {5, 2, 72}, {49, 2, 32}, {65, 1, 80}}) {
      const std::int64_t hidden = heads * e;
      const auto qkv = random_values<T>(2 * tokens * 3 * hidden, 4);
      std::vector<T> out(static_cast<std::size_t>(2 * tokens * hidden));
      std::vector<T> scratch(static_cast<std::size_t>(attention_scratch<T>(tokens, e)));
      ops->attention(qkv.data(), {2, tokens, heads, e}, out.data(), scratch.data(), 1);
      const auto at = [&](std::int64_t n, std::int64_t s, std::int64_t which, std::int64_t c) {
        return static_cast<double>(
            qkv[static_cast<std::size_t>(((n * tokens + s) * 3 + which) * hidden + c)]);
      };
      for (std::int64_t n = 0; n < 2; ++n) {
        for (std::int64_t c = 0; c < hidden; ++c) {
          const std::int64_t head = c / e * e;
          for (std::int64_t s = 0; s < tokens; ++s) {
            double total = 0, weighted = 0;
            for (std::int64_t t = 0; t < tokens; ++t) {
              double score = 0;
              for (std::int64_t d = 0; d < e; ++d) {
                score += at(n, s, 0, head + d) * at(n, t, 1, head + d);
              }
              const double weight = std::exp(score / std::sqrt(static_cast<double>(e)));
              total += weight;
              weighted += weight * at(n, t, 2, c);
            }
            ASSERT_NEAR(out[static_cast<std::size_t>((n * tokens + s) * hidden + c)],
                        weighted / total, kTolerance<T> * 2)
                << ops->name;
          }
        }
      }
    }
  }
}

TYPED_TEST(DenseOpsTest, NormGateAndFusionAgree) {
  using T = TypeParam;
  constexpr std::int64_t kTokens = 3, kHidden = 37;
  const auto shift = random_values<T>(2 * kHidden, 5);
  const auto scale = random_values<T>(2 * kHidden, 6);
  const auto gate = random_values<T>(2 * kHidden, 7);
  const T* shifts[] = {shift.data(), shift.data() + kHidden};
  const T* scales[] = {scale.data(), scale.data() + kHidden};
  const T* gates[] = {gate.data(), gate.data() + kHidden};
  const auto delta = random_values<T>(2 * kTokens * kHidden, 8);
  for (const auto* ops : this->sets_) {
    const NormArgs<T> args{2, kTokens, kHidden, T(1e-6), shifts, scales};
    auto x = random_values<T>(2 * kTokens * kHidden, 9);
    auto fused = x;
    std::vector<T> y(x.size()), z(x.size());
    const auto before = x;
    ops->gate_residual(x.data(), delta.data(), gates, 2, kTokens, kHidden, 1);
    ops->norm_modulate(x.data(), args, y.data(), 1);
    ops->gate_norm_modulate(fused.data(), delta.data(), gates, args, z.data(), 1);
    EXPECT_EQ(fused, x);
    EXPECT_EQ(z, y);
    for (std::size_t r = 0; r < 2 * kTokens; ++r) {
      const std::size_t image = r / kTokens;
      std::vector<double> row(kHidden);
      double mean = 0, variance = 0;
      for (std::size_t d = 0; d < kHidden; ++d) {
        const std::size_t i = r * kHidden + d;
        row[d] = static_cast<double>(before[i]) +
                 static_cast<double>(gates[image][d]) * static_cast<double>(delta[i]);
        mean += row[d] / kHidden;
      }
      for (const double value : row) variance += (value - mean) * (value - mean) / kHidden;
      for (std::size_t d = 0; d < kHidden; ++d) {
        const double expected = (row[d] - mean) / std::sqrt(variance + 1e-6) *
                                    (1.0 + static_cast<double>(scales[image][d])) +
                                static_cast<double>(shifts[image][d]);
        ASSERT_NEAR(y[r * kHidden + d], expected, kTolerance<T> * 2);
      }
    }
  }
}

TYPED_TEST(DenseOpsTest, NanReachesTheOutput) {
  using T = TypeParam;
  for (const auto* ops : this->sets_) {
    auto qkv = random_values<T>(4 * 3 * 8, 10);
    qkv[8] = T(NAN);  // a key: every query of the image sees it
    std::vector<T> out(4 * 8);
    std::vector<T> scratch(static_cast<std::size_t>(attention_scratch<T>(4, 8)));
    ops->attention(qkv.data(), {1, 4, 1, 8}, out.data(), scratch.data(), 1);
    for (const T value : out) EXPECT_TRUE(std::isnan(value));
    const std::vector<T> x{T(NAN)};
    std::vector<T> panels(static_cast<std::size_t>(kPanel<T>), T(1));
    std::vector<T> y(1);
    ops->linear(x.data(), 1, {panels.data(), nullptr, 1, 1}, Epilogue::kGeluTanh, y.data(), 1);
    EXPECT_TRUE(std::isnan(y[0]));
  }
}

}  // namespace
}  // namespace ditar
