// Watches the machine under a block and voids whole quads, both arms at once, where it was
// disturbed: other programs on the workers' CPUs, time that the host took away, a GPU's throttling.
// Single slow times are never dropped. A guard belongs to one block at a time and one thread.
#pragma once

#include "ditar/coordinator/verdict/timing_record.h"
#include "ditar/topology_nvml/gpu_sampler.h"

#include <sys/types.h>

#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <vector>

namespace ditar {

class MachineGuard {
 public:
  virtual ~MachineGuard() = default;
  /// Both groups are up. `workers` are their processes, launchers included.
  virtual void start(const std::vector<pid_t>& workers) = 0;
  virtual void begin_quad() = 0;
  /// Called outside the timed part. @param arm  kA or kB, whose request just ended
  virtual void after_request(TimedArm arm) = 0;
  /// Adds what it saw; may set is_void with its cause, `throttled` and the arm. Never unsets.
  virtual void end_quad(QuadRecord& quad) = 0;
};

/// Shares above which a quad is void. Infinite: nothing is, what is seen is still recorded.
struct HostLimits {
  double foreign_load = std::numeric_limits<double>::infinity();
  double steal = std::numeric_limits<double>::infinity();
};

/// The limits that A/A blocks give: twice what all but one in twenty of their quads stayed below,
/// and at least 10 % foreign load and 3 % steal.
HostLimits host_limits(std::span<const BlockRecord> blocks);

/// Reads /proc/stat for `cpus` and the CPU time of the workers' own processes. Foreign load is what
/// the CPUs worked beyond that, in shares of quad time x CPUs; less than three clock ticks a CPU
/// are not told apart from rounding and count as none.
std::unique_ptr<MachineGuard> make_host_guard(std::vector<int> cpus, const HostLimits& limits);

/// Voids a quad, both arms at once, where heat, a hardware slowdown or the power brake held a GPU's
/// clocks down, or where a process computed on it that was not there when the block began. Reads at
/// the edges of each request; the arm whose request ended is the one that the cause is told of. The
/// power cap is normal at full load: it is recorded and voids nothing.
/// @param sample  of the lane's GPUs, in the same order each time
std::unique_ptr<MachineGuard> make_gpu_guard(std::function<std::vector<GpuSample>()> sample);

/// All of `guards` in turn. Null ones are left out.
std::unique_ptr<MachineGuard> join_guards(std::vector<std::unique_ptr<MachineGuard>> guards);

}  // namespace ditar
