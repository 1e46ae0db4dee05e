#include "checkpoint.h"
#include "ditar/config/error.h"
#include "position_table.h"
#include "test_paths.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <functional>

namespace ditar {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

/// A tiny official checkpoint whose tensors can be changed before it is written.
class CheckpointTest : public ::testing::Test {
 protected:
  struct Item {
    std::vector<std::int64_t> shape;
    std::vector<float> values;
  };

  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("ditar-checkpoint-" + std::to_string(::getpid()));
    fs::create_directories(folder_);
    config_.channels = 1;
    config_.height = config_.width = 8;
    config_.patch = 4;
    config_.hidden = 32;
    config_.depth = 2;
    config_.heads = 1;
    config_.mlp_hidden = 64;
    config_.classes = 3;
    float value = 0.0f;
    for (const TensorSpec& spec : official_tensors(config_)) {
      std::int64_t count = 1;
      for (const std::int64_t size : spec.shape) count *= size;
      Item item{spec.shape, std::vector<float>(static_cast<std::size_t>(count))};
      for (float& v : item.values) v = (value += 0.25f);
      items_[spec.name] = item;
    }
    const std::vector<double> table = position_table(32, 2, 2);
    items_["pos_embed"] = {{1, 4, 32}, std::vector<float>(table.begin(), table.end())};
  }
  void TearDown() override { fs::remove_all(folder_); }

  static void write(const fs::path& path, const std::map<std::string, Item>& items,
                    const std::map<std::string, std::string>& metadata = {}) {
    std::vector<SafetensorsItem> list;
    for (const auto& [name, item] : items) {
      list.push_back(
          {name, StoredType::kF32, item.shape, std::as_bytes(std::span<const float>(item.values))});
    }
    write_safetensors(path, list, metadata);
  }
  fs::path write_official(const std::map<std::string, std::string>& metadata = {}) {
    const fs::path path = folder_ / "model.safetensors";
    write(path, items_, metadata);
    return path;
  }
  static std::string fault(const fs::path& path) {
    try {
      Checkpoint::open(path);
    } catch (const Error& error) {
      return error.message();
    }
    return "accepted";
  }

  fs::path folder_;
  ModelConfig config_;
  std::map<std::string, Item> items_;
};

TEST_F(CheckpointTest, InfersEverySizeFromAnOfficialFile) {
  const Checkpoint checkpoint = Checkpoint::open(write_official());
  const ModelConfig& c = checkpoint.config();
  EXPECT_EQ(checkpoint.layout(), "official");
  EXPECT_EQ(c.channels, 1);
  EXPECT_EQ(c.height, 8);
  EXPECT_EQ(c.width, 8);
  EXPECT_EQ(c.patch, 4);
  EXPECT_EQ(c.hidden, 32);
  EXPECT_EQ(c.depth, 2);
  EXPECT_EQ(c.heads, 1);
  EXPECT_EQ(c.mlp_hidden, 64);
  EXPECT_EQ(c.classes, 3);
  EXPECT_TRUE(c.learned_variance);
  EXPECT_EQ(checkpoint.read("x_embedder.proj.bias").front(),
            static_cast<double>(items_["x_embedder.proj.bias"].values.front()));
}

TEST_F(CheckpointTest, TakesHeadsAndRectanglesFromMetadata) {
  const std::vector<double> table = position_table(32, 1, 4);
  items_["pos_embed"].values.assign(table.begin(), table.end());
  const Checkpoint checkpoint =
      Checkpoint::open(write_official({{"heads", "2"}, {"height", "4"}, {"width", "16"}}));
  EXPECT_EQ(checkpoint.config().heads, 2);
  EXPECT_EQ(checkpoint.config().grid_h(), 1);
  EXPECT_EQ(checkpoint.config().grid_w(), 4);
  EXPECT_THAT(fault(write_official({{"heads", "two"}})), HasSubstr("metadata \"heads\""));
  EXPECT_THAT(fault(write_official({{"heads", "5"}})), HasSubstr("not a multiple of 5 heads"));
  EXPECT_THAT(fault(write_official({{"height", "8"}})), HasSubstr("give both"));
}

TEST_F(CheckpointTest, ListsMissingUnexpectedAndMisshapenTogether) {
  items_.erase("t_embedder.mlp.0.bias");
  items_["stray"] = {{1}, {0.0f}};
  items_["blocks.1.attn.proj.bias"] = {{2}, {0.0f, 0.0f}};
  const std::string text = fault(write_official());
  EXPECT_THAT(text, HasSubstr("missing: t_embedder.mlp.0.bias"));
  EXPECT_THAT(text, HasSubstr("unexpected: stray"));
  EXPECT_THAT(text, HasSubstr("blocks.1.attn.proj.bias [2] instead of [32]"));
}

TEST_F(CheckpointTest, ExplainsAPositionTableOfAnotherSize) {
  EXPECT_THAT(fault(write_official({{"height", "16"}, {"width", "16"}})),
              HasSubstr("made for another image size"));
  items_["pos_embed"].values[5] += 0.01f;
  EXPECT_THAT(fault(write_official()), HasSubstr("pos_embed differs"));
  items_["pos_embed"].values[5] = NAN;
  EXPECT_THAT(fault(write_official()), HasSubstr("pos_embed differs"));
  items_.erase("pos_embed");
  EXPECT_THAT(fault(write_official()), HasSubstr("input size is unknown"));
  EXPECT_EQ(fault(write_official({{"height", "8"}, {"width", "8"}})), "accepted");
}

