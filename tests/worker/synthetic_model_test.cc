// A small synthetic checkpoint: the same bytes always, and an engine that takes it and answers with
// finite latents that feel label and seed.
#include "ditar/config/synthetic_model.h"

#include "dit_engine_requests.h"
#include "ditar/config/error.h"
#include "ditar/config/sha256.h"
#include "temp_folder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace ditar {
namespace {

SyntheticModel small_model() {
  SyntheticModel model;
  model.hidden = 96;
  model.depth = 3;
  model.heads = 3;
  model.height = model.width = 8;
  model.classes = 10;
  return model;
}

TEST(SyntheticModelTest, HasTheSameBytesWhateverTheThreads) {
  const TempFolder folder;
  const auto one = folder / "one.safetensors", three = folder / "three.safetensors";
  const std::string hash = write_synthetic_model(small_model(), one, 1);
  EXPECT_EQ(hash, sha256_file(one));
  EXPECT_EQ(write_synthetic_model(small_model(), three, 3), hash);
  SyntheticModel other = small_model();
  other.seed = 1;
  EXPECT_NE(write_synthetic_model(other, three, 1), hash);
  EXPECT_THROW(synthetic_preset("dit-xl2-384"), InvalidArgument);
}

TEST(SyntheticModelTest, MakesLatentsThatFeelTheRequest) {
  const TempFolder folder;
  EngineOptions options;
  options.model_path = (folder / "small.safetensors").string();
  write_synthetic_model(small_model(), options.model_path, 1);
  const auto engine = load(options);
  const std::vector<float> first = generate(*engine, {.images = 1});
  double squares = 0.0;
  for (const float value : first) squares += static_cast<double>(value) * value;
  const double rms = std::sqrt(squares / static_cast<double>(first.size()));
  EXPECT_GT(rms, 0.1);
  EXPECT_LT(rms, 1000.0);
  EXPECT_NE(generate(*engine, {.images = 1, .first = 1}), first);
}

}  // namespace
}  // namespace ditar
