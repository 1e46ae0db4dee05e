#include "ditar/knowledge/search.h"

namespace ditar {

const std::vector<std::string>& required_handbook_pages() {
  static const std::vector<std::string> kPages = {
      "00_foundations/04_target_hardware_and_quality_contract.md",
      "00_foundations/02_benchmarking_and_quality_gates.md",
      "03_single_gpu/08_a5500_optimization_ladder.md",
      "02_bottlenecks/05_nsight_a5500_profiling_workflow.md",
      "09_reference/09_a5500_benchmark_runbook.md",
      "09_reference/10_reproducibility_and_claims_standard.md",
  };
  return kPages;
}

}  // namespace ditar