TEST_F(CheckpointTest, RefusesWhatIsNoDit) {
  EXPECT_THAT(fault(folder_ / "absent.safetensors"), HasSubstr("no such model"));
  EXPECT_THAT(fault(folder_), HasSubstr("neither config.json"));
  const std::map<std::string, Item> other{{"conv.weight", {{1}, {1.0f}}}};
  write(folder_ / "other.safetensors", other);
  EXPECT_THAT(fault(folder_ / "other.safetensors"), HasSubstr("x_embedder.proj.weight"));
  items_["final_layer.linear.weight"] = {{5, 32}, std::vector<float>(160)};
  EXPECT_THAT(fault(write_official()), HasSubstr("final_layer.linear has 5 rows"));
}

/// The committed diffusers folders, copied so that they can be damaged.
class DiffusersCheckpointTest : public CheckpointTest {
 protected:
  fs::path copy(const std::string& name) {
    fs::copy(fs::path(DITAR_SOURCE_DIR) / "tests/golden/data" / name, folder_ / name,
             fs::copy_options::recursive);
    return folder_ / name;
  }
  static void replace(const fs::path& path, const std::string& from, const std::string& to) {
    std::ifstream in(path);
    std::string text((std::istreambuf_iterator<char>(in)), {});
    const std::size_t at = text.find(from);
    ASSERT_NE(at, std::string::npos);
    std::ofstream(path, std::ios::trunc) << text.replace(at, from.size(), to);
  }
};

TEST_F(DiffusersCheckpointTest, ReadsOneFileAndMergesEqualEmbedders) {
  const fs::path path = copy("diffusers");
  const Checkpoint checkpoint = Checkpoint::open(path);
  EXPECT_EQ(checkpoint.layout(), "diffusers");
  EXPECT_FALSE(checkpoint.embedder_per_block());
  EXPECT_EQ(checkpoint.config().heads, 2);
  EXPECT_EQ(checkpoint.config().classes, 10);
  const SafetensorsFile file(path / "transformer/diffusion_pytorch_model.safetensors");
  const auto k = read_f64(file.at("transformer_blocks.1.attn1.to_k.weight"));
  const auto qkv = checkpoint.read("blocks.1.attn.qkv.weight");
  ASSERT_EQ(qkv.size(), 3 * k.size());
  EXPECT_TRUE(std::equal(k.begin(), k.end(), qkv.begin() + static_cast<std::ptrdiff_t>(k.size())));
  EXPECT_EQ(Checkpoint::open(path / "transformer").layout(), "diffusers");
}

TEST_F(DiffusersCheckpointTest, ReadsVariantShardsAndKeepsDifferingEmbedders) {
  const fs::path path = copy("diffusers-per-block");
  const Checkpoint checkpoint = Checkpoint::open(path);
  EXPECT_TRUE(checkpoint.embedder_per_block());
  EXPECT_NE(checkpoint.read("embedder.0.t_embedder.mlp.0.bias"),
            checkpoint.read("embedder.1.t_embedder.mlp.0.bias"));
  ASSERT_EQ(checkpoint.notices().size(), 1u);
  EXPECT_THAT(checkpoint.notices()[0], HasSubstr("only the fp16 variant"));
  const fs::path folder = path / "transformer";
  fs::rename(folder / "diffusion_pytorch_model.safetensors.index.fp16.json",
             folder / "diffusion_pytorch_model.safetensors.fp16.index.json");
  EXPECT_EQ(fault(path), "accepted");
  fs::remove(folder / "diffusion_pytorch_model.fp16-00002-of-00002.safetensors");
  EXPECT_THAT(fault(path), HasSubstr("00002-of-00002.safetensors\" is missing"));
}

TEST_F(DiffusersCheckpointTest, RefusesOtherModelsByName) {
  const fs::path path = copy("diffusers");
  const fs::path config = path / "transformer/config.json";
  replace(config, "\"DiTTransformer2DModel\"", "\"Transformer2DModel\"");
  EXPECT_EQ(fault(path), "accepted");
  replace(config, "ada_norm_zero", "ada_norm_single");
  EXPECT_THAT(fault(path), HasSubstr("only \"ada_norm_zero\" is a DiT"));
  replace(config, "ada_norm_single", "ada_norm_zero");
  replace(config, "\"num_layers\": 2", "\"num_layers\": 3");
  EXPECT_THAT(fault(path), HasSubstr("blocks.2"));
  fs::remove(path / "transformer/diffusion_pytorch_model.safetensors");
  EXPECT_THAT(fault(path), HasSubstr("no diffusion_pytorch_model.safetensors"));
}

TEST(ModelConfigTest, PresetsHaveThePublishedSizes) {
  // Trainable values of the published checkpoints, from the paper's table in millions.
  const std::pair<const char*, double> published[] = {
      {"DiT-S/2", 32.9}, {"DiT-B/2", 130.3}, {"DiT-L/2", 457.8}, {"DiT-XL/2", 674.8}};
  for (const auto& [name, millions] : published) {
    EXPECT_NEAR(static_cast<double>(parameter_count(preset(name, 32))) / 1e6, millions, 0.06)
        << name;
  }
  EXPECT_EQ(preset("DiT-XL/8", 64).tokens(), 64);
  EXPECT_EQ(preset("DiT-XL/2", 32).head_dim(), 72);
  EXPECT_THROW(preset("DiT-Q/2", 32), InvalidArgument);
  EXPECT_THROW(preset("DiT-S/8", 36), InvalidArgument);
}

TEST(ModelConfigTest, InfersHeadsByTheStatedRule) {
  EXPECT_EQ(infer_heads(1152, "f"), 16);
  EXPECT_EQ(infer_heads(384, "f"), 6);
  EXPECT_EQ(infer_heads(512, "f"), 8);
  EXPECT_EQ(infer_heads(288, "f"), 4);
  EXPECT_EQ(infer_heads(128, "f"), 4);
  EXPECT_THROW(infer_heads(100, "f"), DataError);
}

}  // namespace
}  // namespace ditar
