// Suites on disk: safetensors files, one tensor per part, (items, values).
#include "ditar/config/error.h"
#include "ditar/config/safetensors.h"
#include "ditar/coordinator/suite_runner.h"

#include <algorithm>
#include <array>

namespace ditar {
namespace {

std::vector<float> flattened(const std::vector<std::vector<float>>& parts) {
  std::vector<float> out;
  for (const auto& part : parts) out.insert(out.end(), part.begin(), part.end());
  return out;
}

SafetensorsItem item_of(const std::string& name, const std::vector<float>& flat,
                        std::size_t parts) {
  const auto rows = static_cast<std::int64_t>(parts);
  const std::int64_t columns = rows == 0 ? 0 : static_cast<std::int64_t>(flat.size()) / rows;
  return {name, StoredType::kF32, {rows, columns}, std::as_bytes(std::span(flat))};
}

std::vector<std::vector<float>> parts_of(const SafetensorsFile& file, const std::string& name) {
  const SafetensorsEntry& entry = file.at(name);
  if (entry.shape.size() != 2) {
    throw DataError(file.path().string() + ": '" + name + "' is not (items, values)");
  }
  const std::vector<float> flat = read_f32(entry);
  std::vector<std::vector<float>> out;
  for (std::int64_t i = 0; i < entry.shape[0]; ++i) {
    const auto begin = flat.begin() + i * entry.shape[1];
    out.emplace_back(begin, begin + entry.shape[1]);
  }
  return out;
}

}  // namespace

void save_oracle(const std::filesystem::path& file, const OracleReference& oracle) {
  const auto inputs = flattened(oracle.inputs), singles = flattened(oracle.singles),
             finals = flattened(oracle.finals);
  const std::array items = {item_of("inputs", inputs, oracle.inputs.size()),
                            item_of("singles", singles, oracle.singles.size()),
                            item_of("finals", finals, oracle.finals.size())};
  write_safetensors(file, items);
}

OracleReference load_oracle(const std::filesystem::path& file) {
  const SafetensorsFile stored(file);
  OracleReference out;
  out.inputs = parts_of(stored, "inputs");
  out.singles = parts_of(stored, "singles");
  out.finals = parts_of(stored, "finals");
  out.items = static_cast<std::int64_t>(out.finals.size());
  const auto inputs = static_cast<std::int64_t>(out.inputs.size());
  if (out.items == 0 || inputs % out.items != 0 || out.singles.size() != out.inputs.size()) {
    throw DataError(file.string() + ": its parts do not fit each other; run: dit-ar baseline");
  }
  out.steps = inputs / out.items;
  return out;
}

void save_suite(const std::filesystem::path& file, const SuiteOutputs& outputs) {
  const auto singles = flattened(outputs.singles), finals = flattened(outputs.finals);
  const std::array items = {item_of("singles", singles, outputs.singles.size()),
                            item_of("finals", finals, outputs.finals.size())};
  write_safetensors(file, items);
}

SuiteOutputs load_suite(const std::filesystem::path& file) {
  const SafetensorsFile stored(file);
  SuiteOutputs out;
  out.singles = parts_of(stored, "singles");
  out.finals = parts_of(stored, "finals");
  return out;
}

}  // namespace ditar
