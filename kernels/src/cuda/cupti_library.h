// CUPTI, loaded at run time: a machine without it runs everything but traces. Internal to kernels
// and to tests that count API calls; thread-safe.
#pragma once

#include <cuda_runtime_api.h>

#include <cupti.h>
#include <dlfcn.h>

#include <string>

namespace ditar::cuda {

struct CuptiLibrary {
  decltype(&cuptiActivityEnable) activity_enable = nullptr;
  decltype(&cuptiActivityDisable) activity_disable = nullptr;
  decltype(&cuptiActivityRegisterCallbacks) activity_register_callbacks = nullptr;
  decltype(&cuptiActivityFlushAll) activity_flush_all = nullptr;
  decltype(&cuptiActivityGetNextRecord) activity_next_record = nullptr;
  decltype(&cuptiActivityPushExternalCorrelationId) push_tag = nullptr;
  decltype(&cuptiActivityPopExternalCorrelationId) pop_tag = nullptr;
  decltype(&cuptiSubscribe) subscribe = nullptr;
  decltype(&cuptiUnsubscribe) unsubscribe = nullptr;
  decltype(&cuptiEnableDomain) enable_domain = nullptr;
  decltype(&cuptiGetResultString) result_string = nullptr;
  std::string hindrance;  ///< empty if all of the above are there

  /// Loaded once and kept.
  static const CuptiLibrary& get() {
    static const CuptiLibrary library;
    return library;
  }

 private:
  CuptiLibrary() {
    const std::string name = "libcupti.so." + std::to_string(CUDART_VERSION / 1000);
    void* handle = nullptr;
    for (const char* folder :
         {"", "/usr/local/cuda/lib64/", "/usr/local/cuda/extras/CUPTI/lib64/"}) {
      handle = ::dlopen((folder + name).c_str(), RTLD_NOW | RTLD_LOCAL);
      if (handle != nullptr) break;
    }
    if (handle == nullptr) {
      hindrance = name + " cannot be loaded; install CUPTI, or put its folder on LD_LIBRARY_PATH";
      return;
    }
    const auto load = [&]<typename Function>(Function& function, const char* symbol) {
      function = reinterpret_cast<Function>(::dlsym(handle, symbol));
      if (function == nullptr) hindrance = name + " has no " + symbol + "; update it";
    };
    load(activity_enable, "cuptiActivityEnable");
    load(activity_disable, "cuptiActivityDisable");
    load(activity_register_callbacks, "cuptiActivityRegisterCallbacks");
    load(activity_flush_all, "cuptiActivityFlushAll");
    load(activity_next_record, "cuptiActivityGetNextRecord");
    load(push_tag, "cuptiActivityPushExternalCorrelationId");
    load(pop_tag, "cuptiActivityPopExternalCorrelationId");
    load(subscribe, "cuptiSubscribe");
    load(unsubscribe, "cuptiUnsubscribe");
    load(enable_domain, "cuptiEnableDomain");
    load(result_string, "cuptiGetResultString");
  }
};

}  // namespace ditar::cuda
